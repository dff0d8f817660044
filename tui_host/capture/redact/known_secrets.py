"""Secrets known by value: searches bytes for them, in every spelling that is promised, and replaces them by marks."""

from __future__ import annotations

import base64
import json
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import quote

from tui_host.capture.record import Redaction
from tui_host.settings.sensitivity import is_telling

Redacted: TypeAlias = tuple[bytes, tuple[Redaction, ...]]
"""Bytes without secrets, and what was removed from them."""

BY_VALUE_FROM = 8
"""Shortest secret, in characters, that is searched for everywhere."""
LEARNED_MOST, LEARNED_LENGTH = 64, 8192
"""Largest number of other hosts' credentials to remember (the last ones used), and largest length of one."""

_NOT_IN_A_NAME = re.compile(r"[^\w.\-]")
_PIECE = 4
"""Bytes at the end of data by which the needles that may begin there are found."""
_WORD = 8
"""Bytes that are compared as one integer."""
_STEP = 4
"""One of so many words of the data is compared."""
_LONG = (_STEP + 1) * _WORD
"""Bytes from which a needle has a compared word in it, wherever it stands."""

_SAFE_IN_URLS = ("", "/", "-_.!~*'()")
"""What URL encoders leave as it is, beside letters, digits and `-_.~`: the third is JavaScript's."""
_GO = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""What Go escapes in JSON beyond what it must."""
_PERCENT = re.compile(r"%[0-9A-F]{2}")


@dataclass(frozen=True, slots=True)
class Needle:
    """A spelling of a secret, with the mark that replaces it."""

    name: str
    data: bytes
    mark: bytes


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a needle was found."""

    start: int
    end: int
    needle: Needle


def mark(name: str) -> str:
    """Return the mark for a secret; nothing in a mark needs escaping in JSON."""
    return f"⟨secret:{name_in_mark(name)}⟩"


def name_in_mark(name: str) -> str:
    """Return the name of a secret as written in marks."""
    return _NOT_IN_A_NAME.sub("_", name)


