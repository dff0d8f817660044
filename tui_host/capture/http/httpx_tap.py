"""Records the model client's HTTP traffic by an httpx transport. Imported late, with httpx."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
from typing_extensions import override

from tui_host.capture.http.observer import ObservedExchange, Observer, header_pairs
from tui_host.capture.record import current_place

EXCHANGE = "tui_host.exchange"
"""Key in the `extensions` of requests and responses that holds the exchange's id."""

OBSERVED = "tui_host.observed"
"""Key in the `extensions` of a response that holds its `ObservedExchange`."""

BEGAN = "tui_host.began"
"""Key in the `extensions` of a request for a function to call with the exchange's id before the first byte is sent."""


class RecordingTransport(httpx.AsyncBaseTransport):
    """Records requests and responses as sent: above TLS, below decompression.

    A request belongs to the place of the task that makes it. Errors of the inner transport are recorded and raised on.
    """

    def __init__(self, observer: Observer, inner: httpx.AsyncBaseTransport | None = None) -> None:
        self._observer = observer
        self._inner = inner if inner is not None else httpx.AsyncHTTPTransport()

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        exchange = self._observer.begin(
            request.method, str(request.url), header_pairs(request.headers.raw), body, current_place.get()
        )
        request.extensions = {**request.extensions, EXCHANGE: exchange.id}
        began: object = request.extensions.get(BEGAN)
        if callable(began):
            began(exchange.id)
        with exchange.sending():
            response = await self._inner.handle_async_request(request)
        exchange.response(response.status_code, header_pairs(response.headers.raw))
        if not isinstance(response.stream, httpx.AsyncByteStream):
            raise TypeError("the inner transport must answer with an asynchronous stream")
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_RecordedStream(response.stream, exchange),
            extensions={**response.extensions, EXCHANGE: exchange.id, OBSERVED: exchange},
        )

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


def exchange_of(message: httpx.Request | httpx.Response) -> str | None:
    """Return the exchange id of a request or response, None if nothing was sent.

    Errors of httpx contain their request, so this also finds the exchange of a failed request.
    """
    exchange: object = message.extensions.get(EXCHANGE)
    return exchange if isinstance(exchange, str) else None


def observed(response: httpx.Response) -> ObservedExchange | None:
    """Return the exchange of a response that `RecordingTransport` recorded."""
    exchange: object = response.extensions.get(OBSERVED)
    return exchange if isinstance(exchange, ObservedExchange) else None


class _RecordedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, exchange: ObservedExchange) -> None:
        self._inner = inner
        self._exchange = exchange

    @override
    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._exchange.passing(self._inner)

    @override
    async def aclose(self) -> None:
        self._exchange.close()
        await self._inner.aclose()
