"""What people decided: marked rows with notes, frames joined with calls, taps joined to stories. It is part of no export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tui_host.capture.store.rows import storable
from tui_host.capture.store.writer import Write
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store

_MARKS = "SELECT capture, seq, note FROM marks WHERE session = ? ORDER BY number"
_MARK = """
    INSERT INTO marks (session, capture, seq, note) VALUES (?, ?, ?, ?)
    ON CONFLICT (session, capture, seq) DO UPDATE SET note = excluded.note
"""
_UNMARK = "DELETE FROM marks WHERE session = ? AND capture = ? AND seq = ?"
_CHOICES = "SELECT call, capture, seq, joined FROM frame_choices WHERE capture = ? ORDER BY seq, call"
_CHOOSE = "INSERT OR REPLACE INTO frame_choices (call, capture, seq, joined) VALUES (?, ?, ?, ?)"
_JOIN = "INSERT OR REPLACE INTO tap_links (tap, other, joined) VALUES (?, ?, ?)"


@dataclass(eq=False)
class RowMarks:
    """The marked rows of a session or story, by capture and number of their first records. Changes are saved at once, in order."""

    _store: Store | None  # without one, marks last as long as this object
    session: str
    revision: int = 0  # changes with each change

    @cached_property
    def notes(self) -> dict[tuple[str, int], str]:
        """The notes of the marked rows, in the order of marking; empty for a mark alone."""
        with suppress(StoreError):  # closed by now
            rows = () if self._store is None else self._store.read(_MARKS, self.session)
            return {(str(capture), int(seq or 0)): str(note) for capture, seq, note in rows}
        return {}

    def write(self, row: tuple[str, int], note: str | None) -> None:
        """Write a note on a row, and mark the row; None removes both. The note passes the store's redactor."""
        self.revision += 1
        if note is None:
            del self.notes[row]
        else:
            self.notes[row] = note = note if self._store is None else storable(self._store.redactor.text(note))
        if self._store is not None:
            values = self.session, *row
            self._store.put(Write(_UNMARK, values) if note is None else Write(_MARK, (*values, note)))


def frame_choices(store: Store, captures: Iterable[str]) -> Mapping[tuple[str, str, int], bool]:
    """Return whether frames carried calls, as decided: by call, capture and number of the frame. Blocks on the disk."""
    rows = [row for capture in captures for row in store.read(_CHOICES, capture)]
    return {(str(call), str(capture), int(seq or 0)): bool(joined) for call, capture, seq, joined in rows}


def choose_frame(store: Store, call: str, frame: tuple[str, int], *, is_joined: bool) -> None:
    """Save at once whether a frame, by capture and number, carried a call; replaces an earlier decision."""
    store.put(Write(_CHOOSE, (storable(call), *frame, int(is_joined))))


def tap_links(store: Store) -> Mapping[tuple[str, str], bool]:
    """Return the decisions on pairs of taps: True if both are one story, False if not. The smaller id comes first."""
    rows = store.read("SELECT tap, other, joined FROM tap_links")
    return {(str(first), str(second)): bool(joined) for first, second, joined in rows}


def save_tap_links(store: Store, pairs: Iterable[tuple[str, str]], *, joined: bool) -> None:
    """Save a decision for pairs of taps, replacing earlier ones. Blocks until it is on the disk."""
    for pair in pairs:
        store.put(Write(_JOIN, (*sorted(pair), int(joined))))
    store.run(lambda _: None)
