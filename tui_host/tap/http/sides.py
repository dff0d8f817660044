"""One end of what a relay connects: the client's connection, or the one to the upstream."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Literal

from typing_extensions import override

UNCONNECTED_LIMIT = 256 << 10  # bytes that may wait for a connection being made; with more, the peer is not read
LINGER_SECONDS = 2.0  # in which a refused client may still send, so that it reads the refusal


class Side(asyncio.BufferedProtocol):
    """A connection that pauses its peer when it takes no more bytes, and can end in each way that a peer can tell.

    `take` gets what arrives. `ended` returns whether the connection is to stay when the other end has closed its sending
    side; `lost` is called when it has ended, with the error if it did not end in order.
    """

    def __init__(
        self,
        buffer: memoryview,
        *,
        take: Callable[[bytes], object],
        ended: Callable[[], bool] = bool,
        lost: Callable[[Exception | None], None],
    ) -> None:
        self.peer: Side | None = None
        self.is_full = False  # too many bytes wait to be sent
        self.is_closed = False  # it has ended, or is not to be used any more: what still arrives is dropped
        self._buffer = buffer  # all connections share it, since bytes are taken out at once
        self._take, self._ended, self._lost = take, ended, lost
        self._transport: asyncio.Transport | None = None
        self._unsent = bytearray()
        self._is_paused = self._has_no_more = False

    # Called by asyncio.

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a transport that cannot be read and written")
        if self.is_closed:
            transport.abort()
            return
        self._transport = transport
        self.resume_writing()  # before writing: more bytes may wait than can be sent at once
        transport.write(bytes(self._unsent))
        self._unsent.clear()
        if self._has_no_more:
            self.end_writing()

    @override
    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    @override
    def buffer_updated(self, nbytes: int) -> None:
        self._take(bytes(self._buffer[:nbytes]))

    @override
    def eof_received(self) -> bool:
        return self._ended()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.is_closed = True
        self._lost(exc)

    @override
    def pause_writing(self) -> None:
        self.is_full = True
        if self.peer is not None:
            self.peer.pause(paused=True)

    @override
    def resume_writing(self) -> None:
        self.is_full = False
        if self.peer is not None:
            self.peer.pause(paused=False)

    # Called by the link.

    def write(self, data: bytes) -> None:
        """Send bytes, or keep them for the connection that is being made."""
        if self._transport is not None:
            self._transport.write(data)
        elif not self.is_closed:
            self._unsent += data
            if len(self._unsent) > UNCONNECTED_LIMIT:
                self.pause_writing()

    def pause(self, *, paused: bool) -> None:
        """Stop or resume reading."""
        if self._transport is not None and paused != self._is_paused:
            self._is_paused = paused
            change = self._transport.pause_reading if paused else self._transport.resume_reading
            change()

    def end_writing(self) -> None:
        """Close the sending side."""
        self._has_no_more = True
        if self._transport is not None and self._transport.can_write_eof():
            try:
                self._transport.write_eof()
            except OSError:  # the connection has gone, as asyncio will soon notice
                self._transport.abort()

    def end(self, how: Literal["close", "linger", "abort", "reset"]) -> None:
        """End the connection, and take no more of what arrives.

        `close` once all is sent, `linger` once the other end had time to read it although it may still be sending, `abort`
        at once, `reset` so that the other end cannot take what it has got for complete.
        """
        self.is_closed, self._take = True, len
        transport = self._transport
        if transport is None:
            return
        if how == "close":
            transport.close()
        elif how == "linger":
            self.pause(paused=False)
            self.end_writing()
            asyncio.get_running_loop().call_later(LINGER_SECONDS, transport.abort)
        else:
            # asyncio gives only a view of the socket, with these methods; a TLS layer may have none.
            raw: object = transport.get_extra_info("socket")
            set_option: object = getattr(raw, "setsockopt", None)
            if how == "reset" and callable(set_option):
                set_option(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # for no seconds
            transport.abort()
