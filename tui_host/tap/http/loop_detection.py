"""Taps that lead to each other: found by where a connection comes from, since nothing is added to what passes.

A tap that is busy connects to this machine from an address of its own in 127.0.0.0/8, which reports the next tap, if it is one, through
how many the connection has come. What leads to no tap passes few of them, and nobody else looks at which address of its own machine
a connection comes from. Only Linux has all of these addresses; elsewhere a round ends where there are no more ports.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tui_host.tap.message_heads import HeadError

BUSY = 64
"""Connections at a time from which on a tap marks those that it makes."""
LIMIT = 8
"""Taps that a marked connection may have come through."""
WORDS = "taps lead to each other, and what was asked for goes round between them: give one of them the real upstream"
_PREFIX = "127.84.72."


def marks_of(peer: Sequence[object] | None) -> int:
    """How many taps have marked a connection, by its other end's address."""
    prefix, found, number = str(peer[0] if peer else "").partition(_PREFIX)
    return int(number) if found and not prefix else 0


def refuse_loops(marks: int) -> None:
    """Refuse what has gone round.

    Raises:
        HeadError: It has come through more taps than anybody wants.
    """
    if marks > LIMIT:
        raise HeadError(508, WORDS)


def marked_source(before: int, connections: int) -> str | None:
    """The address to connect from, None for any.

    Args:
        before: How many taps have marked what comes.
        connections: How many there are.
    """
    if sys.platform != "linux" or (not before and connections < BUSY):
        return None
    return f"{_PREFIX}{before + 1}"
