"""Results of a turn and its calls, as printed by `ask --json`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_host.capture.record import Record
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.capture.record import Place
    from tui_host.chat.conversation import CallItem
    from tui_host.chat.policy import CallRequest, Decision
    from tui_host.llm.messages import ToolCall, ToolResult


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What has become of a call so far: `item` is what the chat shows, the rest what the model and machines are told.

    Attributes:
        number: The item's number in the chat, None until it is shown.
        asked: The arguments as JSON once they are read, before that as the model wrote them.
        sent: Whether the arguments may have reached the server; `began` whether sending has begun.
        result: What the model is told, `output` the result as the server sent it.
        misfits: Errors by the tool's schema, `output_misfits` by its output schema; None if not checked.
    """

    call: ToolCall
    item: CallItem
    number: int | None = None
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
    resolved_from: str = ""  # the name that the model wrote, if it was not the offered name
    fault: str = ""

    def to_json(self) -> dict[str, JSON]:
        decision, reason = self.decision, self.fault
        if decision is not None and not reason:
            reason = decision.words if decision.verdict == "invalid" else decision.reason
        return {
            "server": self.server,
            "tool": self.tool,
            "asked": self.asked,
            "sent": json.loads(decision.arguments) if decision is not None and self.sent else None,
            "decision": "invalid" if decision is None else decision.verdict,
            "by": "default" if decision is None else decision.by,
            "reason": reason or None,
            "result": self.output,
            "is_error": self.is_error,
            "ms": None if self.milliseconds is None else round(self.milliseconds, 1),
            "schema_errors": None if self.misfits is None else list(self.misfits),
            "output_errors": None if self.output_misfits is None else list(self.output_misfits),
            "changed_numbers": [{"written": written, "sent": sent} for written, sent in self.changed_numbers],
        }

    def record(self, place: Place) -> Record:
        value = self.to_json()
        if self.decision is not None:
            value |= {"words": self.decision.words, "definition": self.decision.fingerprint}
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        return Record(wire="host", kind="decision", place=place, data=data)


TurnStop: TypeAlias = Literal["done", "length", "refused", "limit", "stopped", "error"]
_MORE_TOKENS = {"cached": "input_cached", "cache_written": "cache_written", "reasoning": "reasoning"}
_MEASURED = ("loading", "reading", "writing", "cost")


@dataclass(slots=True, kw_only=True)
class TurnResult:
    """The result of a turn, or its state so far: the last step's answer, all calls in order, and the usage of each step."""

    turn: int = 0
    answer: str | None = None
    stop: TurnStop = "done"
    steps: int = 0
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    usage: list[Usage] = field(default_factory=list[Usage])
    error: TuiHostError | None = None

    def tokens(self, name: str) -> int | None:
        """Return a field of `Usage` summed over all steps, None if no step reported it."""
        reported: list[int] = [value for usage in self.usage if (value := getattr(usage, name)) is not None]
        return sum(reported) if reported else None

    def measured(self, name: str) -> float | None:
        """Return the sum of a price or of seconds over all steps, None if no step reported it."""
        reported: list[float] = [value for usage in self.usage if (value := getattr(usage, name)) is not None]
        return round(sum(reported), 9) if reported else None

    def usage_json(self) -> dict[str, JSON]:
        """Return the reported usage as JSON: always input and output, further figures only if a step reported them."""
        figures: dict[str, JSON] = {name: self.tokens(counted) for name, counted in _MORE_TOKENS.items()}
        figures |= {name: self.measured(name) for name in _MEASURED}
        reported = {name: value for name, value in figures.items() if value is not None}
        return {"input": self.tokens("input_total"), "output": self.tokens("output_total"), **reported}
