"""How deep a JSON text nests, found before any parser has to recurse into it. Source: threats.md, PRO-02."""

from __future__ import annotations

from itertools import accumulate
from typing import Final

DEPTH: Final = 100
"""Levels that foreign JSON may have: what is read from it is walked by functions that call themselves."""

LEVELS: Final = 500
"""How deep a frame may nest: what any version of Python reads, in whatever depth of calls it is read."""
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_FEW = 20


def is_deeper(text: str, limit: int = DEPTH) -> bool:
    """Whether brackets outside strings nest deeper than the limit; 4 MB of whatever take a fraction of a second.

    For a text that is no JSON the answer may be yes too early, never no where a parser would go deeper.
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
        brackets = brackets.replace(b"[]", b"")  # one level, from within
    return b"[" in brackets


def _deepest(brackets: bytes) -> int:
    """The depth at its innermost pairs, between which a level is left and entered again."""
    between = (2 * piece.count(b"[") - len(piece) for piece in brackets.split(b"[]"))
    return max(accumulate(between)) + 1
