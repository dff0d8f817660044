"""How a turn ended, in the terms of `ask --json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_host.chat.call_outcome import Outcome
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import Usage

TurnStop: TypeAlias = Literal["done", "length", "refused", "limit", "stopped", "error"]
_Counted: TypeAlias = Literal["input_total", "output_total", "input_cached", "cache_written", "reasoning"]


@dataclass(slots=True, kw_only=True)
class TurnResult:
    """How a turn ended; while it is at work, how it stands.

    Attributes:
        answer: The last step's text, None if there is none.
        stop: Why it ended.
        steps: How many model exchanges it took.
        outcomes: Every call, in the order asked.
        error: What went wrong, None if nothing.
    """

    turn: int
    answer: str | None = None
    stop: TurnStop = "done"
    steps: int = 0
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    usage: list[Usage] = field(default_factory=list[Usage])
    error: TuiHostError | None = None

    def tokens(self, name: _Counted) -> int | None:
        """The sum over all steps; None if no step reported it."""
        reported = [value for usage in self.usage if (value := getattr(usage, name)) is not None]
        return sum(reported) if reported else None

    def usage_json(self) -> dict[str, JSON]:
        """What was reported, for a machine: input and output always, the others where a step reported them."""
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
        told = {name: value for name, value in more.items() if value is not None}
        return {"input": self.tokens("input_total"), "output": self.tokens("output_total"), **told}
