"""The relay's end of the channel to its recorder: reports items with kind, exchange and time. Imported early.

Reporting never waits. Apart from `channel_read`, which the recorder imports late: nothing here imports more than `struct` and `threading`.
"""

from __future__ import annotations

import threading
import time
from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from tui_host.tap.recording.journal import Journal

    Item: TypeAlias = tuple[bytes, int, int, bytes]
    """Kind, exchange, monotonic clock, data."""

# Kinds of items, a letter each.
OUT, IN, ERROR = b"o", b"i", b"e"
"""A chunk of a server's standard input, output, error."""
EXITED = b"z"
"""The server has ended: its exit code in ASCII, or below 0 the signal that ended it."""
STARTED = b"t"
"""The relay is at work: a session begins."""
REQUEST, SENT, ASKED = b"q", b"b", b"a"
"""Of an exchange: the origin, a line end and the request's head; a piece of the request's body; the end of that body."""
UNREAD = b"unread"
"""With `ASKED`: the relay refused the request by its head and did not look at a body."""
RESPONSE, ANNOUNCED, CHUNK = b"r", b"p", b"c"
"""The response's head; the URL of an `endpoint` event; a piece of the response's body."""
COMPLETE, FAILED, CLOSED = b"d", b"f", b"x"
"""How an exchange ended: in order; otherwise, as `capture.http.exchange_end` writes it; by the host's going."""
PIECES = frozenset((OUT, IN, ERROR, SENT, CHUNK))
"""Kinds that may be left out without room."""


def lost(kind: bytes) -> bytes:
    """The kind for the number of left-out bytes of a piece, in ASCII."""
    return kind.upper()


LOST = frozenset(map(lost, PIECES))

BYE = b"bye\n"
"""On the lifeline: the relay ends in order, and there is no server to end."""
TAKEN = b"\0\n"
"""Among the notices: everything was read, and the relay has something to do now."""
HOPEFUL, DOUBTFUL = b"\1\n", b"\3\n"
"""Among the notices: recording works as far as can be seen, so that the relay's end need not wait for news; or recording may fail."""

_HEAD = Struct("<cQII")
_FILE_LIMIT = 1 << 30
"""Bytes that wait in the journal's file, at most; pieces beyond it are counted and not recorded."""


def head(kind: bytes, number: int, mono_ns: int, size: int) -> bytes:
    """The bytes before an item's data: kind, monotonic clock, size of the data, exchange."""
    return _HEAD.pack(kind, mono_ns, size, number)


def read_items(data: bytes) -> tuple[Sequence[Item], int]:
    """Read the whole items at the beginning of the bytes; returns the items and their size."""
    items: list[Item] = []
    at, size = 0, len(data)
    while size - at >= _HEAD.size:
        kind, mono_ns, length, number = _HEAD.unpack_from(data, at)
        start = at + _HEAD.size
        if size < start + length:
            break
        at = start + length
        items.append((kind, number, mono_ns, data[start:at]))
    return items, at


class ChannelWriter:
    """Reports items from any thread, in the order of the calls.

    Args:
        journal: Where items are written.
        call_soon: Schedules a call in the only thread that reports; None if several threads report.
    """

    def __init__(self, journal: Journal, call_soon: Callable[[Callable[[], None]], object] | None = None) -> None:
        self._journal = journal
        self._add = journal.add
        self._call_soon = call_soon
        self._is_open = True
        self._lock = threading.Lock()
        self._held: dict[tuple[bytes, int], tuple[Item, int]] = {}  # with the bytes that would be missing

    def report(self, kind: bytes, data: bytes, number: int = 0, at_ns: int | None = None) -> None:
        """Write an item where it outlives this process. Call this before the other side gets the bytes, or a killed relay loses them.

        Args:
            kind: What it is.
            data: The bytes.
            number: The exchange, where there are several.
            at_ns: When it happened, on the monotonic clock, if not just now.
        """
        mono_ns = time.monotonic_ns() if at_ns is None else at_ns
        start = head(kind, number, mono_ns, len(data))
        with self._lock:
            if self._is_open and (self._held or not self._add(start, data)):
                self._add_later(start, (kind, number, mono_ns, data))

    def notify(self) -> None:
        """Wake a waiting recorder. Never blocks."""
        if not self._journal.is_awaited:
            return
        if self._call_soon is None:
            self._ring()
        else:
            self._call_soon(self._ring)

    def make_room(self) -> None:
        """Empty the file and write held items, once the recorder has read everything. May block."""
        self._journal.empty_file()
        with self._lock:
            if self._is_open:
                self._add_held(None)
        self._ring()

    def close(self) -> None:
        """Report nothing more."""
        with self._lock:
            if self._is_open:
                self._add_held(None)
                self._is_open = False
                self._journal.close()

    def begin_anew(self) -> None:
        """Prepare for forking a new recorder after the last recorder died.

        Raises:
            OSError: Too many files are open.
        """
        with self._lock:
            self._journal.begin_anew()

    def fork(self) -> int:
        """As `os.fork`: from now on the child reports, and the parent no more.

        Raises:
            OSError: There can be no other process.
        """
        with self._lock:
            child = self._journal.fork()
            self._is_open = self._is_open and not child
        return child

    def _add_later(self, start: bytes, item: Item) -> None:
        """Add an item behind everything in the file; hold the item if no room is left."""
        kind, _, _, data = item
        limit = _FILE_LIMIT if kind in PIECES else None
        if (self._held and not self._add_held(limit)) or not self._add_anywhere(start, data, limit):
            self._hold(item)

    def _add_anywhere(self, start: bytes, data: bytes, limit: int | None) -> bool:
        return self._journal.add(start, data) or self._journal.add_to_file(start, data, limit)

    def _add_held(self, limit: int | None) -> bool:
        """Add held items; returns False if no room is left."""
        for key, ((kind, number, mono_ns, data), missing) in list(self._held.items()):
            if not self._add_anywhere(head(kind, number, mono_ns, len(data)), data, limit):
                return False
            del self._held[key]
            self._journal.held -= missing
        return True

    def _hold(self, item: Item) -> None:
        """Hold an item for later; of a piece, hold only the size."""
        kind, number, mono_ns, data = item
        missing = len(data)
        if kind in PIECES:
            self._journal.held += missing
            kind = lost(kind)
            if earlier := self._held.get((kind, number)):
                missing += earlier[1]
            data = b"%d" % missing
        else:
            missing += _HEAD.size
            self._journal.held += missing
        self._held[kind, number] = (kind, number, mono_ns, data), missing

    def _ring(self) -> None:
        with self._lock:
            if self._is_open:
                self._journal.ring()
