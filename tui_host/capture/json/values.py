"""Values on the lines of JSON: where they stand, their paths as `jq` writes them, and what strings say."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Literal, NamedTuple

from tui_host.capture.json.spans import spans

_KEY = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\r\n]*+:')
_VALUE = re.compile(r'(\s*+)(?:("[^"\\]*+(?:\\.[^"\\]*+)*+"?)|([{\[])(?!\s*+[}\]])|[{\[]\s*+.|[^\s,\]}]*+)', re.DOTALL)
"""A string, the beginning of a container that is not empty, or another value."""
_DECODER = json.JSONDecoder(strict=False)


class Value(NamedTuple):
    """A value on a line, as a range of the text."""

    kind: Literal["container", "string", "other"]
    start: int
    end: int


def key_end(text: str, start: int, end: int) -> int:
    """Return the end of the key and colon at the beginning of a line; 0 without a key."""
    match = _KEY.match(text, start, end)
    return match.end() if match else 0


def value_at(text: str, place: int) -> Value:
    """Return the value on the line that begins at a place; of a container only the beginning."""
    match = _VALUE.match(text, key_end(text, place, len(text)) or place)
    if match is None:
        return Value("other", place, place + 1)
    start, end = match.end(1), match.end()
    if match[2]:
        return Value("string", start, end)
    return Value("container" if match[3] else "other", start, max(start + 1, end))


def path_at(body: bytes, place: int) -> str:
    """Return the path of the outermost value that begins at a place in JSON, else of the innermost around it."""
    path, start, end = "", 0, len(body)
    while (start < place or not path) and (node := spans(body[start:end], depth=1)) is not None:
        steps = [(key_step(json.dumps(key, ensure_ascii=False)), child) for key, child in node.members]
        steps += [(f"[{number}]", child) for number, child in enumerate(node.elements)]
        inside = next(((step, child) for step, child in steps if child.start <= place - start < child.end), None)
        if inside is None:
            break
        path += inside[0]
        start, end = start + inside[1].start, start + inside[1].end
    return path.removeprefix(".")


def decoded(literal: str) -> str:
    """Return what a JSON string says; one that is cut off in an escape stays as it is written."""
    for whole in (literal, f'{literal}"'):
        with suppress(ValueError):
            return str(_DECODER.decode(whole))
    return literal.removeprefix('"')


def key_step(key: str) -> str:
    """Return a key as a step of a path: `.name`, or `["a b"]` where that is no identifier."""
    return f".{key[1:-1]}" if key[1:-1].isidentifier() else f"[{key}]"
