"""Reads event streams stored as text, whole or in the pieces that a proxy read. Source: WHATWG HTML, Server-sent events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tui_host.capture.json.file_values import read_value
from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart
from tui_host.opening.body_dialects import answer_of, is_frame

_FIELD = re.compile(r"\s*(?:(?:data|event|id|retry):|: )")
_DATA = re.compile(r"(?m)^data:[ \t]?(\{[^\r\n]*)")
DONE = re.compile(r"(?m)^data:[ \t]*\[DONE\]")
_ONE_BREAK = re.compile(rb"(?m)^(data:[^\r\n]*)(\r?\n)(?=(?:data|event|id):)")
"""A single line break between two events, whose empty line was lost."""


class StreamText(NamedTuple):
    """A text of events.

    Attributes:
        dialect: The dialect of the first event; empty if unknown.
        part: What the first and the last event tell about the answer.
    """

    data: bytes
    dialect: str
    part: AnswerPart
    is_done: bool


def stream_of(text: str) -> StreamText | None:
    """Read a text of events; None for any other text, and for events of an MCP server."""
    if not _FIELD.match(text):
        return None
    first = _DATA.search(text)
    last = text.rfind("\ndata:")
    begun = None if first is None else answer_of(_read(first[1]))
    ended = begun if last < 0 or begun is None else answer_of(_read(text[last + 6 :].partition("\n")[0]))
    is_done = DONE.search(text) is not None
    part = AnswerPart(is_event=True, ends=is_done)
    if begun is not None and begun.part is not None:
        has_end = ended is not None and ended.part is not None and (ended.part.ends or ended.part.is_empty)
        part = begun.part._replace(is_event=True, ends=is_done or has_end, is_empty=begun.part.is_empty and last < 0)
    data = with_empty_lines(text.encode("utf-8", "surrogatepass"))
    return StreamText(data, "" if begun is None else begun.dialect, part, is_done)


def frames_of(text: str) -> Iterator[tuple[bytes, JSON]]:
    """Yield the JSON-RPC messages in a text of events."""
    if _FIELD.match(text):
        for match in _DATA.finditer(text):
            if is_frame(value := _read(match[1])):
                yield match[1].encode("utf-8", "surrogatepass"), value


def with_empty_lines(data: bytes) -> bytes:
    """Restore the empty lines between one-line events, which programs drop when joining lines."""
    if b"\n" not in data.strip():
        return data
    return _ONE_BREAK.sub(rb"\1\2\2", data)


def _read(text: str) -> JSON:
    return read_value(text.strip().encode("utf-8", "surrogatepass"))
