"""The recorder: takes drafts from taps, passes records to the store, and counts revisions for views."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tui_host.capture.record import Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.pending_records import Slot
from tui_host.capture.store.writer import BATCH
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.store.store import CaptureKind, Store

DRIFT_NS = 1_000_000
"""By how much a stamp of the wall clock may be off: so long it goes with the monotonic one, and takes next to no room on the disk."""
OVERHEAD = 700
"""Bytes that a record takes in memory in addition to its data, roughly."""

NOT_RECORDED = "nothing is kept, as you asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Limits of a recorder's memory.

    Attributes:
        window_bytes: Size of records that are also on the disk, kept for views that follow.
        unkept_bytes: Size of records while the store cannot write; beyond it the oldest bytes are dropped and counted.
        most_bytes: With what records take without their bytes; beyond it what comes is left out, and counted. None for no end.
    """

    window_bytes: int = 4 << 20
    unkept_bytes: int = 256 << 20
    most_bytes: int | None = None


MEMORY = Memory()


class Clock(Protocol):
    """The source of a recorder's times."""

    def wall_ns(self) -> int:
        """Nanoseconds since 1970, UTC."""
        ...

    def mono_ns(self) -> int:
        """Return nanoseconds of a clock that never goes back."""
        ...


class SystemClock:
    """The clocks of this machine."""

    wall_ns = staticmethod(time.time_ns)
    mono_ns = staticmethod(time.monotonic_ns)


SYSTEM = SystemClock()


