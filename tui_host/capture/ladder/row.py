"""A row of the ladder: the values for one line of the inspector's list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Lane: TypeAlias = Literal["llm", "host", "mcp"]
RowState: TypeAlias = Literal["open", "done", "failed", "cut", "unanswered"]
RowKind: TypeAlias = Literal["request", "response", "frame", "decision", "line", "fault", "end", "vendor"]
LANES: tuple[Lane, ...] = get_args(Lane)
KINDS: tuple[RowKind, ...] = get_args(RowKind)
STATES: tuple[RowState, ...] = get_args(RowState)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row; replaced by a new value while its exchange grows.

    Attributes:
        kind: `request` and `response` are the halves of an exchange with a model; `frame` is one JSON-RPC message, `decision`
            what became of a call, `line` standard error (several lines fold into one row), `fault` what broke (an exchange
            without a response, bytes that are no frame), `end` that a connection is over, `vendor` a vendor's own tool.
        head: The headers that came with the row's bytes, as lines; also of an exchange that carried a frame.
        request_seq: The number of the record with the request's head; 0 without one, and for an answer of a model.
        events: Events of a streamed body so far (none of one that is coded), or lines or repeats folded into this row.
        inferred: Whether a call of the row was found only by comparing contents, as in captures of other hosts.
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
    head: tuple[str, ...] = ()
    request_seq: int = 0
    response_seq: int = 0  # the number of the record with the head of the answer; 0 without one
    status: int = 0
    rpc_id: str = ""  # the frame's id as JSON text, empty for notifications
    answer: bool = False
    error: bool = False  # whether the frame is a JSON-RPC error or a result with `isError`, or the exchange failed
    size: int = 0
    events: int = 0
    state: RowState = "done"  # `open` while bytes or the answer may still come, `unanswered` where no answer will
    calls: frozenset[str] = frozenset()
    tool: str = ""  # the own name of the tool in a call's frames and decision; empty for other rows
    words: str = ""  # what it says in one line of at most 200 characters, foreign text as it came
    malformed: str = ""
    redacted: bool = False
    ending: str = ""  # why no answer came: `lab exited 134`; empty where that is not known
    missing: bool = False  # whether the bytes are missing in the imported file
    inferred: bool = False
    maybe: bool = False  # whether a call of the row is only likely to be its own

    @property
    def is_absent(self) -> bool:
        """Whether the row stands for a request or answer that was not captured."""
        return self.missing and not (self.status if self.kind == "response" else self.method)
