"""Records on their way to the database: with number and times, but with secrets still to be removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from tui_host.capture.record import Record
from tui_host.capture.redact.redaction import Redactor

AT_ONCE = 4 << 20
"""Largest number of bytes to search for secrets at once: they are copied for the search."""


class Source(Protocol):
    """A source of records for the writer, which calls it in its own thread.

    It announces itself with the first record that is new, and again with the first after they were taken: so a record costs its
    caller no more than a place in a list.
    """

    def take(self) -> list[Slot]:
        """Return the new records, in order."""
        ...

    def settled(self, seq: int, fault: str) -> None:
        """Called when records up to this number are stored, or wait in memory for the given reason."""
        ...

    def refused(self) -> None:
        """Called for a record that can never be stored."""
        ...


class Slot:
    """A record on the way to the database. To save memory, a smaller draft may replace its draft.

    Attributes:
        draft: The current draft. Do not use before `finish`.
        redactor: Removes the secrets; None once they are removed.
    """

    __slots__ = ("capture", "draft", "mono_ns", "redactor", "seq", "size", "source", "time_ns")

    def __init__(
        self,
        capture: str,
        seq: int,
        time_ns: int,
        mono_ns: int | None,
        draft: Record,
        source: Source,
        redactor: Redactor | None = None,
        size: int = 0,
    ) -> None:
        self.capture = capture
        self.seq = seq
        self.time_ns = time_ns
        self.mono_ns = mono_ns
        self.draft = draft
        self.source = source
        self.size = size
        self.redactor = redactor

    @property
    def record(self) -> Record:
        """The record in its current state."""
        return replace(self.draft, capture=self.capture, seq=self.seq, time_ns=self.time_ns, mono_ns=self.mono_ns)

    def finish(self) -> None:
        """Remove the secrets. Called by the writer, since the search takes longer than a caller may wait."""
        if self.redactor is not None:
            self.draft = self.redactor.record(self.draft)
            self.redactor = None


def finish_all(slots: Sequence[Slot]) -> int:
    """Remove the secrets from all records in one search; returns the bytes they take in memory."""
    for redactor, those in groupby(slots, lambda slot: slot.redactor):
        if redactor is not None:
            _finish(list(those), redactor)
    return sum([slot.size for slot in slots])


def _finish(slots: Sequence[Slot], redactor: Redactor) -> None:
    """Take the secrets out of records with one redactor."""
    is_little = sum([slot.size for slot in slots]) <= AT_ONCE
    is_clean = is_little and not redactor.may_be_in(b"\0".join([slot.draft.data for slot in slots]))
    for slot in slots:
        draft = slot.draft
        if is_clean and draft.head is None and draft.malformed is None:
            slot.redactor = None
        elif is_clean and draft.encoding is None and draft.data[:1] in {b"{", b"["} and draft.data[1:2] > b"\0":
            bare = redactor.record(replace(draft, data=b""))  # the body is text as it stands, and was searched
            slot.draft = replace(bare, data=draft.data)
            slot.redactor = None
        else:
            slot.finish()
