"""Narrows foreign JSON to an expected type, and shortens JSON to one line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TypeGuard

from tui_host.errors import JSON

WORDS = 200
"""Largest number of characters in a line of shortened JSON."""
_ARRAYS = (list, tuple)
_encode = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` makes an encoder for each call


def mapping(value: JSON) -> Mapping[str, JSON]:
    """Return the value if the value is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def items(value: JSON) -> Sequence[JSON]:
    """Return the value if the value is an array, else an empty array."""
    return value if isinstance(value, _ARRAYS) else ()


def text_or_empty(value: object) -> str:
    """Return the value if the value is a text, else an empty text."""
    return value if isinstance(value, str) else ""


def number_or_zero(value: object) -> int:
    """Return the value if the value is an integer, else 0."""
    return value if isinstance(value, int) else 0


def as_json(value: object) -> JSON:
    """Return a value parsed by an SDK as JSON: a number that JSON lacks becomes null, any other type a string."""
    if value is None or isinstance(value, str | int):
        return value
    if _has_values(value):
        if isinstance(value, list):
            return [as_json(item) for item in value]
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value)


def _has_values(value: object) -> TypeGuard[list[object] | Mapping[str, object]]:
    return isinstance(value, list | Mapping)


def said(value: JSON) -> str:
    """Return a text without quotes, null as an empty text, and any other value as short JSON."""
    if isinstance(value, str):
        return _cut(value, WORDS)
    return "" if value is None else short(value)


def short(value: JSON, limit: int = WORDS) -> str:
    """Return JSON on one line, cut after `limit` characters; a large value takes no longer than a small one."""
    if isinstance(value, str):
        return _cut(_encode(value[: limit + 1]), limit)
    if isinstance(value, Mapping):
        brackets, pieces = "{}", (f"{short(key, limit)}:{short(item, limit)}" for key, item in value.items())
    elif isinstance(value, Sequence):
        brackets, pieces = "[]", (short(item, limit) for item in value)
    else:
        return _cut(_encode(value), limit)
    line = brackets[0]
    for piece in pieces:  # no more of them than are shown
        line += f",{piece}" if len(line) > 1 else piece
        if len(line) > limit:
            break
    return _cut(line + brackets[1], limit)


def clean(text: str) -> str:
    """Return at most `WORDS` characters, with escapes for characters that the database refuses."""
    if len(text) <= WORDS and text.isascii():
        return text
    return _cut(text, WORDS).encode("utf-8", "backslashreplace").decode()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
