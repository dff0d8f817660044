"""Store rows in little memory: a column for each value, and a row made anew at each access."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import overload

from typing_extensions import override

from tui_host.capture.ladder.row import Lane, Row, RowKind, RowState

LANES: tuple[Lane, ...] = ("llm", "host", "mcp")
KINDS: tuple[RowKind, ...] = ("request", "response", "frame", "decision", "line", "fault")
STATES: tuple[RowState, ...] = ("open", "done", "failed", "cut")

OUTWARD, ANSWER, ERROR, REDACTED, INFERRED, MISSING = 1, 2, 4, 8, 16, 32

NUMBERS = ("seq", "last_seq", "time_ns", "size")
TIMES = ("mono_ns", "end_mono_ns")
"""Those that may not be known."""
UNTOLD = -1
"""Stands for one that is not."""
SMALL = ("turn", "step", "status", "events")
TEXTS = ("capture", "peer", "connection", "method", "url", "tool", "malformed", "clock", "doubtful")
"""Values that many rows have in common: kept once, numbered."""

_numbers: Callable[[Row], tuple[int, ...]] = attrgetter(*NUMBERS, *SMALL)
_times: Callable[[Row], tuple[int | None, ...]] = attrgetter(*TIMES)
_texts: Callable[[Row], tuple[str, ...]] = attrgetter(*TEXTS)


class Texts:
    """Texts by number, each kept once; number 0 is the empty text."""

    def __init__(self) -> None:
        self._numbers = {"": 0}
        self.texts = [""]

    def number(self, text: str) -> int:
        """Return the number of a text, a new number for a new text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number


class RowTable(Sequence[Row]):
    """The rows in order; the place of a row is the number.

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
        """Add a row under the next number."""
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
        seq, last_seq, time_ns, size, turn, step, status, events, *later = values[:19]
        mono_ns, end_mono_ns = (None if time == UNTOLD else time for time in later[:2])
        texts = map(self.texts.texts.__getitem__, later[2:])
        capture, peer, connection, method, url, tool, malformed, clock, doubtful = texts
        lane, kind, state, flags = values[19:]
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
            missing=bool(flags & MISSING),
            inferred=bool(flags & INFERRED),
        )


def _few(calls: frozenset[str]) -> str | frozenset[str]:
    return calls if len(calls) > 1 else next(iter(calls), "")
