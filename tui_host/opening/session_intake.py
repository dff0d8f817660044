"""Stores a session that is being read from files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from tui_host.capture.record import Place, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.imported_records import Intake, put_into_turns
from tui_host.chat.conversation import Item, NoteItem, item_to_text
from tui_host.errors import TuiHostError
from tui_host.opening.recognition import Reading

if TYPE_CHECKING:
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.store.store import Store


@dataclass(frozen=True, slots=True)
class ImportSetup:
    """The parts of one import.

    Attributes:
        begun: Called with the session's id once its first record is stored; None if no user waits for it.
    """

    store: Store
    redactor: Redactor
    reading: Reading
    begun: Callable[[str], None] | None


class SessionIntake:
    """Stores the records of a session. If an error ends the import, removes them, unless the session is listed already."""

    def __init__(self, setup: ImportSetup, session: SessionInfo) -> None:
        self._store = setup.store
        self.session = session
        self.notices: list[str] = []
        self._redactor = setup.redactor
        self._progress = setup.reading.notes.progress
        self._begun = setup.begun
        self._intakes: dict[str, Intake] = {}
        self._at: Intake | None = None
        self._is_timed = True
        self._last: Record | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._undo()
            return
        try:
            for intake in self._intakes.values():
                intake.close()
            self._save()
            self._check_kept()
        except BaseException:
            self._undo()
            raise

    def begin(self, capture: str) -> None:
        """Begin a capture; captures are stored in the order of these calls."""
        self._intakes[capture] = Intake(self._store, capture, self._redactor, time.time_ns())

    def add(self, record: Record) -> None:
        """Store a record."""
        intake = self._intakes[record.capture]
        if self._at is not None and self._at is not intake:
            self._at.flush()
        self._at = intake
        intake.add(record)
        if self._last is None:
            self._list_early(record, intake)
        self._last = record
        self._progress.records += 1

    def flush(self) -> None:
        """Wait until all records are on the disk, and report that everything is read."""
        if self._at is not None:
            self._at.flush()
        self._progress.finish()

    def put_into_turns(self, capture: str, places: Mapping[int, Place]) -> None:
        """Assign stored records of a capture, by number, to turns and steps."""
        put_into_turns(self._store, capture, places)

    def _list_early(self, first: Record, intake: Intake) -> None:
        """List the session with its first record, so that the user can look at it already."""
        if not self.session.created_ns:
            self.session = replace(self.session, created_ns=first.time_ns, updated_ns=first.time_ns)
            self._is_timed = False
        if self._begun is not None:
            self._put(replace(self.session, live=True))
            intake.flush()
            self._begun(self.session.id)

    def tell(self, items: Iterable[Item], *, lacks: str) -> None:
        """Store the items of the chat."""
        shown = list(items)
        if lacks:
            self.notices.append(lacks)
            shown.append(NoteItem(turn=max((item.turn for item in shown), default=0), kind="note", what=lacks))
        for number, item in enumerate(shown):
            self._store.sessions.save_item(self.session.id, number, item_to_text(item))

    @property
    def last(self) -> int:
        """Number of the last record; 0 without one."""
        return 0 if self._last is None else self._last.seq

    @property
    def last_record(self) -> Record:
        """The last record."""
        assert self._last is not None  # noqa: S101 - asked for only where there is one
        return self._last

    def _save(self) -> None:
        if not self._is_timed:
            self.session = replace(self.session, updated_ns=self.last_record.time_ns)
        self._put(self.session)

    def _check_kept(self) -> None:
        """Check that some record was stored, and note refused records."""
        refused = sum(intake.refused_records for intake in self._intakes.values())
        if refused >= self._progress.records or self._store.sessions.get(self.session.id) is None:
            raise TuiHostError("no record of this could be kept", self.session.title, "check what the file holds")
        if refused:
            self.notices.append(f"Records that the database cannot hold are left out ({refused:,}).")

    def _put(self, session: SessionInfo) -> None:
        self._store.sessions.put_back(session)
        self._store.run(lambda _: None, None)

    def _undo(self) -> None:
        with suppress(TuiHostError):  # raise the first error; if nothing can be written now, nothing is listed either
            for intake in self._intakes.values():
                intake.close()
            if self._begun is not None and self._last is not None:
                self._save()
                return
            self._store.sessions.put_back(self.session)
            self._store.sessions.remove(self.session.id)
