"""Rows in little memory: a column for each value."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, overload

from typing_extensions import override

from tui_host.capture.ladder.row import KINDS, LANES, STATES, Row

Value: TypeAlias = "int | str | tuple[str, ...] | frozenset[str] | None"

UNKNOWN_TIME = -1
FIRST_TEXTS: Sequence[str] = ("", *LANES, *KINDS, *STATES)
"""The texts with the smallest numbers."""
_CHOICES = ("lane", "kind", "state")
_TIMES = ("mono_ns", "end_mono_ns")
_FLAGS = ("outward", "answer", "error", "redacted", "missing", "inferred", "maybe")
_SHARED = ("capture", "clock", "peer", "connection", "method", "url", "tool", "malformed", "ending")
_OWN = ("exchange", "rpc_id", "words")
_TYPES: Mapping[str, str] = {
    **dict.fromkeys((*_CHOICES, *_FLAGS), "b"),
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
        self.texts = list(FIRST_TEXTS)  # the texts that rows share; number 0 is the empty text
        self.own: dict[str, list[str]] = {name: [] for name in _OWN}  # the fields whose texts hardly two rows share
        self.heads: list[tuple[int, ...]] = []
        self.calls: list[tuple[str, ...]] = []  # the calls of each row
        self._numbers = {text: number for number, text in enumerate(self.texts)}
        readers: dict[str, Callable[[int], object]] = dict.fromkeys((*_CHOICES, *_SHARED), self.texts.__getitem__)
        readers |= dict.fromkeys(_FLAGS, bool)
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
                self.columns[name][number] = self._shared(value)

    def _shared(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def text(self, name: str, number: int) -> str:
        """Return a shared text of a row, such as its state; no row is made for it."""
        return self.texts[self.columns[name][number]]
