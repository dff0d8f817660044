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

    Attributes:
        capture: The capture of all of its records.
    """

    capture: str

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
    """A record on the way to the database, beside its number and times: making a numbered one takes longer than a caller may wait.

    Attributes:
        record: The record as it came; a smaller one may take its place. Do not use before `finish`.
        redactor: Removes the secrets; None once they are removed.
        size: Bytes that it takes in memory.
    """

    __slots__ = ("mono_ns", "record", "redactor", "seq", "size", "source", "time_ns")

    def __init__(
        self,
        record: Record,
        seq: int,
        time_ns: int,
        mono_ns: int | None,
        source: Source,
        redactor: Redactor | None = None,
        size: int = 0,
    ) -> None:
        self.record = record
        self.seq = seq
        self.time_ns = time_ns
        self.mono_ns = mono_ns
        self.source = source
        self.redactor = redactor
        self.size = size

    @property
    def stamped(self) -> Record:
        """The record in its current state, with number and times."""
        capture = self.source.capture
        return replace(self.record, capture=capture, seq=self.seq, time_ns=self.time_ns, mono_ns=self.mono_ns)

    def finish(self) -> None:
        """Remove the secrets. Called by the writer, since the search takes longer than a caller may wait."""
        if self.redactor is not None:
            self.record = self.redactor.record(self.record)
            self.redactor = None


def finish_all(slots: Sequence[Slot]) -> None:
    """Remove the secrets from all records in one search."""
    for redactor, group in groupby(slots, lambda slot: slot.redactor):
        if redactor is not None:
            _finish(list(group), redactor)


def _finish(slots: Sequence[Slot], redactor: Redactor) -> None:
    is_little = sum([slot.size for slot in slots]) <= AT_ONCE
    is_clean = is_little and not redactor.may_be_in(b"\0".join([slot.record.data for slot in slots]))
    for slot in slots:
        record = slot.record
        if is_clean and record.head is None and record.malformed is None:
            slot.redactor = None
        elif is_clean and record.encoding is None and record.data[:1] in {b"{", b"["} and record.data[1:2] > b"\0":
            bare = redactor.record(replace(record, data=b""))  # the body is text as it stands, and was searched
            slot.record = replace(bare, data=record.data)
            slot.redactor = None
        else:
            slot.finish()
