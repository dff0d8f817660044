"""How a turn and its calls ended, in the terms of `ask --json`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import Usage

if TYPE_CHECKING:
    from tui_host.chat.policy import CallRequest, Decision
    from tui_host.llm.messages import ToolCall, ToolResult


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The outcome of a call, in the terms of `ask --json`.

    Attributes:
        number: Number of the call's item in the conversation.
        request: The call to decide, None if it cannot be made.
        sent: Whether the arguments may have gone to the server.
        began: Whether sending has begun.
        by_host: Answered by the host itself, without a server and a decision.
        fault: Why an approved call has no result, empty if it has one.
    """

    call: ToolCall
    number: int
    server: str
    tool: str
    asked: JSON
    request: CallRequest | None = None
    decision: Decision | None = None
    sent: bool = False
    began: bool = False
    result: ToolResult | None = None
    output: JSON = None
    is_error: bool | None = None
    milliseconds: float | None = None
    by_host: bool = False
    fault: str = ""

    @property
    def reason(self) -> str | None:
        """Why there is no result: the user's reason, a fault in the call, or how the result was lost; else None."""
        decision = self.decision
        if self.fault or decision is None:
            return self.fault or None
        return (decision.words if decision.verdict == "invalid" else decision.reason) or None

    def to_json(self) -> dict[str, JSON]:
        """Return the entry in `calls` of `ask --json`."""
        decision = self.decision
        return {
            "server": self.server,
            "tool": self.tool,
            "asked": self.asked,
            "sent": json.loads(decision.arguments) if decision is not None and self.sent else None,
            "decision": "invalid" if decision is None else decision.verdict,
            "by": "default" if decision is None else decision.by,
            "reason": self.reason,
            "result": self.output,
            "is_error": self.is_error,
            "ms": None if self.milliseconds is None else round(self.milliseconds, 1),
        }


TurnStop: TypeAlias = Literal["done", "length", "refused", "limit", "stopped", "error"]
_Counted: TypeAlias = Literal["input_total", "output_total", "input_cached", "cache_written", "reasoning"]


@dataclass(slots=True, kw_only=True)
class TurnResult:
    """How a turn ended, or its state so far.

    Attributes:
        answer: The last step's text, None if there is none.
        stop: Why the turn ended.
        steps: Number of model exchanges.
        outcomes: Every call, in the order asked.
        error: The error, None if there is none.
    """

    turn: int
    answer: str | None = None
    stop: TurnStop = "done"
    steps: int = 0
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    usage: list[Usage] = field(default_factory=list[Usage])
    error: TuiHostError | None = None

    def tokens(self, name: _Counted) -> int | None:
        """Return the sum over all steps, None if no step reported a number."""
        reported = [value for usage in self.usage if (value := getattr(usage, name)) is not None]
        return sum(reported) if reported else None

    def usage_json(self) -> dict[str, JSON]:
        """Return the reported usage as JSON: input and output always, further figures where a step reported them."""
        seconds = {
            name: round(sum(reported), 9)
            for name in ("loading", "reading", "writing")
            if (reported := [value for usage in self.usage if (value := getattr(usage, name)) is not None])
        }
        more = {
            "cached": self.tokens("input_cached"),
            "cache_written": self.tokens("cache_written"),
            "reasoning": self.tokens("reasoning"),
            **seconds,
        }
        reported_figures = {name: value for name, value in more.items() if value is not None}
        return {"input": self.tokens("input_total"), "output": self.tokens("output_total"), **reported_figures}
