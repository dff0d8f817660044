"""Imports files as a session: their records, redacted, each with its own time.

Turns, calls and the chat of what other programs captured are found when it is shown, as for a tap.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from tui_host.capture.json.reading import VALUE_LIMIT
from tui_host.capture.record import Place, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo, session_id
from tui_host.capture.store.imported_records import Intake, free_name
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import ITEM_FORM
from tui_host.errors import SettingsError, TuiHostError
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.tap_facts import TapFacts
from tui_host.opening import bodies, har, lines, own_lines
from tui_host.opening.file_wires import FileWires
from tui_host.opening.files import REMEDY, CapturedFile, open_file
from tui_host.opening.own_chat import OwnChat

FORMATS = (
    (har.BEGINS, sys.maxsize, har.read),
    (bodies.BEGINS, VALUE_LIMIT, bodies.read),  # which are read whole: a larger file may have lines
    (lines.BEGINS, sys.maxsize, lines.read),
)
"""Formats of other programs: how a file begins, its most bytes, and what reports what the file holds."""
_OF_FACTS = 100  # first records that tell host, model and question for the list: reading them takes time


def import_files(store: Store, paths: Sequence[Path], redactor: Redactor) -> Import:
    """Read files as one session, each as a capture of its own. Blocks; the session is listed from its first record on.

    Raises:
        SettingsError: A file cannot be opened.
        TuiHostError: A file is of no known format, or broken. What stands before the fault is kept.
        StoreError: The database cannot be written.
    """
    for path in paths:
        if store.owns(Path("/dev/stdin") if str(path) == "-" else path):
            what = "this is the database itself: its sessions are there already"
            raise SettingsError(what, str(path), "/sessions in tui-host lists them")
    with ExitStack() as stack:
        files = [open_file(path, stack) for path in paths]
        store.redactor = redactor
        own = own_lines.sessions_of(files[0]) if len(files) == 1 and own_lines.recognise(files[0]) else []
        if len(own) == 1:
            info = replace(own[0], id=free_name(store, own[0].id))
        else:
            names = " and ".join(file.name for file in files)
            info = SessionInfo(session_id(time.time_ns(), os.urandom(8)), names, "import")
        facts = TapFacts(redact=redactor.text, reader=RequestReader())
        session = Import(info.id, info, store, redactor, facts)
        try:
            for number, file in enumerate(files, 1):
                if len(own) == 1:
                    session.restore(file)
                elif own_lines.recognise(file):
                    session.add_taps(file)
                else:
                    session.add(file, info.id if number == 1 else f"{info.id}-{number}")
        except TuiHostError as error:
            if session.records:
                error.what = f"{error.what}; what stands before is kept as {info.id}"
            raise
        finally:
            session.close()
        return session


@dataclass(slots=True, eq=False)
class Import:
    """A session that is imported. It is listed from its first record on, and live until all are there."""

    id: str
    _info: SessionInfo
    _store: Store
    _redactor: Redactor
    _facts: TapFacts
    notices: list[str] = field(default_factory=list[str])
    records: int = 0
    _first_ns: int = 0
    _last_ns: int = 0
    _intakes: dict[str, Intake] = field(default_factory=dict[str, Intake])

    def close(self) -> None:
        refused = 0
        for intake in self._intakes.values():
            intake.close()
            refused += intake.refused_records
        if self.records:
            self._put_back(is_live=False)
            self._store.run(lambda _: None)
        if refused:
            self.notices.append(f"Records that the database cannot hold are left out ({refused:,}).")

    def _intake(self, capture: str) -> Intake:
        """Return the intake of a capture; captures are listed in the order of their first records."""
        if capture not in self._intakes:
            name = free_name(self._store, capture)
            self._intakes[capture] = Intake(self._store, name, self._redactor, self._saw)
        return self._intakes[capture]

    def _saw(self, record: Record, time_ns: int) -> None:
        self.records += 1
        if self.records <= _OF_FACTS:
            self._facts.feed(record)
        self._first_ns, self._last_ns = min(time_ns, self._first_ns or time_ns), max(time_ns, self._last_ns)
        if self.records == 1:
            self._put_back(is_live=True)

    def _put_back(self, *, is_live: bool) -> None:
        info = replace(self._info, live=is_live, facts=self._facts.text)
        times = {} if info.created_ns else {"created_ns": self._first_ns, "updated_ns": self._last_ns}
        self._store.sessions.save(replace(info, **times), is_whole=True)

    def restore(self, file: CapturedFile) -> None:
        """Import a session of our own as it was. All records belong to it but a preamble's."""
        chat = None if self._info.is_story else OwnChat()
        # captures keep their order, which is that of what is the session's own: their preambles wait
        waiting: dict[str, list[Record]] = {}
        for line, is_preamble in own_lines.records(file, self.notices):
            is_its = not is_preamble or line.place.turn is not None or line.place.call is not None
            record = replace(line, place=replace(line.place, session=self.id)) if is_its else line
            if chat is not None:
                chat.feed(record)
            waiting.setdefault(record.capture, []).append(record)
            if not is_preamble or record.capture in self._intakes:
                for kept in waiting.pop(record.capture):
                    self._intake(kept.capture).append(kept)
        for kept in chain.from_iterable(waiting.values()):
            self._intake(kept.capture).append(kept)
        if not self.records:
            raise TuiHostError("there is no record in it", file.name, "export a session that has some")
        for number, item in enumerate(() if chat is None else chat.items()):
            self._store.sessions.save_item(self.id, number, ITEM_FORM.write(item))

    def add_taps(self, file: CapturedFile) -> None:
        """Add what taps recorded. Their links are found again, since other captures stand beside them now."""
        if any(info.source != "tap" for info in own_lines.sessions_of(file)):
            raise file.unreadable("a session that is no tap's is read alone", remedy="name this file by itself")
        for record, _ in own_lines.records(file, self.notices):
            if record.kind != "link":
                self._intake(record.capture).append(replace(record, place=Place(session=self.id)))

    def add(self, file: CapturedFile, capture: str) -> None:
        """Add what another program captured."""
        wires, before = FileWires(self._intake(capture), Place(session=self.id)), self.records
        size = len(file.data)
        read = next((read for begins, most, read in FORMATS if size <= most and begins.match(file.head)), None)
        if read is None:
            raise TuiHostError("there is nothing in it", file.name, REMEDY)
        read(file, wires)
        left_out = ", ".join(
            f"{what} ({times:,}{first and f', first {first}'})" for what, (times, first) in wires.left_out.items()
        )
        if self.records == before:
            what = "there is no exchange with a model or an MCP server in it"
            raise TuiHostError(f"{what}: {left_out}" if left_out else what, file.name, REMEDY)
        self.notices += [file.coding] * bool(file.coding) + wires.messages
        if left_out:
            self.notices.append(f"Left out of {file.name}: {left_out}.")
