"""A recording httpx transport under the model client. Imported late, with httpx."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import httpx
from typing_extensions import override

from tui_host.capture.conversation_context import current_place
from tui_host.capture.http.observer import ObservedExchange, Observer, header_pairs
from tui_host.capture.record import Shift

EXCHANGE = "tui_host.exchange"
"""The key in a request's and a response's `extensions` under which the exchange's id stands."""

OBSERVED = "tui_host.observed"
"""The key in a response's `extensions` under which the exchange itself stands."""

BEGAN = "tui_host.began"
"""The key in a request's `extensions` under which a function may stand that is told the exchange's id before a byte is sent."""


class RecordingTransport(httpx.AsyncBaseTransport):
    """Records requests and responses at the wire, above TLS and below decompression.

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
    """Return the exchange id of a request or response; None if nothing was sent.

    An error of httpx carries its request, so the exchange of a failed request is found as well.
    """
    exchange: object = message.extensions.get(EXCHANGE)
    return exchange if isinstance(exchange, str) else None


def shifts_of(response: httpx.Response) -> Sequence[Shift]:
    """Return the places in the response's body, as far as received, where secrets were taken out."""
    exchange: object = response.extensions.get(OBSERVED)
    return exchange.shifts if isinstance(exchange, ObservedExchange) else ()


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
