"""The rows that a person marked in a session's list, with notes. They are kept in the store, and part of no export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui_host.capture.store.rows import storable
from tui_host.capture.store.writer import Write
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store

_READ = "SELECT capture, seq, note FROM marks WHERE session = ? ORDER BY number"
_SAVE = """
    INSERT INTO marks (session, capture, seq, note) VALUES (?, ?, ?, ?)
    ON CONFLICT (session, capture, seq) DO UPDATE SET note = excluded.note
"""
_REMOVE = "DELETE FROM marks WHERE session = ? AND capture = ? AND seq = ?"


class RowMarks:
    """The marked rows of one session. Read from the store at first use; changes are saved at once, in order.

    Args:
        store: Where marks are kept; without a store they last as long as this object.
        session: The id of the session or story.

    Attributes:
        session: The same id.
        revision: A number that changes with each change.
    """

    def __init__(self, store: Store | None, session: str) -> None:
        self.revision = 0
        self._store = store
        self.session = session
        self._kept: dict[tuple[str, int], str] | None = None

    @property
    def _notes(self) -> dict[tuple[str, int], str]:
        if self._kept is None:
            self._kept = dict(self._read())
        return self._kept

    def _read(self) -> Iterator[tuple[tuple[str, int], str]]:
        try:
            rows = self._store.read(_READ, self.session) if self._store is not None else ()
        except StoreError:  # closed by now
            return
        for capture, seq, note in rows:
            if isinstance(capture, str) and isinstance(seq, int) and isinstance(note, str):
                yield (capture, seq), note

    @property
    def newest_first(self) -> list[tuple[str, int]]:
        """The marked rows by capture and number of their first record, the one marked last first."""
        return list(reversed(self._notes))

    def note(self, row: tuple[str, int]) -> str | None:
        """Return the note on a row, empty for a mark alone; None if the row is not marked."""
        return self._notes.get(row)

    def toggle(self, row: tuple[str, int]) -> None:
        """Mark a row, or remove its mark and its note."""
        if row not in self._notes:
            self.write(row, "")
            return
        del self._notes[row]
        self.revision += 1
        if self._store is not None:
            self._store.put(Write(sql=_REMOVE, row=(self.session, *row)))

    def write(self, row: tuple[str, int], note: str) -> None:
        """Write a note on a row, and mark the row. The note passes the store's redactor."""
        note = note if self._store is None else storable(self._store.redactor.text(note))
        self._notes[row] = note
        self.revision += 1
        if self._store is not None:
            self._store.put(Write(sql=_SAVE, row=(self.session, *row, note)))
