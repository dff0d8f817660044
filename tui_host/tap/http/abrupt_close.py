"""Ending connections so that the peer learns the reason."""

from __future__ import annotations

import asyncio
import socket
import struct

_AT_ONCE = struct.pack("ii", 1, 0)


def break_off(transport: asyncio.Transport, *, with_reset: bool) -> None:
    """End a connection in the middle of something.

    Args:
        transport: The connection.
        with_reset: As one that broke, with what was not sent thrown away; else as one that was closed too early.
    """
    if not with_reset:
        transport.close()
        return
    # asyncio gives no socket but a view of it, which offers this much; a Unix socket or a TLS layer may have none.
    raw: object = transport.get_extra_info("socket")
    set_option: object = getattr(raw, "setsockopt", None)
    if callable(set_option):
        set_option(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()


def end_writing(transport: asyncio.Transport) -> bool:
    """Half-close a connection for writing; returns False for a connection without half-close."""
    if not transport.can_write_eof():
        return False
    try:
        transport.write_eof()
    except OSError:  # nobody is there any more, which asyncio is about to notice
        transport.abort()
    return True
