"""How a relay tells the process that records beside it what passed, of which exchange, when. It never waits for it.

Imported before the first byte flows: nothing here imports more than `struct` and `threading`.
"""

from __future__ import annotations

import threading
import time
from struct import Struct

from tui_host.tap.report_kinds import PIECES, lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from tui_host.tap.recording.journal import Journal

    Item: TypeAlias = tuple[bytes, int, int, bytes]

BYE = b"bye\n"
"""On the lifeline, after the server's group: the relay ends in order."""
TAKEN = b"\0\n"
"""Among the notices: all that was told has been read, and the relay has something to do now."""
HEARD = b"\2\n"
"""Among the notices: `BYE` was heard by one who was not killed before it."""
HOPEFUL, DOUBTFUL = b"\1\n", b"\3\n"
"""Among the notices: nothing stands against recording, as far as that can be seen, and nobody need wait for more; or something does now."""

_HEAD = Struct("<cQII")
_IN_FILE = 1 << 30
"""Bytes that wait in the file, at most: pieces that come then are counted, and not recorded."""


def head(kind: bytes, number: int, mono_ns: int, size: int) -> bytes:
    """What stands before an item's data: its kind, the monotonic clock, how many bytes follow, its exchange."""
    return _HEAD.pack(kind, mono_ns, size, number)


def taken_from(data: bytearray) -> Sequence[Item]:
    """The whole items at the beginning of the bytes, which are then taken away: kind, exchange, monotonic clock, data."""
    items: list[Item] = []
    at, whole = 0, len(data)
    with memoryview(data) as view:
        while whole - at >= _HEAD.size:
            kind, mono_ns, size, number = _HEAD.unpack_from(view, at)
            start = at + _HEAD.size
            end = start + size
            if whole < end:
                break
            items.append((kind, number, mono_ns, bytes(view[start:end])))
            at = end
    del data[:at]
    return items


class Telling:
    """Tells what passed, in the order of `passed`, whichever thread calls it.

    Args:
        journal: Where it is told.
        soon: Has something done after what is being done, in the one thread that calls this; None where there are several.
    """

    def __init__(self, journal: Journal, soon: Callable[[Callable[[], None]], object] | None = None) -> None:
        self._journal = journal
        self._put = journal.add
        self._soon = soon
        self._is_open = True
        self._turn = threading.Lock()
        self._held: dict[tuple[bytes, int], tuple[Item, int]] = {}  # with the bytes that are missing without it

    def passed(self, kind: bytes, data: bytes, number: int = 0, at_ns: int | None = None) -> None:
        """Put it where nothing overtakes it, and where it outlives this process: before the other side has it, so that none has what is lost.

        Args:
            kind: What it is.
            data: The bytes.
            number: Of which exchange it is, where there are several.
            at_ns: When it happened, on the monotonic clock, if not just now.
        """
        mono_ns = time.monotonic_ns() if at_ns is None else at_ns
        start = head(kind, number, mono_ns, len(data))
        with self._turn:
            if self._is_open and (self._held or not self._put(start, data)):
                self._add_later(start, (kind, number, mono_ns, data))

    def go(self) -> None:
        """See that somebody looks at it; while there is much, he does so by himself. Never waits."""
        if not self._journal.is_awaited:
            return
        if self._soon is None:
            self._ring()
        else:
            self._soon(self._ring)

    def taken(self) -> None:
        """All that was told has been read. Called in a thread that may wait."""
        self._journal.empty_file()
        with self._turn:
            if self._is_open:
                self._add_held(None)
        self._ring()

    def close(self) -> None:
        """Nothing follows."""
        with self._turn:
            if self._is_open:
                self._add_held(None)
                self._is_open = False
                self._journal.close()

    def begin_anew(self) -> None:
        """Another process is about to be forked that reads: the one that read is no more.

        Raises:
            OSError: Too many files are open.
        """
        with self._turn:
            self._journal.begin_anew()

    def fork(self) -> int:
        """As `os.fork`: what passes from now on the child tells, and nobody else.

        Raises:
            OSError: There can be no other process.
        """
        with self._turn:
            child = self._journal.fork()
            self._is_open = self._is_open and not child
        return child

    def _add_later(self, start: bytes, item: Item) -> None:
        """Add it behind all that found no room in memory; what finds none at all is held."""
        kind, _, _, data = item
        limit = _IN_FILE if kind in PIECES else None
        if (self._held and not self._add_held(limit)) or not self._add(start, data, limit):
            self._hold(item)

    def _add(self, start: bytes, data: bytes, limit: int | None) -> bool:
        return self._journal.add(start, data) or self._journal.add_to_file(start, data, limit)

    def _add_held(self, limit: int | None) -> bool:
        """Add what found no room; False if some of it finds none again."""
        for key, ((kind, number, mono_ns, data), missing) in list(self._held.items()):
            if not self._add(head(kind, number, mono_ns, len(data)), data, limit):
                return False
            del self._held[key]
            self._journal.held -= missing
        return True

    def _hold(self, item: Item) -> None:
        """Keep it for later, but of a piece alone how large it is."""
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
        with self._turn:
            if self._is_open:
                self._journal.ring()
