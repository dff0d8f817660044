"""Recognises files by their content, and reads them as one capture.

File content is foreign data: nothing in it is used as a path or a command; secrets are removed when records are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge

from tui_host.capture.record import Place
from tui_host.opening import har_reader, jsonl_reader, single_body
from tui_host.opening.decode_file import in_utf_8
from tui_host.opening.import_types import File, Notes, Progress, TimedDraft, unreadable
from tui_host.opening.log_reader import read_log
from tui_host.opening.single_body import BodyFile

_NOT_IN_A_NAME = re.compile(r"[^\w.-]+")
REMEDY = "export a HAR, write one JSON object a line, put one body into a file, or record with tui-host tap"
NOTHING = (
    "this is none of what can be read: JSON lines of tui-host, an HTTP archive, a request to a model or its answer,"
    " or lines with such bodies or JSON-RPC messages"
)


@dataclass(slots=True)
class Reading:
    """The result of recognising files.

    Attributes:
        own: The file, if it is a session in tui-host's record lines; `drafts` is then empty.
        notes: Messages for the user, complete once `drafts` was read to its end.
    """

    own: File | None
    notes: Notes
    formats: list[str]
    drafts: Iterator[TimedDraft]


def read(files: Sequence[File], progress: Progress | None = None, session: str | None = None) -> Reading:
    """Recognise files, and read them as one capture whose records belong to a session.

    Raises:
        TuiHostError: A file has an unknown format. The text says where it stops being a known one.
    """
    notes = Notes(progress or Progress(), are_several=len(files) > 1, place=Place(session=session))
    oldest_ns = min((file.time_ns for file in files), default=0)  # files without times all get the same time
    files = [replace(in_utf_8(file, notes), time_ns=oldest_ns) for file in files]
    own = [file for file in files if jsonl_reader.recognise(file)]
    notes.messages += [message for file in own for message in jsonl_reader.broken_lines(file)]
    if own == files and len(own) == 1 and len(jsonl_reader.sessions_of(own[0])) == 1:
        return Reading(own[0], notes, ["record lines"], iter(()))
    taps = jsonl_reader.Taps(notes, len(own))
    formats: list[str] = []
    sources: list[Iterator[TimedDraft]] = []
    bodies: list[tuple[File, BodyFile]] = []
    for file in files:
        if file in own:
            formats.append("record lines")
            sources.append(taps.read(file))
        elif har_reader.recognise(file):
            formats.append("an HTTP archive")
            sources.append(har_reader.read(file, notes))
        elif (body := single_body.recognise(file)) is not None:
            formats.append("a request" if body.is_request else "an answer")
            bodies.append((file, body))
        else:
            formats.append("a log")
            drafts = read_log(file, notes, peer_of(file))
            if drafts is None:
                raise _unknown(file)
            sources.append(drafts)
    if bodies:
        sources.append(single_body.read(bodies, notes, peer_of(bodies[0][0])))
    return Reading(None, notes, formats, merge(*sources, key=lambda timed: timed.at.ns))


def peer_of(file: File) -> str:
    """Make a name for a server or provider from a file's name."""
    stem = re.split(r"[/\\]", file.name)[-1].rpartition(".")[0] or file.name
    return _NOT_IN_A_NAME.sub("_", stem)[:40].strip("_") or "log"


def _unknown(file: File) -> Exception:
    """Make the error for a file of unknown content."""
    if not file.data[: 1 << 16].strip():
        return unreadable(file, "there is nothing in it")
    return unreadable(file, NOTHING, "line 1, byte 0", REMEDY)
