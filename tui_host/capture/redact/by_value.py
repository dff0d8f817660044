"""Secrets looked for by value in bytes: where they stand, what could begin one, and what is put in their place."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tui_host.capture.record import Redaction
from tui_host.capture.redact.spellings import forms_of

Kept: TypeAlias = tuple[bytes, tuple[Redaction, ...]]
"""Bytes without secrets, and what was taken out of them."""

_NOT_IN_A_NAME = re.compile(r"[^\w.\-]")
_PIECE = 4
"""Bytes at the end that tell of which needle they may be."""
_WORD = 8
"""Bytes that are looked at together."""
_STEP = 4
"""Of so many words one is looked at."""
_LONG = (_STEP + 1) * _WORD
"""Bytes from which a needle has one that is looked at in it, wherever it stands."""


@dataclass(frozen=True, slots=True)
class Needle:
    """One form of one secret: what to look for, and what to put in its place."""

    name: str
    data: bytes
    mark: bytes


@dataclass(frozen=True, slots=True)
class Hit:
    """Where one stands."""

    start: int
    end: int
    needle: Needle


class Spelled:
    """A secret in all its forms.

    Args:
        name: What it is called.
        value: Itself.

    Attributes:
        short: The needles that are too short for a look at every so many words.
        long: The others.
        words: Those of which each of the long ones has one where it is looked at, wherever it stands.
        last: Every byte that a part of one may end with.
        beginnings: The first bytes of all.
    """

    def __init__(self, name: str, value: str) -> None:
        stands_for = mark(name).encode()
        every = [Needle(name, data, stands_for) for data in sorted(forms_of(value), key=len, reverse=True)]
        self.short = tuple(each for each in every if len(each.data) < _LONG)
        self.long = tuple(every[: len(every) - len(self.short)])
        starts = range(_STEP * _WORD)
        self.words = frozenset(
            int.from_bytes(each.data[start : start + _WORD], sys.byteorder) for each in self.long for start in starts
        )
        self.last = frozenset(b"".join(each.data for each in every))
        self.beginnings = frozenset(each.data[:size] for each in every for size in range(1, _PIECE))


class Needles:
    """What is looked for at once.

    A secret has some twenty forms, and to look for each would take as many times as long. So of the bytes only every so many are looked
    at, eight at a time, so often that eight of any needle are among them: mostly they are of none. The few that are short are sought one
    by one.

    Args:
        secrets: Whose they are; where two say the same, it is the first one's.
    """

    def __init__(self, secrets: Iterable[Spelled] = ()) -> None:
        secrets = tuple(secrets)
        self._short = tuple(needle for each in secrets for needle in each.short)
        self._long = tuple(needle for each in secrets for needle in each.long)
        self._words = frozenset[int]().union(*(each.words for each in secrets))
        self._last = frozenset[int]().union(*(each.last for each in secrets))
        self._beginnings = frozenset[bytes]().union(*(each.beginnings for each in secrets))

    def __bool__(self) -> bool:
        return bool(self._short or self._long)

    def are_in(self, data: bytes) -> bool:
        """Whether one stands in the bytes."""
        return any(needle.data in data for needle in self._likely(data))

    def hits(self, data: bytes) -> list[Hit]:
        """Where they stand in the bytes, in order, without overlap."""
        hits: list[Hit] = []
        for needle in self._likely(data):
            if needle.data in data:
                hits.extend(_occurrences(data, needle))
        if len(hits) < 2:
            return hits
        hits.sort(key=lambda hit: (hit.start, -hit.end))  # of those that are alike the first stays first
        merged = [hits[0]]
        for hit in hits[1:]:
            last = merged[-1]
            if hit.start >= last.end:
                merged.append(hit)
            elif hit.end > last.end:
                merged[-1] = Hit(last.start, hit.end, last.needle)
        return merged

    def open_end(self, data: bytes) -> int:
        """Where the longest end of the bytes begins that could be the beginning of one; their length if none could."""
        size = len(data)
        if not data or data[-1] not in self._last:
            return size
        longest = max((each for each in range(1, min(_PIECE, size + 1)) if data[-each:] in self._beginnings), default=0)
        piece = data[-_PIECE:] if size >= _PIECE else b""
        for needle in self._short + self._long if piece else ():
            at = needle.data.rfind(piece, 0, -1)  # of one, and not all of it
            while at + _PIECE > longest and at >= 0:
                if data.endswith(needle.data[: at + _PIECE]):
                    longest = at + _PIECE
                at = needle.data.rfind(piece, 0, at + _PIECE - 1)
        return size - longest

    def _likely(self, data: bytes) -> tuple[Needle, ...]:
        """Those that are worth being sought in the bytes, and all that are in them."""
        if not self._words or len(data) < _LONG:
            return self._short
        seen = memoryview(data)[: len(data) - len(data) % _WORD].cast("Q")[::_STEP].tolist()
        found = self._words.intersection(seen)
        if not found:
            return self._short
        words = [number.to_bytes(_WORD, sys.byteorder) for number in found]
        return self._short + tuple(each for each in self._long if any(word in each.data for word in words))


def _occurrences(data: bytes, needle: Needle) -> Iterator[Hit]:
    at = data.find(needle.data)
    while at >= 0:
        end = at + len(needle.data)
        yield Hit(at, end, needle)
        at = data.find(needle.data, end)


def mark(name: str) -> str:
    """What stands where a secret was; nothing in it needs escaping in JSON."""
    return f"⟨secret:{name_in_mark(name)}⟩"


def name_in_mark(name: str) -> str:
    """A secret's name as its mark has it."""
    return _NOT_IN_A_NAME.sub("_", name)


def without(data: bytes, hits: list[Hit]) -> Kept:
    """The bytes with marks where these stand, and what was taken out."""
    pieces: list[bytes] = []
    end = 0
    for hit in hits:
        pieces += (data[end : hit.start], hit.needle.mark)
        end = hit.end
    pieces.append(data[end:])
    found = tuple(Redaction(where="data", name=hit.needle.name, length=hit.end - hit.start) for hit in hits)
    return b"".join(pieces), found
