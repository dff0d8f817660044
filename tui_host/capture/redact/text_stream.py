"""Removes known secrets from a text in pieces, also those spread over several events of a model's stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from tui_host.capture.record import Shift
from tui_host.capture.redact.known_secrets import Hit, Needles, Redacted, merged, without

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

_Pieces: TypeAlias = Sequence[tuple[int, bytes]]
"""Contents of strings, as written, with their places in the body."""


class TextStream:
    """Redacts one text in pieces, for one thread. Holds back only bytes that may begin a secret.

    The values of all members with one name are read as one text, whatever stands between. In place of a secret in this text the first
    value gets the mark, and the others get shorter. `needles` returns the spellings of the secrets known now.

    Attributes:
        shifts: What was taken out so far, in order.
        held: The bytes held back.
    """

    def __init__(self, needles: Callable[[], Needles]) -> None:
        self.shifts: list[Shift] = []
        self.held = b""
        self._needles = needles
        self._settled = 0  # bytes of the body before what is held back
        self._read = 0  # bytes of the body in which deltas were looked for
        self._lead = b""  # what stood before the last text of a delta
        self._open: dict[bytes, _Pieces] = {}  # by name, the end of the text with which a secret may begin
        self._spelled: list[Hit] = []  # the parts of secrets in deltas that are held back, with places in the body

    @property
    def is_open(self) -> bool:
        """Whether text of a model is held back because it may be the beginning of a secret."""
        return any(place >= self._settled for pieces in self._open.values() for place, _ in pieces)

    def feed(self, data: bytes) -> Redacted:
        """Take bytes; returns bytes to record, possibly none, and the redactions."""
        self.held += data
        if not self._needles():
            return self._give(len(self.held), is_all=True)
        end = self._end_of_lines()
        self._read_deltas(end)
        places = [place - self._settled for pieces in self._open.values() for place, _ in pieces]
        return self._give(min([end, *(place for place in places if place >= 0)]))

    def release(self) -> Redacted:
        """Return the text held back, because its rest does not arrive in time."""
        self._mark_open()
        return self._give(self._end_of_lines())

    def flush(self) -> Redacted:
        """Return the bytes held back, at the end."""
        self._read_deltas(len(self.held))
        self._mark_open()
        return self._give(len(self.held), is_all=True)

    def _end_of_lines(self) -> int:
        """Return where an unfinished line of deltas begins, else the end of the bytes held."""
        line = self.held.rfind(b"\n") + 1
        is_waiting = len(self.held) - line < LINE_LIMIT and _JSON_LINE.match(self.held, line) is not None
        return line if is_waiting else len(self.held)

    def _read_deltas(self, end: int) -> None:
        """Mark the secrets in the texts of deltas up to here, and keep the ends with which one may begin."""
        start, needles = self._read - self._settled, self._needles()
        self._read = self._settled + end
        if self._lead and not self._open and self._is_clean(self.held[start:end]):
            return
        texts = {name: list(pieces) for name, pieces in self._open.items()}
        for delta in _DELTA.finditer(self.held, start, end):
            self._lead = self.held[delta.start() : delta.start(2)]
            texts.setdefault(delta[1], []).append((self._settled + delta.start(2), delta[2]))
        self._open = {}
        for name, pieces in texts.items():
            text = _joined(pieces)
            hits = needles.hits(text)
            cut = _cut_before(hits, needles.open_end(text))
            self._mark(pieces, [hit for hit in hits if hit.end <= cut])
            if cut < len(text):
                self._open[name] = _cut(pieces, cut, len(text))

    def _is_clean(self, lines: bytes) -> bool:
        """Return whether each event has one delta like the last one seen, and no secret stands in their text or may begin at its end.

        Nearly all pieces of a stream are so, and reading their deltas one by one takes as long as parsing the JSON.
        """
        deltas = lines.split(self._lead)[1:]
        if len(deltas) != (lines.count(b"data:") or lines.count(b"\n")) or b'\\"' in lines:
            return False
        text = b"".join([delta.partition(b'"')[0] for delta in deltas])
        return not self._needles().are_in(text) and self._needles().open_end(text) == len(text)

    def _mark_open(self) -> None:
        """Mark secrets to which nothing was added, and beginnings long enough."""
        for pieces in self._open.values():
            text = _joined(pieces)
            beginning = self._needles().beginning(text) if len(text) >= BEGINNING else None
            self._mark(pieces, self._needles().hits(text) if beginning is None else [beginning])

    def _mark(self, pieces: _Pieces, hits: Sequence[Hit]) -> None:
        """Note where secrets in a text of several pieces stand in the body: the first part of each gets the mark."""
        for hit in hits:
            parts = [(place, text) for place, text in _cut(pieces, hit.start, hit.end) if place >= self._settled]
            for number, (place, text) in enumerate(parts):
                self._spelled.append(hit._replace(start=place, end=place + len(text), is_further=number > 0))

    def _give(self, cut: int, *, is_all: bool = False) -> Redacted:
        """Return the bytes up to `cut`, or less: if they are not all, an end with which a secret may begin waits."""
        at = self._settled
        spelled = [hit._replace(start=hit.start - at, end=hit.end - at) for hit in self._spelled]
        hits = merged([*self._needles().hits(self.held), *spelled])
        if not is_all:
            cut = _cut_before(hits, min(cut, self._needles().open_end(self.held)))
        data, self.held, self._settled = self.held[:cut], self.held[cut:], at + cut
        self._spelled = [hit for hit in self._spelled if hit.end > self._settled]
        hits = [hit for hit in hits if hit.end <= cut]
        self.shifts += [(at + hit.start, at + hit.end, len(hit.mark)) for hit in hits]
        return without(data, hits)


def _joined(pieces: _Pieces) -> bytes:
    return b"".join(text for _, text in pieces)


def _cut_before(hits: Sequence[Hit], cut: int) -> int:
    """Return the place before a hit that reaches over `cut`, which may be part of a longer secret."""
    for hit in reversed(hits):
        if hit.start < cut < hit.end:
            cut = hit.start
    return cut


def _cut(pieces: _Pieces, start: int, end: int) -> _Pieces:
    """Return the pieces of the joined text from `start` to `end`."""
    cut: list[tuple[int, bytes]] = []
    at = 0
    for place, text in pieces:
        first, last = max(start - at, 0), min(end - at, len(text))
        if first < last:
            cut.append((place + first, text[first:last]))
        at += len(text)
    return cut
