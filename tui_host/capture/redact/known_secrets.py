"""Searches bytes for secrets known by value, in every spelling that is promised, and replaces them by marks."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from tui_host.capture.record import Redaction

Redacted: TypeAlias = tuple[bytes, tuple[Redaction, ...]]
"""Bytes without secrets, and what was removed from them."""

_HEAD = 4  # bytes by which a needle that begins near the end of data is found
_WORD, _STEP = 8, 4  # bytes that are compared as one integer; one of so many words of the data is compared
_LONG = (_STEP + 1) * _WORD  # bytes from which a needle has a compared word in it, wherever it stands
# what encoders leave, beside letters, digits and `-_.~`: the third is JavaScript's
_SAFE_IN_URLS = ("", "/", "-_.!~*'()")
_GO = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})  # what Go escapes in JSON beyond what it must


class Hit(NamedTuple):
    """A place where a secret was found: `length` bytes of it, of which further parts may stand elsewhere, without a mark."""

    start: int
    end: int
    name: str
    length: int
    is_further: bool = False

    @property
    def mark(self) -> bytes:
        return b"" if self.is_further else mark(self.name).encode()


def mark(name: str) -> str:
    """Return the mark for a secret; nothing in a mark needs escaping in JSON."""
    return f"⟨secret:{name_in_mark(name)}⟩"


def name_in_mark(name: str) -> str:
    """Return the name of a secret as written in marks."""
    return re.sub(r"[^\w.\-]", "_", name)


@lru_cache(256)  # a dropped credential may come back
def _needles_of(value: str) -> tuple[tuple[bytes, ...], frozenset[int]]:
    """Return every spelling of a secret to search for (raw, hex, JSON, percent and base64), and all words of the long ones."""
    raw = value.encode("utf-8", "surrogateescape")
    texts = {raw.hex(), raw.hex().upper()}
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        texts |= {text, text.replace("/", "\\/"), text.translate(_GO)}
    for safe in _SAFE_IN_URLS:
        text = quote(raw, safe=safe)
        texts |= {text, text.replace("%20", "+"), re.sub("%..", lambda match: match[0].lower(), text)}
    spellings = {raw, *(text.encode("utf-8", "surrogateescape") for text in texts)}
    for offset in (0, 1, 2):
        # Of the encoded bytes around, only these characters are the secret's alone.
        encoded = base64.b64encode(bytes(offset) + raw)[-(-8 * offset // 6) : 8 * (offset + len(raw)) // 6]
        spellings |= {encoded, encoded.translate(bytes.maketrans(b"+/", b"-_"))}
    long = [spelling for spelling in spellings if len(spelling) >= _LONG]
    words = (spelling[start : start + _WORD] for spelling in long for start in range(_STEP * _WORD))
    numbers = frozenset(int.from_bytes(word, sys.byteorder) for word in words)
    return tuple(sorted(spellings, key=len, reverse=True)), numbers


class Needles:
    """Searches for many spellings of secrets, given by name and value, at once. Never changes.

    Searching for each of a secret's spellings takes long. So one word of several is compared with the words of all long needles,
    which mostly match nothing. The few short needles are searched for one by one.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        spelled = [(name, *_needles_of(value)) for name, value in secrets]
        self._all = [(needle, name) for name, needles, _ in spelled for needle in needles]
        self._short = [item for item in self._all if len(item[0]) < _LONG]
        self._long = [item for item in self._all if len(item[0]) >= _LONG]
        self._words = frozenset[int]().union(*(words for *_, words in spelled))
        self._beginnings = {needle[:size] for needle, _ in self._all for size in range(1, _HEAD)}

    def __bool__(self) -> bool:
        return bool(self._all)

    def hits(self, data: bytes) -> list[Hit]:
        """Return the places of needles in the bytes, in order and without overlap."""
        likely = self._short
        if self._words and len(data) >= _LONG:
            compared = memoryview(data)[: len(data) - len(data) % _WORD].cast("Q")[::_STEP].tolist()
            if numbers := self._words.intersection(compared):
                words = [number.to_bytes(_WORD, sys.byteorder) for number in numbers]
                likely = self._short + [item for item in self._long if any(word in item[0] for word in words)]
        hits: list[Hit] = []
        for needle, name in likely:
            end = 0
            while (start := data.find(needle, end)) >= 0:
                end = start + len(needle)
                hits.append(Hit(start, end, name, len(needle)))
        return merged(hits) if hits else hits

    def open_end(self, data: bytes) -> int:
        """Return where the longest end that may begin a needle starts; the length of the bytes if there is none."""
        size = len(data)
        starts = range(max(size - _HEAD + 1, 0), size)
        first = next((start for start in starts if data[start:] in self._beginnings), size)
        for needle, _ in self._all:
            start = data.find(needle[:_HEAD], max(size - len(needle) + 1, 0), size)
            while 0 <= start < first:
                if needle.startswith(data[start:]):
                    first = start
                start = data.find(needle[:_HEAD], start + 1)
        return first

    def beginning(self, data: bytes) -> Hit | None:
        """Return a hit for bytes with which a needle begins, and goes on."""
        hits = (Hit(0, len(data), name, len(needle)) for needle, name in self._all if needle[:-1].startswith(data))
        return next(hits, None)


def merged(hits: list[Hit]) -> list[Hit]:
    """Return hits in order, with overlapping hits merged."""
    hits.sort(key=lambda hit: (hit.start, -hit.end))  # stable: of equal hits the first stays first
    apart: list[Hit] = []
    for hit in hits:
        if not apart or hit.start >= apart[-1].end:
            apart.append(hit)
        elif hit.end > apart[-1].end:
            apart[-1] = apart[-1]._replace(end=hit.end, length=max(apart[-1].length, hit.end - apart[-1].start))
    return apart


def without(data: bytes, hits: Sequence[Hit]) -> Redacted:
    """Replace the hits by marks; returns the bytes and the redactions."""
    pieces: list[bytes] = []
    end = 0
    for hit in hits:
        pieces += (data[end : hit.start], hit.mark)
        end = hit.end
    redactions = (Redaction(where="data", name=hit.name, length=hit.length) for hit in hits if not hit.is_further)
    return b"".join((*pieces, data[end:])), tuple(redactions)
