"""Records on their way to the database: stamped already, their secrets still to be taken out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Protocol

from tui_host.capture.record import Draft, Record
from tui_host.capture.redact.redaction import Redactor

AT_ONCE = 4 << 20
"""Bytes in which secrets are looked for at once, at most: they are copied for it."""


class Source(Protocol):
    """Where records come from; called in the writer's thread.

    It announces itself with the first record that is new, and again with the first after they were taken: so a record costs its
    caller no more than a place in a list.
    """

    def take(self) -> list[Slot]:
        """Return the new records, in order."""
        ...

    def settled(self, seq: int, fault: str) -> None:
        """Take note: records up to this number are stored, or wait in memory for the reason given."""
        ...

    def refused(self) -> None:
        """Take note of one record impossible to store."""
        ...


class Slot:
    """A record on the way to the database; to save memory, a smaller draft may take the place of the draft.

    Attributes:
        draft: As it is now; nobody may look at it before `finish`.
        redactor: What takes the secrets out; None once they are.
        learned: The credentials of others that it knew when the record came: until it is looked through, they may have had to make room.
    """

    __slots__ = ("capture", "draft", "learned", "mono_ns", "redactor", "seq", "size", "source", "time_ns")

    def __init__(  # noqa: PLR0913, PLR0917 - made for each record: a value to hold some of these would cost as much again
        self,
        capture: str,
        seq: int,
        time_ns: int,
        mono_ns: int | None,
        draft: Draft,
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
        self.learned = None if redactor is None else redactor.learned

    @property
    def record(self) -> Record:
        """The record as of now."""
        return Record(capture=self.capture, seq=self.seq, time_ns=self.time_ns, mono_ns=self.mono_ns, draft=self.draft)

    def finish(self) -> None:
        """Take the secrets out. Called by the writer, since the search takes longer than a caller may wait."""
        if self.redactor is not None:
            self.draft = self.redactor.draft(self.draft, self.learned)
            self.redactor = self.learned = None


def finish_all(slots: Sequence[Slot]) -> int:
    """Take the secrets out of all records, searching all bytes at once; return the bytes taken in memory."""
    for (redactor, learned), those in groupby(slots, lambda slot: (slot.redactor, slot.learned)):
        if redactor is not None:
            _finish(list(those), redactor, learned)
    return sum([slot.size for slot in slots])


def _finish(slots: Sequence[Slot], redactor: Redactor, learned: Mapping[str, str] | None) -> None:
    """Take the secrets out of records with equal secrets to search for."""
    is_little = sum([slot.size for slot in slots]) <= AT_ONCE
    is_clean = is_little and not redactor.may_be_in(b"\0".join([slot.draft.data for slot in slots]), learned)
    for slot in slots:
        draft = slot.draft
        if is_clean and draft.head is None and draft.malformed is None:
            slot.redactor = slot.learned = None
        else:
            slot.finish()
