"""Parses foreign JSON: integers of any length, control characters in strings, limits on nesting and work, and only the ends."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Final

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON

DEPTH: Final = 100
"""Deepest nesting of foreign JSON that recursive functions read."""
LEVELS: Final = 500
"""Deepest nesting of a frame: every version of Python can parse as much, at any depth of the call stack."""
PARTS_LIMIT: Final = 20_000
"""Number of brackets and commas up to which JSON is parsed on the event loop: each takes a parser some 5 µs."""
VALUE_LIMIT: Final = 64 << 20
"""Largest JSON value, in bytes; no model and no server sends a larger one."""

_QUOTES = 6 * PARTS_LIMIT
"""Number of quotation marks to look at: between as many stand more parts than `PARTS_LIMIT`, or it is no JSON."""
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_FEW = 20
_TOLERANT = json.JSONDecoder(strict=False)
_SKIMMED = 64 << 10
_SKIMMED_DEPTH = 200
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SCALAR = rf"(?:{_STRING}|-?\d++(?:\.\d++)?(?:[eE][-+]?\d++)?|-?Infinity|NaN|true|false|null)(?=\s*[,}}\]])"
_TOKEN = re.compile(
    rf"\s*(?:(?P<closes>[}}\]])|,?\s*(?P<key>{_STRING}\s*:\s*)?(?:(?P<opens>[{{\[])|{_SCALAR}))", re.DOTALL
)
_LAST = re.compile(rb'((?:,\s*"(?:id|jsonrpc|method)"\s*:\s*(?:"[^"\\]{0,200}"|-?\d{1,40}|null)\s*)*)\}\s*$')
_LAST_ERROR = re.compile(rb'"isError"\s*:\s*true\s*\}\s*$')


def read_json(data: bytes | str, depth: int | None = DEPTH) -> JSON:
    """Parse JSON in UTF-8, UTF-16 or UTF-32. An integer with more digits than Python converts is returned as text.

    Raises ValueError for any other text and for one that nests deeper than `depth`, RecursionError only without a depth.
    """
    text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
    if depth is not None and len(text) > depth and is_deeper(text, depth):
        raise ValueError(f"nested deeper than {depth} levels")
    try:
        value: JSON = _TOLERANT.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # too many digits; this way is slower, since it calls back for each integer
        value = json.loads(text, parse_int=integer, strict=False)
    return value


def read_value(data: bytes) -> JSON:
    """Parse JSON, where invalid UTF-8 is replaced; None if it is not JSON, too large or nested too deeply."""
    try:
        return read_json(data.decode("utf-8", "replace"), LEVELS) if len(data) <= VALUE_LIMIT else None
    except ValueError:
        return None


def read_object(data: bytes) -> Mapping[str, JSON]:
    """Parse the data of a record made by the host as a JSON object; returns an empty object for anything else."""
    return mapping(read_value(data))


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
    brackets = "".join(_pieces(text)[::2]).encode("ascii", "ignore").translate(_AS_SQUARE, _NO_BRACKETS)
    for removed in range(limit):
        if brackets.count(b"[]") <= len(brackets) // _FEW:  # long runs: the depth of each pair is quickly summed up
            between = (2 * piece.count(b"[") - len(piece) for piece in brackets.split(b"[]"))
            return removed + max(accumulate(between)) + 1 > limit
        brackets = brackets.replace(b"[]", b"")  # the innermost level
    return b"[" in brackets


def parts_of(text: str) -> int:
    """Count brackets and commas outside strings: exactly up to `PARTS_LIMIT`, then at least it. 30 MB take 0.1 s."""
    if sum(_occurrences(text, mark, PARTS_LIMIT) for mark in "{[,") <= PARTS_LIMIT:
        return 0
    outside = "".join(_pieces(text, _QUOTES)[:_QUOTES:2])
    return sum(map(outside.count, "{[,"))


def _pieces(text: str, most: int = -1) -> list[str]:
    """Split a text at the quotation marks of its strings, so that every second piece is outside."""
    plain = text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text
    return plain.split('"', most)


def _occurrences(text: str, mark: str, most: int) -> int:
    """Count a character, hardly beyond a limit; searching is ten times as fast as `count` where it is rare."""
    count, at = 0, text.find(mark)
    while at >= 0 and count <= most:
        count, at = count + 1, text.find(mark, at + 1)
    return count


def skim(data: bytes) -> Mapping[str, JSON]:
    """Return what stands near the beginning and at the end of an object that is too large, or too broken, to be parsed.

    Takes the same time for any length.
    """
    text, closing, end = data[:_SKIMMED].decode("utf-8", "replace"), "", 0
    while len(closing) < _SKIMMED_DEPTH and (match := _TOKEN.match(text, end)) is not None:
        closes = match["closes"] or ("}" if match["key"] else "]")
        if end and not closing.startswith(closes):
            break  # what comes next is broken
        end = match.end()
        if match["closes"]:
            closing = closing[1:]
        elif match["opens"]:
            closing = ("}" if match["opens"] == "{" else "]") + closing
        if not closing:
            break
    members = dict(mapping(read_value(f"{text[:end]}{closing}".encode())))
    tail = data[-1024:].rstrip()
    match = _LAST.search(tail)
    if match is not None:  # in most large answers the id comes last, and `isError` after the content
        result = members.get("result")
        if isinstance(result, dict) and _LAST_ERROR.search(tail[: match.start()]):
            members["result"] = {"isError": True, **result}
        members = {**mapping(read_value(b'{"":0' + match[1] + b"}")), **members}
    return members
