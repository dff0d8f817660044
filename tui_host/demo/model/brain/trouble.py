"""Rule: errors on request, to test hosts."""

from __future__ import annotations

import re

from tui_host.demo.model.plan import Breakage, Plan, Refusal
from tui_host.demo.model.question_turn import Turn

_ASKED = re.compile(r"(?:error|错误)\s*(?P<what>[a-z]+|[45]\d\d)\b\s*(?P<once>once|一次)?", re.IGNORECASE)
_BEGINNING = (
    "This answer was asked to go wrong: it begins well, it says what it is about to do, and then it breaks off in the middle of",
    "这个回答应要求而出错：它好好地开始，说明接下来会发生什么，然后就在",
)


def trouble(turn: Turn) -> Plan | None:
    """Answer `error 429` and other statuses, with `once` only the first time, and `error stream|cut|hang|html|length|empty`."""
    match = _ASKED.match(turn.question)
    if not match:
        return None
    what = match["what"].lower()
    if what.isdigit():
        return Plan(
            text=turn.answer(turn.words("This time there is no error.", "这一次没有出错。")).text,
            trouble=Refusal(status=int(what), once=bool(match["once"])),
        )
    beginning = turn.words(*_BEGINNING)
    plans = {
        "stream": Plan(text=beginning, trouble=Breakage(kind="error")),
        "cut": Plan(text=beginning, trouble=Breakage(kind="cut")),
        "hang": Plan(trouble=Breakage(kind="hang")),
        "html": Plan(trouble=Breakage(kind="html")),
        "length": Plan(text=beginning, is_cut=True),
        "empty": Plan(),
    }
    return plans.get(what)
