"""Records on their way to the database: stamped already, their secrets still to be taken out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tui_host.capture.record import Draft, Record
from tui_host.capture.redact import Redactor

AT_ONCE = 4 << 20
"""Bytes in which secrets are looked for at once, at most: they are copied for it."""


class Source(Protocol):
    """Where records come from; called in the writer's thread.

    It announces itself with the first record that is new, and again with the first after they were taken: so a record costs its
    caller no more than a place in a list.
    """

    def take(self) -> list[Slot]:
        """What is new since, in order."""
        ...

    def settled(self, seq: int, fault: str) -> None:
        """Records up to this number are kept, or wait in memory for the reason given."""
        ...

    def refused(self) -> None:
        """One record can never be kept."""
        ...


class Slot:
    """A record on its way to the database; whoever runs short of memory may put a smaller draft in its place.

    Attributes:
        draft: As it is now; nobody may look at it before `finish`.
        source: Where it comes from; is told what became of it.
        size: Bytes that it took in memory when it was made.
        redactor: What takes the secrets out; None once they are.
    """

    __slots__ = ("capture", "draft", "mono_ns", "redactor", "seq", "size", "source", "time_ns")

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

    @property
    def record(self) -> Record:
        """The record, as it is now."""
        return Record(capture=self.capture, seq=self.seq, time_ns=self.time_ns, mono_ns=self.mono_ns, draft=self.draft)

    def finish(self) -> None:
        """Take the secrets out. Left to the writer: looking for them takes longer than a caller may wait."""
        if self.redactor is not None:
            self.draft = self.redactor.draft(self.draft)
            self.redactor = None


def finish_all(slots: Sequence[Slot]) -> int:
    """Take the secrets out of all. They are looked for in the bytes of all at once: mostly there are none.

    Returns:
        Bytes that they take in memory.
    """
    clean: set[Redactor | None] = set()
    size = sum([slot.size for slot in slots])
    if size <= AT_ONCE:
        redactors = {slot.redactor for slot in slots}
        bytes_of_all = b"\0".join([slot.draft.data for slot in slots])
        clean = {each for each in redactors if each is None or not each.may_be_in(bytes_of_all)}
    for slot in slots:
        draft = slot.draft
        if draft.head is None and draft.malformed is None and slot.redactor in clean:
            slot.redactor = None
        else:
            slot.finish()
    return size
