"""Files that others captured, brought into a store as sessions: read, their secrets taken out, their calls joined, and kept."""

from __future__ import annotations

import mmap
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING

from tui_host.capture.record import Draft, Place, Record
from tui_host.capture.session_summary import foreign_session, session_id
from tui_host.capture.store.imported_records import free_suffix
from tui_host.chat.conversation import Conversation
from tui_host.errors import SettingsError, TuiHostError
from tui_host.infer.asking.speakers import in_words, models_in_words, models_of, protocols_of
from tui_host.infer.clock_offsets import DOUBTFUL_NS
from tui_host.infer.story import Story
from tui_host.infer.story_chat import Telling
from tui_host.llm.dialects.dialect_table import DIALECTS
from tui_host.opening import File, Progress, Reading, read
from tui_host.opening import jsonl_reader as jsonl
from tui_host.opening.chat_from_records import Retelling
from tui_host.opening.drafts import LATEST_NS
from tui_host.opening.session_intake import Arriving, Desk
from tui_host.opening.untimed_files import interleaved
from tui_host.opening.wire_detection import Wires

if TYPE_CHECKING:
    from tui_host.capture.json.scan import Data
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.store.store import Store
    from tui_host.opening.drafts import Seen

PIPED_MOST = 64 << 20
"""Bytes that are read of what is no plain file."""
JOINED_MOST = 256 << 20
"""Bytes of records in which it is looked for what belongs together; they are held in memory for it."""
ORDERED_MOST = 64 << 20
"""Bytes of records of several files that are put in order by what belongs together; they are held several times for it."""
TOLD_IN_PART = f"The chat tells the first {JOINED_MOST >> 20} MiB, and joins calls there: what came later stands in the inspector alone."

WAITED_NS = 900_000_000_000
"""So long may a call wait for a person; where most seem to, the clocks differ."""

_APART = "{} without times: {}, and so it stands behind the others."
_NOTHING_TELLS = "nothing in it belongs to what they have"
_TOO_LARGE = "in files so large it is not looked for where it belongs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What came of an import.

    Attributes:
        id: The new session's.
        notices: What a person should be told, one sentence each.
    """

    id: str
    notices: tuple[str, ...] = ()


def import_files(
    store: Store,
    paths: Sequence[Path],
    redactor: Redactor,
    watch: Callable[[Progress], None] = lambda _: None,
    begun: Callable[[str], None] | None = None,
) -> Imported:
    """Read files as one capture, and keep it as a session. Blocks.

    Args:
        store: Where.
        paths: One file, or several that each hold a part.
        redactor: What takes the secrets out.
        watch: Told now and then how far it has come; what it raises ends it, and nothing stays.
        begun: Told the session's id with its first record: then it is in the store from there on, as one that this process writes.
            What was read stays then, also if the rest cannot be: somebody may be looking at it.
            Else it is once all is there: of one that is killed before nothing is listed.

    Raises:
        SettingsError: A file cannot be opened.
        TuiHostError: A file is none of what can be read, or broken; says where.
        StoreError: The database cannot be written.
    """
    for path in paths:
        if store.owns(Path("/dev/stdin") if str(path) == "-" else path):
            raise SettingsError(
                "this is the database itself: its sessions are there already", str(path), "f5 lists them in tui-host"
            )
    with ExitStack() as stack:
        files = [opened(path, stack) for path in paths]
        wires = Wires({name: dialect.paths for name, dialect in DIALECTS.items()})
        reading = read(files, wires, Progress(watch))
        store.redactor = redactor
        own = reading.own
        desk = Desk(store, redactor, reading, begun)
        imported = _import_own(desk, own) if own else _import_foreign(desk, files)
        return replace(imported, notices=(*reading.notes.told, *imported.notices))


def opened(path: Path, stack: ExitStack) -> File:
    """A file, mapped: it is not held in memory, however large it is.

    Raises:
        SettingsError: It cannot be opened.
    """
    try:
        descriptor = 0 if str(path) == "-" else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        file = stack.enter_context(os.fdopen(descriptor, "rb", closefd=descriptor > 0))
        status = os.fstat(descriptor)
        data: Data = b""
        if stat.S_ISREG(status.st_mode) and status.st_size:
            data = stack.enter_context(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        elif not stat.S_ISREG(status.st_mode):
            data = file.read(PIPED_MOST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        remedy = "name a file in it" if isinstance(error, IsADirectoryError) else "name a file that is there"
        raise SettingsError(f"cannot be read: {reason}", str(path), remedy) from error
    if len(data) > PIPED_MOST and isinstance(data, bytes):
        raise SettingsError(
            f"more than {PIPED_MOST >> 20} MiB come out of it", str(path), "put it into a file, and name that"
        )
    is_dated = stat.S_ISREG(status.st_mode) and 0 <= status.st_mtime_ns <= LATEST_NS
    time_ns = status.st_mtime_ns if is_dated else time.time_ns()
    return File(name=path.name or str(path), data=data, time_ns=time_ns)


def _import_own(desk: Desk, file: File) -> Imported:
    """A session of tui-host's own, as it was."""
    (info,) = jsonl.sessions_of(file)
    progress = desk.reading.notes.progress
    captures = jsonl.captures_of(file, progress)
    if not captures:
        raise TuiHostError("there is no record in it", file.name, "export a session that has some")
    suffix = free_suffix(desk.store, info.id, captures)
    session = replace(info, id=f"{info.id}{suffix}")
    with Arriving(desk, session) as keeping:
        for capture in captures:  # their order is what export goes by
            keeping.begin(f"{capture}{suffix}")
        retelling = Retelling()
        size = 0
        for record, _ in jsonl.records(file, session.id, progress):
            if record.capture not in captures:
                raise TuiHostError("a line names two captures", file.name, "export it again")
            kept = replace(record, capture=f"{record.capture}{suffix}")
            keeping.add(kept)
            size += len(record.draft.data)
            if size <= JOINED_MOST and info.source != "tap":  # a tap's is told where it is shown
                retelling.feed(kept)
        is_whole = size <= JOINED_MOST or info.source == "tap"
        keeping.tell(retelling.items(), lacks="" if is_whole else TOLD_IN_PART)
    return Imported(id=session.id, notices=tuple(keeping.notices))


