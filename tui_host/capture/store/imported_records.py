"""The recorder of an imported capture: its records have times of their own, and their caller waits for the disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.capture.recording import Recording, Slot
from tui_host.capture.session_summary import LOCAL_MARK
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.store.store import Store

AT_ONCE, AT_LEAST_SECONDS = 8 << 20, 0.25
"""Number of bytes to pass to the writer at once, and how long they are gathered at most: the user may be looking at them."""


def free_name(store: Store, name: str) -> str:
    """Return the name under which to keep what a file calls so: the same, with a mark and a number if it is taken. Blocks."""
    free, number = name, 1
    while store.read("SELECT 1 FROM sessions WHERE id = ? UNION SELECT 1 FROM captures WHERE id = ?", free, free):
        number += 1
        free = f"{name}{LOCAL_MARK}{number}"
    return free


class Intake(Recording):
    """Records one imported capture; blocks. While one part is written, the next is gathered: each has a processor.

    `seen` is called with each record and its time before it is handed over.
    """

    def __init__(
        self, store: Store, capture: str, redactor: Redactor, seen: Callable[[Record, int], None] = lambda _, __: None
    ) -> None:
        super().__init__(capture, redactor)
        self._store = store
        self._seen = seen
        self._last = self._bytes = 0
        self._time_ns, self._is_timed = 0, False
        self._began_ns = time.time_ns()
        self._gathered: list[Slot] = []
        self._given: list[Slot] = []
        self._due = time.monotonic() + AT_LEAST_SECONDS

    def at(self, time_ns: int | None) -> None:
        """Set the time of the records that follow. None if nothing tells it: they only have their place in the order."""
        self._is_timed = time_ns is not None
        self._time_ns = self._time_ns if time_ns is None else time_ns

    @override
    def append(self, record: Record, at_ns: int | None = None) -> int:
        """Keep a record; one of our own has a number and times, which it keeps."""
        if record.seq:
            slot = Slot(self.redactor.by_place(record), record.seq, record.time_ns, record.mono_ns)
        else:
            slot = Slot(record, self._last + 1, self._time_ns, self._time_ns if self._is_timed else None)
        record = slot.record
        if record.kind == "request" and record.head is not None:
            self.redactor.learn(record.head)
        if not self._last:  # a capture without records is none
            self._store.begin_capture(self.capture, "import", self._began_ns)
        self._last = slot.seq
        self._seen(record, slot.time_ns)
        self._gathered.append(slot)
        self._bytes += slot.size
        if self._bytes > AT_ONCE or time.monotonic() >= self._due:
            self._give()
        return self._last

    def _give(self) -> None:
        self._store.run(lambda _: None, None)  # until the records before are on the disk
        self._given, self._gathered = self._gathered, []
        self._bytes, self._due = 0, time.monotonic() + AT_LEAST_SECONDS
        if not self._store.put(self):
            raise StoreError(self._store.fault, str(self._store.path))
        self._store.hurry()

    def close(self) -> None:
        """Wait until all records are on the disk, and end the capture."""
        if self._last:
            self._give()
            self._store.run(lambda _: None, None)
            self._store.end_capture(self.capture, self._began_ns)

    @override
    def take(self) -> list[Slot]:
        given, self._given = self._given, []
        return given
