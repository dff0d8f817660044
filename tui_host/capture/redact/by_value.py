"""Searches bytes for known secrets, in every spelling that encoders make, and replaces them by marks."""

from __future__ import annotations

import base64
import json
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeAlias
from urllib.parse import quote

from tui_host.capture.record import Redaction
from tui_host.settings.sensitivity import is_telling

Kept: TypeAlias = tuple[bytes, tuple[Redaction, ...]]
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

_SAFE_IN_URLS = ("", "/", "/:@!$&'()*,;=+~", "-_.!~*'()")
"""What URL encoders leave as it is, beside letters, digits and `-_.~`."""
_ESCAPED_IN_JSON = ("", "<>&", "<>&'", "<>&'+`", "<>&'+`\"")
"""What the JSON encoders of Go, PHP and .NET escape beyond what they must, for JSON that is embedded in a page."""
_ESCAPED_IN_PAGES = ("&<>", '&<>"', "&<>\"'", "&<>\"'/", "&<>\"'`=", "&<>\"'/`=+")
_ENTITIES: tuple[dict[str, str], ...] = (
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"},
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"},
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"},
    {},
)
"""The characters for which HTML encoders use names; all others become numbers."""
_NUMBERED = ("&#{:d};", "&#x{:X};")

_IN_JSON = tuple(str.maketrans({char: f"\\u{ord(char):04X}" for char in chars}) for chars in _ESCAPED_IN_JSON)
_IN_PAGES = tuple(
    str.maketrans({char: names.get(char) or form.format(ord(char)) for char in chars})
    for chars, names, form in product(_ESCAPED_IN_PAGES, _ENTITIES, _NUMBERED)
)
_HEX_ESCAPE = re.compile(r"%[0-9A-F]{2}|\\u[0-9A-F]{4}|\\x[0-9A-F]{2}|&#x[0-9A-F]+;")


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


class Spellings:
    """A secret in all spellings.

    Attributes:
        words: All words of the long needles; one of them is compared wherever such a needle stands.
        last: Every byte that a part of a needle may end with.
        beginnings: The first bytes of all needles.
        pieces: Every `_PIECE` bytes that stand in a needle, but not at its end.
    """

    def __init__(self, name: str, value: str) -> None:
        replacement = mark(name).encode()
        needles = [Needle(name, data, replacement) for data in sorted(spellings_of(value), key=len, reverse=True)]
        self.short = tuple(needle for needle in needles if len(needle.data) < _LONG)
        self.long = tuple(needles[: len(needles) - len(self.short)])
        starts = range(_STEP * _WORD)
        self.words = frozenset(
            int.from_bytes(needle.data[start : start + _WORD], sys.byteorder)
            for needle in self.long
            for start in starts
        )
        self.last = frozenset(b"".join(needle.data for needle in needles))
        self.beginnings = frozenset(needle.data[:size] for needle in needles for size in range(1, _PIECE))
        places = [(needle.data, at) for needle in needles for at in range(len(needle.data) - _PIECE)]
        self.pieces = frozenset(data[at : at + _PIECE] for data, at in places)


class Needles:
    """Searches for many spellings at once.

    Searching for each of a secret's twenty spellings takes long. So one word of several is compared with the words of all long needles,
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
            if needle.data in data:
                hits.extend(_occurrences(data, needle))
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


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The secrets known at one moment; `learned` names each credential that other hosts have shown, by its value."""

    learned: Mapping[str, str]
    needles: Needles


@lru_cache(4 * LEARNED_MOST)
def _spellings(name: str, value: str) -> Spellings:
    """Cache the spellings: making them is slow, and dropped credentials are searched for in earlier records."""
    return Spellings(name, value)


