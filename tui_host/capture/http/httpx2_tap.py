"""Records the SDK's HTTP traffic by an httpx2 transport. Imported late, with the SDK.

The transport changes only one header. It raises every error again, for its caller to handle (`servers.http`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx2
from typing_extensions import override

from tui_host.capture.http.observer import Observer, RecordedBody, header_pairs
from tui_host.capture.record import current_place


@dataclass(eq=False)
class Httpx2Transport(httpx2.AsyncBaseTransport):
    """Records requests and responses as sent (above TLS, below decompression), and the frames in their bodies.

    A request belongs to the place of the task that makes it; the SDK carries the sender's context here. The transport
    asks for bodies without coding (`Accept-Encoding: identity`), so that they are readable and cannot expand.
    """

    observer: Observer
    inner: httpx2.AsyncBaseTransport = field(default_factory=httpx2.AsyncHTTPTransport)

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        body, headers = await request.aread(), header_pairs(request.headers.raw)
        exchange = self.observer.begin(request.method, str(request.url), headers, body, current_place.get())
        with exchange.sending():
            response = await self.inner.handle_async_request(request)
        exchange.response(response.status_code, header_pairs(response.headers.raw))
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise TypeError("the inner transport must answer with an asynchronous stream")
        response.stream = _Stream(response.stream, response.stream.aclose, exchange)
        return response

    @override
    async def aclose(self) -> None:
        await self.inner.aclose()


class _Stream(RecordedBody, httpx2.AsyncByteStream):
    pass
