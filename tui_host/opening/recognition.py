"""Recognises files by their content, and reads them as one capture.

File content is foreign data: nothing in it is used as a path or a command; secrets are removed when records are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import chain

from tui_host.capture.record import Place
from tui_host.opening import har_reader, jsonl_reader, single_body
from tui_host.opening.decode_file import in_utf_8
from tui_host.opening.import_types import File, Notes, Progress, TimedDraft, unreadable
from tui_host.opening.logs import log_pairs
from tui_host.opening.logs.log_reader import read_log
from tui_host.opening.logs.unsupported import unsupported_format, unsupported_log
from tui_host.opening.single_body import BodyFile

_NOT_IN_A_NAME = re.compile(r"[^\w.-]+")
NOTHING = (
    "this is none of what can be read: JSON lines of tui-host, an HTTP archive, a request to a model or its answer,"
    " or a log with such bodies or JSON-RPC messages in its lines"
)


@dataclass(slots=True)
class Reading:
    """The result of recognising files.

    Attributes:
        own: The file, if it is a session in tui-host's record lines; `drafts` is then empty.
        notes: Messages for the user, complete once `drafts` was read to its end.
        untimed: Of several files, those without times, with their names.
    """

    own: File | None
    notes: Notes
    formats: list[str]
    drafts: Iterator[TimedDraft]
    untimed: Sequence[tuple[str, Iterator[TimedDraft]]] = ()


def read(files: Sequence[File], progress: Progress | None = None, session: str | None = None) -> Reading:
    """Recognise files, and read them as one capture whose records belong to a session.

    Raises:
        TuiHostError: A file has an unknown format. The text says where it stops being a known one.
    """
    notes = Notes(progress or Progress(), are_several=len(files) > 1, place=Place(session=session))
    oldest_ns = min((file.time_ns for file in files), default=0)  # files without times all get the same time
    files = [replace(in_utf_8(file, notes), time_ns=oldest_ns, changed_ns=file.time_ns) for file in files]
    own = [file for file in files if jsonl_reader.recognise(file)]
    notes.messages += [message for file in own for message in jsonl_reader.broken_lines(file)]
    if own == files and len(own) == 1 and len(jsonl_reader.sessions_of(own[0])) == 1:
        return Reading(own[0], notes, ["record lines"], iter(()))
    taps = jsonl_reader.Taps(notes, len(own))
    formats: list[str] = []
    sources: list[tuple[str, Iterator[TimedDraft]]] = []
    bodies: list[tuple[File, BodyFile]] = []
    logs: list[File] = []
    for file in files:
        if file in own:
            formats.append("record lines")
            sources.append((file.name, taps.read(file)))
        elif har_reader.recognise(file):
            formats.append("an HTTP archive")
            sources.append((file.name, har_reader.read(file, notes)))
        elif (body := single_body.recognise(file)) is not None:
            formats.append("a request" if body.is_request else "an answer")
            bodies.append((file, body))
        elif (error := unsupported_format(file)) is not None:
            raise error
        else:
            formats.append("a log")
            logs.append(file)
    sources += _logs(logs, notes)
    if bodies:
        name = " and ".join(file.name for file, _ in bodies)
        sources.append((name, single_body.read(bodies, notes, peer_of(bodies[0][0]))))
    timed, untimed = ([drafts for _, drafts in sources], []) if len(sources) == 1 else _by_time(sources)
    return Reading(None, notes, formats, merge(*timed, key=lambda timed: timed.at.ns), untimed)


def _logs(logs: Sequence[File], notes: Notes) -> Iterator[tuple[str, Iterator[TimedDraft]]]:
    """Read the logs, joining logs that belong together."""
    pairs = log_pairs.pairs_in(logs, notes)
    for pair in pairs:
        name = " and ".join(file.name for file in pair.files)
        yield name, log_pairs.read_pair(pair, notes, _as_peer(pair.name) or peer_of(pair.back.file))
    paired = {id(file) for pair in pairs for file in pair.files}
    rest = [file for file in logs if id(file) not in paired]
    halves = log_pairs.halves_in(rest, notes)
    for file in rest:
        if halves is not None and file in (halves[0].file, halves[1].file):
            continue
        drafts = read_log(file, notes, peer_of(file))
        if drafts is None:
            raise unsupported_log(file) or _unknown(file)
        yield file.name, drafts
    if halves is not None:
        yield f"{halves[0].file.name} and {halves[1].file.name}", log_pairs.joined(*halves, notes)


def _by_time(
    sources: Sequence[tuple[str, Iterator[TimedDraft]]],
) -> tuple[list[Iterator[TimedDraft]], list[tuple[str, Iterator[TimedDraft]]]]:
    """Separate sources that begin with a time from others."""
    timed: list[Iterator[TimedDraft]] = []
    untimed: list[tuple[str, Iterator[TimedDraft]]] = []
    for name, drafts in sources:
        first = next(drafts, None)
        if first is not None and first.at.is_told:
            timed.append(chain((first,), drafts))
        elif first is not None:
            untimed.append((name, chain((first,), drafts)))
    return timed, untimed


def peer_of(file: File) -> str:
    """Make a name for a server or provider from a file's name."""
    stem = re.split(r"[/\\]", file.name)[-1].rpartition(".")[0] or file.name
    return _as_peer(stem) or "log"


def _as_peer(name: str) -> str:
    """Turn a foreign name into the name of a server or provider; empty if nothing is left."""
    return _NOT_IN_A_NAME.sub("_", name)[:40].strip("_")


def _unknown(file: File) -> Exception:
    """Make the error for a file of unknown content."""
    if not file.data[: 1 << 16].strip():
        return unreadable(file, "there is nothing in it")
    return unreadable(file, NOTHING, "line 1, byte 0")
