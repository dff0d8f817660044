"""What wires record into, and how its records reach the writer of the database."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.redact.redaction import Redactor

OVERHEAD = 700  # bytes that a record takes in memory in addition to its data, roughly
SEARCHED_AT_ONCE = 4 << 20  # bytes, at most: they are copied for the search


class Slot:
    """A record on its way to the database, beside its number and times: making a numbered one takes longer than a caller may wait."""

    __slots__ = ("mono_ns", "record", "seq", "size", "time_ns")

    def __init__(self, record: Record, seq: int, time_ns: int, mono_ns: int | None) -> None:
        self.record = record  # as it came, until `redact` puts one without secrets in its place
        self.seq = seq
        self.time_ns = time_ns
        self.mono_ns = mono_ns
        self.size = len(record.data) + OVERHEAD  # in memory


class Recording(ABC):
    """Takes the records of one capture from wires, and gives them to the writer.

    It announces itself to the store with the first record that is new, and again with the first after they were taken: so a
    record costs its caller no more than a place in a list.
    """

    def __init__(self, capture: str, redactor: Redactor) -> None:
        self.capture = capture
        self.redactor = redactor
        self.now: Callable[[], int] = time.monotonic_ns  # the clock of `append`
        self.refused_records: int = 0  # which can never be stored, such as a second one with the same number
        self._exchanges, self._connections = count(1), count(1)

    @abstractmethod
    def append(self, record: Record, at_ns: int | None = None) -> int:
        """Keep a record of what happened now, or at a time; return its number in the capture."""

    def new_exchange(self) -> str:
        return f"x{next(self._exchanges)}"

    def new_connection(self, server: str) -> str:
        return f"{server}#{next(self._connections)}"

    take: Callable[[], list[Slot]]
    """Returns the new records, in order. This and what follows is called by the writer, in its own thread."""

    def settled(self, seq: int, fault: str) -> None:  # noqa: B027 - who waits for the disk hears of a fault as it waits
        """Called when records up to this number are stored, or wait in memory for the given reason."""

    def refused(self) -> None:
        """Called for a record that can never be stored."""
        self.refused_records += 1


def redact(slots: Sequence[Slot], redactor: Redactor) -> None:
    """Remove the secrets from records, in one search where there are none: it takes longer than a caller may wait."""
    data = [slot.record.data for slot in slots]
    is_little = sum(map(len, data)) <= SEARCHED_AT_ONCE
    is_clean = is_little and not redactor.bytes(b"\0".join(data))[1]
    for slot in slots:
        record = slot.record
        if not is_clean or record.head is not None or record.malformed is not None:
            slot.record = redactor.record(record, is_searched=is_clean and record.encoding is None)
