"""Rows in little memory: a column for each of a row's values, and the row made anew whenever it is looked at."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, overload

from typing_extensions import override

from tui_host.capture.rows import Lane, Row, RowKind, RowState

T = TypeVar("T")

LANES: tuple[Lane, ...] = ("llm", "host", "mcp")
KINDS: tuple[RowKind, ...] = ("request", "response", "frame", "decision", "line", "fault")
STATES: tuple[RowState, ...] = ("open", "done", "failed", "cut")

OUTWARD, ANSWER, ERROR, REDACTED = 1, 2, 4, 8

NUMBERS = ("seq", "last_seq", "time_ns", "mono_ns", "end_mono_ns", "size")
SMALL = ("turn", "step", "status", "events")
TEXTS = ("capture", "peer", "connection", "method", "url", "tool", "malformed")
"""Values that many rows have in common: kept once, numbered."""


class Texts:
    """Texts by number, each kept once; number 0 is the empty text."""

    def __init__(self) -> None:
        self._numbers = {"": 0}
        self.texts = [""]

    def number(self, text: str) -> int:
        """The text's number, a new one if it is new."""
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number


class RowTable(Sequence[Row]):
    """The rows, in order; a row's place is its number.

    Columns are read directly by `row_filter`, for 100,000 rows at once.
    """

    def __init__(self) -> None:
        self.numbers = {name: array("q") for name in NUMBERS}
        self.small = {name: array("i") for name in SMALL}
        self.named = {name: array("i") for name in TEXTS}
        self.texts = Texts()
        self.lanes = array("b")
        self.kinds = array("b")
        self.states = array("b")
        self.flags = array("b")
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

    def put(self, row: Row) -> None:
        """Add a row, whose number is the next one, or put a newer value in the place of an old one."""
        place = row.number
        for name, column in self.numbers.items():
            _set(column, place, getattr(row, name))
        for name, column in self.small.items():
            _set(column, place, getattr(row, name))
        for name, column in self.named.items():
            _set(column, place, self.texts.number(getattr(row, name)))
        _set(self.lanes, place, LANES.index(row.lane))
        _set(self.kinds, place, KINDS.index(row.kind))
        _set(self.states, place, STATES.index(row.state))
        flags = OUTWARD * row.outward | ANSWER * row.answer | ERROR * row.error | REDACTED * row.redacted
        _set(self.flags, place, flags)
        _keep(self.ids, place, row.rpc_id)
        _keep(self.exchanges, place, row.exchange)
        _keep(self.words, place, row.words.encode("utf-8", "backslashreplace"))
        _keep(self.calls, place, _few(row.calls))

    def grow(self, number: int, *, seq: int, mono_ns: int, size: int, redacted: bool) -> None:
        """Add a piece to a row that is still open."""
        self.numbers["last_seq"][number] = seq
        self.numbers["end_mono_ns"][number] = mono_ns
        self.numbers["size"][number] += size
        self.small["events"][number] += 1
        if redacted:
            self.flags[number] |= REDACTED

    def calls_of(self, number: int) -> Iterable[str]:
        """The calls that a row has to do with."""
        calls = self.calls[number]
        return ((calls,) if calls else ()) if isinstance(calls, str) else calls

    def _row(self, number: int) -> Row:
        numbers, small, named, texts = self.numbers, self.small, self.named, self.texts.texts
        flags = self.flags[number]
        return Row(
            number=number,
            lane=LANES[self.lanes[number]],
            kind=KINDS[self.kinds[number]],
            outward=bool(flags & OUTWARD),
            capture=texts[named["capture"][number]],
            seq=numbers["seq"][number],
            last_seq=numbers["last_seq"][number],
            time_ns=numbers["time_ns"][number],
            mono_ns=numbers["mono_ns"][number],
            end_mono_ns=numbers["end_mono_ns"][number],
            turn=small["turn"][number],
            step=small["step"][number],
            peer=texts[named["peer"][number]],
            connection=texts[named["connection"][number]],
            exchange=self.exchanges[number],
            method=texts[named["method"][number]],
            url=texts[named["url"][number]],
            status=small["status"][number],
            rpc_id=self.ids[number],
            answer=bool(flags & ANSWER),
            error=bool(flags & ERROR),
            size=numbers["size"][number],
            events=small["events"][number],
            state=STATES[self.states[number]],
            calls=frozenset(self.calls_of(number)),
            tool=texts[named["tool"][number]],
            words=self.words[number].decode(),
            malformed=texts[named["malformed"][number]],
            redacted=bool(flags & REDACTED),
        )


def _few(calls: frozenset[str]) -> str | frozenset[str]:
    return calls if len(calls) > 1 else next(iter(calls), "")


def _set(column: array[int], place: int, value: int) -> None:
    if place == len(column):
        column.append(value)
    else:
        column[place] = value


def _keep(column: list[T], place: int, value: T) -> None:
    if place == len(column):
        column.append(value)
    else:
        column[place] = value
