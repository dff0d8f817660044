"""Puts the records of several captures in the order of time while taps go on writing them.

Every tap is a process of its own that writes to the database: what has just come waits a moment for what the others have yet to write.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from tui_host.capture.record import Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.capture.wall_clock import WallClock
from tui_host.errors import StoreError

WAIT_NS = 250_000_000
"""So long a record waits for what another process has yet to write of the time before it."""
PER_PAGE = 250
"""Records that are read, and given, at a time."""


@dataclass(slots=True)
class _Tapped:
    """One tap's capture, as far as it was read."""

    capture: str
    info: SessionInfo
    seen: int = 0
    is_fed: bool = False
    reading: Iterator[Record] | None = None
    has_more: bool = True
    waiting: deque[tuple[int, Record]] = field(default_factory=deque[tuple[int, Record]])


class Merging:
    """The records of a story's captures, each once. For one thread; another may ask whether it is waiting.

    Args:
        store: Where the taps write.
        clock: The one that all captures share.

    Attributes:
        is_wrong: What was given is not the story, or not in its order: something belongs before it, or some of it to another host.
    """

    def __init__(self, store: Store, clock: WallClock) -> None:
        self.is_wrong = False
        self._store = store
        self._clock = clock
        self._taps: dict[str, _Tapped] = {}
        self._sent_ns = 0  # when the last frame passed that was given

    @property
    def is_waiting(self) -> bool:
        """Whether something was read that is not given yet."""
        return any(tap.waiting for tap in list(self._taps.values()))

    @property
    def is_read(self) -> bool:
        """Whether all was read that had been written when it was last said that there is more."""
        return not any(tap.has_more for tap in self._taps.values())

    def look_again(self) -> None:
        """Something was written: look for it in every capture."""
        for tap in self._taps.values():
            tap.has_more = True

    def take(self, taps: Mapping[str, SessionInfo]) -> None:
        """The story's captures by now, with their sessions. What was given of one that is left out is wrong."""
        known = self._taps
        self.is_wrong |= any(tap.is_fed for capture, tap in known.items() if capture not in taps)
        self._taps = {capture: known.get(capture) or _Tapped(capture, info) for capture, info in taps.items()}
        for capture, info in taps.items():
            self._taps[capture].info = info

    def begins(self) -> bool:
        """Whether the first records of a tap have come that was silent: they may say that it is another host's."""
        silent = [tap for tap in self._taps.values() if not tap.seen]
        for tap in silent:
            self._fill(tap)
        return any(tap.waiting for tap in silent)

    def ready(self) -> Iterator[Record]:
        """The next records in the order of time, a page at most."""
        now_ns = time.time_ns()
        for tap in self._taps.values():
            self._fill(tap)
        for _ in range(PER_PAGE):
            first = min(
                (tap for tap in self._taps.values() if tap.waiting), key=lambda tap: tap.waiting[0][0], default=None
            )
            if first is None:
                return
            at_ns = first.waiting[0][0]
            is_alone = all(tap.waiting or not tap.info.live for tap in self._taps.values())
            if not is_alone and at_ns > now_ns - WAIT_NS:
                return
            first.is_fed = True
            record = first.waiting.popleft()[1]
            self.is_wrong |= self._is_late(record, at_ns)
            yield record
            if not first.waiting:
                self._fill(first)

    def _is_late(self, record: Record, at_ns: int) -> bool:
        """Whether a record that says what a model was asked, or asked for, comes behind a frame that may be of that turn.

        It does where a tap was started under a story, and found only then, or where a process got to the disk late.
        """
        if record.draft.kind == "frame":
            self._sent_ns = max(self._sent_ns, at_ns)
        return record.draft.wire == "llm" and record.draft.kind != "chunk" and at_ns < self._sent_ns

    def _fill(self, tap: _Tapped) -> None:
        while tap.has_more and not tap.waiting:
            if tap.reading is None:
                tap.reading = self._store.records(capture=tap.capture, after=tap.seen)
            try:
                records = list(islice(tap.reading, PER_PAGE))
            except StoreError:
                tap.reading = None  # it has ended with this, and would say that there is no more
                raise
            if not records:
                tap.reading, tap.has_more = None, False
                return
            tap.seen = records[-1].seq
            tap.waiting.extend(
                (self._clock.at_ns(record), record)
                for record in records
                if record.draft.kind != "link"  # as a story has them that was brought here: they are found anew
            )
