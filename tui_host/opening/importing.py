"""Imports files as a session: removes secrets, joins calls, puts records in one order, and makes a chat."""

from __future__ import annotations

import mmap
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import mapping, said
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import NOWHERE, Place, Record
from tui_host.capture.session_summary import foreign_session, session_id
from tui_host.capture.store.imported_records import free_suffix
from tui_host.chat.conversation import AnswerItem, CallItem, CallState, Conversation, Item, NoteItem, UserItem
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.infer.clock_offsets import DOUBTFUL_NS
from tui_host.infer.conversations.host_names import in_words, models_in_words, models_of, protocols_of
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat
from tui_host.opening import jsonl_reader
from tui_host.opening.import_types import LATEST_NS, File, Progress, TimedDraft
from tui_host.opening.recognition import Reading, read
from tui_host.opening.session_intake import ImportSetup, SessionIntake

if TYPE_CHECKING:
    from tui_host.capture.json.file_values import Data
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.store.store import Store

PIPE_LIMIT = 64 << 20
"""Largest number of bytes to read from a pipe or a device."""
JOINED_LIMIT = 256 << 20
"""Largest records, in bytes, in which calls are joined: they are held in memory."""
TOLD_IN_PART = f"The chat tells the first {JOINED_LIMIT >> 20} MiB, and joins calls there: what came later stands in the inspector alone."

WAITED_NS = 900_000_000_000
"""How long a call may wait for the user. If most calls seem to wait longer, the clocks differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The result of an import."""

    id: str
    notices: tuple[str, ...] = ()


def import_files(
    store: Store,
    paths: Sequence[Path],
    redactor: Redactor,
    watch: Callable[[Progress], None] = lambda _: None,
    begun: Callable[[str], None] | None = None,
) -> Imported:
    """Read files as one capture and store it as a session. Blocks.

    Args:
        store: The store for the session.
        paths: One file, or several that each contain a part.
        redactor: Removes the secrets.
        watch: Called now and then with the progress. An exception raised in it ends the import, and nothing is stored.
        begun: Called with the session's id once its first record is stored. The session is then listed during the
            import, and stays even if the rest cannot be read. Without `begun`, it is listed only at the end.

    Raises:
        SettingsError: A file cannot be opened.
        TuiHostError: A file has an unknown format or is broken. The text says where.
        StoreError: The database cannot be written.
    """
    for path in paths:
        if store.owns(Path("/dev/stdin") if str(path) == "-" else path):
            raise SettingsError(
                "this is the database itself: its sessions are there already", str(path), "f5 lists them in tui-host"
            )
    with ExitStack() as stack:
        files = [opened(path, stack) for path in paths]
        identity = session_id(time.time_ns(), os.urandom(8))
        reading = read(files, Progress(watch), identity)
        store.redactor = redactor
        own = reading.own
        setup = ImportSetup(store, redactor, reading, begun)
        imported = _import_own(setup, own) if own else _import_foreign(setup, files, identity)
        return replace(imported, notices=(*reading.notes.messages, *imported.notices))


