"""What others captured, recognised by its content and read: one module or folder for each format (`body`, `har`, `jsonl`, `logs`). Pure: bytes in, drafts with times out.

`read` gives a `Reading`. All in it is foreign: nothing in a file is a path, a command or trusted to have an end, and secrets are taken
out where it is kept, as everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import chain

from tui_host.opening import jsonl_reader as jsonl
from tui_host.opening import single_body as body
from tui_host.opening.cut_values import is_cut
from tui_host.opening.decode_file import plain
from tui_host.opening.docker_log import unwrapped
from tui_host.opening.drafts import File, Notes, Progress, Seen, line_of, unreadable
from tui_host.opening.har import archive
from tui_host.opening.log_clock import nearest
from tui_host.opening.logs import lines
from tui_host.opening.logs.halves import halves_of, joined
from tui_host.opening.logs.lines import Begin
from tui_host.opening.logs.pairs import pairs_in, read_pair
from tui_host.opening.unsupported import completion, printed_objects, unread
from tui_host.opening.wire_detection import Wires

__all__ = ["File", "Progress", "Reading", "read"]

_NOT_IN_A_NAME = re.compile(r"[^\w.-]+")

NOTHING = (
    "this is none of what can be read: JSON lines of tui-host, an HTTP archive, a request to a model or its answer,"
    " or a log with such bodies or JSON-RPC messages in its lines"
)


@dataclass(slots=True)
class Reading:
    """What files were recognised as.

    Attributes:
        own: The file with one session in record lines of our own, to be brought in as it was; None else, and then `seen` has what they say.
        notes: What was left out, once `seen` was read to its end.
        formats: What each file is, for a person.
        seen: What they say, in the order of time.
        untimed: Of several files those that tell no times, with their names: what one says has an order of its own, and no other.
    """

    own: File | None
    notes: Notes
    formats: list[str]
    seen: Iterator[Seen]
    untimed: Sequence[tuple[str, Iterator[Seen]]] = ()


def read(files: Sequence[File], wires: Wires, progress: Progress | None = None) -> Reading:
    """Recognise files, and read them as one capture.

    Args:
        files: Which.
        wires: The dialects.
        progress: Told how far it is read.

    Raises:
        TuiHostError: One is none of the formats; says where it ceases to be one.
    """
    notes = Notes(progress or Progress(), are_several=len(files) > 1)
    untold_ns = min((file.time_ns for file in files), default=0)  # of files that tell no times, none is before another
    files = [replace(unwrapped(plain(file, notes)), time_ns=untold_ns, changed_ns=file.time_ns) for file in files]
    own = [file for file in files if jsonl.recognise(file)]
    notes.told += [f"{file.name} ends within a line: it is read up to there." for file in own if jsonl.is_cut(file)]
    notes.told += [
        f"{file.name} has {count} {'line' if count == 1 else 'lines'} broken off before another session begins: left out."
        for file in own
        if (count := jsonl.halves(file))
    ]
    if own == files and len(own) == 1 and len(jsonl.sessions_of(own[0])) == 1:
        return Reading(own[0], notes, ["record lines"], iter(()))
    taps = jsonl.Taps(notes, len(own))
    formats: list[str] = []
    sources: list[tuple[str, Iterator[Seen]]] = []
    bodies: list[tuple[File, body.Body]] = []
    logs: list[tuple[File, Begin]] = []
    for file in files:
        if file in own:
            formats.append("record lines")
            sources.append((file.name, taps.read(file)))
        elif archive.recognise(file):
            formats.append("an HTTP archive")
            sources.append((file.name, archive.read(file, wires, notes)))
        elif found := body.recognise(file):
            formats.append("a request" if found.is_request else "an answer")
            bodies.append((file, found))
        elif refused := unread(file):
            raise refused
        elif lines.recognise(file, wires):
            formats.append("a log")
            logs.append((file, lines.begin_of(file, wires, notes.progress)))
        else:
            raise printed_objects(file) or _unknown(file)
    sources += _logs(logs, bodies, wires, notes)
    if bodies:
        name = " and ".join(file.name for file, _ in bodies)
        sources.append((name, body.read([file for file, _ in bodies], notes, peer_of(bodies[0][0]))))
    timed, untimed = ([seen for _, seen in sources], []) if len(sources) == 1 else _told(sources)
    return Reading(None, notes, formats, merge(*timed, key=lambda seen: seen.at.ns), untimed)


def _logs(
    logs: Sequence[tuple[File, Begin]], bodies: list[tuple[File, body.Body]], wires: Wires, notes: Notes
) -> Iterator[tuple[str, Iterator[Seen]]]:
    """What logs say. Two of which each holds one direction of a connection are one, and so are requests in one file and answers in another.

    A body that is half of that is taken out of the others.
    """
    dated_ns = next((begin.ns for _, begin in logs if begin.is_dated), None)
    if dated_ns is not None:
        logs = [
            (f, begin._replace(ns=nearest(begin.ns, dated_ns)) if begin.is_of_a_day else begin) for f, begin in logs
        ]
    pairs = pairs_in(logs, wires, notes)
    paired = {id(side.file) for pair in pairs for side in (pair.out, pair.back)}
    for pair in pairs:
        yield pair.names, read_pair(pair, wires, notes, as_peer(pair.name) or peer_of(pair.back.file))
    logs = [each for each in logs if id(each[0]) not in paired]
    halves = halves_of([file for file, _ in logs], bodies, wires)
    half_bodies = [each for each in bodies if halves is not None and each[0] in halves]
    bodies[:] = [each for each in bodies if each not in half_bodies]
    held: dict[int, Iterator[Seen]] = {}
    begins = [(file, begin.ns) for file, begin in logs]
    for file, begin_ns in (*begins, *((file, file.time_ns) for file, _ in half_bodies)):
        names = halves.names if halves is not None and file in halves else None
        seen = lines.read(file, wires, notes, peer_of(file), begin_ns, names)
        if any(each is file and found.form == "json" for each, found in half_bodies):
            seen = body.read([file], notes, peer_of(file))  # its bytes as they are; of streams there may be several
        if halves is not None and file in halves:
            held[halves.index(file)] = seen
        else:
            yield file.name, seen
    if halves is not None:
        yield f"{halves.asked.name} and {halves.said.name}", joined(halves, held[0], held[1], notes)


def _told(
    sources: Sequence[tuple[str, Iterator[Seen]]],
) -> tuple[list[Iterator[Seen]], list[tuple[str, Iterator[Seen]]]]:
    """Those whose first record tells when it was, and the others."""
    timed: list[Iterator[Seen]] = []
    untimed: list[tuple[str, Iterator[Seen]]] = []
    for name, seen in sources:
        first = next(seen, None)
        if first is None:
            continue
        if first.at.is_told:
            timed.append(chain((first,), seen))
        else:
            untimed.append((name, chain((first,), seen)))
    return timed, untimed


def peer_of(file: File) -> str:
    """What a server or provider is called that only its log is known of."""
    stem = re.split(r"[/\\]", file.name)[-1].rpartition(".")[0] or file.name
    return as_peer(stem) or "log"


def as_peer(name: str) -> str:
    """A foreign name as a server's or a provider's; empty if nothing is left of it."""
    return _NOT_IN_A_NAME.sub("_", name)[:40].strip("_")


def _unknown(file: File) -> Exception:
    """Where a file ceases to be anything: the first byte that is no UTF-8, else its first word."""
    if not file.data[: 1 << 16].strip():
        return unreadable(file, "there is nothing in it")
    try:
        file.data[:].decode()
    except UnicodeDecodeError as error:
        return unreadable(
            file, f"{NOTHING}; it is no text", f"line {line_of(file.data, error.start)}, byte {error.start}"
        )
    if (at := lines.first_completion(file)) >= 0:
        return completion(file, at)
    cut_at = len(file.data) if is_cut(file.data) else lines.first_cut(file)
    if cut_at >= 0:
        where = f"line {line_of(file.data, cut_at)}, byte {cut_at}"
        return unreadable(
            file, "what is JSON in it is cut off there, and what is left does not show what it was", where
        )
    return unreadable(file, NOTHING, "line 1, byte 0")
