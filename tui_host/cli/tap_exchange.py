"""One HTTP exchange that passes a tap, as far as it has come."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui_host.capture.content_codings import CodingError, Decoder, decoder
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.record import TAP, Head, Record
from tui_host.infer.asking.model_exchange import Asking

LOOKED_AT = 16 << 10
"""Characters of what was said that are looked through for secrets before the beginning of it is shown."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """An exchange that has not ended.

    Attributes:
        request: Its request.
        method: The request's method.
        path: Path and query of its URL.
        asking: What a model is asked and says; None for what is none of these, or cannot be read.
        ref: What its lines have as theirs.
        has_line: Its request has a line.
        status: The response's status, 0 before it came.
        is_the_taps: The answer is the tap's own.
        kind: The response's content type.
        coding: The response's content coding, if it cannot be undone here.
        location: Where a redirection leads.
        first_ns: When the first byte of the response's body came, None before.
        said: The beginning of the body of a refusal, or of what no model says, after content decoding.
    """

    request: Record
    method: str
    path: str
    asking: Asking | None
    ref: str
    has_line: bool
    status: int = 0
    is_the_taps: bool = False
    kind: str = ""
    coding: str = ""
    location: str = ""
    first_ns: int | None = None
    said: bytearray = field(default_factory=bytearray)
    _decoder: Decoder | None = None

    def answered(self, head: Head) -> None:
        """The response's head."""
        self.status = head.status or 0
        self.is_the_taps = head.value("server") == TAP
        self.location = head.value("location") if 300 <= self.status < 400 else ""
        self.kind = head.value("content-type").partition(";")[0]

    @property
    def is_asked_by_the_tap(self) -> bool:
        """Whether the tap wanted to know something, and its host did not."""
        return (self.request.draft.head or Head()).value("user-agent") == TAP

    def hear(self, record: Record) -> None:
        """More of the response's body."""
        self.first_ns = record.mono_ns if self.first_ns is None else self.first_ns
        encoding = record.draft.encoding
        try:
            self._decoder = self._decoder or decoder(encoding)
            if not self.coding and (self.status >= 400 or self.asking is None) and len(self.said) < LOOKED_AT:
                plain = self._decoder.feed(record.draft.data) if encoding is not None else record.draft.data
                self.said += plain[: LOOKED_AT - len(self.said)]
        except CodingError:
            self.coding = encoding or ""

    def is_empty(self, ending: Ending) -> bool:
        """Whether the response's body has no byte."""
        return not ending.size and self.first_ns is None

    def is_heard(self, ending: Ending) -> bool:
        """Whether it is known whole what a model says."""
        return self.asking is not None and self.asking.is_readable and not self.coding and ending.kept >= ending.size
