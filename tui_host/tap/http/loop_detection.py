"""Detects taps that lead to each other, by the address of a connection, without adding a byte to the traffic.

A busy tap connects to servers on this machine from 127.84.72.N, where N counts the taps that marked the connection so.
Only Linux has all of these addresses; on other systems a loop ends when no ports are left.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tui_host.tap.message_heads import HeadError

BUSY = 64
"""Number of connections from which a tap marks its connections to the upstream. Below it, nothing changes."""
LIMIT = 8
"""Number of marks from which requests are refused."""
_PREFIX = "127.84.72."


def marks_of(peername: Sequence[object] | None) -> int:
    """Return how many taps have marked a connection, read from the address of its other end."""
    prefix, mark, number = str(peername[0] if peername else "").partition(_PREFIX)
    return int(number) if mark and not prefix else 0


def refuse_loop(marks: int) -> None:
    """Refuse a request that has passed through a loop of taps.

    Raises:
        HeadError: The request has passed through too many taps.
    """
    if marks > LIMIT:
        raise HeadError(508, "taps lead to each other in a ring: give one of them the real upstream")


def marked_source(marks: int, connections: int) -> str | None:
    """Return the address to connect from, None for any address.

    Args:
        marks: Number of taps that have marked the client's connection.
        connections: Number of clients that the tap has.
    """
    is_marked = sys.platform == "linux" and (marks > 0 or connections >= BUSY)
    return f"{_PREFIX}{marks + 1}" if is_marked else None
