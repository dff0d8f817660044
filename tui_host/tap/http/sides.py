"""One end of what a relay connects: the client's connection, or the one to the upstream."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

from typing_extensions import override

UNCONNECTED_LIMIT = 256 << 10
"""Bytes that may wait for a connection that is being made; with more, the peer is not read."""
LINGER_SECONDS = 2.0
"""Seconds that a refused client may still send, so that it reads the refusal."""


class Side(asyncio.BufferedProtocol):
    """A connection that pauses its peer when it takes no more bytes, and can end in each way that a peer can tell.

    Args:
        buffer: The buffer to read into. All connections share it, since bytes are taken out at once.
        take: Called with the bytes that arrive.
        end: Called when the other end has closed its sending side; returns whether the connection is to stay.
        lost: Called when the connection has ended, with the error if it did not end in order.
    """

    def __init__(
        self,
        buffer: memoryview,
        *,
        take: Callable[[bytes], object],
        end: Callable[[], bool] = bool,
        lost: Callable[[Exception | None], None],
    ) -> None:
        self.peer: Side | None = None
        self.is_full = False  # too many bytes wait to be sent
        self.is_closed = False  # it has ended, or is not to be used any more: what still arrives is dropped
        self._buffer, self._take, self._end, self._lost = buffer, take, end, lost
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
        self._set_full(is_full=False)  # before writing: more bytes may wait than can be sent at once
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
        return self._end()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.is_closed = True
        self._lost(exc)

    @override
    def pause_writing(self) -> None:
        self._set_full(is_full=True)

    @override
    def resume_writing(self) -> None:
        self._set_full(is_full=False)

    def _set_full(self, *, is_full: bool) -> None:
        self.is_full = is_full
        if self.peer is not None:
            self.peer.pause(paused=is_full)

    # Called by the link.

    def write(self, data: bytes) -> None:
        """Send bytes, or keep them for the connection that is being made."""
        if self._transport is not None:
            self._transport.write(data)
        elif not self.is_closed:
            self._unsent += data
            if len(self._unsent) > UNCONNECTED_LIMIT:
                self._set_full(is_full=True)

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

    def close(self) -> None:
        """Close the connection when all bytes are sent."""
        self._drop_input()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._drop_input()
        if self._transport is not None:
            self._transport.abort()

    def reset(self) -> None:
        """Reset the connection, so that the other end cannot take what it has got for complete."""
        # asyncio gives only a view of the socket, with these methods; a TLS layer may have none.
        raw: object = self._transport.get_extra_info("socket") if self._transport is not None else None
        set_option: object = getattr(raw, "setsockopt", None)
        if callable(set_option):
            set_option(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a linger time of 0 seconds
        self.abort()

    def linger(self) -> None:
        """Close the connection once the other end had time to read what it was sent, although it may still be sending."""
        self.pause(paused=False)
        self.end_writing()
        self._drop_input()
        if self._transport is not None:
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.abort)

    def _drop_input(self) -> None:
        self.is_closed = True
        self._take = len
