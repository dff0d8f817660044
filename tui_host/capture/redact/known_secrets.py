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

_HEAD = 4
"""Bytes by which a needle that begins near the end of data is found."""
_WORD, _STEP = 8, 4
"""Bytes that are compared as one integer; one of so many words of the data is compared."""
_LONG = (_STEP + 1) * _WORD
"""Bytes from which a needle has a compared word in it, wherever it stands."""
_SAFE_IN_URLS = ("", "/", "-_.!~*'()")
"""What URL encoders leave as it is, beside letters, digits and `-_.~`: the third is JavaScript's."""
_GO = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""What Go escapes in JSON beyond what it must."""


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


def spellings_of(value: str) -> set[bytes]:
    """Return every spelling of a secret to search for: raw, hex, JSON, percent and base64."""
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
    return spellings


@lru_cache(256)  # a dropped credential may come back
def _needles_of(value: str) -> tuple[tuple[bytes, ...], tuple[bytes, ...], frozenset[int]]:
    """Return the short and the long spellings of a secret, and all words of the long ones."""
    spellings = sorted(spellings_of(value), key=len, reverse=True)
    long = tuple(spelling for spelling in spellings if len(spelling) >= _LONG)
    starts = range(_STEP * _WORD)
    words = (int.from_bytes(spelling[start : start + _WORD], sys.byteorder) for spelling in long for start in starts)
    return tuple(spellings[len(long) :]), long, frozenset(words)


class Needles:
    """Searches for many spellings of secrets, given by name and value, at once. Never changes.

    Searching for each of a secret's spellings takes long. So one word of several is compared with the words of all long needles,
    which mostly match nothing. The few short needles are searched for one by one.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        spelled = [(name, *_needles_of(value)) for name, value in secrets]
        self._short = [(needle, name) for name, short, _, _ in spelled for needle in short]
        self._long = [(needle, name) for name, _, long, _ in spelled for needle in long]
        self._all = self._short + self._long
        self._words = frozenset[int]().union(*(words for *_, words in spelled))
        self._beginnings = {needle[:size] for needle, _ in self._all for size in range(1, _HEAD)}

    def __bool__(self) -> bool:
        return bool(self._all)

    def are_in(self, data: bytes) -> bool:
        """Return whether a needle stands in the bytes."""
        return any(needle in data for needle, _ in self._likely(data))

    def hits(self, data: bytes) -> list[Hit]:
        """Return the places of needles in the bytes, in order and without overlap."""
        hits: list[Hit] = []
        for needle, name in self._likely(data):
            end = 0
            while (start := data.find(needle, end)) >= 0:
                end = start + len(needle)
                hits.append(Hit(start, end, name, len(needle)))
        return merged(hits)

    def open_end(self, data: bytes) -> int:
        """Return where the longest end that may begin a needle starts; the length of the bytes if there is none."""
        size = len(data)
        first = next((size - count for count in range(_HEAD - 1, 0, -1) if data[-count:] in self._beginnings), size)
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

    def _likely(self, data: bytes) -> list[tuple[bytes, str]]:
        """Return the needles worth searching for, among them all that the bytes contain."""
        if not self._words or len(data) < _LONG:
            return self._short
        compared = memoryview(data)[: len(data) - len(data) % _WORD].cast("Q")[::_STEP].tolist()
        words = [number.to_bytes(_WORD, sys.byteorder) for number in self._words.intersection(compared)]
        return self._short + [item for item in self._long if any(word in item[0] for word in words)]


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