class KnownSecrets:
    """The secrets to search for by value: configured, passed in, or learned from other hosts.

    Methods may be called from any thread.

    Attributes:
        now: The secrets known now. The object never changes; another one takes its place.
        names: The name of each secret that was configured or given, however short, by its value.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        self.now = Snapshot({}, Needles())
        self.names: Mapping[str, str] = {}
        self._lock = threading.Lock()
        self._given: tuple[Spellings, ...] = ()
        self._given_needles = Needles()
        self._learned: dict[str, str] = {}
        self._learned_spellings: dict[str, Spellings] = {}
        self.add(secrets)

    def add(self, secrets: Iterable[tuple[str, str]]) -> None:
        """Search from now on for these secrets too."""
        with self._lock:
            names = dict(self.names)
            for name, given in secrets:
                value = given.strip()
                if value and value not in names:
                    names[value] = name
                    if len(value) >= BY_VALUE_FROM:
                        self._given = (*self._given, _spellings(name, value))
            if len(names) > len(self.names):
                self.names = names
                self._given_needles = Needles(self._given)
                self._take_snapshot()

    def learn(self, name: str, value: str) -> None:
        """Search from now on for a credential of another host, unless it may occur in a text by chance."""
        value = value.strip()
        if not BY_VALUE_FROM <= len(value) <= LEARNED_LENGTH or value.startswith("⟨secret:") or not is_telling(value):
            return
        with self._lock:
            if value in self.names or next(reversed(self._learned), None) == value:
                return
            if self._given_needles.are_in(value.encode("utf-8", "surrogatepass")):
                return
            is_new = value not in self._learned
            self._learned = {**{key: item for key, item in self._learned.items() if key != value}, value: name}
            if is_new:
                self._learned_spellings[value] = _spellings(name, value)
                for oldest in list(self._learned)[:-LEARNED_MOST]:
                    del self._learned[oldest], self._learned_spellings[oldest]
                self._take_snapshot()

    @property
    def needles(self) -> Needles:
        """The spellings of all secrets known now."""
        return self.now.needles

    def forgotten(self, learned: Mapping[str, str], since: Snapshot) -> tuple[tuple[str, str], ...]:
        """Return names and values of learned credentials that were dropped at some time since a snapshot."""
        learned_since: Mapping[str, str] = since.learned if since is self.now else {}
        if learned is learned_since:
            return ()
        return tuple(
            (name, value) for value, name in learned.items() if value not in learned_since and value not in self.names
        )

    @property
    def lengths(self) -> Mapping[str, int]:
        """The number of characters of each secret, by the name in marks."""
        return {name_in_mark(name): len(value) for value, name in (*self._learned.items(), *self.names.items())}

    def _take_snapshot(self) -> None:
        learned = self._learned_spellings.values()
        needles = Needles((*self._given, *learned)) if learned else self._given_needles
        self.now = Snapshot(dict(self._learned), needles)


def mark(name: str) -> str:
    """Return the mark for a secret; nothing in a mark needs escaping in JSON."""
    return f"⟨secret:{name_in_mark(name)}⟩"


def name_in_mark(name: str) -> str:
    """Return the name of a secret as written in marks."""
    return _NOT_IN_A_NAME.sub("_", name)


def merged(hits: list[Hit]) -> list[Hit]:
    """Return hits in order, with overlapping hits merged."""
    if len(hits) < 2:
        return hits
    hits.sort(key=lambda hit: (hit.start, -hit.end))  # stable: of equal hits the first stays first
    merged_hits = [hits[0]]
    for hit in hits[1:]:
        last = merged_hits[-1]
        if hit.start >= last.end:
            merged_hits.append(hit)
        elif hit.end > last.end:
            merged_hits[-1] = Hit(last.start, hit.end, last.needle)
    return merged_hits


def without(data: bytes, hits: list[Hit]) -> Kept:
    """Replace the hits by marks; returns the bytes and the redactions."""
    pieces: list[bytes] = []
    end = 0
    for hit in hits:
        pieces += (data[end : hit.start], hit.needle.mark)
        end = hit.end
    pieces.append(data[end:])
    redactions = tuple(
        Redaction(where="data", name=hit.needle.name, length=max(hit.end - hit.start, len(hit.needle.data)))
        for hit in hits
        if hit.needle.mark  # else a further part of the secret before
    )
    return b"".join(pieces), redactions


def _occurrences(data: bytes, needle: Needle) -> Iterator[Hit]:
    at = data.find(needle.data)
    while at >= 0:
        end = at + len(needle.data)
        yield Hit(at, end, needle)
        at = data.find(needle.data, end)


def spellings_of(value: str) -> set[bytes]:
    """Return every spelling of a secret to search for."""
    raw = value.encode("utf-8", "surrogateescape")
    texts = {
        raw.hex(),
        raw.hex().upper(),
        *_in_url(raw),
        *_in_json(value),
        *(value.translate(table) for table in _IN_PAGES),
        *_escaped_throughout(value),
    }
    texts |= {_HEX_ESCAPE.sub(lambda match: match[0].lower(), text) for text in texts}
    spellings = {raw, *(text.encode("utf-8", "surrogateescape") for text in texts)}
    for offset in (0, 1, 2):
        spellings |= set(_base64_inside(raw, offset))
    return spellings


def _in_url(raw: bytes) -> Iterator[str]:
    for safe in _SAFE_IN_URLS:
        once = quote(raw, safe=safe)
        yield from (once, once.replace("%20", "+"), quote(once, safe=safe))  # the last in a URL in a URL


def _in_json(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        for table in _IN_JSON:
            text = (once.replace('\\"', '"') if ord('"') in table else once).translate(table)
            for spelling in (text, text.replace("/", "\\/")):
                yield spelling
                yield spelling.replace("\\", "\\\\").replace('"', '\\"')  # the arguments of a call are JSON in JSON


def _escaped_throughout(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "surrogateescape")
    units = value.encode("utf-16-be", "surrogatepass")
    in_json = "".join(f"\\u{units[at] << 8 | units[at + 1]:04X}" for at in range(0, len(units), 2))
    yield from (in_json, in_json.replace("\\", "\\\\"))
    yield from ("".join(map(form.format, raw)) for form in ("%{:02X}", "\\x{:02X}"))
    yield from ("".join(map(form.format, map(ord, value))) for form in _NUMBERED)


def _base64_inside(raw: bytes, offset: int) -> tuple[bytes, bytes]:
    """Return the characters determined by the secret alone, at one of three offsets in the encoded bytes."""
    encoded = base64.b64encode(b"\0" * offset + raw)
    first, last = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6
    inside = encoded[first:last]
    return inside, inside.translate(bytes.maketrans(b"+/", b"-_"))
