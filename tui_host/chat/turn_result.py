"""Results of a turn and its calls, as printed by `ask --json`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_host.capture.record import Draft
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.capture.record import Place
    from tui_host.chat.policy import CallRequest, Decision
    from tui_host.llm.messages import ToolCall, ToolResult


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The outcome of a call, as printed by `ask --json`.

    Attributes:
        number: Number of the call's chat item.
        request: The call to decide, None if the call cannot be made.
        sent: Whether the arguments may have reached the server.
        began: Whether sending has begun.
        by_host: Whether the host answered the call itself, without a server and without a decision.
        misfits: Errors of the arguments according to the tool's schema; None if unknown.
        output_misfits: Errors of the structured content according to the tool's output schema; None if not checked.
        changed_numbers: Numbers whose value changes when sent: as the model wrote them, and as sent.
        resolved_from: The name that the model wrote, if it was not the offered name; otherwise empty.
        fault: Why an approved call has no result, empty if it has a result.
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
    misfits: Sequence[str] | None = None
    output_misfits: Sequence[str] | None = None
    changed_numbers: Sequence[tuple[str, str]] = ()
    resolved_from: str = ""
    fault: str = ""

    @property
    def reason(self) -> str | None:
        """Why the call has no result: the user's reason, a fault in the call, or the call's failure; otherwise None."""
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
            "schema_errors": None if self.misfits is None else list(self.misfits),
            "output_errors": None if self.output_misfits is None else list(self.output_misfits),
            "changed_numbers": [{"written": written, "sent": sent} for written, sent in self.changed_numbers],
        }


def decision_draft(outcome: Outcome, place: Place) -> Draft:
    """Return the record of a decision, with the fingerprint of the tool's definition."""
    value = outcome.to_json()
    if outcome.decision is not None:
        value["words"] = outcome.decision.words
        value["definition"] = outcome.decision.fingerprint
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    return Draft(wire="host", kind="decision", place=place, data=data)


TurnStop: TypeAlias = Literal["done", "length", "refused", "limit", "stopped", "error"]
_Counted: TypeAlias = Literal["input_total", "output_total", "input_cached", "cache_written", "reasoning"]


@dataclass(slots=True, kw_only=True)
class TurnResult:
    """The result of a turn, or its state so far.

    Attributes:
        answer: The last step's text, None if there is none.
        steps: Number of model exchanges.
        outcomes: The outcome of every call, in the order of the calls.
        usage: The usage reported in each step.
    """

    turn: int
    answer: str | None = None
    stop: TurnStop = "done"
    steps: int = 0
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    usage: list[Usage] = field(default_factory=list[Usage])
    error: TuiHostError | None = None

    def tokens(self, name: _Counted) -> int | None:
        """Return the sum of a token count over all steps, None if no step reported it."""
        reported = [value for usage in self.usage if (value := getattr(usage, name)) is not None]
        return sum(reported) if reported else None

    def _sum(self, name: Literal["cost", "loading", "reading", "writing"]) -> float | None:
        reported = [value for usage in self.usage if (value := getattr(usage, name)) is not None]
        return round(sum(reported), 9) if reported else None

    @property
    def cost(self) -> float | None:
        """The sum of the reported prices, in the provider's currency; None if no step reported a price."""
        return self._sum("cost")

    def usage_json(self) -> dict[str, JSON]:
        """Return the reported usage as JSON: always input and output, further figures only if a step reported them."""
        figures: dict[str, JSON] = {
            "cached": self.tokens("input_cached"),
            "cache_written": self.tokens("cache_written"),
            "reasoning": self.tokens("reasoning"),
            "loading": self._sum("loading"),
            "reading": self._sum("reading"),
            "writing": self._sum("writing"),
            "cost": self.cost,
        }
        reported = {name: value for name, value in figures.items() if value is not None}
        return {"input": self.tokens("input_total"), "output": self.tokens("output_total"), **reported}
