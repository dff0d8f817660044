"""Stores records that already have numbers and times."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tui_host.capture.session_summary import local_name
from tui_host.capture.store.deletion import in_transaction
from tui_host.capture.store.pending_records import Slot
from tui_host.capture.store.schema import SEQ_BITS
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.record import Place, Record
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.store.store import Store

OVERHEAD = 700
"""Bytes that a record takes in memory in addition to its data, roughly."""
AT_ONCE = 8 << 20
"""Number of bytes to pass to the writer at once."""
AT_LEAST_SECONDS = 0.25
"""Longest time until gathered records are passed on: the user may be looking at them."""


_PLACE_OF = "SELECT place, wire FROM records JOIN places ON places.key = place WHERE records.key = ?"
_ALL_OF_PLACE = "UPDATE places SET turn = ?, step = ? WHERE key = ?"
_PLACE_LIKE = """
    INSERT INTO places (capture, wire, peer, session, turn, step, call, connection, exchange)
    SELECT capture, wire, peer, session, ?, ?, call, connection, exchange FROM places WHERE key = ?
"""
_TURNS = f"""
    SELECT captures.id, records.key & {(1 << SEQ_BITS) - 1}, turn, step
    FROM places JOIN records ON records.place = places.key JOIN captures ON captures.key = places.capture
    WHERE session = ? AND turn IS NOT NULL ORDER BY records.key
"""  # noqa: S608 - a constant alone
_MOVE = "UPDATE records SET place = ? WHERE key = ?"


def free_suffix(store: Store, session: str, captures: Iterable[str]) -> str:
    """Return a suffix that makes ids unique in the store; empty if they already are. Blocks."""
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


def put_into_turns(store: Store, capture: str, places: Mapping[int, Place]) -> None:
    """Assign stored records, by number, to turns and steps that were found later. Blocks.

    Raises:
        StoreError: The database cannot be written.
    """

    def put(connection: sqlite3.Connection) -> None:
        (start,) = connection.execute("SELECT key << ? FROM captures WHERE id = ?", (SEQ_BITS, capture)).fetchone()
        keys: dict[tuple[int | None, int | None, int], int] = {}
        for seq, place in places.items():
            row: tuple[int, str] | None = connection.execute(_PLACE_OF, (start + seq,)).fetchone()
            if row is None:
                continue  # refused, or in the row of its answer's first record
            like = place.turn, place.step, row[0]
            if like not in keys:
                sql = _ALL_OF_PLACE if row[1] == "llm" else _PLACE_LIKE  # an exchange with a model is of one turn
                key = connection.execute(sql, like).lastrowid
                keys[like] = row[0] if row[1] == "llm" else key or 0
            if keys[like] != row[0]:
                connection.execute(_MOVE, (keys[like], start + seq))

    store.run(in_transaction(put))


def turns_of(store: Store, session: str) -> Mapping[tuple[str, int], tuple[int, int]]:
    """Return the turns and steps of a session's records, by capture and number, in the order of records."""
    rows = store.read(_TURNS, session)
    return {
        (str(capture), seq): (turn, step if isinstance(step, int) else 0)
        for capture, seq, turn, step in rows
        if isinstance(seq, int) and isinstance(turn, int)
    }


class Intake:
    """Passes the records of one capture to the writer, and waits for it to keep memory small. Blocks.

    While one part is written, the next is gathered: reading and writing each have a processor.

    Attributes:
        refused_records: Number of records that can never be stored, such as a second one with the same number.
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
        """Add the next record."""
        draft = self._redactor.by_place(record)
        if draft.kind == "request" and draft.head is not None:
            self._redactor.learn(draft.head)
        size = len(draft.data) + OVERHEAD
        stamps = self.capture, record.seq, record.time_ns, record.mono_ns
        self._gathered.append(Slot(*stamps, draft, self, self._redactor, size))
        self._bytes += size
        if self._bytes > AT_ONCE or time.monotonic() >= self._due:
            self._give()

    def flush(self) -> None:
        """Wait until all records are on the disk."""
        self._give()
        self._store.run(lambda _: None, None)

    def close(self) -> None:
        """End the capture."""
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
        """Wake the caller that waits for the writer."""
        with self._turn:
            self._fault = fault
            self._settled_to = self._settled_to if fault else seq
            self._turn.notify_all()

    def refused(self) -> None:
        """Count a record that can never be stored."""
        self.refused_records += 1
