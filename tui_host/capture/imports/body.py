"""Files that hold one body: a request to a model, or its answer, whole or as a stream. Their bytes stay as they are.

A list of messages, as Cline keeps of each task in `api_conversation_history.json`, is shown as the request that would tell it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tui_host.capture.imports.exchanges import Exchanges
from tui_host.capture.imports.seen import MOST, File, Moment, Notes, Seen, read_value
from tui_host.capture.imports.wires import dialect_of_answer, dialect_of_history, dialect_of_request

_FIELD = re.compile(rb"(?:data|event|id|retry)(?::|\r?$)|:")
_LINE = re.compile(rb"[^\r\n]+")
_OBJECTS = re.compile(rb"\s*(?:\{|\[\s*\{)")
"""So begins what is an object, or a list of them."""
_LOOKED_AT = 200
"""Lines in which the dialect of a stream is looked for."""


class Body(NamedTuple):
    """What a file holds: a request, or the `messages` of one, or an answer in one of its forms (`sse`, `ndjson`, `json`)."""

    is_request: bool
    dialect: str
    form: str


def recognise(file: File) -> Body | None:
    """What the file holds; None if that is not one body."""
    if not 0 < len(file.data) <= MOST:
        return None
    data = file.data[:]
    value = read_value(data) if _OBJECTS.match(data) else None
    if value is not None:
        asked, said = dialect_of_request(value), dialect_of_answer(value)
        if asked or said:
            return Body(is_request=bool(asked), dialect=asked or said, form="json")
        told = dialect_of_history(value)
        return Body(is_request=True, dialect=told, form="messages") if told else None
    first = list(islice(_lines(data), _LOOKED_AT))
    if all(_FIELD.match(line) for line in _lines(data)):
        said_in = [line[5:].strip() for line in first if line.startswith(b"data:")]
        form = "sse"
    elif all(line.lstrip()[:1] == b"{" for line in _lines(data)):
        said_in = first
        form = "ndjson"
    else:
        return None
    spoken = (dialect_of_answer(read_value(each)) for each in said_in)
    dialect = next((each for each in spoken if each), "")
    if not dialect or (form == "ndjson" and dialect != "ollama"):
        return None
    return Body(is_request=False, dialect=dialect, form=form)


def _lines(data: bytes) -> Iterator[bytes]:
    """The lines that are not blank, one at a time: a log of millions is no body, as its first mostly tells."""
    return (found[0] for found in _LINE.finditer(data) if found[0].strip())


def read(files: Sequence[File], notes: Notes, peer: str) -> Iterator[Seen]:
    """The exchange of a request, an answer, or one of each, in whatever order they are named."""
    found = [(body, file) for file in files if (body := recognise(file)) is not None]
    found.sort(key=lambda each: not each[0].is_request)
    lane = Exchanges(notes, peer)
    at = Moment(min(file.time_ns for _, file in found), is_told=False)
    for body, file in found:
        data = file.data[:]
        if body.is_request:
            if body.form == "messages":
                data = b'{"messages":%s}' % data
            yield from lane.request(data, at, dialect=body.dialect, are_messages=body.form == "messages")
        else:
            yield from lane.answer(data, at, dialect=body.dialect, form=body.form)
            yield from lane.finish()
    yield from lane.finish()
