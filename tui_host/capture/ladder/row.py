"""A row of the ladder, rows in little memory (a column for each value), and their names: `LLM 3`, or `lab #4` for a request."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from tui_host.capture.visible import line

Lane: TypeAlias = Literal["llm", "host", "mcp"]
RowState: TypeAlias = Literal["open", "done", "failed", "cut", "unanswered"]
RowKind: TypeAlias = Literal["request", "response", "frame", "decision", "line", "fault", "end", "vendor"]
LANES: tuple[Lane, ...] = get_args(Lane)
KINDS: tuple[RowKind, ...] = get_args(RowKind)
STATES: tuple[RowState, ...] = get_args(RowState)
_NAME_CHARACTERS = 60
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row; replaced by a new value while its exchange grows.

    Attributes:
        kind: `request` and `response` are the halves of an exchange with a model; `frame` is one JSON-RPC message, `decision`
            what became of a call, `line` standard error (several lines fold into one row), `fault` what broke (an exchange
            without a response, bytes that are no frame), `end` that a connection is over, `vendor` a vendor's own tool.
    """

    number: int  # the row's index in the ladder, from 0
    lane: Lane
    kind: RowKind
    outward: bool
    capture: str
    seq: int
    last_seq: int
    time_ns: int
    mono_ns: int | None  # time of the first byte, on that clock; None if unknown
    end_mono_ns: int | None
    clock: str = ""  # the clock of the times: the capture, or the name of a common clock of several captures
    turn: int = 0  # the turn, 0 if the row belongs to none, such as a server's start
    step: int = 0
    peer: str = ""
    connection: str = ""
    exchange: str = ""
    method: str = ""  # the HTTP method, or the frame's JSON-RPC method; an answer has its request's
    url: str = ""  # the URL of the request, also of the one that carried a frame over HTTP
    head: tuple[str, ...] = ()  # the headers that came with the row's bytes, also of an exchange that carried a frame
    request_seq: int = 0  # the number of the record with the request's head; 0 without one, and for a model's answer
    response_seq: int = 0  # the number of the record with the head of the answer; 0 without one
    status: int = 0
    rpc_id: str = ""  # the frame's id as JSON text, empty for notifications
    answer: bool = False
    error: bool = False  # whether the frame is a JSON-RPC error or a result with `isError`, or the exchange failed
    size: int = 0
    events: int = 0  # of a streamed body so far, if it is not coded; or lines or repeats folded into this row
    state: RowState = "done"  # `open` while bytes or the answer may still come, `unanswered` where no answer will
    calls: frozenset[str] = frozenset()
    tool: str = ""  # the own name of the tool in a call's frames and decision; empty for other rows
    words: str = ""  # what it says in one line of at most 200 characters, foreign text as it came
    malformed: str = ""
    redacted: bool = False
    ending: str = ""  # why no answer came: `lab exited 134`; empty where that is not known
    missing: bool = False  # whether the bytes are missing in the imported file
    inferred: bool = False  # whether a call of the row was found only by comparing contents
    maybe: bool = False  # whether a call of the row is only likely to be its own

    @property
    def is_absent(self) -> bool:
        """Whether the row stands for a request or answer that was not captured."""
        return self.missing and not (self.status if self.kind == "response" else self.method)


class RowTable:
    """The rows in order; a row's index is its number."""

    def __init__(self) -> None:
        # The fields that are numbers, for filters that look at 100,000 rows at once.
        self.columns: dict[str, array[int]] = {name: array(code) for name, code in _TYPES.items()}
        self.texts = list(FIRST_TEXTS)  # the texts that rows share; number 0 is the empty text
        self.own: dict[str, list[str]] = {name: [] for name in _OWN}  # the fields whose texts hardly two rows share
        self.heads: list[tuple[int, ...]] = []  # the numbers of the headers' lines: most are the request's before
        self.calls: list[tuple[str, ...]] = []  # the calls of each row
        self._numbers = {text: number for number, text in enumerate(self.texts)}
        readers: dict[str, Callable[[int], object]] = dict.fromkeys((*_CHOICES, *_SHARED), self.texts.__getitem__)
        readers |= dict.fromkeys(_FLAGS, bool)
        readers |= dict.fromkeys(_TIMES, lambda time: None if time == UNKNOWN_TIME else time)
        self._readers = [(name, column, readers.get(name, int)) for name, column in self.columns.items()]

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[Row]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: int) -> Row:
        number = range(len(self))[index]
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


@dataclass(slots=True, eq=False)
class RowNumbers:
    """Numbers of requests and connections, in the order in which they began."""

    _partner: Callable[[int], int | None]
    requests: array[int] = field(default_factory=lambda: array("i"))  # to models; the first is the row of `LLM 1`
    widest: int = 0  # characters of the longest `lab` or `lab/2`
    _connections: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict[str, dict[tuple[str, str], int]])

    def count(self, peer: str, capture: str, connection: str) -> None:
        """Count the connection of a new row to a server."""
        connections = self._connections.setdefault(peer, {})
        if connection and (capture, connection) not in connections:
            connections[capture, connection] = len(connections) + 1
        self.widest = max(self.widest, len(peer) + 2 * (len(connections) > 1))

    def connection(self, row: Row) -> int:
        """Return the number of the connection among those to the row's server; 0 without one."""
        return self._connections.get(row.peer, {}).get((row.capture, row.connection), 0)

    def side(self, row: Row) -> str:
        """Return with whom a row is exchanged: `LLM 3`, `lab`, or `lab/2` on the second connection."""
        if row.lane == "llm":
            request = row.number if row.kind == "request" else self._partner(row.number)
            before = 0 if request is None else bisect_left(self.requests, request)
            is_counted = before < len(self.requests) and self.requests[before] == request
            return f"LLM {before + 1}" if is_counted else "LLM"
        connection = self.connection(row)
        peer = line(row.peer, _NAME_CHARACTERS)
        return f"{peer}/{connection}" if connection > 1 else peer

    def name(self, row: Row) -> str:
        """Return how a row is called: `LLM 3`, `lab #4`, `lab/2 #4`; a row without a number by its side alone."""
        side = self.side(row)
        return f"{side} #{line(row.rpc_id, _NAME_CHARACTERS)}" if row.rpc_id else side
