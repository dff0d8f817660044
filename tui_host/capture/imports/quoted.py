"""What an object of a log quotes: who writes one for each message, or for each exchange, puts what was on the wire into it, as JSON or as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tui_host.capture.imports.seen import read_value
from tui_host.capture.imports.wires import dialect_of_answer, dialect_of_request, is_frame
from tui_host.capture.words import items, mapping
from tui_host.errors import JSON

_ASKED = (
    *("message", "msg", "request", "req", "request_body", "requestBody", "raw_request", "input", "params", "frame"),
    *("payload", "line", "event", "entry", "log", "http"),
)
_SAID = (
    *(
        "response",
        "resp",
        "res",
        "response_body",
        "responseBody",
        "raw_response",
        "output",
        "reply",
        "answer",
        "result",
    ),
    *("chunks", "stream", "events"),
)
_EITHER = ("body", "data", "json", "content", "raw", "text")
_RANKS = {name: rank for rank, names in enumerate((_ASKED, _EITHER, _SAID)) for name in names}
"""A request comes before its answer, in whatever order the object has them."""
_ADDRESSES = ("url", "path", "endpoint", "target", "uri")
DEPTH = 4
"""Levels of objects around what was on the wire."""
MOST_WORDS = 100
"""Characters of a member that can tell a time or a direction."""
_EVENT = re.compile(r"\s*(?:event:[^\n]*\n)?data:[ \t]?(?=\{)")

_ONE_BREAK = re.compile(rb"(?m)^(data:[^\r\n]*)(\r?\n)(?=(?:data|event|id):)")
"""Between events that are one line each."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """Something that was on the wire.

    Attributes:
        words: What stands around it.
        data: It.
        value: What it says; None for a text of events.
        dialect: In which such a text is written.
        url: The address that is told beside it; empty if none is.
    """

    words: str
    data: bytes
    value: JSON
    dialect: str = ""
    url: str = ""


def is_known(value: JSON) -> bool:
    """Whether it was on one of the wires itself."""
    return is_frame(value) or bool(dialect_of_request(value) or dialect_of_answer(value))


def with_empty_lines(data: bytes) -> bytes:
    """A stream of events that are one line each, with the empty lines between them: who joins the lines that he reads loses these."""
    return _ONE_BREAK.sub(rb"\1\2\2", data)


def quoted(value: JSON, words: str, url: str = "", depth: int = DEPTH) -> Iterator[Quoted]:
    """What a value quotes, each request before its answer.

    Args:
        value: An object or a list, which was on no wire itself.
        words: What stands around it.
        url: The address that is told there.
        depth: So many levels are looked at.
    """
    if isinstance(value, str):
        yield from _in_text(value, words, url, depth)
    elif is_known(value):
        yield Quoted(words, json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), value, url=url)
    elif depth and isinstance(value, Mapping):
        yield from _in_object(value, words, url, depth)
    elif depth:
        for item in items(value):
            yield from quoted(item, words, url, depth - 1)


def _in_object(value: Mapping[str, JSON], words: str, url: str, depth: int) -> Iterator[Quoted]:
    addresses = (said for name in _ADDRESSES if isinstance(said := value.get(name), str))
    url = next(addresses, "") or url
    names = sorted((name for name in value if name in _RANKS), key=_RANKS.__getitem__)
    plain = (f"{item}" for name, item in value.items() if isinstance(item, str | int | float) and name not in names)
    words = " ".join([words, *(each for each in plain if len(each) <= MOST_WORDS)])
    for name in names:
        yield from quoted(value[name], f"{words} {name}", url, depth - 1)


def _in_text(text: str, words: str, url: str, depth: int) -> Iterator[Quoted]:
    data = text.encode("utf-8", "surrogatepass")
    found = _EVENT.match(text)
    if found is not None:
        first = read_value(text[found.end() :].partition("\n")[0].strip().encode("utf-8", "surrogatepass"))
        if dialect := dialect_of_answer(first):
            yield Quoted(words, with_empty_lines(data), None, dialect, url)
        return
    value = read_value(data) if text.lstrip()[:1] in {"{", "["} else None
    if is_known(value):
        yield Quoted(words, data.strip(), value, url=url)
    elif depth and mapping(value):
        yield from quoted(value, words, url, depth - 1)
