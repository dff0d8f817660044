"""Bring records with stamps from elsewhere into the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui_host.capture.redact.login_exchanges import without_credentials
from tui_host.capture.session_summary import local_name
from tui_host.capture.store.pending_records import Slot
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.store.store import Store

OVERHEAD = 700
"""Bytes that a record takes in memory besides its data, roughly."""
AT_ONCE = 8 << 20
"""Bytes that are handed to the writer at once; so many more are gathered while it writes."""
AT_LEAST_SECONDS = 0.25
"""So often what there is is handed over even so: somebody may look at it while more comes."""


def free_suffix(store: Store, session: str, captures: Iterable[str]) -> str:
    """Return a suffix to make ids new in the store; nothing for new ids. Blocks."""
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
    """Hand the records of one capture to the writer, and wait for the writer to keep memory bounded. Blocks.

    While one part is written, the next is gathered: reading and writing each have a processor.

    Attributes:
        refused_records: How many can never be kept, such as a second one of the same number.
    """

    def __init__(self, store: Store, capture: str, redactor: Redactor, now_ns: int) -> None:
        self.capture = capture
        self.refused_records = 0
        self._store = store
        self._redactor = redactor
        self._gathered: list[Slot] = []
        self._bytes = 0
        self._due = time.monotonic() + AT_LEAST_SECONDS
        self._turn = threading.Condition()  # for what is below
        self._given: list[Slot] = []
        self._given_to = self._settled_to = 0
        self._fault = ""
        self._now_ns = now_ns
        store.begin_capture(capture, "import", now_ns)

    def add(self, record: Record) -> None:
        """Take in the next record."""
        draft = without_credentials(record.draft, self._redactor.learn_value)
        if draft.kind == "request" and draft.head is not None:
            self._redactor.learn(draft.head)
        size = len(draft.data) + OVERHEAD
        stamps = self.capture, record.seq, record.time_ns, record.mono_ns
        self._gathered.append(Slot(*stamps, draft, self, self._redactor, size))
        self._bytes += size
        if self._bytes > AT_ONCE or time.monotonic() >= self._due:
            self._give()

    def flush(self) -> None:
        """Wait until all is on the disk."""
        self._give()
        self._store.run(lambda _: None, None)

    def close(self) -> None:
        """The capture has no more records."""
        self.flush()
        self._store.end_capture(self.capture, self._now_ns)

    def _give(self) -> None:
        """Hand over the gathered records, once the records before are on the disk."""
        with self._turn:
            self._turn.wait_for(lambda: self._fault or self._settled_to >= self._given_to)
            if self._fault:
                raise StoreError(self._fault, str(self._store.path))
            self._given += self._gathered
            self._given_to = self._given[-1].seq if self._given else self._given_to
        self._gathered, self._bytes, self._due = [], 0, time.monotonic() + AT_LEAST_SECONDS
        if not self._store.put(self):
            raise StoreError(self._store.fault, str(self._store.path))
        self._store.hurry()

    # What the writer asks and says.

    def take(self) -> list[Slot]:
        """Return the new records, in order."""
        with self._turn:
            given, self._given = self._given, []
        return given

    def settled(self, seq: int, fault: str) -> None:
        """Whoever waits is told."""
        with self._turn:
            self._fault = fault
            self._settled_to = self._settled_to if fault else seq
            self._turn.notify_all()

    def refused(self) -> None:
        """Count a record impossible to store."""
        self.refused_records += 1