def opened(path: Path, stack: ExitStack) -> File:
    """Map a file into memory, so that a large file takes none.

    Raises:
        SettingsError: The file cannot be opened.
    """
    try:
        descriptor = 0 if str(path) == "-" else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        file = stack.enter_context(os.fdopen(descriptor, "rb", closefd=descriptor > 0))
        status = os.fstat(descriptor)
        data: Data = b""
        if stat.S_ISREG(status.st_mode) and status.st_size:
            data = stack.enter_context(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        elif not stat.S_ISREG(status.st_mode):
            data = file.read(PIPE_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        remedy = "make it readable for you" if isinstance(error, PermissionError) else "name a file that is there"
        remedy = "name a file in it" if isinstance(error, IsADirectoryError) else remedy
        raise SettingsError(f"cannot be read: {reason}", str(path), remedy) from error
    if len(data) > PIPE_LIMIT and isinstance(data, bytes):
        raise SettingsError(
            f"more than {PIPE_LIMIT >> 20} MiB come out of it", str(path), "put it into a file, and name that"
        )
    is_dated = stat.S_ISREG(status.st_mode) and 0 <= status.st_mtime_ns <= LATEST_NS
    time_ns = status.st_mtime_ns if is_dated else time.time_ns()
    return File(name=path.name or str(path), data=data, time_ns=time_ns)


def _import_own(setup: ImportSetup, file: File) -> Imported:
    """Import a session that tui-host exported, unchanged."""
    (info,) = jsonl_reader.sessions_of(file)
    progress = setup.reading.notes.progress
    captures = jsonl_reader.captures_of(file, progress)
    if not captures:
        raise TuiHostError("there is no record in it", file.name, "export a session that has some")
    suffix = free_suffix(setup.store, info.id, captures)
    session = replace(info, id=f"{info.id}{suffix}")
    with SessionIntake(setup, session) as intake:
        for capture in captures:  # exports follow the order of captures
            intake.begin(f"{capture}{suffix}")

        def renamed() -> Iterator[Record]:
            for record, _ in jsonl_reader.records(file, session.id, progress):
                if record.capture not in captures:
                    raise TuiHostError("a line names two captures", file.name, "export it again")
                yield replace(record, capture=f"{record.capture}{suffix}")

        # a tap's chat is made when the tap is shown
        first, is_whole = _add_all(intake, renamed(), 0 if info.source == "tap" else JOINED_LIMIT)
        chat = ChatFromRecords()
        for record in first:
            chat.feed(record)
        intake.tell(chat.items(), lacks="" if is_whole or info.source == "tap" else TOLD_IN_PART)
    return Imported(id=session.id, notices=tuple(intake.notices))


def _import_foreign(setup: ImportSetup, files: Sequence[File], identity: str) -> Imported:
    """Import files of other programs as a story, with calls joined as for taps."""
    reading = setup.reading
    title = " and ".join(file.name for file in files)
    session = foreign_session(identity, title)
    with SessionIntake(setup, session) as intake:
        intake.begin(identity)
        first, is_whole = _add_all(intake, _records(identity, reading.drafts), JOINED_LIMIT)
        if not intake.last:
            raise TuiHostError(
                f"there is no exchange with a model or an MCP server in {' or '.join(reading.formats)}: {_nothing_read(reading)}",
                title,
                "capture what a host says to its model, or to a server",
            )
        keep_story(intake, first, is_whole=is_whole)
    if reading.notes.left_out:
        intake.notices.append(f"Left out: {reading.notes.left_out}.")
    return Imported(id=identity, notices=tuple(intake.notices))


def _add_all(intake: SessionIntake, records: Iterator[Record], limit: int) -> tuple[list[Record], bool]:
    """Store all records and wait for the disk: all rows are there before the first call is joined.

    Returns:
        The first records, up to `limit` bytes, and whether these are all of them.
    """
    first: list[Record] = []
    size = 0
    for record in records:
        intake.add(record)
        size += len(record.data)
        if size <= limit:
            first.append(record)
    intake.flush()
    return first, size <= limit


def _records(capture: str, drafts: Iterator[TimedDraft]) -> Iterator[Record]:
    time_ns = 0
    for seq, timed in enumerate(drafts, 1):
        time_ns = max(time_ns, timed.at.ns)
        # a draft that comes after a later one only has its place in the order
        mono_ns = time_ns if timed.at.is_told and timed.at.ns == time_ns else None
        yield replace(timed.record, capture=capture, seq=seq, time_ns=time_ns, mono_ns=mono_ns)


def keep_story(intake: SessionIntake, records: Sequence[Record], *, is_whole: bool) -> None:
    """Store the story that the stored records tell: turns, links, the chat, and the names of hosts and models."""
    identity = intake.session.id
    story = Story(identity)
    places = {record.seq: story.take(record) for record in records}
    intake.put_into_turns(identity, {seq: place for seq, place in places.items() if place.turn})
    for placed in story.links():
        last = intake.last_record
        link = Record(wire="host", kind="link", place=placed.place, data=placed.link.to_bytes())
        intake.add(replace(link, capture=last.capture, seq=last.seq + 1, time_ns=last.time_ns, mono_ns=last.mono_ns))
    conversation = Conversation()
    StoryChat(story, conversation).tell()
    intake.tell(conversation.items, lacks="" if is_whole else TOLD_IN_PART)
    intake.session = replace(
        intake.session,
        title=": ".join(filter(None, (in_words(story.hosts), intake.session.title))),
        turns=story.conversations.turns,
        model=models_in_words([model for model in models_of(story.speakers) if model[1]]),
        protocol=in_words(protocols_of(story.speakers)),
    )
    intake.notices += _off_in_words(story)


def _off_in_words(story: Story) -> Iterator[str]:
    """Warn about a server's clock if most calls seem to be sent before the model asked, or long after."""
    timed = [joined for joined in story.joined() if joined.sent and joined.sent[0].mono_ns is not None]
    off_ns = median_low([joined.sent[0].at_ns - joined.call.at_ns for joined in timed]) if timed else 0
    if not -DOUBTFUL_NS <= off_ns <= WAITED_NS:
        seconds, how = f"{abs(off_ns) / 1e9:,.0f} s", "earlier" if off_ns < 0 else "later"
        yield f"The servers' times are taken to be {seconds} {how} than the model's, so that the calls fit, if it was one run."


def _nothing_read(reading: Reading) -> str:
    """Say what was left out, and what is broken: perhaps because of that, nothing was read."""
    return "; ".join(filter(None, (reading.notes.left_out, *reading.notes.messages))) or "it is empty"


class ChatFromRecords:
    """Makes a chat from a session's records: messages as for a tap's story, calls and turns as recorded."""

    def __init__(self) -> None:
        self._story = Story()
        self._places: dict[tuple[str, str], Place] = {}
        self._asked: dict[tuple[str, str], list[Mapping[str, JSON]]] = {}
        self._decisions: dict[str, Mapping[str, JSON]] = {}

    def feed(self, record: Record) -> None:
        """Read the next record."""
        if record.kind == "link":
            link = read_object(record.data)
            if link.get("relation") == "asked":
                exchange = said(mapping(link.get("span")).get("exchange"))
                self._asked.setdefault((record.capture, exchange), []).append(link)
        elif record.kind == "decision":
            self._decisions[record.place.call or ""] = read_object(record.data)
        elif record.kind == "request" and record.wire == "llm":
            self._places[record.capture, record.exchange or ""] = record.place
        self._story.feed(record)

    def items(self) -> Iterator[Item]:
        """Return the items of the chat, in order."""
        conversation = Conversation()
        StoryChat(self._story, conversation).tell()
        places = {
            (exchange.turn, exchange.step): self._places.get(exchange.key, NOWHERE)
            for exchange in self._story.exchanges
            if not self._story.conversations.root(exchange).is_side_request
        }
        for item in conversation.items:
            if isinstance(item, AnswerItem | CallItem) and not item.step:  # stated only in a later request
                yield replace(item, turn=places.get((item.turn, 1), NOWHERE).turn or item.turn)
            elif isinstance(item, CallItem):
                yield self._call(item, places.get((item.turn, item.step), NOWHERE))
            elif isinstance(item, AnswerItem):
                place = places.get((item.turn, item.step), NOWHERE)
                yield replace(item, turn=place.turn or item.turn, step=place.step or item.step)
            elif isinstance(item, UserItem | NoteItem):
                yield replace(item, turn=places.get((item.turn, 1), NOWHERE).turn or item.turn)

    def _call(self, item: CallItem, place: Place) -> CallItem:
        capture, exchange, number = item.call.rsplit(".", 2)
        asked = self._asked.get((capture, exchange), [])
        link: Mapping[str, JSON] = asked[int(number)] if int(number) < len(asked) else {}
        decided = self._decisions.get(said(link.get("call")), {})
        refused = decided.get("decision")
        state: CallState = refused if refused in ("rejected", "stopped", "invalid") else item.state
        return replace(
            item,
            turn=place.turn or item.turn,
            step=place.step or item.step,
            call=said(link.get("call")) or item.call,
            server=said(link.get("server")) or item.server,
            tool=said(link.get("tool")) or item.tool,
            state=state,
            decision=said(decided.get("decision")),
            by=said(decided.get("by")),
            words=said(decided.get("words")) or ("" if link else item.words),
        )
