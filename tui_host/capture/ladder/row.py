"""A row of the ladder: the values for one line of the inspector's list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Lane: TypeAlias = Literal["llm", "host", "mcp"]
RowState: TypeAlias = Literal["open", "done", "failed", "cut"]
RowKind: TypeAlias = Literal["request", "response", "frame", "decision", "line", "fault"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row; replaced by a new value while the exchange is growing.

    Attributes:
        number: Its place in the ladder, from 0; never changes.
        lane: Left of the host's line, on it, or right of it.
        kind: `request` and `response` are the two halves of an HTTP exchange with a model; `frame` one JSON-RPC message,
            `decision` what became of a call, `line` standard error (several lines fold into one row), `fault` what broke
            (an exchange without a response, bytes that are no frame).
        clock: What its times are counted on: the capture, or what several captures were put on one clock for.
        mono_ns: The first byte's time, on that clock; None where it is not known.
        turn: The turn, 0 for what belongs to none (a server's start).
        method: The request's HTTP method, or the frame's JSON-RPC method (an answer has that of its request).
        rpc_id: The frame's id as JSON text, empty for notifications.
        answer: The frame is a result or an error.
        error: The frame is a JSON-RPC error or its result has `isError`; the exchange failed.
        events: Events of a streamed body so far, however many pieces it came in (none of one that is coded); lines of standard error, or
            repeats folded into this row.
        state: `open` while bytes may still come.
        tool: The tool that a call's frames and decision name, by its own name; empty for all others.
        words: A short form of what it says, foreign text as it came (one line, at most 200 characters): the decision's words,
            the asked call, the arguments, the result's first text, the standard error's line, the fault's reason.
        malformed: Why its bytes are not what they should be, empty if they are.
        doubtful: The calls that it may carry, in words, where nothing tells which; empty for all others.
        missing: Its bytes are not in the file that others captured it in.
        inferred: A call that it has to do with was found by what it says alone: in another host nobody tells.
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
    doubtful: str = ""
    missing: bool = False
    inferred: bool = False

    @property
    def is_absent(self) -> bool:
        """Whether nothing was captured: the row stands for a missing request or answer."""
        return self.missing and not (self.status if self.kind == "response" else self.method)
