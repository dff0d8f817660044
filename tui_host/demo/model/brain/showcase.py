"""Rule: a page of Markdown with everything to be drawn by a chat."""

from __future__ import annotations

import re

from tui_host.demo.model.brain.pages import page
from tui_host.demo.model.plan import Plan
from tui_host.demo.model.question_turn import Turn

_ASKED = re.compile(
    r"\b(?:show|give|draw|write)\b[^.!?\n]{0,30}\b(?:markdown|table)\b|^\s*(?:markdown|table)\b|表格|演示\s*markdown|markdown\s*演示",
    re.IGNORECASE,
)


def showcase(turn: Turn) -> Plan | None:
    """Headings, nested lists, a table, a quote, code, links and emphasis."""
    return turn.answer(page("showcase", turn.language)) if _ASKED.search(turn.head) else None
