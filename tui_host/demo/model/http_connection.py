"""Serves HTTP/1.1 on a connection, with h11 for the framing."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import anyio
import anyio.abc
import h11

_READ = 256 * 1024
_Headers = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A complete request.

    Attributes:
        path: The path, without the query.
        query: The text after the question mark, as sent.
        headers: The headers, by name in lower case.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""


class ConnectionEnded(Exception):  # noqa: N818 - it is how a connection ends
    """The client has closed the connection, or the connection broke."""


class Exchange:
    """A request with its response, sent whole or streamed.

    Attributes:
        request: The request to answer.
        headers: Further headers for the response; fill in before it begins.
    """

    def __init__(self, request: Request, link: _Link) -> None:
        self.request = request
        self.headers: _Headers = []
        self._link = link

    async def reply(self, status: int, content_type: str, body: bytes) -> None:
        """Send a whole response."""
        await self.begin(status, content_type, size=len(body))
        if self.request.method != "HEAD":
            await self.write(body)
        await self.end()

    async def begin(self, status: int, content_type: str, *, size: int | None = None) -> None:
        """Send the head of a response. Without the body's `size` in bytes, the body is chunked."""
        fields = [("content-type", content_type), *self.headers]
        if size is not None:
            fields.append(("content-length", str(size)))
        await self._link.send(h11.Response(status_code=status, headers=fields))

    async def write(self, data: bytes) -> None:
        """Send a piece of the body at once."""
        if data:
            await self._link.send(h11.Data(data=data))

    async def end(self) -> None:
        """End the body; the connection stays open."""
        await self._link.send(h11.EndOfMessage())

    async def cut(self) -> None:
        """Close the connection at once, in the middle of the response."""
        await self._link.stream.aclose()
        raise ConnectionEnded

    async def wait_for_the_end(self) -> None:
        """Wait until the client has gone, then raise `ConnectionEnded`."""
        while True:
            await self._link.receive_bytes()


class _Link:
    """A connection with its h11 state machine."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self.stream = stream
        self.machine = h11.Connection(h11.SERVER)

    async def send(self, event: h11.Event) -> None:
        data = self.machine.send(event)
        if not data:
            return
        try:
            await self.stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise ConnectionEnded from error

    async def receive_bytes(self) -> bytes:
        try:
            return await self.stream.receive(_READ)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise ConnectionEnded from error

    async def receive(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        while True:
            event = self.machine.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self.machine.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            try:
                data = await self.receive_bytes()
            except ConnectionEnded:
                data = b""  # h11 tells an end between requests from an end within one
            self.machine.receive_data(data)

    async def request(self) -> Request | None:
        """Read the next request; None after the last one."""
        head = await self.receive()
        if not isinstance(head, h11.Request):
            return None
        body = bytearray()
        while isinstance(event := await self.receive(), h11.Data):
            body += event.data
        path, _, query = head.target.decode("ascii", "replace").partition("?")
        return Request(
            method=head.method.decode("ascii"),
            path=path,
            query=query,
            headers={name.decode("ascii"): value.decode("latin-1") for name, value in head.headers},
            body=bytes(body),
        )


async def serve_connection(stream: anyio.abc.ByteStream, handle: Callable[[Exchange], Awaitable[None]]) -> None:
    """Answer a connection's requests with `handle`; returns when either side has closed the connection."""
    async with stream:
        link = _Link(stream)
        with contextlib.suppress(ConnectionEnded, h11.RemoteProtocolError):  # the client has gone, or speaks no HTTP
            while (request := await link.request()) is not None:
                await handle(Exchange(request, link))
                if link.machine.our_state is not h11.DONE or link.machine.their_state is not h11.DONE:
                    return
                link.machine.start_next_cycle()