def spellings_of(value: str) -> set[bytes]:
    """Return every spelling of a secret to search for: raw, hex, JSON, percent and base64."""
    raw = value.encode("utf-8", "surrogateescape")
    texts = {raw.hex(), raw.hex().upper(), *_in_json(value)}
    for safe in _SAFE_IN_URLS:
        encoded = quote(raw, safe=safe)
        texts |= {encoded, encoded.replace("%20", "+"), _PERCENT.sub(lambda match: match[0].lower(), encoded)}
    spellings = {raw, *(text.encode("utf-8", "surrogateescape") for text in texts)}
    for offset in (0, 1, 2):
        # Of the encoded bytes around, only these characters are the secret's alone.
        encoded = base64.b64encode(bytes(offset) + raw)
        inside = encoded[-(-8 * offset // 6) : 8 * (offset + len(raw)) // 6]
        spellings |= {inside, inside.translate(bytes.maketrans(b"+/", b"-_"))}
    return spellings


def _in_json(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield from (text, text.replace("/", "\\/"), text.translate(_GO))


class Spellings:
    """One secret in all spellings.

    Attributes:
        words: All words of the long needles; one of them is compared wherever such a needle stands.
        last: Every byte that a part of a needle may end with.
        beginnings: The first bytes of all needles.
        pieces: Every `_PIECE` bytes that stand in a needle, but not at its end.
    """

    def __init__(self, name: str, value: str) -> None:
        replacement = mark(name).encode()
        data = sorted(spellings_of(value), key=len, reverse=True)
        self.short = tuple(Needle(name, spelling, replacement) for spelling in data if len(spelling) < _LONG)
        self.long = tuple(Needle(name, spelling, replacement) for spelling in data if len(spelling) >= _LONG)
        self.words = frozenset(
            int.from_bytes(needle.data[start : start + _WORD], sys.byteorder)
            for needle in self.long
            for start in range(_STEP * _WORD)
        )
        self.last = frozenset(b"".join(data))
        self.beginnings = frozenset(spelling[:size] for spelling in data for size in range(1, _PIECE))
        self.pieces = frozenset(spelling[at : at + _PIECE] for spelling in data for at in range(len(spelling) - _PIECE))


class Needles:
    """Searches for many spellings at once.

    Searching for each of a secret's spellings takes long. So one word of several is compared with the words of all long needles,
    which mostly match nothing. The few short needles are searched for one by one.
    """

    def __init__(self, secrets: Iterable[Spellings] = ()) -> None:
        secrets = tuple(secrets)
        self._short = tuple(needle for secret in secrets for needle in secret.short)
        self._long = tuple(needle for secret in secrets for needle in secret.long)
        self._words = frozenset[int]().union(*(secret.words for secret in secrets))
        self._last = frozenset[int]().union(*(secret.last for secret in secrets))
        self._beginnings = frozenset[bytes]().union(*(secret.beginnings for secret in secrets))
        self._pieces = frozenset[bytes]().union(*(secret.pieces for secret in secrets))

    def __bool__(self) -> bool:
        return bool(self._short or self._long)

    def are_in(self, data: bytes) -> bool:
        """Return whether a needle stands in the bytes."""
        return any(needle.data in data for needle in self._likely(data))

    def hits(self, data: bytes) -> list[Hit]:
        """Return the places of needles in the bytes, in order and without overlap."""
        hits: list[Hit] = []
        for needle in self._likely(data):
            at = data.find(needle.data)
            while at >= 0:
                end = at + len(needle.data)
                hits.append(Hit(at, end, needle))
                at = data.find(needle.data, end)
        return merged(hits)

    def open_end(self, data: bytes) -> int:
        """Return where the longest end that may begin a needle starts; the length of the bytes if there is none."""
        size = len(data)
        if not data or data[-1] not in self._last:
            return size
        longest = max((end for end in range(1, min(_PIECE, size + 1)) if data[-end:] in self._beginnings), default=0)
        # Called for each event of a stream: this look-up answers nearly always what a search of each needle would.
        for needle in self._short + self._long if data[-_PIECE:] in self._pieces else ():
            sizes = range(min(len(needle.data) - 1, size), longest, -1)
            longest = next((end for end in sizes if data.endswith(needle.data[:end])), longest)
        return size - longest

    def beginning(self, data: bytes) -> Needle | None:
        """Return a needle that begins with the bytes, and goes on."""
        return next((needle for needle in self._short + self._long if needle.data[:-1].startswith(data)), None)

    def _likely(self, data: bytes) -> tuple[Needle, ...]:
        """Return the needles worth searching for, among them all needles that the bytes contain."""
        if not self._words or len(data) < _LONG:
            return self._short
        compared = memoryview(data)[: len(data) - len(data) % _WORD].cast("Q")[::_STEP].tolist()
        numbers = self._words.intersection(compared)
        if not numbers:
            return self._short
        words = [number.to_bytes(_WORD, sys.byteorder) for number in numbers]
        return self._short + tuple(needle for needle in self._long if any(word in needle.data for word in words))


_spellings = lru_cache(4 * LEARNED_MOST)(Spellings)  # making them is slow, and a dropped credential may come back


class KnownSecrets:
    """The secrets to search for by value: configured, or learned from other hosts. Methods may be called from any thread.

    Attributes:
        needles: The spellings of all secrets known now. The object never changes; another one takes its place.
        names: The name of each secret that was configured or given, however short, by its value.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        self.needles = Needles()
        self.names: Mapping[str, str] = {}
        self._lock = threading.Lock()
        self._given = Needles()
        self._learned: dict[str, str] = {}
        self.add(secrets)

    def add(self, secrets: Iterable[tuple[str, str]]) -> None:
        """Search from now on for these secrets too."""
        with self._lock:
            names = dict(self.names)
            for name, given in secrets:
                if value := given.strip():
                    names.setdefault(value, name)
            if len(names) > len(self.names):
                self.names = names
                self._collect()

    def learn(self, name: str, value: str) -> None:
        """Search from now on for a credential of another host, unless it may occur in a text by chance."""
        value = value.strip()
        if not BY_VALUE_FROM <= len(value) <= LEARNED_LENGTH or value.startswith("⟨secret:") or not is_telling(value):
            return
        with self._lock:
            if next(reversed(self._learned), None) == value:
                return
            is_new = value not in self._learned
            if is_new and self._given.are_in(value.encode("utf-8", "surrogatepass")):
                return
            remaining = ((earlier, named) for earlier, named in self._learned.items() if earlier != value)
            learned = [*remaining, (value, name)]
            self._learned = dict(learned[-LEARNED_MOST:])
            if is_new:
                self._collect()

    @property
    def lengths(self) -> Mapping[str, int]:
        """The number of characters of each secret, by the name in marks."""
        return {name_in_mark(name): len(value) for value, name in (*self._learned.items(), *self.names.items())}

    def _collect(self) -> None:
        given = [_spellings(name, value) for value, name in self.names.items() if len(value) >= BY_VALUE_FROM]
        learned = [_spellings(name, value) for value, name in self._learned.items()]
        self._given = Needles(given)
        self.needles = Needles((*given, *learned)) if learned else self._given


def merged(hits: list[Hit]) -> list[Hit]:
    """Return hits in order, with overlapping hits merged."""
    hits.sort(key=lambda hit: (hit.start, -hit.end))  # stable: of equal hits the first stays first
    apart: list[Hit] = []
    for hit in hits:
        if not apart or hit.start >= apart[-1].end:
            apart.append(hit)
        elif hit.end > apart[-1].end:
            apart[-1] = Hit(apart[-1].start, hit.end, apart[-1].needle)
    return apart


def without(data: bytes, hits: Iterable[Hit]) -> Redacted:
    """Replace the hits by marks; returns the bytes and the redactions."""
    pieces: list[bytes] = []
    redactions: list[Redaction] = []
    end = 0
    for hit in hits:
        pieces += (data[end : hit.start], hit.needle.mark)
        end = hit.end
        if hit.needle.mark:  # else a further part of the secret before
            length = max(hit.end - hit.start, len(hit.needle.data))
            redactions.append(Redaction(where="data", name=hit.needle.name, length=length))
    return b"".join((*pieces, data[end:])), tuple(redactions)
