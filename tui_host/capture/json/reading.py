"""Parses foreign JSON: with integers of any length and control characters in strings, and a limit on nesting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import accumulate
from typing import Final

from tui_host.capture.json.scan import occurrences
from tui_host.errors import JSON

DEPTH: Final = 100
"""Deepest nesting of foreign JSON that recursive functions read."""
LEVELS: Final = 500
"""Deepest nesting of a frame: every version of Python can parse as much, at any depth of the call stack."""

_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_FEW = 20
_TOLERANT = json.JSONDecoder(strict=False)


def load(text: str | bytes, *, strict: bool = True) -> JSON:
    """Parse JSON. An integer with more digits than Python converts is returned as text.

    Raises:
        ValueError: The text is not JSON.
        RecursionError: The text nests deeper than Python can parse.
    """
    try:
        value: JSON = json.loads(text, strict=strict) if strict else _TOLERANT.decode(_decoded(text))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:  # too many digits; this way is slower, since it calls back for each integer
        value = json.loads(text, parse_int=integer, strict=strict)
    return value


def read_json(data: bytes | str) -> JSON:
    """Parse JSON tolerantly: control characters in strings, integers of any length, UTF-8, UTF-16 or UTF-32.

    Raises:
        ValueError: The text is not JSON, or nests deeper than `DEPTH`.
    """
    text = _decoded(data)
    if is_deeper(text):
        raise ValueError(f"nested deeper than {DEPTH} levels")
    return load(text, strict=False)


def read_object(data: bytes) -> Mapping[str, JSON]:
    """Parse the data of a record made by the host as a JSON object; returns an empty object for anything else."""
    try:
        value: JSON = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}


def integer(text: str) -> int | str:
    """Return an integer, or the text if it has more digits than Python converts."""
    try:
        return int(text)
    except ValueError:
        return text


def is_deeper(text: str, limit: int = DEPTH) -> bool:
    """Return whether brackets outside strings nest deeper than the limit. Not recursive; 4 MB take a fraction of a second.

    For a text that is not JSON the result may be True too early, but never False if a parser would go deeper.
    """
    if occurrences(text, "[", limit) + occurrences(text, "{", limit) <= limit:
        return False
    plain = text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text
    outside = "".join(plain.split('"')[::2]).encode("ascii", "ignore")
    brackets = outside.translate(_AS_SQUARE, _NO_BRACKETS)
    for passed in range(limit):
        if passed + brackets.count(b"[") <= limit:
            return False
        if brackets.count(b"[]") <= len(brackets) // _FEW:  # the remaining brackets form long runs
            return passed + _deepest(brackets) > limit
        brackets = brackets.replace(b"[]", b"")  # removes the innermost level
    return b"[" in brackets


def _deepest(brackets: bytes) -> int:
    """Return the depth of the innermost pairs of brackets."""
    between = (2 * piece.count(b"[") - len(piece) for piece in brackets.split(b"[]"))
    return max(accumulate(between)) + 1


def _decoded(data: bytes | str) -> str:
    return data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