def _import_foreign(desk: Desk, files: Sequence[File]) -> Imported:
    """What other programs wrote: as one host's talk, with what belongs together found as with taps."""
    reading = desk.reading
    identity = session_id(time.time_ns(), os.urandom(8))
    title = " and ".join(file.name for file in files)
    session = foreign_session(identity, title)
    story = Story(identity)
    with Arriving(desk, session) as keeping:
        keeping.begin(identity)
        size = 0
        for record in _records(identity, _in_order(reading)):
            size += len(record.draft.data)
            keeping.add(story.feed(record) if size <= JOINED_MOST else _apart(record))
        if not keeping.last:
            raise TuiHostError(
                f"there is no exchange with a model or an MCP server in {' or '.join(reading.formats)}: {_left_out(reading)}",
                title,
                "capture what a host says to its model, or to a server",
            )
        _join(keeping, story, is_whole=size <= JOINED_MOST)
        keeping.notices += _off_in_words(story)
    if reading.notes.words:
        keeping.notices.append(f"Left out: {_left_out(reading)}.")
    return Imported(id=identity, notices=tuple(keeping.notices))


def _in_order(reading: Reading) -> Iterator[Seen]:
    """All that is read. Where a file tells no times nothing is given before all is read: the last line may tell where the first stood."""
    if not reading.untimed:
        return reading.seen
    size = 0
    several = [("", reading.seen), *reading.untimed]
    whole: list[tuple[str, list[Seen]]] = []
    for name, seen in several:
        whole.append((name, []))
        for each in seen:
            whole[-1][1].append(each)
            size += len(each.draft.data)
            if size > ORDERED_MOST:
                reading.notes.told.append(_APART.format(" and ".join(name for name, _ in reading.untimed), _TOO_LARGE))
                held = chain.from_iterable(found for _, found in whole)
                return chain(held, seen, chain.from_iterable(rest for _, rest in several[len(whole) :]))
    order, apart = interleaved(whole[0][1], whole[1:])
    if apart:
        reading.notes.told.append(_APART.format(" and ".join(apart), _NOTHING_TELLS))
    return iter(order)


def _records(capture: str, seen_in_order: Iterator[Seen]) -> Iterator[Record]:
    time_ns = 0
    for seq, seen in enumerate(seen_in_order, 1):
        time_ns = max(time_ns, seen.at.ns)
        # where it stands behind what came later, it tells no time
        mono_ns = time_ns if seen.at.is_told and seen.at.ns == time_ns else None
        yield Record(capture=capture, seq=seq, time_ns=time_ns, mono_ns=mono_ns, draft=seen.draft)


def _apart(record: Record) -> Record:
    """The record as its session's, of no turn."""
    return replace(record, draft=replace(record.draft, place=Place(session=record.capture)))


def _join(keeping: Arriving, story: Story, *, is_whole: bool) -> None:
    """Keep what was found: the links, what was said as a chat, and who said it; all of it, or of what came first."""
    for found in story.links():
        draft = Draft(wire="host", kind="link", place=found.place, data=found.link.to_bytes())
        keeping.add(replace(keeping.last_record, seq=keeping.last + 1, draft=draft))
    conversation = Conversation()
    Telling(story, conversation).tell()
    keeping.tell(conversation.items, lacks="" if is_whole else TOLD_IN_PART)
    keeping.session = replace(
        keeping.session,
        title=": ".join(filter(None, (in_words(story.hosts), keeping.session.title))),
        turns=story.talks.turns,
        model=models_in_words([each for each in models_of(story.spoken) if each[1]]),
        protocol=in_words(protocols_of(story.spoken)),
    )


def _off_in_words(story: Story) -> Iterator[str]:
    """That the servers' clock was taken for another than the model's, where most calls would else have been sent before they were asked for."""
    timed = [each for each in story.joined() if each.sent and each.sent[0].mono_ns is not None]
    off_ns = median_low([each.sent[0].at_ns - each.asked.at_ns for each in timed]) if timed else 0
    if not -DOUBTFUL_NS <= off_ns <= WAITED_NS:
        seconds, how = f"{abs(off_ns) / 1e9:,.0f} s", "earlier" if off_ns < 0 else "later"
        yield f"The servers' times are taken to be {seconds} {how} than the model's: so their calls fit, if it was one run."


def _left_out(reading: Reading) -> str:
    return reading.notes.words or "it is empty"
