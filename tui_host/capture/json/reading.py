"""Parses foreign JSON: integers of any length, control characters in strings, and a limit on nesting and on work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import accumulate
from typing import Final

from tui_host.errors import JSON

DEPTH: Final = 100
"""Deepest nesting of foreign JSON that recursive functions read."""
LEVELS: Final = 500
"""Deepest nesting of a frame: every version of Python can parse as much, at any depth of the call stack."""
PARTS_LIMIT: Final = 20_000
"""Number of brackets and commas up to which JSON is parsed on the event loop: each takes a parser some 5 µs."""

_QUOTES_PER_PART = 6
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_FEW = 20
_TOLERANT = json.JSONDecoder(strict=False)


def load(text: str | bytes) -> JSON:
    """Parse JSON in UTF-8, UTF-16 or UTF-32. An integer with more digits than Python converts is returned as text.

    Raises:
        ValueError: The text is not JSON.
        RecursionError: The text nests deeper than Python can parse.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        value: JSON = _TOLERANT.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # too many digits; this way is slower, since it calls back for each integer
        value = json.loads(text, parse_int=integer, strict=False)
    return value


def read_json(data: bytes | str, depth: int = DEPTH) -> JSON:
    """Parse JSON as `load` does.

    Raises:
        ValueError: The text is not JSON, or nests deeper than `depth`.
    """
    text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
    if len(text) > depth and is_deeper(text, depth):
        raise ValueError(f"nested deeper than {depth} levels")
    return load(text)


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
    if _occurrences(text, "[", limit) + _occurrences(text, "{", limit) <= limit:
        return False
    outside = "".join(_without_escapes(text).split('"')[::2])
    brackets = outside.encode("ascii", "ignore").translate(_AS_SQUARE, _NO_BRACKETS)
    for removed in range(limit):
        if (
            brackets.count(b"[]") <= len(brackets) // _FEW
        ):  # the others form long runs: the depth of each pair is quickly summed up
            between = (2 * piece.count(b"[") - len(piece) for piece in brackets.split(b"[]"))
            return removed + max(accumulate(between)) + 1 > limit
        brackets = brackets.replace(b"[]", b"")  # the innermost level
    return b"[" in brackets


def parts_of(text: str) -> int:
    """Count brackets and commas outside strings: exactly up to `PARTS_LIMIT`, then at least it. 30 MB take 0.1 s."""
    if sum(_occurrences(text, mark, PARTS_LIMIT) for mark in "{[,") <= PARTS_LIMIT:
        return 0
    plain = _without_escapes(text)
    quotes = plain.count('"')
    if quotes > PARTS_LIMIT * _QUOTES_PER_PART:
        return quotes // _QUOTES_PER_PART
    outside = "".join(plain.split('"')[::2])
    return sum(map(outside.count, "{[,"))


def _without_escapes(text: str) -> str:
    return text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text


def _occurrences(text: str, mark: str, most: int) -> int:
    """Count a character, hardly beyond a limit; searching is ten times as fast as `count` where it is rare."""
    count, at = 0, text.find(mark)
    while at >= 0 and count <= most:
        count, at = count + 1, text.find(mark, at + 1)
    return count
