"""Rows in little memory: a column for each value, and an index of calls, records, partners and changes."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, overload

from typing_extensions import override

from tui_host.capture.ladder.row import KINDS, LANES, STATES, Lane, Row, RowKind
from tui_host.capture.ladder.row_numbers import RowNumbers
from tui_host.capture.ladder.sections import Sections
from tui_host.capture.record import Record

Value: TypeAlias = "int | str | tuple[str, ...] | frozenset[str] | None"

UNKNOWN_TIME = -1
CHOICES: Mapping[str, tuple[str, ...]] = {"lane": LANES, "kind": KINDS, "state": STATES}
_TIMES = ("mono_ns", "end_mono_ns")
_FLAGS = ("outward", "answer", "error", "redacted", "missing", "inferred", "maybe")
_SHARED = ("capture", "clock", "peer", "connection", "method", "url", "tool", "malformed", "ending")
_OWN = ("exchange", "rpc_id", "words")
_TYPES: Mapping[str, str] = {
    **dict.fromkeys((*CHOICES, *_FLAGS), "b"),
    **dict.fromkeys((*_SHARED, "turn", "step", "status", "events"), "i"),
    **dict.fromkeys((*_TIMES, "seq", "last_seq", "request_seq", "response_seq", "time_ns", "size"), "q"),
}
"""How each field of a row is stored. A text that many rows share is stored once, and stands in its column by number."""


class RowTable(Sequence[Row]):
    """The rows in order; a row's index is its number.

    Attributes:
        columns: The fields that are numbers, for filters that look at 100,000 rows at once.
        heads: The headers of each row, by the numbers of their lines: most lines are those of the request before.
    """

    def __init__(self) -> None:
        self.columns: dict[str, array[int]] = {name: array(code) for name, code in _TYPES.items()}
        self.texts = [""]  # the texts that rows share; number 0 is the empty text
        self.own: dict[str, list[str]] = {name: [] for name in _OWN}  # the fields whose texts hardly two rows share
        self.heads: list[tuple[int, ...]] = []
        self._numbers = {"": 0}
        self.calls: list[tuple[str, ...]] = []  # the calls of each row
        readers: dict[str, Callable[[int], object]] = {name: choices.__getitem__ for name, choices in CHOICES.items()}
        readers |= dict.fromkeys(_FLAGS, bool) | dict.fromkeys(_SHARED, self.texts.__getitem__)
        readers |= dict.fromkeys(_TIMES, lambda time: None if time == UNKNOWN_TIME else time)
        self._readers = [(name, column, readers.get(name, int)) for name, column in self.columns.items()]

    @override
    def __len__(self) -> int:
        return len(self.heads)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    @override
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        numbers = range(len(self))[index]
        return self._row(numbers) if isinstance(numbers, int) else [self._row(number) for number in numbers]

    @override
    def __iter__(self) -> Iterator[Row]:
        return map(self._row, range(len(self)))

    def _row(self, number: int) -> Row:
        row = object.__new__(Row)
        put = object.__setattr__  # `Row` is frozen, and its constructor with all names takes three times as long
        put(row, "number", number)
        for name, column, read in self._readers:
            put(row, name, read(column[number]))
        for name, texts in self.own.items():
            put(row, name, texts[number])
        put(row, "head", tuple(map(self.texts.__getitem__, self.heads[number])))
        put(row, "calls", frozenset(self.calls[number]))
        return row

    def append(self, values: Mapping[str, Value]) -> None:
        """Add a row with the next number; fields without a value are 0 or empty."""
        for column in self.columns.values():
            column.append(0)
        for texts in self.own.values():
            texts.append("")
        self.heads.append(())
        self.calls.append(())
        self.put(len(self) - 1, values)

    def put(self, number: int, values: Mapping[str, Value]) -> None:
        """Change some fields of a row."""
        for name, value in values.items():
            if isinstance(value, int):
                self.columns[name][number] = value
            elif value is None:
                self.columns[name][number] = UNKNOWN_TIME
            elif isinstance(value, frozenset):
                self.calls[number] = tuple(value)
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
        """Return a shared text of a row, or its lane, kind or state; no row is made for it."""
        return CHOICES.get(name, self.texts)[self.columns[name][number]]


class LadderRows:
    """The rows, and how they belong together.

    Attributes:
        sections: The section of each row, up to the last finished revision: a step of a turn, or connections.
    """

    def __init__(self, clock: str = "") -> None:
        self.rows = RowTable()  # all rows, in the order of their first bytes. A row's index is its number.
        self.sections = Sections()
        self.numbers = RowNumbers(self.rows, self.partner)  # the numbers of requests and connections
        self.revision = 0  # grows when rows were added or changed
        self.calls: dict[str, array[int]] = {}  # the rows of each call, as they got it
        self.tools: dict[str, str] = {}  # `server.tool` of each call, if known
        self._clock = clock
        self._partners = array("i")
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
        for call in self.rows.calls[number]:
            self.calls.setdefault(call, array("i")).append(number)
        if lane == "mcp":
            self.numbers.count(record.peer, record.capture, record.connection or "")
        elif kind == "request" and values.get("method") != "GET":  # GET lists models
            self.numbers.requests.append(number)
        self._note(number)
        return number

    def change(self, number: int, **values: Value) -> None:
        """Change some fields of a row."""
        self.rows.put(number, values)
        self._note(number)

    def join(self, number: int, call: str) -> None:
        """Add a call to those of a row."""
        self.change(number, calls=frozenset((*self.rows.calls[number], call)))
        self.calls.setdefault(call, array("i")).append(number)

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
        numbers = {row for call in self.rows.calls[number] for row in self.calls[call]} - {number}
        partner = self.partner(number)
        if not numbers and partner is not None:
            return (partner,)
        return tuple(sorted(numbers, key=lambda row: (abs(row - number), row)))

    def rows_of_call(self, call: str) -> Sequence[int]:
        """Return the rows of a call, in the order of their first bytes."""
        return sorted(self.calls.get(call, ()))

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
