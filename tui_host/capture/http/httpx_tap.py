"""Records the model client's HTTP traffic by an httpx transport. Imported late, with httpx."""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx
from typing_extensions import override

from tui_host.capture.http.observer import ObservedExchange, Observer, RecordedBody, header_pairs
from tui_host.capture.record import current_place

BEGAN = "tui_host.began"
"""Key in the `extensions` of a request for a function to call with the exchange's id before the first byte is sent."""
_OBSERVED = "tui_host.observed"


@dataclass(eq=False)
class HttpxTransport(httpx.AsyncBaseTransport):
    """Records requests and responses as sent: above TLS, below decompression.

    A request belongs to the place of the task that makes it. Errors of the inner transport are recorded and raised on.
    """

    observer: Observer
    inner: httpx.AsyncBaseTransport = field(default_factory=httpx.AsyncHTTPTransport)

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body, headers = await request.aread(), header_pairs(request.headers.raw)
        exchange = self.observer.begin(request.method, str(request.url), headers, body, current_place.get())
        request.extensions = {**request.extensions, _OBSERVED: exchange}
        began: object = request.extensions.get(BEGAN)
        if callable(began):
            began(exchange.id)
        with exchange.sending():
            response = await self.inner.handle_async_request(request)
        exchange.response(response.status_code, header_pairs(response.headers.raw))
        if not isinstance(response.stream, httpx.AsyncByteStream):
            raise TypeError("the inner transport must answer with an asynchronous stream")
        response.stream = _Stream(response.stream, response.stream.aclose, exchange)
        return response

    @override
    async def aclose(self) -> None:
        await self.inner.aclose()


class _Stream(RecordedBody, httpx.AsyncByteStream):
    pass


def observed(request: httpx.Request | None) -> ObservedExchange | None:
    """Return the exchange of a request, None if nothing was sent. Responses of httpx contain their request."""
    exchange: object = request.extensions.get(_OBSERVED) if request is not None else None
    return exchange if isinstance(exchange, ObservedExchange) else None


def exchange_of(request: httpx.Request | None) -> str | None:
    """Return the id of a request's exchange, None if nothing was sent."""
    exchange = observed(request)
    return exchange.id if exchange is not None else None
