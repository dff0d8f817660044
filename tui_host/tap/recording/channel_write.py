"""The relay's end of the channel to its recorder: reports items with kind, exchange and time. Imported early.

Reporting never waits. Imports only `struct` and `threading`; the recorder imports `channel_read` late.
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
    """An item: kind, number of the exchange, monotonic clock, data."""

# Kinds of items, one letter each.
OUT, IN, ERROR = b"o", b"i", b"e"
"""Kinds of a chunk of a server's standard input, output and error."""
EXITED = b"z"
"""Kind of the item about the server's end: its exit code in ASCII, or, if negative, the signal that ended it."""
STARTED = b"t"
"""Kind of the item that begins a session: the relay is running."""
REQUEST, SENT, ASKED = b"q", b"b", b"a"
"""Kinds of a request: origin, line end and head; a piece of its body; the end of its body."""
UNREAD = b"unread"
"""Data of `ASKED` if the relay refused the request by its head and did not read its body."""
RESPONSE, ANNOUNCED, CHUNK = b"r", b"p", b"c"
"""Kinds of a response: its head; the URL of an `endpoint` event; a piece of its body."""
COMPLETE, FAILED, CLOSED = b"d", b"f", b"x"
"""Kinds of an exchange's end: complete; failed, in the form of `capture.http.exchange_end`; closed by the host."""
PIECES = frozenset((OUT, IN, ERROR, SENT, CHUNK))
"""Kinds that may be left out if there is no room."""


def lost(kind: bytes) -> bytes:
    """Return the kind of an item that gives, in ASCII, how many bytes of a piece were left out."""
    return kind.upper()


LOST = frozenset(map(lost, PIECES))

BYE = b"bye\n"
"""Sent on the lifeline: the relay ends in order, and no server has to be ended."""
TAKEN = b"\0\n"
"""A notice: everything was read, and the relay has work to do now."""
HOPEFUL, DOUBTFUL = b"\1\n", b"\3\n"
"""Notices: recording seems to work, so the relay's end need not wait for news; or recording may fail."""

_HEAD = Struct("<cQII")
_FILE_LIMIT = 1 << 30
"""Largest size of the journal's file, in bytes; further pieces are counted and not recorded."""


def head(kind: bytes, number: int, mono_ns: int, size: int) -> bytes:
    """Return the bytes before an item's data: kind, monotonic clock, size of the data, exchange."""
    return _HEAD.pack(kind, mono_ns, size, number)


def read_items(data: bytes) -> tuple[Sequence[Item], int]:
    """Parse the whole items at the beginning of the bytes; returns the items and their size in bytes."""
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
        journal: The journal to write items to.
        call_soon: Schedules a call in the only thread that reports; None if several threads report.
    """

    def __init__(self, journal: Journal, call_soon: Callable[[Callable[[], None]], object] | None = None) -> None:
        self._journal = journal
        self._add = journal.add
        self._call_soon = call_soon
        self._is_open = True
        self._lock = threading.Lock()
        self._held: dict[tuple[bytes, int], tuple[Item, int]] = {}  # with the number of bytes it stands for

    def report(self, kind: bytes, data: bytes, number: int = 0, at_ns: int | None = None) -> None:
        """Write an item to the journal, which outlives this process. Call before passing the bytes on.

        Args:
            kind: The kind of the item.
            data: The item's data.
            number: Number of the exchange, for a relay with exchanges.
            at_ns: Time on the monotonic clock; None for the current time.
        """
        mono_ns = time.monotonic_ns() if at_ns is None else at_ns
        start = head(kind, number, mono_ns, len(data))
        with self._lock:
            if self._is_open and (self._held or not self._add(start, data)):
                self._add_later(start, (kind, number, mono_ns, data))

    def notify(self) -> None:
        """Wake the recorder if it waits. Never blocks."""
        if not self._journal.is_awaited:
            return
        if self._call_soon is None:
            self._ring()
        else:
            self._call_soon(self._ring)

    def make_room(self) -> None:
        """Empty the file and write the items held back, once the recorder has read everything. May block."""
        self._journal.empty_file()
        with self._lock:
            if self._is_open:
                self._add_held(None)
        self._ring()

    def close(self) -> None:
        """Close the channel: nothing more is reported."""
        with self._lock:
            if self._is_open:
                self._add_held(None)
                self._is_open = False
                self._journal.close()

    def begin_anew(self) -> None:
        """Prepare to fork a new recorder after the last one died.

        Raises:
            OSError: Too many files are open.
        """
        with self._lock:
            self._journal.begin_anew()

    def _add_later(self, start: bytes, item: Item) -> None:
        """Write an item after everything in the file; hold the item back if there is no room."""
        kind, _, _, data = item
        limit = _FILE_LIMIT if kind in PIECES else None
        if (self._held and not self._add_held(limit)) or not self._add_anywhere(start, data, limit):
            self._hold(item)

    def _add_anywhere(self, start: bytes, data: bytes, limit: int | None) -> bool:
        return self._journal.add(start, data) or self._journal.add_to_file(start, data, limit)

    def _add_held(self, limit: int | None) -> bool:
        """Write the items held back; returns False if there is no room."""
        for key, ((kind, number, mono_ns, data), missing) in list(self._held.items()):
            if not self._add_anywhere(head(kind, number, mono_ns, len(data)), data, limit):
                return False
            del self._held[key]
            self._journal.held -= missing
        return True

    def _hold(self, item: Item) -> None:
        """Hold an item back for later; of a piece, only its size."""
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
