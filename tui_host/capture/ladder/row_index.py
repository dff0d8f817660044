"""The rows of a ladder in progress: stored, paired, found by call and by record, with the changes of each revision."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from tui_host.capture.ladder.row import Lane, Row, RowKind
from tui_host.capture.ladder.row_table import RowTable
from tui_host.capture.record import Record


class LadderRows:
    """Rows by number, with an index of calls, records and partners.

    Attributes:
        tools: `server.tool` of each call of which it is known.
    """

    def __init__(self, clock: str = "") -> None:
        self.table = RowTable()
        self._clock = clock
        self.revision = 0
        self.tools: dict[str, str] = {}
        self._journal = _Journal()
        self._partners = array("i")
        self._by_call: dict[str, array[int]] = {}
        self._by_seq: dict[str, tuple[array[int], array[int]]] = {}

    def __len__(self) -> int:
        return len(self.table)

    def row_for(self, record: Record, lane: Lane, kind: RowKind) -> Row:
        """Make a row from the first record, without adding the row."""
        draft = record.draft
        place = draft.place
        return Row(
            number=len(self.table),
            lane=lane,
            kind=kind,
            outward=draft.direction == "out",
            capture=record.capture,
            clock=self._clock or record.capture,
            seq=record.seq,
            last_seq=record.seq,
            time_ns=record.time_ns,
            mono_ns=record.mono_ns,
            end_mono_ns=record.mono_ns,
            turn=place.turn or 0,
            step=place.step or 0,
            peer=draft.peer,
            connection=draft.connection or "",
            exchange=draft.exchange or "",
            size=len(draft.data),
            calls=frozenset((place.call,)) if place.call else frozenset(),
            malformed=draft.malformed or "",
            redacted=bool(draft.redacted),
        )

    def add(self, row: Row) -> int:
        """Add a row at the end; return the number."""
        self.table.add(row)
        self._partners.append(-1)
        seqs, numbers = self._by_seq.setdefault(row.capture, (array("q"), array("i")))
        if not seqs or seqs[-1] < row.seq:
            seqs.append(row.seq)
            numbers.append(row.number)
        self._index(row.calls, row.number)
        self._journal.note(self.revision + 1, row.number)
        return row.number

    def change(self, row: Row) -> None:
        """Put a newer value in the place of a row."""
        before = frozenset(self.table.calls_of(row.number))
        self.table.put(row)
        self._index(row.calls - before, row.number)
        self._journal.note(self.revision + 1, row.number)

    def grow(self, number: int, record: Record, events: int) -> None:
        """Add the bytes of a record, and a number of events, to an open row."""
        draft = record.draft
        self.table.grow(
            number,
            seq=record.seq,
            mono_ns=record.mono_ns,
            size=len(draft.data),
            events=events,
            redacted=bool(draft.redacted),
        )
        self._journal.note(self.revision + 1, number)

    def repeat(self, number: int, record: Record, words: str) -> None:
        """Fold one more repetition into a row."""
        row = self.table[number]
        self.change(
            replace(
                row,
                last_seq=record.seq,
                end_mono_ns=record.mono_ns,
                size=row.size + len(record.draft.data),
                events=max(row.events, 1) + 1,
                words=words or row.words,
                redacted=row.redacted or bool(record.draft.redacted),
            )
        )

    def pair(self, first: int, second: int) -> None:
        """Make two rows partners; a row keeps the first partner."""
        for row, partner in ((first, second), (second, first)):
            if self._partners[row] < 0:
                self._partners[row] = partner
                self._journal.note(self.revision + 1, row)

    def partner(self, number: int) -> int | None:
        """Return the partner of a row."""
        partner = self._partners[number]
        return partner if partner >= 0 else None

    def of_call(self, call: str) -> Sequence[int]:
        """Return the rows of a call, in the order of joining."""
        return self._by_call.get(call, ())

    def row_of(self, capture: str, seq: int) -> int | None:
        """Return the row with a first record."""
        seqs, numbers = self._by_seq.get(capture, ((), ()))
        at = bisect_left(seqs, seq)
        return numbers[at] if at < len(seqs) and seqs[at] == seq else None

    def settle(self) -> None:
        """End a batch; with any change a new revision begins."""
        if self._journal.last > self.revision:
            self.revision = self._journal.last
            self._journal.shorten(len(self.table))

    def changed_since(self, revision: int) -> list[int]:
        """Return the numbers of new and changed rows after a revision, in order."""
        return self._journal.since(revision)

    def _index(self, calls: frozenset[str], number: int) -> None:
        for call in calls:
            self._by_call.setdefault(call, array("i")).append(number)


class _Journal:
    """The changed rows of each revision; for one row the last change is enough."""

    def __init__(self) -> None:
        self._revisions = array("q")
        self._numbers = array("i")
        self.last = 0

    def note(self, revision: int, number: int) -> None:
        if self.last == revision and self._numbers[-1] == number:
            return
        self._revisions.append(revision)
        self._numbers.append(number)
        self.last = revision

    def since(self, revision: int) -> list[int]:
        start = bisect_right(self._revisions, revision)
        return sorted(set(self._numbers[start:]))

    def shorten(self, rows: int) -> None:
        """Keep only the last change of each row, once the journal is much longer than the list of rows."""
        if len(self._numbers) <= 2 * rows + 10_000:
            return
        latest = dict(zip(self._numbers, self._revisions, strict=True))  # a later change stands in for an earlier one
        ordered = sorted(latest.items(), key=lambda item: item[1])
        self._numbers = array("i", (number for number, _ in ordered))
        self._revisions = array("q", (revision for _, revision in ordered))
