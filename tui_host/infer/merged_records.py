"""Merge the records of a story's captures in the order of time, for following, showing and exporting.

Every tap is a process of its own that writes to the database: while one runs, a record waits a moment for earlier ones of others.
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
from tui_host.infer.conversations.host_names import host_named
from tui_host.infer.stories import TapStory
from tui_host.infer.tapped_frames import client_in

WAIT_NS = 250_000_000
"""How long a record waits for earlier ones that other processes have yet to write."""
PER_PAGE = 250
"""The most records that are read, and given, at a time."""


@dataclass(slots=True, kw_only=True)
class _Capture:
    """A capture, as far as read; of a shared server without the connections that only hosts of other stories use."""

    info: SessionInfo
    other_hosts: frozenset[str]
    until: int | None
    last: Record | None = None
    is_given: bool = False
    has_more: bool = True
    reading: Iterator[Record] | None = None
    waiting: deque[tuple[int, Record]] = field(default_factory=deque[tuple[int, Record]])
    _hosts: dict[str | None, set[str]] = field(default_factory=dict[str | None, set[str]])

    def is_foreign(self, record: Record) -> bool:
        if not self.other_hosts:
            return False
        if record.direction == "out" and record.kind in {"request", "frame"} and (client := client_in(record.data)):
            self._hosts.setdefault(record.connection, set()).add(host_named(client))
        hosts = self._hosts.get(record.connection)
        return bool(hosts) and hosts <= self.other_hosts


class MergedRecords:
    """Gives each record of a story's captures once, without links, up to the last ones of `until`.

    `is_wrong` says that what was given is out of order, or not of this story. Only `is_waiting` may be used by several threads.
    """

    def __init__(self, store: Store, clock: WallClock, until: Mapping[str, Record] | None = None) -> None:
        self.is_wrong = False
        self._store = store
        self._clock = clock
        self._until = until
        self._captures: dict[str, _Capture] = {}
        self._frame_ns = 0  # the time of the last frame that was given

    @property
    def is_waiting(self) -> bool:
        """Whether some records were read and not given yet."""
        return any(capture.waiting for capture in list(self._captures.values()))

    @property
    def is_read(self) -> bool:
        """Whether all records written before the last call of `look_again` were read."""
        return not any(capture.has_more for capture in self._captures.values())

    @property
    def last(self) -> Mapping[str, Record]:
        """The last record of each capture that was read, in the order in which the captures began."""
        read = sorted(self._captures.items())
        return {name: capture.last for name, capture in read if capture.last is not None}

    @property
    def running(self) -> frozenset[str]:
        """The captures that still grow."""
        return frozenset(name for name, capture in self._captures.items() if capture.info.live)

    def look_again(self) -> None:
        """Look for new records in every capture."""
        for capture in self._captures.values():
            capture.has_more = True

    def take(self, story: TapStory | None) -> None:
        """Set the story whose captures are read; None for one that was deleted."""
        before, self._captures = self._captures, {}
        for tap in () if story is None else story.taps:
            other_hosts = frozenset[str]() if story is None else story.other_hosts.get(tap.id, frozenset())
            for name in self._store.sessions.captures(tap.id) or [tap.id]:
                if self._until is not None and name not in self._until:
                    continue
                until = None if self._until is None else self._until[name].seq
                capture = before.get(name) or _Capture(info=tap, other_hosts=other_hosts, until=until)
                capture.info = tap
                self.is_wrong |= capture.is_given and capture.other_hosts != other_hosts
                self._captures[name] = capture
        self.is_wrong |= any(capture.is_given for name, capture in before.items() if name not in self._captures)

    def all(self, story: TapStory) -> Iterator[Record]:
        """Give the records that a story has by now."""
        self.take(story)
        while page := list(self.ready(waits=False)):
            yield from page

    def ready(self, *, waits: bool = True) -> Iterator[Record]:
        """Give the next records in the order of time, a page at most."""
        now_ns = time.time_ns()
        for name, capture in self._captures.items():
            self._fill(name, capture)
        for _ in range(PER_PAGE):
            waiting = [(capture.waiting[0][0], name) for name, capture in self._captures.items() if capture.waiting]
            if not waiting:
                return
            at_ns, name = min(waiting)
            are_there = all(capture.waiting or not capture.info.live for capture in self._captures.values())
            if waits and not are_there and at_ns > now_ns - WAIT_NS:
                return
            first = self._captures[name]
            first.is_given = True
            record = first.waiting.popleft()[1]
            self.is_wrong |= self._is_late(record, at_ns)
            yield record
            if not first.waiting:
                self._fill(name, first)

    def _is_late(self, record: Record, at_ns: int) -> bool:
        """Return whether a record of a model's exchange comes after a later frame, perhaps of the exchange's own turn.

        This happens where a tap joins a story late, or where a process is slow to write.
        """
        if record.kind == "frame":
            self._frame_ns = max(self._frame_ns, at_ns)
        return record.wire == "llm" and record.kind != "chunk" and at_ns < self._frame_ns

    def _fill(self, name: str, capture: _Capture) -> None:
        while capture.has_more and not capture.waiting:
            if capture.reading is None:
                after = 0 if capture.last is None else capture.last.seq
                capture.reading = self._store.records(capture=name, after=after, until_seq=capture.until)
            try:
                records = list(islice(capture.reading, PER_PAGE))
            except StoreError:
                capture.reading = None  # a generator that has raised would give no more
                raise
            if not records:
                capture.reading, capture.has_more = None, False
                return
            capture.last = records[-1]
            capture.waiting.extend(
                (self._clock.at_ns(record), record)
                for record in records
                if record.kind != "link" and not capture.is_foreign(record)
            )
