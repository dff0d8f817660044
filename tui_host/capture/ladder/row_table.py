"""Stores rows in little memory: a column per value, and an index of calls, records, partners and changes."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import overload

from typing_extensions import override

from tui_host.capture.ladder.row import Lane, Row, RowKind, RowState
from tui_host.capture.ladder.sections import Sections
from tui_host.capture.record import Record

LANES: tuple[Lane, ...] = ("llm", "host", "mcp")
KINDS: tuple[RowKind, ...] = ("request", "response", "frame", "decision", "line", "fault", "end", "vendor")
STATES: tuple[RowState, ...] = ("open", "done", "failed", "cut", "unanswered")

OUTWARD, ANSWER, ERROR, REDACTED, INFERRED, MISSING = 1, 2, 4, 8, 16, 32

NUMBERS = ("seq", "last_seq", "time_ns", "size")
TIMES = ("mono_ns", "end_mono_ns")
"""Columns of times, which may be unknown."""
UNTOLD = -1
"""Stands for an unknown time."""
SMALL = ("turn", "step", "status", "events")
TEXTS = ("capture", "peer", "connection", "method", "url", "tool", "malformed", "clock", "doubtful", "ending")
"""Columns whose values many rows share: each value is stored once, with a number."""

_numbers: Callable[[Row], tuple[int, ...]] = attrgetter(*NUMBERS, *SMALL)
_times: Callable[[Row], tuple[int | None, ...]] = attrgetter(*TIMES)
_texts: Callable[[Row], tuple[str, ...]] = attrgetter(*TEXTS)


class Texts:
    """Texts by number, each stored once; number 0 is the empty text."""

    def __init__(self) -> None:
        self._numbers = {"": 0}
        self.texts = [""]

    def number(self, text: str) -> int:
        """Return the number of a text, which gets a new number if it is new."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number


class RowTable(Sequence[Row]):
    """The rows in order; a row's index is its number.

    Columns are read directly by `filter`, for 100,000 rows at once.
    """

    def __init__(self) -> None:
        self.numbers = {name: array("q") for name in NUMBERS}
        self.times = {name: array("q") for name in TIMES}
        self.small = {name: array("i") for name in SMALL}
        self.named = {name: array("i") for name in TEXTS}
        self.texts = Texts()
        self.lanes = array("b")
        self.kinds = array("b")
        self.states = array("b")
        self.flags = array("b")
        marks = self.lanes, self.kinds, self.states, self.flags
        columns = self.numbers, self.small, self.times, self.named
        self._columns = (*chain.from_iterable(column.values() for column in columns), *marks)
        self.ids: list[str] = []
        self.exchanges: list[str] = []
        self.words: list[bytes] = []
        self.calls: list[str | frozenset[str]] = []  # most rows have no call or one

    @override
    def __len__(self) -> int:
        return len(self.flags)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    @override
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self._row(number) for number in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._row(index % len(self))

    @override
    def __iter__(self) -> Iterator[Row]:
        return map(self._row, range(len(self)))

    def add(self, row: Row) -> None:
        """Add a row with the next number."""
        for column, value in zip(self._columns, self._values(row), strict=True):
            column.append(value)
        self.ids.append(row.rpc_id)
        self.exchanges.append(row.exchange)
        self.words.append(row.words.encode("utf-8", "backslashreplace"))
        self.calls.append(_few(row.calls))

    def put(self, row: Row) -> None:
        """Put a newer value in the place of a row."""
        place = row.number
        for column, value in zip(self._columns, self._values(row), strict=True):
            column[place] = value
        self.ids[place] = row.rpc_id
        self.exchanges[place] = row.exchange
        self.words[place] = row.words.encode("utf-8", "backslashreplace")
        self.calls[place] = _few(row.calls)

    def _values(self, row: Row) -> tuple[int, ...]:
        flags = OUTWARD * row.outward | ANSWER * row.answer | ERROR * row.error | REDACTED * row.redacted
        flags |= INFERRED * row.inferred | MISSING * row.missing
        marks = LANES.index(row.lane), KINDS.index(row.kind), STATES.index(row.state), flags
        times = [UNTOLD if time is None else time for time in _times(row)]
        return (*_numbers(row), *times, *map(self.texts.number, _texts(row)), *marks)

    def grow(self, number: int, *, seq: int, mono_ns: int | None, size: int, events: int, redacted: bool) -> None:
        """Add a piece to an open row."""
        self.numbers["last_seq"][number] = seq
        self.times["end_mono_ns"][number] = UNTOLD if mono_ns is None else mono_ns
        self.numbers["size"][number] += size
        self.small["events"][number] += events
        if redacted:
            self.flags[number] |= REDACTED

    def calls_of(self, number: int) -> Iterable[str]:
        """Return the calls of a row."""
        calls = self.calls[number]
        return ((calls,) if calls else ()) if isinstance(calls, str) else calls

    def _row(self, number: int) -> Row:
        values = [column[number] for column in self._columns]
        seq, last_seq, time_ns, size, turn, step, status, events, *later = values[:20]
        mono_ns, end_mono_ns = (None if time == UNTOLD else time for time in later[:2])
        texts = map(self.texts.texts.__getitem__, later[2:])
        capture, peer, connection, method, url, tool, malformed, clock, doubtful, ending = texts
        lane, kind, state, flags = values[20:]
        return Row(
            number=number,
            lane=LANES[lane],
            kind=KINDS[kind],
            outward=bool(flags & OUTWARD),
            capture=capture,
            clock=clock,
            seq=seq,
            last_seq=last_seq,
            time_ns=time_ns,
            mono_ns=mono_ns,
            end_mono_ns=end_mono_ns,
            turn=turn,
            step=step,
            peer=peer,
            connection=connection,
            exchange=self.exchanges[number],
            method=method,
            url=url,
            status=status,
            rpc_id=self.ids[number],
            answer=bool(flags & ANSWER),
            error=bool(flags & ERROR),
            size=size,
            events=events,
            state=STATES[state],
            calls=frozenset(self.calls_of(number)),
            tool=tool,
            words=self.words[number].decode(),
            malformed=malformed,
            redacted=bool(flags & REDACTED),
            doubtful=doubtful,
            ending=ending,
            missing=bool(flags & MISSING),
            inferred=bool(flags & INFERRED),
        )


