"""Removes known secrets from texts and bodies in pieces: spread over several events of a model's stream, or compressed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from tui_host.capture.content_codings import PlainBody, is_known
from tui_host.capture.record import Redaction, Shift
from tui_host.capture.redact.known_secrets import Hit, Needles, Redacted, merged, without
from tui_host.capture.redact.places import Learn, without_tokens

BEGINNING: Final = 12  # bytes of a secret to remove where its rest is late, at least: longer than vendors' prefixes
LINE_LIMIT: Final = 1 << 16  # bytes of an unfinished line that wait for its end
LOGIN_LIMIT = 1 << 20  # bytes of a login's answer to hold, at most: the answers are smaller

_DELTA = re.compile(
    rb'"(content|text|delta|arguments|partial_json|thinking|reasoning|reasoning_content|refusal|response)"'
    rb'[ \t\r\n]*+:[ \t\r\n]*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"',
    re.DOTALL,
)
"""A member in which a dialect streams text, thoughts or the arguments of a call, piece by piece."""
_JSON_LINE = re.compile(rb'data:|[\s{\["]')  # the beginning of a line in which deltas stand

_Pieces: TypeAlias = list[tuple[int, bytes]]
"""Contents of strings, as written, with their places in the body."""


class BodyRedactor:
    """Redacts one text or body in pieces, for one thread: undoes its coding, and holds a login's to its end.

    Holds back only bytes that may begin a secret. The values of all members with one name are read as one text, whatever stands
    between. In place of a secret in this text the first value gets the mark, and the others get shorter. While no secret is found,
    the bytes of a coded body pass as they came; from the first secret on, its text passes. Where no secret is known, and the body
    is no login's, every body passes as it came. `needles` returns the spellings of the secrets known now; `learn` is called with
    each secret of a login.
    """

    def __init__(self, needles: Callable[[], Needles], encoding: str | None = None, learn: Learn | None = None) -> None:
        self.shifts: list[Shift] = []  # what was taken out so far, in order
        self.held = b""  # the bytes held back
        self._needles = needles
        self._settled = 0  # bytes of the body before what is held back
        self._read = 0  # bytes of the body in which deltas were looked for
        self._open: dict[bytes, _Pieces] = {}  # by name, the end of the text with which a secret may begin
        self._spelled: list[Hit] = []  # the parts of secrets in deltas that are held back, with places in the body
        self.decoded_from = ""  # the coding that was undone; empty while bytes are passed on unchanged
        self.left_out = 0  # number of bytes that do not pass, because nobody can tell what is in them
        self._encoding = encoding or ""
        self.body = PlainBody() if is_known(encoding) and (needles() or learn) else None  # while it is coded
        self._learn = learn
        self._login = b""  # the text of a login
        self._coded = b""  # coded bytes that have not passed
        self._decoded = b""  # what they decode to, without secrets

    @property
    def is_open(self) -> bool:
        """Whether text of a model is held back because it may be the beginning of a secret."""
        return any(place >= self._settled for pieces in self._open.values() for place, _ in pieces)

    def feed(self, data: bytes) -> Redacted:
        """Take bytes; returns bytes to record, possibly none, and the redactions."""
        if self.body is None:
            return self._feed_text(data)
        before = len(self._coded)
        self._coded += data
        text = self.body.feed(data, self._encoding)
        if text is None:  # of what cannot be decoded, nobody knows what is in it
            self.left_out += len(data) if self.body.has_given else len(self._coded)
            return self._pass_text(())
        if self.body.is_plain:
            self.body, self._coded = None, b""
            return self._feed_text(text)
        was_held = bool(self.held)  # some of what comes now belongs to earlier bytes
        kept, redactions = self._feed_text(text)
        self._decoded += kept
        if redactions or self.decoded_from:
            return self._pass_text(redactions)
        if was_held or self.held or self._learn or not text:
            return b"", ()
        # The bytes that came last wait too: they may hold more than they decode to so far, as a block of zstd that is not whole.
        passed, self._coded, self._decoded = self._coded[:before], self._coded[before:], kept
        return passed, ()

    def flush(self) -> Redacted:
        """Return the bytes held back, at the end."""
        text, redactions = self._feed_text(b"", is_all=True)
        if self.body is None:
            return text, redactions
        self._decoded += text
        self.body.finish()
        if redactions or self.decoded_from or self.body.problem:  # cut off, its last bytes may hold anything
            return self._pass_text(redactions)
        return self._coded, ()

    def _feed_text(self, text: bytes, *, is_all: bool = False) -> Redacted:
        redactions: tuple[Redaction, ...] = ()
        if self._learn is not None:
            self._login += text
            if len(self._login) <= LOGIN_LIMIT and not is_all:
                return b"", ()
            text, redactions = without_tokens(self._login, self._learn) if is_all else (self._login, ())
            self._learn = None
        kept, in_text = self.take(text, is_all=is_all)
        return kept, redactions + in_text

    def _pass_text(self, redactions: tuple[Redaction, ...]) -> Redacted:
        text, size = self._decoded, len(self._coded)
        self._decoded = self._coded = b""
        if not self.decoded_from and (text or redactions or not self.left_out):
            self.decoded_from = self._encoding
            redactions = (Redaction(where="data", name=f"was {self._encoding}", length=size), *redactions)
        return text, redactions

    def take(self, data: bytes, *, is_late: bool = False, is_all: bool = False) -> Redacted:
        """Take bytes; returns bytes to record, possibly none, and the redactions.

        Where the rest of a text is late, only an unfinished line and the beginning of a secret outside of deltas wait on.
        """
        self.held += data
        needles, at = self._needles(), self._settled
        end = self.held.rfind(b"\n") + 1
        if is_all or len(self.held) - end >= LINE_LIMIT or not _JSON_LINE.match(self.held, end) or not needles:
            end = len(self.held)
        if needles:
            self._read_deltas(end, is_late=is_late or is_all)
        waiting = [place - at for pieces in self._open.values() for place, _ in pieces if not (is_late or is_all)]
        spelled = [hit._replace(start=hit.start - at, end=hit.end - at) for hit in self._spelled]
        hits, cut = (
            merged([*needles.hits(self.held), *spelled]),
            min([end, *(place for place in waiting if place >= 0)]),
        )
        if not is_all:
            cut = _cut_before(hits, min(cut, needles.open_end(self.held)))
        text, self.held, self._settled = self.held[:cut], self.held[cut:], at + cut
        self._spelled = [hit for hit in self._spelled if hit.end > self._settled]
        hits = [hit for hit in hits if hit.end <= cut]
        self.shifts += [(at + hit.start, at + hit.end, len(hit.mark)) for hit in hits]
        return without(text, hits)

    def _read_deltas(self, end: int, *, is_late: bool) -> None:
        """Mark the secrets in the texts of deltas up to here, and keep the ends with which one may begin.

        Nothing is added in time to what is late: so a beginning that is long enough counts as a secret.
        """
        settled, texts, needles = self._settled, self._open, self._needles()
        start, self._read = self._read - settled, settled + end
        for delta in _DELTA.finditer(self.held, start, end):
            texts.setdefault(delta[1], []).append((settled + delta.start(2), delta[2]))
        self._open = {}
        for name, pieces in texts.items():
            text = b"".join([piece for _, piece in pieces])
            hits = needles.hits(text)
            cut = _cut_before(hits, needles.open_end(text))
            whole = [hit for hit in hits if hit.end <= cut]
            beginning = needles.beginning(text[cut:]) if is_late and len(text) - cut >= BEGINNING else None
            if beginning is not None:
                whole.append(beginning._replace(start=cut, end=len(text)))
            for hit in hits if is_late and beginning is None else whole:
                parts = [(place, part) for place, part in _cut(pieces, hit.start, hit.end) if place >= settled]
                for number, (place, part) in enumerate(parts):  # the first part of each gets the mark
                    self._spelled.append(hit._replace(start=place, end=place + len(part), is_further=number > 0))
            if cut < len(text):
                self._open[name] = _cut(pieces, cut, len(text))


def _cut_before(hits: Sequence[Hit], cut: int) -> int:
    """Return the place before a hit that reaches over `cut`, which may be part of a longer secret."""
    for hit in reversed(hits):
        if hit.start < cut < hit.end:
            cut = hit.start
    return cut


def _cut(pieces: _Pieces, start: int, end: int) -> _Pieces:
    """Return the pieces of the joined text from `start` to `end`."""
    cut: _Pieces = []
    at = 0
    for place, text in pieces:
        first, last = max(start - at, 0), min(end - at, len(text))
        if first < last:
            cut.append((place + first, text[first:last]))
        at += len(text)
    return cut
