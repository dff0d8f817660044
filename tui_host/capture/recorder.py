"""The recorder: numbers the records of wires, passes them to the store, and counts revisions for views."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.capture.recording import OVERHEAD, Recording, Slot, redact
from tui_host.capture.store.writer import BATCH
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.store.store import CaptureKind, Store

# By how much a stamp of the wall clock may be off: so long it goes with the monotonic one, and takes next to no room on the disk.
DRIFT_NS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Limits of a recorder's memory, in bytes."""

    window_bytes: int = 4 << 20  # of records that are also on the disk, kept for views that follow
    unkept_bytes: int = 256 << 20  # of those that cannot be written: beyond it the oldest bytes are dropped


class SystemClock:
    """The clocks of this machine, in nanoseconds: since 1970, and one that never goes back."""

    wall_ns: Callable[[], int] = staticmethod(time.time_ns)
    mono_ns: Callable[[], int] = staticmethod(time.monotonic_ns)


MEMORY, SYSTEM = Memory(), SystemClock()


class Recorder(Recording):
    """Records one capture. Callable from any thread; only `flush`, `close` and reading old records use the disk."""

    def __init__(
        self,
        store: Store | None,
        redactor: Redactor,
        *,
        capture: str,
        kind: CaptureKind = "app",
        clock: SystemClock = SYSTEM,
        memory: Memory = MEMORY,
        without: str = "nothing is kept, as you asked",
    ) -> None:
        super().__init__(capture, redactor)
        self.fault: str = without  # why records are not stored now; empty if they are
        self.revision = 0  # grows when a record becomes visible, or another attribute changes
        self.last = self.reached = 0  # numbers of the last visible record, and of the last one
        self._kind: CaptureKind = kind
        self._store: Store | None = None
        self._wall_ns, self.now = clock.wall_ns, clock.mono_ns
        self._began_ns = self._wall_ns()
        self._ahead_ns = 0  # the wall clock of the monotonic one
        self._memory = memory
        self._lock = threading.RLock()
        self._slots: list[Slot] = []
        self._bytes = 0
        # Numbers of records, each the last of its kind: left memory, taken by the writer, on the disk, without bytes.
        self._evicted = self._taken = self._kept = self._shed = 0
        self._is_announced = False  # the store has been told that there is something to take
        if store is not None:
            self.keep_in(store)

    def keep_in(self, store: Store) -> None:
        """Store all records in this store from now on, earlier ones too, where there was none."""
        with self._lock:
            self._store = store
            self.fault = ""  # until the store says otherwise
            store.redactor = self.redactor
            store.begin_capture(self.capture, self._kind, self._began_ns)
            if self._slots:
                self._is_announced = store.put(self)

    @override
    def append(self, record: Record, at_ns: int | None = None) -> int:
        """Number a record, and keep it without secrets. Never waits for the disk, and never fails."""
        if record.kind == "request" and record.head is not None:
            self.redactor.learn(record.head)  # before the answer arrives, which may repeat them
        with self._lock:
            self.reached = seq = self.reached + 1
            mono_ns = self.now()
            if not self._is_announced:  # those that are written together share the distance of the clocks
                drift_ns = self._wall_ns() - mono_ns - self._ahead_ns
                if not -DRIFT_NS < drift_ns < DRIFT_NS:
                    self._ahead_ns += drift_ns
            if at_ns is not None:
                mono_ns = at_ns
            slot = Slot(record, seq, mono_ns + self._ahead_ns, mono_ns)
            self._slots.append(slot)
            self._bytes += slot.size
            if self._store is None:
                self.settled(seq, self.fault)
            elif not self._is_announced:
                self._is_announced = self._store.put(self)
                if not self._is_announced:
                    self.settled(seq, self._store.fault)
            elif seq - self._taken == BATCH:
                self._store.hurry()
        return seq

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all records are on disk; False if writing fails, or takes longer. Blocks."""
        if self._store is None:
            return False
        try:
            self._store.run(lambda _: None, timeout)
        except StoreError:
            return False
        return not self.unkept

    def close(self, timeout: float = 5.0) -> bool:
        if self._store is not None:
            self._store.end_capture(self.capture, self._wall_ns())
        return self.flush(timeout)

    @property
    def left(self) -> int:
        """The number of records not on disk: being written, or waiting in memory."""
        return self.reached - self._kept

    @property
    def unkept(self) -> int:
        """The number of visible records that exist only in memory: waiting, or impossible to store."""
        return self.last - self._kept + self.refused_records

    def since(self, seq: int, *, limit: int = 5000) -> Sequence[Record]:
        """Return the visible records with greater numbers, in order: from the database, if they have left memory."""
        with self._lock:
            last = self.last
            if seq >= self._evicted:
                start = seq - self._evicted
                slots = self._slots[start : min(start + limit, last - self._evicted)]
                return [
                    replace(slot.record, capture=self.capture, seq=slot.seq, time_ns=slot.time_ns, mono_ns=slot.mono_ns)
                    for slot in slots
                ]
        if self._store is None:
            return []
        return list(self._store.records(capture=self.capture, after=seq, until_seq=last, limit=limit))

    @override
    def take(self) -> list[Slot]:
        with self._lock:
            self._is_announced = False
            new = self._slots[self._taken - self._evicted :]
            self._taken = self.reached
        return new

    @override
    def settled(self, seq: int, fault: str) -> None:
        """Make records up to this number visible: they are on disk, or wait in memory for the given reason."""
        with self._lock:
            if seq <= self.last and fault == self.fault and (fault or seq <= self._kept):
                return
            if fault:  # else the writer has removed the secrets
                redact(self._slots[max(self.last - self._evicted, 0) : seq - self._evicted], self.redactor)
            else:
                self._kept = max(self._kept, seq)
            self.last = max(self.last, seq)
            self.fault = fault
            self.make_room(self._memory.window_bytes)
            self.revision += 1

    @override
    def refused(self) -> None:
        """Count a record that can never be stored; it stays visible as long as it is in memory."""
        with self._lock:
            self.refused_records += 1
            self.revision += 1

    def make_room(self, window_bytes: int) -> None:
        """Let records on the disk leave memory; where they cannot be written, drop the oldest bytes until the rest fits."""
        with self._lock:
            if self._bytes > window_bytes:
                gone = 0  # some go at once, since the list moves
                while self._bytes > window_bytes * 7 // 8 and self._evicted + gone < self._kept:
                    self._bytes -= self._slots[gone].size
                    gone += 1
                del self._slots[:gone]
                self._evicted += gone
            self._shed = max(self._shed, self._kept)
            while self.fault and self._bytes > self._memory.unkept_bytes and self._shed < self.reached:
                slot = self._slots[self._shed - self._evicted]
                self._shed += 1
                if slot.record.data:
                    words = f"{len(slot.record.data)} bytes were dropped: {self.fault}, and memory was full"
                    slot.record = replace(slot.record, data=b"", malformed=words)
                    self._bytes -= slot.size - OVERHEAD
                    slot.size = OVERHEAD