def _few(calls: frozenset[str]) -> str | frozenset[str]:
    return calls if len(calls) > 1 else next(iter(calls), "")


class LadderRows:
    """Rows by number, with an index of calls, records and partners.

    Attributes:
        sections: The section of each row, up to the last finished revision.
        tools: `server.tool` of each call, if known.
    """

    def __init__(self, clock: str = "") -> None:
        self.table = RowTable()
        self.sections = Sections()
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
        """Return a new row for a first record, without adding it."""
        place = record.place
        return Row(
            number=len(self.table),
            lane=lane,
            kind=kind,
            outward=record.direction == "out",
            capture=record.capture,
            clock=self._clock or record.capture,
            seq=record.seq,
            last_seq=record.seq,
            time_ns=record.time_ns,
            mono_ns=record.mono_ns,
            end_mono_ns=record.mono_ns,
            turn=place.turn or 0,
            step=place.step or 0,
            peer=record.peer,
            connection=record.connection or "",
            exchange=record.exchange or "",
            size=len(record.data),
            calls=frozenset((place.call,)) if place.call else frozenset(),
            malformed=record.malformed or "",
            redacted=bool(record.redacted),
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
        self.sections.move(row.number, (row.clock, row.turn, row.step))
        self._index(row.calls - before, row.number)
        self._journal.note(self.revision + 1, row.number)

    def grow(self, number: int, record: Record, events: int) -> None:
        """Add a record's bytes, and a number of events, to an open row."""
        self.table.grow(
            number,
            seq=record.seq,
            mono_ns=record.mono_ns,
            size=len(record.data),
            events=events,
            redacted=bool(record.redacted),
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
                size=row.size + len(record.data),
                events=max(row.events, 1) + 1,
                words=words or row.words,
                redacted=row.redacted or bool(record.redacted),
            )
        )

    def is_open(self, number: int) -> bool:
        """Whether bytes of a row, or its answer, may still come."""
        return STATES[self.table.states[number]] == "open"

    def end(self, number: int, state: RowState, ending: str = "") -> None:
        """Set how a row ended."""
        self.table.states[number] = STATES.index(state)
        self.table.named["ending"][number] = self.table.texts.number(ending)
        self._journal.note(self.revision + 1, number)

    def put_into_turn(self, number: int, turn: int, step: int) -> None:
        """Give a row a turn and a step."""
        self.table.small["turn"][number], self.table.small["step"][number] = turn, step
        self._journal.note(self.revision + 1, number)

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

    @property
    def captures(self) -> Iterable[str]:
        """The captures with rows."""
        return self._by_seq

    def row_of(self, capture: str, seq: int) -> int | None:
        """Return the row with a first record."""
        seqs, numbers = self._by_seq.get(capture, ((), ()))
        at = bisect_left(seqs, seq)
        return numbers[at] if at < len(seqs) and seqs[at] == seq else None

    def settle(self) -> None:
        """End a batch of changes; if there were any, a new revision begins."""
        self.sections.take(self.table, self.partner)
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
    """The changed rows of each revision; only the last change of a row counts."""

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
