"""Rows in little memory: a column for each value, and an index of calls, records, partners and changes."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, overload

from typing_extensions import override

from tui_host.capture.ladder.row import KINDS, LANES, STATES, Lane, Row, RowKind
from tui_host.capture.ladder.sections import Sections
from tui_host.capture.record import Record

Value: TypeAlias = "int | str | tuple[str, ...] | frozenset[str] | None"

UNKNOWN_TIME = -1
_OF_ONE_RECORD = {"request", "frame", "decision"}
CHOICES: Mapping[str, tuple[str, ...]] = {"lane": LANES, "kind": KINDS, "state": STATES}
COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(CHOICES, "choice"),
    **dict.fromkeys(("outward", "answer", "error", "redacted", "missing", "inferred", "maybe"), "flag"),
    **dict.fromkeys(("turn", "step", "status", "events"), "number"),
    **dict.fromkeys(("seq", "last_seq", "request_seq", "response_seq", "time_ns", "size"), "long number"),
    **dict.fromkeys(("mono_ns", "end_mono_ns"), "time"),
    **dict.fromkeys(("capture", "clock", "peer", "connection", "method", "url"), "shared text"),
    **dict.fromkeys(("tool", "malformed", "ending"), "shared text"),
    **dict.fromkeys(("exchange", "rpc_id", "words"), "own text"),
}
"""How each field of a row is stored. A text that many rows share is stored once, and stands in its column by number."""
_TYPES: Mapping[str, Literal["b", "i", "q"]] = {
    "choice": "b",
    "flag": "b",
    "number": "i",
    "long number": "q",
    "time": "q",
    "shared text": "i",
}


class RowTable(Sequence[Row]):
    """The rows in order; a row's index is its number.

    Attributes:
        columns: The fields that are numbers, for filters that look at 100,000 rows at once.
        texts: The texts that rows share; number 0 is the empty text.
        own: The fields whose texts hardly two rows share.
        heads: The headers of each row, by the numbers of their lines: most lines are those of the request before.
    """

    def __init__(self) -> None:
        self.columns: dict[str, array[int]] = {
            name: array(_TYPES[kind]) for name, kind in COLUMNS.items() if kind in _TYPES
        }
        self.texts = [""]
        self.own: dict[str, list[str]] = {name: [] for name, kind in COLUMNS.items() if kind == "own text"}
        self.heads: list[tuple[int, ...]] = []
        self._numbers = {"": 0}
        self._calls: list[str | frozenset[str]] = []  # most rows have no call or one
        self._readers = [(name, column, self._reader(name)) for name, column in self.columns.items()]

    def _reader(self, name: str) -> Callable[[int], object]:
        match COLUMNS[name]:
            case "choice":
                return CHOICES[name].__getitem__
            case "flag":
                return bool
            case "time":
                return lambda time: None if time == UNKNOWN_TIME else time
            case "shared text":
                return self.texts.__getitem__
            case _:
                return int

    @override
    def __len__(self) -> int:
        return len(self._calls)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    @override
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self._row(number) for number in range(*index.indices(len(self)))]
        return self._row(range(len(self))[index])

    @override
    def __iter__(self) -> Iterator[Row]:
        return map(self._row, range(len(self)))

    def append(self, values: Mapping[str, Value]) -> None:
        """Add a row with the next number; fields without a value are 0 or empty."""
        for column in self.columns.values():
            column.append(0)
        for texts in self.own.values():
            texts.append("")
        self.heads.append(())
        self._calls.append("")
        self.put(len(self) - 1, values)

    def put(self, number: int, values: Mapping[str, Value]) -> None:
        """Change some fields of a row."""
        for name, value in values.items():
            if isinstance(value, int):
                self.columns[name][number] = value
            elif value is None:
                self.columns[name][number] = UNKNOWN_TIME
            elif isinstance(value, frozenset):
                self._calls[number] = value if len(value) > 1 else next(iter(value), "")
            elif isinstance(value, tuple):
                self.heads[number] = tuple(map(self._shared, value))
            elif name in self.own:  # half a surrogate pair could be neither shown nor saved
                is_plain = value.isascii()
                self.own[name][number] = value if is_plain else value.encode("utf-8", "backslashreplace").decode()
            else:
                choices = CHOICES.get(name)
                self.columns[name][number] = self._shared(value) if choices is None else choices.index(value)

    def _shared(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def text(self, name: str, number: int) -> str:
        """Return a shared text of a row, for which no row is made."""
        return self.texts[self.columns[name][number]]

    def choice(self, name: str, number: int) -> str:
        """Return the lane, kind or state of a row, for which no row is made."""
        return CHOICES[name][self.columns[name][number]]

    def calls_of(self, number: int) -> Iterable[str]:
        """Return the calls of a row."""
        calls = self._calls[number]
        if isinstance(calls, str):
            return (calls,) if calls else ()
        return calls

    def _row(self, number: int) -> Row:
        row = object.__new__(Row)
        put = object.__setattr__  # `Row` is frozen, and its constructor with all names takes three times as long
        put(row, "number", number)
        for name, column, read in self._readers:
            put(row, name, read(column[number]))
        for name, texts in self.own.items():
            put(row, name, texts[number])
        put(row, "head", tuple(map(self.texts.__getitem__, self.heads[number])))
        put(row, "calls", frozenset(self.calls_of(number)))
        return row


class LadderRows:
    """The rows, and how they belong together.

    Attributes:
        rows: All rows, in the order of their first bytes. A row's index is its number.
        sections: The section of each row, up to the last finished revision: a step of a turn, or connections.
        revision: Grows when rows were added or changed.
        tools: `server.tool` of each call, if known.
    """

    def __init__(self, clock: str = "") -> None:
        self.rows = RowTable()
        self.sections = Sections()
        self.revision = 0
        self.tools: dict[str, str] = {}
        self._clock = clock
        self._partners = array("i")
        self._by_call: dict[str, array[int]] = {}
        self._by_seq: dict[str, tuple[array[int], array[int]]] = {}  # the records that rows begin with, by capture
        self._changes = array("q"), array("i")  # revisions, and the row that changed in each

    def add(self, record: Record, lane: Lane, kind: RowKind, **values: Value) -> int:
        """Add a row that begins with a record, and return its number. `values` are fields that the record does not tell."""
        number, place = len(self.rows), record.place
        own: dict[str, Value] = {
            "lane": lane,
            "kind": kind,
            "state": "done",
            "outward": record.direction == "out",
            "capture": record.capture,
            "clock": self._clock or record.capture,
            "seq": record.seq,
            "last_seq": record.seq,
            "time_ns": record.time_ns,
            "mono_ns": record.mono_ns,
            "end_mono_ns": record.mono_ns,
            "turn": place.turn or 0,
            "step": place.step or 0,
            "peer": record.peer,
            "connection": record.connection or "",
            "exchange": record.exchange or "",
            "size": len(record.data),
            "calls": frozenset((place.call,)) if place.call else frozenset(),
            "malformed": record.malformed or "",
            "redacted": bool(record.redacted),
        }
        self.rows.append({**own, **values})
        self._partners.append(-1)
        seqs, numbers = self._by_seq.setdefault(record.capture, (array("q"), array("i")))
        if not seqs or seqs[-1] < record.seq:
            seqs.append(record.seq)
            numbers.append(number)
        for call in self.rows.calls_of(number):
            self._by_call.setdefault(call, array("i")).append(number)
        self._note(number)
        return number

    def change(self, number: int, **values: Value) -> None:
        """Change some fields of a row."""
        self.rows.put(number, values)
        self._note(number)

    def join(self, number: int, call: str) -> None:
        """Add a call to those of a row."""
        self.change(number, calls=frozenset((*self.rows.calls_of(number), call)))
        self._by_call.setdefault(call, array("i")).append(number)

    def grow(self, number: int, record: Record, events: int) -> None:
        """Add a record's bytes, and a number of events, to a row."""
        columns = self.rows.columns
        columns["size"][number] += len(record.data)
        columns["events"][number] += events
        if record.redacted:
            columns["redacted"][number] = True
        self.change(number, last_seq=record.seq, end_mono_ns=record.mono_ns)

    def repeat(self, number: int, record: Record, words: str) -> None:
        """Fold one more repetition into a row; the first one was not counted."""
        self.grow(number, record, 1 if self.rows.columns["events"][number] else 2)
        if words:
            self.change(number, words=words)

    def is_open(self, number: int) -> bool:
        """Whether bytes of a row, or its answer, may still come."""
        return self.rows.choice("state", number) == "open"

    def pair(self, first: int, second: int) -> None:
        """Make two rows partners; a row keeps the first partner."""
        for number, partner in ((first, second), (second, first)):
            if self._partners[number] < 0:
                self._partners[number] = partner
                self._note(number)

    def partner(self, number: int) -> int | None:
        """Return the partner of a row: a request's response, or a question's answer."""
        partner = self._partners[number]
        return partner if partner >= 0 else None

    def relatives(self, number: int) -> Sequence[int]:
        """Return the rows that share a call with a row, nearest first; for a row without calls its partner."""
        numbers = {other for call in self.rows.calls_of(number) for other in self._by_call[call] if other != number}
        partner = self.partner(number)
        if not numbers and partner is not None:
            return (partner,)
        return tuple(sorted(numbers, key=lambda other: (abs(other - number), other)))

    def rows_of_call(self, call: str) -> Sequence[int]:
        """Return the rows of a call, in the order of their first bytes."""
        return sorted(self._by_call.get(call, ()))

    def only_record(self, number: int) -> tuple[str, int] | None:
        """Return capture and number of the record with the whole body of a row; None if more records may have a part."""
        if self.rows.choice("kind", number) not in _OF_ONE_RECORD:
            return None
        return self.rows.text("capture", number), self.rows.columns["seq"][number]

    @property
    def captures(self) -> Iterable[str]:
        """The captures with rows."""
        return self._by_seq

    def row_of(self, key: tuple[str, int]) -> int | None:
        """Return the row whose first record has this capture and number."""
        seqs, numbers = self._by_seq.get(key[0], ((), ()))
        at = bisect_left(seqs, key[1])
        return numbers[at] if at < len(seqs) and seqs[at] == key[1] else None

    def settle(self) -> None:
        """End a batch of changes; if there were any, a new revision begins."""
        self.sections.take(self.rows, self.partner)
        revisions = self._changes[0]
        self.revision = revisions[-1] if revisions else 0

    def changed_since(self, revision: int) -> Sequence[int]:
        """Return the numbers of new and changed rows after a revision, in order."""
        revisions, numbers = self._changes
        return sorted(set(numbers[bisect_right(revisions, revision) :]))

    def _note(self, number: int) -> None:
        revisions, numbers = self._changes
        coming = self.revision + 1
        if not revisions or revisions[-1] != coming or numbers[-1] != number:
            revisions.append(coming)
            numbers.append(number)
