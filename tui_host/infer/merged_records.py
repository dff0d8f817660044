"""Merge the records of a story's captures in the order of time, for following, showing and exporting.

Every tap is a process of its own that writes to the database: while one runs, a record waits a moment for earlier ones of others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
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
"""The most records that are given at a time."""


@dataclass(slots=True, kw_only=True)
class _Capture:
    """A capture, as far as read; of a shared server without the connections that only hosts of other stories use."""

    info: SessionInfo
    other_hosts: frozenset[str]
    last: Record | None = None  # that was read
    head: Record | None = None  # that was read and not given
    at_ns: int = 0  # the time of the head
    is_given: bool = False
    has_more: bool = True
    reading: Iterator[Record] | None = None
    hosts: dict[str | None, set[str]] = field(default_factory=dict[str | None, set[str]])

    def is_foreign(self, record: Record) -> bool:
        if not self.other_hosts:
            return False
        if record.direction == "out" and record.kind in {"request", "frame"} and (client := client_in(record.data)):
            self.hosts.setdefault(record.connection, set()).add(host_named(client))
        hosts = self.hosts.get(record.connection)
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
        return any(capture.head is not None for capture in list(self._captures.values()))

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
                if self._until is None or name in self._until:
                    capture = before.get(name) or _Capture(info=tap, other_hosts=other_hosts)
                    capture.info = tap
                    self.is_wrong |= capture.is_given and capture.other_hosts != other_hosts
                    self._captures[name] = capture
        self.is_wrong |= any(capture.is_given for name, capture in before.items() if name not in self._captures)

    def all(self, story: TapStory) -> Iterator[Record]:
        """Give the records that a story has by now."""
        self.take(story)
        yield from self._given(waits=False)

    def ready(self) -> Sequence[Record]:
        """Return the next records in the order of time, a page at most. Raises StoreError if there are none to be read."""
        records: list[Record] = []
        try:
            for record in islice(self._given(waits=True), PER_PAGE):
                records.append(record)  # noqa: PERF402 - what was read before an error is given all the same
        except StoreError:
            if not records:
                raise
        return records

    def _given(self, *, waits: bool) -> Iterator[Record]:
        now_ns = time.time_ns()
        for name, capture in self._captures.items():
            self._fill(name, capture)
        while heads := [(own.at_ns, name, own.head) for name, own in self._captures.items() if own.head is not None]:
            at_ns, name, record = min(heads)
            is_open = any(capture.head is None and capture.info.live for capture in self._captures.values())
            if waits and is_open and at_ns > now_ns - WAIT_NS:
                return
            capture = self._captures[name]
            capture.head, capture.is_given = None, True
            if record.kind == "frame":
                self._frame_ns = max(self._frame_ns, at_ns)
            # A tap joined late, or was slow to write: the frame may be of this exchange's own turn.
            self.is_wrong |= record.wire == "llm" and record.kind != "chunk" and at_ns < self._frame_ns
            yield record
            self._fill(name, capture)

    def _fill(self, name: str, capture: _Capture) -> None:
        """Read on until there is a record to give."""
        while capture.has_more and capture.head is None:
            if capture.reading is None:
                after = 0 if capture.last is None else capture.last.seq
                until = None if self._until is None else self._until[name].seq
                capture.reading = self._store.records(capture=name, after=after, until_seq=until)
            try:
                record = next(capture.reading, None)
            except StoreError:
                capture.reading = None  # a generator that has raised would give no more
                raise
            if record is None:
                capture.reading, capture.has_more = None, False
                return
            capture.last = record
            if record.kind != "link" and not capture.is_foreign(record):
                capture.head, capture.at_ns = record, self._clock.at_ns(record)
