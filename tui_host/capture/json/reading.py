"""Parse foreign JSON: with integers of any length, with control characters in strings, and not deeper than callers can walk."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Final

from tui_host.errors import JSON

DEPTH: Final = 100
"""Levels that foreign JSON may have where recursive functions walk it."""
LEVELS: Final = 500
"""Levels that a frame may have: every version of Python can parse so many, however deep the call is."""

_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_FEW = 20
_TOLERANT = json.JSONDecoder(strict=False)


def load(text: str | bytes, *, strict: bool = True) -> JSON:
    """Parse JSON. An integer with too many digits for Python is returned as text.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It nests deeper than Python parses.
    """
    try:
        value: JSON = json.loads(text, strict=strict) if strict else _TOLERANT.decode(_decoded(text))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:  # of too many digits; this way is slower, as it calls back for each integer
        value = json.loads(text, parse_int=integer, strict=strict)
    return value


def load_tolerantly(text: str) -> JSON:
    """Parse JSON with control characters in strings; raises as `load` does."""
    return load(text, strict=False)


def read_json(data: bytes | str) -> JSON:
    """Parse JSON tolerantly: control characters in strings, integers of any length, UTF-8, UTF-16 or UTF-32.

    Raises:
        ValueError: It is not JSON, or it nests deeper than `DEPTH`.
    """
    text = _decoded(data)
    if is_deeper(text):
        raise ValueError(f"nested deeper than {DEPTH} levels")
    return load(text, strict=False)


def integer(text: str) -> int | str:
    """Return an integer, or the text where Python does not convert so many digits."""
    try:
        return int(text)
    except ValueError:
        return text


def is_deeper(text: str, limit: int = DEPTH) -> bool:
    """Return whether brackets outside of strings nest deeper than the limit, without recursion; 4 MB take a fraction of a second.

    For a text that is not JSON the answer may be True too early, but is never False where a parser would go deeper.
    """
    if text.count("[") + text.count("{") <= limit:
        return False
    plain = text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text
    outside = "".join(plain.split('"')[::2]).encode("ascii", "ignore")
    brackets = outside.translate(_AS_SQUARE, _NO_BRACKETS)
    for passed in range(limit):
        if passed + brackets.count(b"[") <= limit:
            return False
        if brackets.count(b"[]") <= len(brackets) // _FEW:  # what is left goes up and down in long runs
            return passed + _deepest(brackets) > limit
        brackets = brackets.replace(b"[]", b"")  # removes the innermost level
    return b"[" in brackets


def _deepest(brackets: bytes) -> int:
    """Return the depth at the innermost pairs of brackets."""
    between = (2 * piece.count(b"[") - len(piece) for piece in brackets.split(b"[]"))
    return max(accumulate(between)) + 1


def _decoded(data: bytes | str) -> str:
    return data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
