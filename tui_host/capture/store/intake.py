"""Records that have their stamps already, from elsewhere, on their way into the store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui_host.capture.store.names import local_name
from tui_host.capture.store.slots import Slot

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.redact import Redactor
    from tui_host.capture.store.store import Store

OVERHEAD = 700
"""Bytes that a record takes in memory besides its data, roughly."""
AT_ONCE = 16 << 20
"""Bytes that wait in memory for the disk, at most."""


def free_suffix(store: Store, session: str, captures: Iterable[str]) -> str:
    """What makes these ids new in the store: nothing where they are new. Blocks."""
    number = 1
    while True:
        taken = [
            *store.read("SELECT 1 FROM sessions WHERE id = ?", local_name(session, number)),
            *(
                row
                for name in captures
                for row in store.read("SELECT 1 FROM captures WHERE id = ?", local_name(name, number))
            ),
        ]
        if not taken:
            return local_name("", number)
        number += 1


class Intake:
    """Hands the records of one capture to the store's writer, and waits for it so that memory stays bounded. Blocks.

    Args:
        store: Where.
        capture: The capture's id, new there.
        redactor: What takes the secrets out.
        now_ns: The present: when it came here is what its age is counted from.

    Attributes:
        refused_records: How many can never be kept, such as a second one of the same number.
    """

    def __init__(self, store: Store, capture: str, redactor: Redactor, now_ns: int) -> None:
        self.capture = capture
        self.refused_records = 0
        self._store = store
        self._redactor = redactor
        self._slots: list[Slot] = []
        self._bytes = 0
        self._now_ns = now_ns
        store.begin_capture(capture, "import", now_ns)

    def add(self, record: Record) -> None:
        """Take in the next record.

        Raises:
            StoreError: It cannot be written.
        """
        draft = record.draft
        size = len(draft.data) + OVERHEAD
        stamps = self.capture, record.seq, record.time_ns, record.mono_ns
        self._slots.append(Slot(*stamps, draft, self, self._redactor, size))
        self._bytes += size
        if self._bytes > AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Wait until all is on the disk.

        Raises:
            StoreError: It cannot be.
        """
        self._bytes = 0
        self._store.put(self)
        self._store.run(lambda _: None, None)

    def close(self) -> None:
        """The capture has no more records.

        Raises:
            StoreError: They cannot be written.
        """
        self.flush()
        self._store.end_capture(self.capture, self._now_ns)

    # What the writer asks and says.

    def take(self) -> list[Slot]:
        """What is new since, in order."""
        slots, self._slots = self._slots, []
        return slots

    def settled(self, seq: int, fault: str) -> None:
        """Whoever waits in `flush` is told."""

    def refused(self) -> None:
        """One record can never be kept."""
        self.refused_records += 1
