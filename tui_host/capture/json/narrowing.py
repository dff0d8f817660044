"""Narrow foreign JSON to an expected type, and shorten JSON to one line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TypeGuard

from tui_host.errors import JSON

WORDS = 200
"""Characters that one line of shortened JSON has at most."""


def said(value: JSON) -> str:
    """Return a text without quotes, null as nothing, and any other value as short JSON."""
    if isinstance(value, str):
        return _cut(value, WORDS)
    return "" if value is None else short(value)


def short(value: JSON, limit: int = WORDS) -> str:
    """Return JSON in one line, cut after `limit` characters; a large value costs no more than a small one."""
    pieces: list[str] = []
    room = limit + 1
    for piece in _pieces(value, limit):
        pieces.append(piece)
        room -= len(piece)
        if room <= 0:
            break
    return _cut("".join(pieces), limit)


def mapping(value: JSON) -> Mapping[str, JSON]:
    """Return the value if the value is an object, else an empty object."""
    return value if isinstance(value, (dict, Mapping)) else {}  # a class is looked at faster than what is like one


def items(value: JSON) -> Sequence[JSON]:
    """Return the value if the value is an array, else an empty array."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Return whether something parsed from JSON is an object."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Return whether something parsed from JSON is an array."""
    return isinstance(value, list)


def as_json(value: object) -> JSON:
    """Return a value parsed by an SDK as JSON: a number outside of JSON becomes null, any further type a string."""
    if value is None or isinstance(value, str | int):
        return value
    if is_array(value):
        return [as_json(item) for item in value]
    if is_object(value):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value)


def clean(text: str) -> str:
    """Return at most `WORDS` characters, with escapes for characters refused by the database."""
    if len(text) <= WORDS and text.isascii():
        return text
    return _cut(text, WORDS).encode("utf-8", "backslashreplace").decode()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _pieces(value: JSON, limit: int) -> Iterator[str]:
    if isinstance(value, str):
        yield json.dumps(value[: limit + 1], ensure_ascii=False)
    elif isinstance(value, Mapping):
        yield "{"
        for number, (key, item) in enumerate(value.items()):
            yield f"{',' if number else ''}{json.dumps(key[: limit + 1], ensure_ascii=False)}:"
            yield from _pieces(item, limit)
        yield "}"
    elif isinstance(value, Sequence):
        yield "["
        for number, item in enumerate(value):
            if number:
                yield ","
            yield from _pieces(item, limit)
        yield "]"
    else:
        yield json.dumps(value)
