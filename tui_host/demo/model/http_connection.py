"""HTTP/1.1 over a connection, framed by h11."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import anyio
import anyio.abc
import h11

MOST_BODY = 64 * 1024 * 1024
"""Bytes of a request's body; more is answered with 413."""

_READ = 256 * 1024
_LINGER_SECONDS = 1.0
"""How long a client whose request was refused has to end its side."""
_Headers = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, complete.

    Attributes:
        path: Without the query.
        query: The text after the question mark, as sent.
        headers: By name in lower case.
        is_too_large: Whether the body was larger than `MOST_BODY`, and was dropped.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""
    is_too_large: bool = False


class ConnectionEnded(Exception):  # noqa: N818 - it is how a connection ends
    """The connection was closed by the client, or broke."""


class Exchange:
    """A request and its response, whole or streamed.

    Attributes:
        request: What was asked.
        headers: More headers for the response; to be filled before the response begins.
    """

    def __init__(self, request: Request, link: _Link) -> None:
        self.request = request
        self.headers: _Headers = []
        self._link = link

    async def reply(self, status: int, content_type: str, body: bytes) -> None:
        """Gives the whole response."""
        await self.begin(status, content_type, size=len(body))
        if self.request.method != "HEAD":
            await self.write(body)
        await self.end()

    async def begin(self, status: int, content_type: str, *, size: int | None = None) -> None:
        """Sends the head; without the body's size in bytes the body is chunked."""
        fields = [("content-type", content_type), *self.headers]
        if size is not None:
            fields.append(("content-length", str(size)))
        await self._link.send(h11.Response(status_code=status, headers=fields))

    async def write(self, data: bytes) -> None:
        """Sends a piece of the body at once."""
        if data:
            await self._link.send(h11.Data(data=data))

    async def end(self) -> None:
        """Ends the body; the connection goes on."""
        await self._link.send(h11.EndOfMessage())

    async def cut(self) -> None:
        """End the connection at once, whatever was promised."""
        await self._link.stream.aclose()
        raise ConnectionEnded

    async def wait_for_the_end(self) -> None:
        """Never returns: raises `ConnectionEnded` when the client has gone."""
        while True:
            await self._link.receive_bytes()


class _Link:
    """A connection with its protocol machine."""

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

    async def linger(self) -> None:
        """End our side and drop later bytes: closing with unread bytes would destroy the response."""
        with (
            anyio.move_on_after(_LINGER_SECONDS),
            contextlib.suppress(anyio.BrokenResourceError),
        ):  # the client has gone
            await self.stream.send_eof()
            while True:
                await self.receive_bytes()

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
                data = b""  # h11 tells an end between requests from one within
            self.machine.receive_data(data)

    async def request(self) -> Request | None:
        """Read the next request. None after the last."""
        head = await self.receive()
        if not isinstance(head, h11.Request):
            return None
        body = bytearray()
        is_too_large = False
        while isinstance(event := await self.receive(), h11.Data):
            # Read to its end, kept or not: a client that is still writing would not see the answer.
            is_too_large = is_too_large or len(body) + len(event.data) > MOST_BODY
            if is_too_large:
                body.clear()
            else:
                body += event.data
        path, _, query = head.target.decode("ascii", "replace").partition("?")
        return Request(
            method=head.method.decode("ascii"),
            path=path,
            query=query,
            headers={name.decode("ascii"): value.decode("latin-1") for name, value in head.headers},
            body=bytes(body),
            is_too_large=is_too_large,
        )


async def serve_connection(
    stream: anyio.abc.ByteStream,
    handle: Callable[[Exchange], Awaitable[None]],
    refuse: Callable[[Exchange, int, str], Awaitable[None]],
) -> None:
    """Serve the requests on a connection until either side ends the connection.

    Args:
        stream: The connection; it is closed at the end.
        handle: Answers a request.
        refuse: Answers one that could not be read, with a status and a reason; the connection ends after it.
    """
    async with stream:
        link = _Link(stream)
        try:
            while (request := await link.request()) is not None:
                await handle(Exchange(request, link))
                if link.machine.our_state is not h11.DONE or link.machine.their_state is not h11.DONE:
                    return
                link.machine.start_next_cycle()
        except h11.RemoteProtocolError as error:
            unread = Request(method="", path="", headers={}, body=b"")
            with contextlib.suppress(ConnectionEnded, h11.LocalProtocolError):  # the client has gone
                await refuse(Exchange(unread, link), error.error_status_hint, str(error))
                await link.linger()
        except ConnectionEnded:
            return