class Recorder:
    """Records one capture. Callable from any thread; only `flush`, `close` and reading old records use the disk.

    Attributes:
        without: The reason to state as long as there is no store.
        fault: Why records are not stored now; empty if they are.
        revision: Grows when a record becomes visible, or when other attributes change.
        dropped: Number of records whose bytes were dropped because memory was full.
        left_out: Number of records left out because memory was full.
    """

    def __init__(
        self,
        store: Store | None,
        redactor: Redactor,
        *,
        capture: str,
        kind: CaptureKind = "app",
        clock: Clock = SYSTEM,
        memory: Memory = MEMORY,
    ) -> None:
        self.capture = capture
        self.redactor = redactor
        self.revision = 0
        self.dropped = 0
        self.left_out = 0
        self.without: str = NOT_RECORDED
        self.fault: str = NOT_RECORDED
        self._kind: CaptureKind = kind
        self._store: Store | None = None
        self._wall_ns, self._mono_ns = clock.wall_ns, clock.mono_ns
        self._began_ns = self._wall_ns()
        self._ahead_ns = 0  # the wall clock of the monotonic one
        self._memory = memory
        self._lock = threading.RLock()
        self._slots: list[Slot] = []
        self._evicted = 0  # how many records before the window
        self._freed_to = 0  # the last record of those that leave memory as soon as they are kept
        self._bytes = 0
        self._seq = self._visible = self._kept = self._shed = self._taken = 0
        self._refused = 0
        self._is_announced = False  # the store has been told that there is something to take
        self._closed = False
        self._exchanges = itertools.count(1)
        self._connections = itertools.count(1)
        if store is not None:
            self.keep_in(store)

    def keep_in(self, store: Store) -> None:
        """Store all records in this store from now on, earlier ones too. Call only if there is no store."""
        with self._lock:
            self._store = store
            self.fault = ""  # until the store says otherwise
            store.redactor = self.redactor
            store.begin_capture(self.capture, self._kind, self._began_ns)
            if self._slots:
                self._is_announced = store.put(self)

    def found_kept(self, seq: int) -> None:
        """Mark records up to this number as stored, through a replaced file's log. Call before `keep_in`."""
        with self._lock:
            self._taken = self._kept = max(self._kept, min(seq, self._seq))

    def leave(self, fault: str) -> None:
        """Continue without a store, for the given reason; the old store has been closed."""
        with self._lock:
            self._store = None
            self._is_announced = False
            self._taken = self._kept
            self.without = fault
            self.settled(self._seq, fault)

    # Recording.

    def now(self) -> int:
        """Return the monotonic clock, to pass to `append` a moment later."""
        return self._mono_ns()

    def append(self, draft: Record, at_ns: int | None = None) -> int:
        """Record a draft, after removing secrets. Never waits for the disk, and never fails.

        Returns:
            The record's number in the capture; for a record that is left out, the number of the one before.
        """
        size = len(draft.data) + OVERHEAD
        self.learn(draft)
        most = self._memory.most_bytes
        with self._lock:
            if most is not None and self._bytes + size > most and self.fault:
                self.left_out += 1
                return self._seq
            self._seq = seq = self._seq + 1
            mono_ns = self._mono_ns()
            drift_ns = self._wall_ns() - mono_ns - self._ahead_ns
            if not -DRIFT_NS < drift_ns < DRIFT_NS:
                self._ahead_ns += drift_ns
            mono_ns = mono_ns if at_ns is None else at_ns
            slot = Slot(self.capture, seq, mono_ns + self._ahead_ns, mono_ns, draft, self, self.redactor, size)
            self._slots.append(slot)
            self._bytes += size
            if self._store is None:
                self.settled(seq, self.without)
            elif not self._is_announced:
                self._is_announced = self._store.put(self)
                if not self._is_announced:
                    self.settled(seq, self._store.fault)
            elif seq - self._taken == BATCH:
                self._store.hurry()
        return seq

    def learn(self, draft: Record) -> None:
        """Remember the secrets in the head of a request, before its answer arrives."""
        if draft.kind == "request" and draft.head is not None:
            self.redactor.learn(draft.head)

    def new_exchange(self) -> str:
        """Return an id for an HTTP exchange, unique in the capture."""
        return f"x{next(self._exchanges)}"

    def new_connection(self, server: str) -> str:
        """Return an id for a connection, unique in the capture."""
        return f"{server}#{next(self._connections)}"

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all records are on disk; False if writing fails, or takes longer. Blocks."""
        store = self._store  # which another thread may leave meanwhile
        if store is None:
            return False
        try:
            store.run(lambda _: None, timeout)
        except StoreError:
            return False
        return not self.unkept

    def close(self, timeout: float = 5.0) -> bool:
        """End the capture; the result is as for `flush`. Blocks."""
        store = self._store
        if store is not None and not self._closed:
            store.end_capture(self.capture, self._wall_ns())
        self._closed = True
        return self.flush(timeout)

    # Reading.

    @property
    def last(self) -> int:
        """The number of the last visible record."""
        return self._visible

    @property
    def reached(self) -> int:
        """The number of the last record, visible or not."""
        return self._seq

    @property
    def left(self) -> int:
        """The number of records not on disk: being written, or waiting in memory."""
        return self._seq - self._kept

    @property
    def waiting(self) -> int:
        """The number of visible records that wait in memory."""
        return self._visible - self._kept

    @property
    def unkept(self) -> int:
        """The number of visible records that exist only in memory: waiting, or impossible to store."""
        return self.waiting + self._refused

    def since(self, seq: int, *, limit: int = 5000) -> Sequence[Record]:
        """Return the visible records with greater numbers, in order.

        Raises:
            StoreError: The records are no longer in memory, and the database cannot be read.
        """
        with self._lock:
            visible = self._visible
            if seq >= self._evicted:
                start = seq - self._evicted
                stop = min(start + limit, visible - self._evicted)
                return [slot.record for slot in self._slots[start:stop]]
        if self._store is None:
            return []
        return list(self._store.records(capture=self.capture, after=seq, until_seq=visible, limit=limit))

    def held_data(self, seqs: Iterable[int]) -> Mapping[int, bytes]:
        """Return the bytes of those visible records that are in memory and have no content coding, by number."""
        with self._lock:
            first, last = self._evicted, self._visible
            drafts = [(seq, self._slots[seq - 1 - first].draft) for seq in seqs if first < seq <= last]
        return {seq: draft.data for seq, draft in drafts if draft.encoding is None}

    async def follow(self, period: float = 1 / 30) -> AsyncIterator[int]:
        """Yield the revision, at once and after every change, until the recorder is closed."""
        import anyio

        seen = -1
        while True:
            is_closed = self._closed
            if self.revision != seen:
                seen = self.revision
                yield seen
            if is_closed:
                return
            await anyio.sleep(period)

    # What the writer asks and says.

    def take(self) -> list[Slot]:
        """Return the new records, in order, for the writer."""
        with self._lock:
            self._is_announced = False
            new = self._slots[self._taken - self._evicted :]
            self._taken = self._seq
        return new

    def settled(self, seq: int, fault: str) -> None:
        """Make records up to this number visible: they are on disk, or wait in memory for the given reason."""
        with self._lock:
            if seq <= self._visible and fault == self.fault and (fault or seq <= self._kept):
                return
            if fault:  # else the writer has finished them
                for slot in self._slots[max(self._visible - self._evicted, 0) : seq - self._evicted]:
                    slot.finish()
            self._visible = max(self._visible, seq)
            self.fault = fault
            if not fault:
                self._kept = max(self._kept, seq)
            self._make_room()
            self.revision += 1

    def free_window(self) -> None:
        """Drop records up to now from memory once they are on disk; views then read them from there."""
        with self._lock:
            self._freed_to = self._seq
            self._make_room()

    def refused(self) -> None:
        """Count a record that can never be stored; it stays visible as long as it is in memory."""
        with self._lock:
            self._refused += 1
            self.revision += 1

    def _make_room(self) -> None:
        window = self._memory.window_bytes if self._evicted >= self._freed_to else 0
        if self._bytes > window:
            gone = 0
            while self._bytes > window * 7 // 8 and self._evicted + gone < self._kept:  # some at once: the list moves
                self._bytes -= self._slots[gone].size
                gone += 1
            del self._slots[:gone]
            self._evicted += gone
        if self.fault:
            self._drop_bytes(self._memory.unkept_bytes)

    def _drop_bytes(self, limit: int) -> None:
        """Drop the oldest bytes that exist only in memory, until the rest fits."""
        self._shed = max(self._shed, self._kept)
        while self._bytes > limit and self._shed < self._seq:
            slot = self._slots[self._shed - self._evicted]
            self._shed += 1
            data = slot.draft.data
            if data:
                words = f"{len(data)} bytes were dropped: {self.fault}, and memory was full"
                slot.draft = replace(slot.draft, data=b"", malformed=words)
                self._bytes -= slot.size - OVERHEAD
                slot.size = OVERHEAD
                self.dropped += 1
