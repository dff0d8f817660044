"""Removes known secrets from a text in pieces, also those spread over several events of a model's stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from tui_host.capture.record import Shift
from tui_host.capture.redact.known_secrets import Hit, Needle, Needles, Redacted, merged, without

BEGINNING: Final = 12
"""Shortest beginning of a secret, in bytes, to remove if its rest does not arrive in time; longer than vendors' prefixes."""
LINE_LIMIT: Final = 1 << 16
"""Bytes of an unfinished line that wait for its end."""

_DELTA = re.compile(
    rb'"(content|text|delta|arguments|partial_json|thinking|reasoning|reasoning_content|refusal|response)"'
    rb'[ \t\r\n]*+:[ \t\r\n]*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"',
    re.DOTALL,
)
"""A member in which a dialect streams text, thoughts or the arguments of a call, piece by piece."""
_JSON_LINE = re.compile(rb'data:|[\s{\["]')
"""The beginning of a line in which deltas stand."""

Pieces: TypeAlias = Sequence[tuple[int, bytes]]
"""Contents of strings, as written, with their places in the body."""


class TextStream:
    """Redacts one text in pieces, for one thread. Holds back only bytes that may begin a secret.

    The values of all members with one name are read as one text, whatever stands between. In place of a secret in this text the first
    value gets the mark, and the others get shorter.

    Args:
        needles: Returns the spellings of the secrets known now.

    Attributes:
        shifts: What was taken out so far, in order.
    """

    def __init__(self, needles: Callable[[], Needles]) -> None:
        self.shifts: list[Shift] = []
        self._needles = needles
        self._held = b""
        self._settled = 0  # bytes of the body before what is held back
        self._read = 0  # bytes of the body in which deltas were looked for
        self._open: dict[bytes, Pieces] = {}  # by name, the end of the text with which a secret may begin
        self._spelled: list[Hit] = []  # the parts of secrets in deltas that are held back, with places in the body

    @property
    def is_open(self) -> bool:
        """Whether text of a model is held back because it may be the beginning of a secret."""
        return any(place >= self._settled for pieces in self._open.values() for place, _ in pieces)

    @property
    def holds(self) -> bool:
        """Whether any bytes are held back."""
        return bool(self._held)

    def feed(self, data: bytes) -> Redacted:
        """Take bytes; returns bytes to record, possibly none, and the redactions."""
        self._held += data
        if self._needles():
            self._read_deltas()
        waiting = [place for pieces in self._open.values() for place, _ in pieces if place >= self._settled]
        return self._give(min(waiting) - self._settled if waiting else len(self._held))

    def release(self) -> Redacted:
        """Return the text held back, because its rest does not arrive in time."""
        self._mark_open()
        return self._give(len(self._held))

    def flush(self) -> Redacted:
        """Return the bytes held back, at the end."""
        self._mark_open()
        return self._settle(len(self._held), self._hits())

    def _read_deltas(self) -> None:
        needles = self._needles()
        for delta in _DELTA.finditer(self._held, max(self._read - self._settled, 0)):
            name, text = delta.groups()
            self._read = self._settled + delta.end()
            if name not in self._open and needles.open_end(text) == len(text):
                continue  # nearly every event: no secret begins in it, and none was open before it
            pieces = [*self._open.pop(name, ()), (self._settled + delta.start(2), text)]
            if rest := self._without_secrets(pieces):
                self._open[name] = rest

    def _without_secrets(self, pieces: Pieces) -> Pieces:
        """Mark the secrets that reach into the last of the pieces; return the end with which a secret may begin."""
        needles, text = self._needles(), b"".join(text for _, text in pieces)
        last = len(text) - len(pieces[-1][1])
        hits = needles.hits(text) if last else []
        cut = _cut_before(hits, needles.open_end(text))
        for hit in hits:
            if hit.start < last and hit.end <= cut:
                self._mark(pieces, hit)
        return _cut(pieces, cut, len(text))

    def _mark_open(self) -> None:
        """Mark secrets to which nothing was added, and beginnings long enough."""
        for pieces in self._open.values():
            needles, text = self._needles(), b"".join(text for _, text in pieces)
            needle = needles.beginning(text) if len(text) >= BEGINNING else None
            for hit in [Hit(0, len(text), needle)] if needle is not None else needles.hits(text):
                self._mark(pieces, hit)

    def _mark(self, pieces: Pieces, hit: Hit) -> None:
        """Note where a secret in a text of several pieces stands in the body: the first part gets the mark."""
        mark = hit.needle.mark
        for place, text in _cut(pieces, hit.start, hit.end):
            if place >= self._settled:
                self._spelled.append(Hit(place, place + len(text), Needle(hit.needle.name, hit.needle.data, mark)))
                mark = b""

    def _hits(self) -> list[Hit]:
        at = self._settled
        spelled = [Hit(hit.start - at, hit.end - at, hit.needle) for hit in self._spelled]
        return merged([*self._needles().hits(self._held), *spelled])

    def _give(self, cut: int) -> Redacted:
        """Return the bytes up to `cut`, or less: an unfinished line of deltas waits, and an end with which a secret may begin."""
        line = self._held.rfind(b"\n") + 1
        if self._needles() and len(self._held) - line < LINE_LIMIT and _JSON_LINE.match(self._held, line):
            cut = min(cut, line)
        hits = self._hits()
        return self._settle(_cut_before(hits, min(cut, self._needles().open_end(self._held))), hits)

    def _settle(self, cut: int, hits: Sequence[Hit]) -> Redacted:
        at, data = self._settled, self._held[:cut]
        self._settled, self._held = at + cut, self._held[cut:]
        self._spelled = [hit for hit in self._spelled if hit.end > self._settled]
        hits = [hit for hit in hits if hit.end <= cut]
        if not hits:
            return data, ()
        self.shifts += [(at + hit.start, at + hit.end, len(hit.needle.mark)) for hit in hits]
        return without(data, hits)


def _cut_before(hits: Sequence[Hit], cut: int) -> int:
    """Return the place before a hit that reaches over `cut`, which may be part of a longer secret."""
    for hit in reversed(hits):
        if hit.start < cut < hit.end:
            cut = hit.start
    return cut


def _cut(pieces: Pieces, start: int, end: int) -> Pieces:
    """Return the pieces of the joined text from `start` to `end`."""
    cut: list[tuple[int, bytes]] = []
    at = 0
    for place, text in pieces:
        first, last = max(start - at, 0), min(end - at, len(text))
        if first < last:
            cut.append((place + first, text[first:last]))
        at += len(text)
    return cut
