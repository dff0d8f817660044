"""What relays tell the process that records beside them: a letter for each kind of thing. Imported before the first byte flows."""

from __future__ import annotations

OUT, IN, ERROR = b"o", b"i", b"e"
"""A chunk of a server's standard input, output, error."""
EXITED = b"z"
"""The server has ended: its exit code in ASCII, below 0 the signal that it was ended by."""
STARTED = b"t"
"""The relay is at work: there is a session from now on."""
REQUEST, SENT, ASKED = b"q", b"b", b"a"
"""Of an exchange: the origin, a line end and the request's head; a piece of its body; there is no more of that."""
UNREAD = b"unread"
"""With `ASKED`: the relay has refused the request by its head, and looks at no body."""
RESPONSE, ANNOUNCED, CHUNK = b"r", b"p", b"c"
"""The response's head; where messages are to be sent, as its body said; a piece of its body."""
COMPLETE, FAILED, CLOSED = b"d", b"f", b"x"
"""How an exchange ended: in order; in another way, as `capture.ending` has it; the host went."""
PIECES = frozenset((OUT, IN, ERROR, SENT, CHUNK))
"""What may be left out where there is no room for it."""


def lost(kind: bytes) -> bytes:
    """So many bytes of these pieces are not told; a number in ASCII."""
    return kind.upper()


LOST = frozenset(map(lost, PIECES))
