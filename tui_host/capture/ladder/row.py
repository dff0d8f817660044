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
        number: The row's index in the ladder, from 0.
        kind: `request` and `response` are the halves of an exchange with a model; `frame` is one JSON-RPC message, `decision`
            what became of a call, `line` standard error (several lines fold into one row), `fault` what broke (an exchange
            without a response, bytes that are no frame), `end` that a connection is over, `vendor` a vendor's own tool.
        clock: The clock of the times: the capture, or the name of a common clock of several captures.
        mono_ns: Time of the first byte, on that clock; None if unknown.
        turn: The turn, 0 if the row belongs to none, such as a server's start.
        method: The HTTP method, or the frame's JSON-RPC method; an answer has its request's.
        url: The URL of the request, also of the one that carried a frame over HTTP.
        head: The headers that came with the row's bytes, as lines; also of an exchange that carried a frame.
        request_seq: The number of the record with the request's head; 0 without one, and for an answer of a model.
        response_seq: The number of the record with the head of the answer; 0 without one.
        rpc_id: The frame's id as JSON text, empty for notifications.
        error: Whether the frame is a JSON-RPC error or a result with `isError`, or the exchange failed.
        events: Events of a streamed body so far (none of one that is coded), or lines or repeats folded into this row.
        state: `open` while bytes or the answer may still come, `unanswered` where no answer will.
        ending: Why no answer came: `lab exited 134`; empty where that is not known.
        tool: The own name of the tool in a call's frames and decision; empty for other rows.
        words: What it says in one line of at most 200 characters, foreign text as it came.
        missing: Whether the bytes are missing in the imported file.
        inferred: Whether a call of the row was found only by comparing contents, as in captures of other hosts.
        maybe: Whether a call of the row is only likely to be its own.
    """

    number: int
    lane: Lane
    kind: RowKind
    outward: bool
    capture: str
    seq: int
    last_seq: int
    time_ns: int
    mono_ns: int | None
    end_mono_ns: int | None
    clock: str = ""
    turn: int = 0
    step: int = 0
    peer: str = ""
    connection: str = ""
    exchange: str = ""
    method: str = ""
    url: str = ""
    head: tuple[str, ...] = ()
    request_seq: int = 0
    response_seq: int = 0
    status: int = 0
    rpc_id: str = ""
    answer: bool = False
    error: bool = False
    size: int = 0
    events: int = 0
    state: RowState = "done"
    calls: frozenset[str] = frozenset()
    tool: str = ""
    words: str = ""
    malformed: str = ""
    redacted: bool = False
    ending: str = ""
    missing: bool = False
    inferred: bool = False
    maybe: bool = False

    @property
    def is_absent(self) -> bool:
        """Whether the row stands for a request or answer that was not captured."""
        return self.missing and not (self.status if self.kind == "response" else self.method)
