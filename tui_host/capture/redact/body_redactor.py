"""Redacts one body as it comes: undoes its coding, holds a login's to its end, and takes the secrets out of its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui_host.capture.content_codings import PlainBody, is_known
from tui_host.capture.record import Redaction, Shift, decoded_mark
from tui_host.capture.redact.known_secrets import Needles, Redacted
from tui_host.capture.redact.places import Learn, without_tokens
from tui_host.capture.redact.text_stream import TextStream

HELD_LIMIT = 1 << 20
"""Coded bytes that wait for the decision whether a secret is in them; a body of which more would wait is kept decoded."""
LOGIN_LIMIT = 1 << 20
"""Largest body of a login to hold, in bytes: the answers are smaller."""


class BodyRedactor:
    """Redacts a body in pieces.

    While no secret is found, the bytes of a coded body pass as they came; from the first secret on, its text passes. Where no secret is
    known, and the body is no login's, every body passes as it came.

    Args:
        needles: Returns the secrets to search for.
        encoding: The content coding named by the header.
        learn: For a login's body, whose secrets are taken out at its end: called with each of them.

    Attributes:
        decoded_from: The coding that was undone; empty while bytes are passed on unchanged.
        left_out: Number of bytes that do not pass, because nobody can tell what is in them.
    """

    def __init__(self, needles: Callable[[], Needles], encoding: str | None, learn: Learn | None) -> None:
        self.decoded_from = ""
        self.left_out = 0
        self._encoding = encoding or ""
        self._body = PlainBody() if is_known(encoding) and (needles() or learn) else None
        self._text = TextStream(needles)
        self._learn = learn
        self._login = b""  # the text of a login
        self._coded = b""  # coded bytes that have not passed
        self._decoded = b""  # what they decode to, without secrets

    @property
    def shifts(self) -> Sequence[Shift]:
        """The places in the decoded body where secrets were taken out."""
        return self._text.shifts

    @property
    def is_open(self) -> bool:
        """Whether text of a model is held back because a secret may begin with the text."""
        return self._text.is_open

    def release(self) -> Redacted:
        """Return the text held back, because its rest does not arrive in time; coded bytes keep waiting."""
        return self._text.release() if self._body is None else (b"", ())

    def feed(self, data: bytes) -> Redacted:
        """Take the next bytes; returns bytes to record, and redactions."""
        if self._body is None:
            return self._feed_text(data)
        before = len(self._coded)
        self._coded += data
        text = self._body.feed(data, self._encoding)
        if text is None:  # of what cannot be decoded, nobody knows what is in it
            self.left_out += len(data) if self._body.has_given else len(self._coded)
            return self._pass_text(())
        if self._body.is_plain:
            self._body, self._coded = None, b""
            return self._feed_text(text)
        is_held = bool(self._text.held)  # so that some of what comes now belongs to earlier bytes
        kept, redactions = self._feed_text(text)
        if redactions or self.decoded_from or len(self._coded) > HELD_LIMIT:
            self._decoded += kept
            return self._pass_text(redactions)
        if is_held or self._text.held or self._learn or not text:
            self._decoded += kept
            return b"", ()
        # The bytes that came last wait too: they may hold more than they decode to so far, as a block of zstd that is not whole.
        passed, self._coded, self._decoded = self._coded[:before], self._coded[before:], kept
        return passed, ()

    def flush(self) -> Redacted:
        """Return the remaining bytes at the end of the body."""
        first, in_first = self._feed_text(b"", is_all=True)
        rest, in_rest = self._text.flush()
        text, redactions = first + rest, in_first + in_rest
        if self._body is None:
            return text, redactions
        self._decoded += text
        self._body.finish()
        if redactions or self.decoded_from or self._body.problem:  # cut off, its last bytes may hold anything
            return self._pass_text(redactions)
        return self._coded, ()

    def _feed_text(self, text: bytes, *, is_all: bool = False) -> Redacted:
        redactions: tuple[Redaction, ...] = ()
        if self._learn is not None:
            text = self._login = self._login + text
            if len(text) <= LOGIN_LIMIT and not is_all:
                return b"", ()
            text, redactions = without_tokens(text, self._learn) if is_all else (text, ())
            self._learn = None
        kept, in_text = self._text.feed(text)
        return kept, redactions + in_text

    def _pass_text(self, redactions: tuple[Redaction, ...]) -> Redacted:
        text, size = self._decoded, len(self._coded)
        self._decoded = self._coded = b""
        if not self.decoded_from and (text or redactions or not self.left_out):
            self.decoded_from = self._encoding
            redactions = (decoded_mark(self._encoding, size), *redactions)
        return text, redactions
