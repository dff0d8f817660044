"""Merge the records of several captures in the order of time while taps go on recording.

Every tap is a process of its own that writes to the database: a new record waits a moment for earlier ones from other taps.
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
from tui_host.infer.tapped_frames import client_in

WAIT_NS = 250_000_000
"""How long a record waits for earlier ones that other processes have yet to write."""
PER_PAGE = 250
"""The most records that are read, and given, at a time."""


class OtherHosts:
    """Recognises records of other stories' hosts on a shared server.

    Args:
        hosts: The names of those hosts; none if the server is not shared.
    """

    def __init__(self, hosts: frozenset[str] = frozenset()) -> None:
        self._others = hosts
        self._hosts: dict[str | None, set[str]] = {}

    def have(self, record: Record) -> bool:
        """Whether the capture's next record is on a connection used only by hosts of other stories."""
        if not self._others:
            return False
        if record.direction == "out" and record.kind in {"request", "frame"} and (client := client_in(record.data)):
            self._hosts.setdefault(record.connection, set()).add(host_named(client))
        hosts = self._hosts.get(record.connection)
        return bool(hosts) and hosts <= self._others


@dataclass(slots=True)
class _Tapped:
    """A capture, as far as read."""

    capture: str
    info: SessionInfo
    other_hosts: frozenset[str] = frozenset()
    filter: OtherHosts = field(default_factory=OtherHosts)
    seen: int = 0
    is_fed: bool = False
    reading: Iterator[Record] | None = None
    has_more: bool = True
    waiting: deque[tuple[int, Record]] = field(default_factory=deque[tuple[int, Record]])


class RecordMerging:
    """Gives each record of a story's captures once. Only `is_waiting` may be used by several threads.

    Args:
        store: Where the taps write.
        clock: The clock that all captures share.

    Attributes:
        is_wrong: What was given is out of order, or not of this story.
    """

    def __init__(self, store: Store, clock: WallClock) -> None:
        self.is_wrong = False
        self._store = store
        self._clock = clock
        self._taps: dict[str, _Tapped] = {}
        self._frame_ns = 0  # the time of the last frame that was given

    @property
    def is_waiting(self) -> bool:
        """Whether some records were read and not given yet."""
        return any(tap.waiting for tap in list(self._taps.values()))

    @property
    def is_read(self) -> bool:
        """Whether all records written before the last call of `look_again` were read."""
        return not any(tap.has_more for tap in self._taps.values())

    def look_again(self) -> None:
        """Look for new records in every capture."""
        for tap in self._taps.values():
            tap.has_more = True

    def take(self, taps: Mapping[str, SessionInfo], others: Mapping[str, frozenset[str]]) -> None:
        """Set the story's captures with their sessions, and for shared servers the hosts of other stories."""
        before = self._taps
        self._taps = {}
        for capture, info in taps.items():
            other_hosts = others.get(info.id, frozenset())
            tap = before.get(capture)
            if tap is None:
                tap = _Tapped(capture, info, other_hosts, OtherHosts(other_hosts))
            tap.info = info
            self.is_wrong |= tap.is_fed and tap.other_hosts != other_hosts
            self._taps[capture] = tap
        self.is_wrong |= any(tap.is_fed for capture, tap in before.items() if capture not in taps)

    def begins(self) -> bool:
        """Whether the first records of a silent tap have come: the records may name a different host."""
        silent = [tap for tap in self._taps.values() if not tap.seen]
        for tap in silent:
            self._fill(tap)
        return any(tap.waiting for tap in silent)

    def ready(self) -> Iterator[Record]:
        """Give the next records in the order of time, a page at most."""
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
        """Whether a record of a model's exchange comes after a later frame, perhaps of the exchange's own turn.

        This happens where a tap joins a story late, or where a process is slow to write.
        """
        if record.kind == "frame":
            self._frame_ns = max(self._frame_ns, at_ns)
        return record.wire == "llm" and record.kind != "chunk" and at_ns < self._frame_ns

    def _fill(self, tap: _Tapped) -> None:
        while tap.has_more and not tap.waiting:
            if tap.reading is None:
                tap.reading = self._store.records(capture=tap.capture, after=tap.seen)
            try:
                records = list(islice(tap.reading, PER_PAGE))
            except StoreError:
                tap.reading = None  # a generator that has raised would give no more
                raise
            if not records:
                tap.reading, tap.has_more = None, False
                return
            tap.seen = records[-1].seq
            tap.waiting.extend(
                (self._clock.at_ns(record), record)
                for record in records
                if record.kind != "link" and not tap.filter.have(record)  # links of imported stories are found anew
            )
