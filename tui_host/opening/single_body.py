"""Files that hold one body: a request to a model, or its answer, whole or as a stream. Their bytes stay as they are.

But for the empty lines of a stream, where whoever wrote it had read it line by line and kept those that say something.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tui_host.errors import JSON
from tui_host.opening.cline_history import exchanges_in
from tui_host.opening.cut_values import CUT, Cuts
from tui_host.opening.drafts import MOST, File, Moment, Notes, Seen, read_value
from tui_host.opening.exchange_assembly import Exchanges
from tui_host.opening.quoted import holds_both, with_empty_lines
from tui_host.opening.stream_pieces import Stream, id_of
from tui_host.opening.wire_detection import (
    Known,
    dialect_of_answer,
    dialect_of_history,
    dialect_of_request,
    dialects_of_request,
    is_bare_error,
)

_FIELD = re.compile(rb"(?:data|event|id|retry)(?::|\r?$)|:")
_LINE = re.compile(rb"[^\r\n]+")
_EMPTY_LINE = re.compile(rb"\n[ \t]*\r?\n|\r\r")
_END_OF_EVENT = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))+")
_END_OF_LINE = re.compile(rb"\n+")
_END = re.compile(rb"(?m)^data:[ \t]*\[DONE\]")
_FIRST = re.compile(rb'(?<!\\)"type"\s*:\s*"(?:message_start|response\.created)"')
_DONE = re.compile(rb'(?<!\\)"done"\s*:\s*true')
"""Of each a stream has one."""
_OBJECTS = re.compile(rb"\s*(?:\{|\[\s*\{)")
"""So begins what is an object, or a list of them."""
_LOOKED_AT = 200
"""Lines in which the dialect of a stream is looked for."""


class Body(NamedTuple):
    """What a file holds.

    Attributes:
        is_request: It is a request, or the `messages` of one; else an answer in one of its forms (`sse`, `ndjson`, `json`).
        dialect: In which it is written.
        form: How.
        dialects: Of a request, all in which it may be written.
        has_lost_lines: It is a stream without the empty lines that end its events, each of which is whole in its line.
    """

    is_request: bool
    dialect: str
    form: str
    dialects: frozenset[str] = frozenset()
    has_lost_lines: bool = False


def recognise(file: File) -> Body | None:
    """What the file holds; None if that is not one body."""
    if not 0 < len(file.data) <= MOST:
        return None
    data = file.data[:]
    value = read_value(data) if _OBJECTS.match(data) else None
    if value is not None:
        asked, answered = dialect_of_request(value), dialect_of_answer(value)
        answered = answered or ("ollama" if is_bare_error(value) else "")
        if asked and holds_both(value, Known("request", asked)):
            return None
        if asked or answered:
            return Body(bool(asked), asked or answered, "json", dialects_of_request(value, asked))
        told = dialect_of_history(value)
        return Body(is_request=True, dialect=told, form="messages") if told else None
    first = list(islice(_lines(data), _LOOKED_AT))
    lost = False
    if all(_FIELD.match(line) for line in _lines(data)):
        said_in = [line[5:].strip() for line in first if line.startswith(b"data:")]
        form = "sse"
        lost = len(said_in) > 1 and not _EMPTY_LINE.search(data.strip())
    elif all(line.lstrip()[:1] == b"{" for line in _lines(data)):
        said_in = first
        form = "ndjson"
    else:
        return None
    said = [read_value(each) for each in said_in]
    dialect = next((found for each in said if (found := dialect_of_answer(each))), "")
    if not dialect or (form == "ndjson" and dialect != "ollama") or _are_several(data, said, form):
        return None
    return Body(is_request=False, dialect=dialect, form=form, has_lost_lines=lost)


def _are_several(data: bytes, said: Sequence[JSON], form: str) -> bool:
    """Whether a stream is more than one, which a log may be, and no body."""
    if form == "ndjson":
        return len(_DONE.findall(data)) > 1
    if any(len(each.findall(data)) > 1 for each in (_FIRST, _END)):
        return True
    names = Counter(name for each in said if (name := id_of(each)))
    return sum(count > 1 for count in names.values()) > 1


def _lines(data: bytes) -> Iterator[bytes]:
    """The lines that are not blank, one at a time: a log of millions is no body, as its first mostly tells."""
    return (found[0] for found in _LINE.finditer(data) if found[0].strip())


def read(files: Sequence[File], notes: Notes, peer: str) -> Iterator[Seen]:
    """Each request with the first answer in its dialect, in whatever order they are named; what fits nothing stands alone."""
    found = [(body, file) for file in files if (body := recognise(file)) is not None]
    answers = [each for each in found if not each[0].is_request]
    lane = Exchanges(notes, peer)
    at = Moment(min(file.time_ns for _, file in found), is_told=False)
    alone: list[File] = []
    for body, file in found:
        if body.form == "messages":
            yield from exchanges_in(file, lane, notes, body.dialect)
        elif body.is_request:
            fitting = next((each for each in answers if each[0].dialect in body.dialects), None)
            dialect = body.dialect if fitting is None else fitting[0].dialect
            yield from lane.request(file.data[:], at, dialect=dialect)
            if fitting is None:
                alone.append(file)
                continue
            answers.remove(fitting)
            yield from _answer(*fitting, at, lane, notes)
    yield from lane.finish()
    for body, file in answers:
        yield from _answer(body, file, at, lane, notes)
    if alone and answers:
        asked, said = (" and ".join(file.name for file in each) for each in (alone, [file for _, file in answers]))
        notes.told.append(f"{asked} and {said} do not fit together, being of different APIs: each is shown alone.")


def _answer(body: Body, file: File, at: Moment, lane: Exchanges, notes: Notes) -> Iterator[Seen]:
    data = file.data[:]
    if body.has_lost_lines:
        data = with_empty_lines(data)
        notes.told.append(f"{file.name} has lost the empty lines that end a stream's events: they are put back.")
    last = b""
    for piece in _pieces(data, body.form):
        yield from lane.answer(piece, at, dialect=body.dialect, form=body.form)
        last = piece
    if body.form != "json" and _is_cut(last):
        cuts, lane.cut = Cuts(), CUT
        cuts.add(file.data.rfind(b"\n") + 1)
        notes.told += cuts.told(file)
    yield from lane.finish()


def _is_cut(piece: bytes) -> bool:
    """Whether a stream's last piece ends within what it says."""
    stream = Stream()
    stream.put(piece)
    return stream.is_cut


def _pieces(data: bytes, form: str) -> Iterator[bytes]:
    """A stream cut behind each of its events, so that they are counted as those are which came one by one; all else whole."""
    end = {"sse": _END_OF_EVENT, "ndjson": _END_OF_LINE}.get(form)
    at = 0
    for found in end.finditer(data) if end is not None else ():
        yield data[at : found.end()]
        at = found.end()
    if at < len(data) or not data:
        yield data[at:]
