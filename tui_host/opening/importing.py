"""Imports files as a session: their records, redacted, each with its own time.

Turns, calls and the chat of what other programs captured are found when it is shown, as for a tap.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from tui_host.capture.record import Place, Record
from tui_host.capture.session_summary import SessionInfo, foreign_session, session_id
from tui_host.capture.store.imported_records import Intake, free_name
from tui_host.chat.conversation import item_to_text
from tui_host.errors import SettingsError, TuiHostError
from tui_host.infer.tap_facts import TapFacts
from tui_host.opening import bodies, har, lines, own_lines
from tui_host.opening.file_wires import FileWires
from tui_host.opening.files import REMEDY, CapturedFile, open_file
from tui_host.opening.own_chat import OwnChat

if TYPE_CHECKING:
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.store.store import Store


class FileFormat(NamedTuple):
    """A format of other programs: `recognise` looks at a file's first 64 KiB, `read` reports what the file holds."""

    name: str
    recognise: Callable[[CapturedFile], bool]
    read: Callable[[CapturedFile, FileWires], None]


_OF_FACTS = 100  # first records that tell host, model and question for the list: reading them takes time

FORMATS = (
    FileFormat("an HTTP archive", har.recognise, har.read),
    FileFormat("a list of messages", bodies.recognise, bodies.read),
    FileFormat("lines", lines.recognise, lines.read),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The result of an import."""

    id: str
    notices: tuple[str, ...] = ()


def import_files(store: Store, paths: Sequence[Path], redactor: Redactor) -> Imported:
    """Read files as one session, each as a capture of its own. Blocks; the session is listed from its first record on.

    Raises:
        SettingsError: A file cannot be opened.
        TuiHostError: A file is of no known format, or broken. What stands before the fault is kept.
        StoreError: The database cannot be written.
    """
    for path in paths:
        if store.owns(Path("/dev/stdin") if str(path) == "-" else path):
            what = "this is the database itself: its sessions are there already"
            raise SettingsError(what, str(path), "f5 lists them in tui-host")
    with ExitStack() as stack:
        files = [open_file(path, stack) for path in paths]
        store.redactor = redactor
        own = files[0]
        if len(files) == 1 and own_lines.recognise(own):
            sessions = own_lines.sessions_of(own)
            if len(sessions) == 1:
                return _restored(store, redactor, own, sessions[0])
        return _joined(store, redactor, files)


class _Session:
    """A session that is being imported. It is live, and listed, from its first record on."""

    def __init__(self, store: Store, redactor: Redactor, info: SessionInfo) -> None:
        self.info = info
        self.records = 0
        self.notices: list[str] = []
        self._store = store
        self._redactor = redactor
        self._facts = TapFacts(redact=redactor.text)
        self._first_ns = self._last_ns = 0
        self._intakes: list[Intake] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        for intake in self._intakes:
            intake.close()
        if self.records:
            self._put_back(is_live=False)
            self._store.run(lambda _: None)
        refused = sum(intake.refused_records for intake in self._intakes)
        if refused:
            self.notices.append(f"Records that the database cannot hold are left out ({refused:,}).")
        if self.records and isinstance(error, TuiHostError):
            error.what = f"{error.what}; what stands before is kept as {self.info.id}"

    def begin(self, capture: str) -> Intake:
        """Begin a capture; captures are listed in the order of their first records."""
        self._intakes.append(Intake(self._store, free_name(self._store, capture), self._redactor, self._saw))
        return self._intakes[-1]

    def _saw(self, record: Record, time_ns: int) -> None:
        self.records += 1
        if self.records <= _OF_FACTS:
            self._facts.feed(record)
        if self.records == 1:
            self._first_ns = self._last_ns = time_ns
            self._put_back(is_live=True)
        self._first_ns, self._last_ns = min(time_ns, self._first_ns), max(time_ns, self._last_ns)

    def _put_back(self, *, is_live: bool) -> None:
        info = replace(self.info, live=is_live, facts=self._facts.text)
        if not info.created_ns:
            info = replace(info, created_ns=self._first_ns, updated_ns=self._last_ns)
        self._store.sessions.put_back(info)


def _restored(store: Store, redactor: Redactor, file: CapturedFile, info: SessionInfo) -> Imported:
    """Import a session of our own as it was."""
    info = replace(info, id=free_name(store, info.id))
    chat = None if info.is_story else OwnChat()
    intakes: dict[str, Intake] = {}
    # captures keep their order, which is that of what is the session's own: their preambles wait
    waiting: dict[str, list[Record]] = {}
    with _Session(store, redactor, info) as session:

        def add(record: Record) -> None:
            if record.capture not in intakes:
                intakes[record.capture] = session.begin(record.capture)
            for earlier in (*waiting.pop(record.capture, ()), record):
                intakes[record.capture].add(earlier)

        for record, is_preamble in own_lines.records(file, session.notices):
            placed = own_lines.in_session(record, info.id, is_preamble=is_preamble)
            if chat is not None:
                chat.feed(placed)
            if is_preamble and record.capture not in intakes:
                waiting.setdefault(record.capture, []).append(placed)
            else:
                add(placed)
        for capture in list(waiting):
            add(waiting[capture].pop())
        if not session.records:
            raise TuiHostError("there is no record in it", file.name, "export a session that has some")
        for number, item in enumerate(() if chat is None else chat.items()):
            store.sessions.save_item(info.id, number, item_to_text(item))
    return Imported(id=info.id, notices=tuple(session.notices))


def _joined(store: Store, redactor: Redactor, files: Sequence[CapturedFile]) -> Imported:
    """Import what others captured, and logs of taps, as one session of several captures."""
    identity = session_id(time.time_ns(), os.urandom(8))
    with _Session(store, redactor, foreign_session(identity, " and ".join(file.name for file in files))) as session:
        for number, file in enumerate(files, 1):
            if own_lines.recognise(file):
                _add_taps(session, file)
            else:
                _add(session, file, identity if number == 1 else f"{identity}-{number}")
    return Imported(id=identity, notices=tuple(session.notices))


def _add(session: _Session, file: CapturedFile, capture: str) -> None:
    """Add what another program captured."""
    wires, before = FileWires(session.begin(capture), session.info.id), session.records
    file_format = next((known_format for known_format in FORMATS if known_format.recognise(file)), None)
    if file_format is None:
        raise TuiHostError("there is nothing in it", file.name, REMEDY)
    file_format.read(file, wires)
    if session.records == before:
        what = "there is no exchange with a model or an MCP server in it"
        raise TuiHostError(f"{what}: {wires.left_out}" if wires.left_out else what, file.name, REMEDY)
    session.notices += [file.coding] * bool(file.coding) + wires.messages
    if wires.left_out:
        session.notices.append(f"Left out of {file.name}: {wires.left_out}.")


def _add_taps(session: _Session, file: CapturedFile) -> None:
    """Add what taps recorded. Their links are found again, since other captures stand beside them now."""
    if any(info.source != "tap" for info in own_lines.sessions_of(file)):
        raise file.unreadable("a session that is no tap's is read alone", remedy="name this file by itself")
    intakes: dict[str, Intake] = {}
    for record, _ in own_lines.records(file, session.notices):
        if record.capture not in intakes:
            intakes[record.capture] = session.begin(record.capture)
        if record.kind != "link":
            intakes[record.capture].add(replace(record, place=Place(session=session.info.id)))
