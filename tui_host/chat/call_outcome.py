"""What became of one call, as it stands and as `ask --json` tells it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.errors import JSON

if TYPE_CHECKING:
    from tui_host.chat.policy import CallRequest, Decision
    from tui_host.llm.messages import ToolCall, ToolResult


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of one call, in the terms of `ask --json`.

    Attributes:
        number: Its item's number in the conversation.
        request: What there is to decide, None for a call that cannot be made.
        sent: Whether its arguments may have gone to the server.
        began: Whether sending has begun.
        by_host: The host answers it by itself; nothing of it goes to a server, and nobody is asked.
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
        """Why it came to nothing: the person's reason, what was wrong with it, or how it was lost; None if there is none."""
        decision = self.decision
        if self.fault or decision is None:
            return self.fault or None
        return (decision.words if decision.verdict == "invalid" else decision.reason) or None

    def to_json(self) -> dict[str, JSON]:
        """The `calls` entry of DESIGN's contract."""
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
