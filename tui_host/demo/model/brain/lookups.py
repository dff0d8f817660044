"""Questions answered by looking up each of several things with a tool."""

from __future__ import annotations

from tui_host.demo.model.brain.quoting import in_one_line, what_went_wrong
from tui_host.demo.model.plan import AskedCall, Plan
from tui_host.demo.model.question_turn import Turn


def look_up(turn: Turn, wanted: list[AskedCall], announcement: str) -> Plan:
    """Ask at once for everything still without a result; once all results are there, or a call is rejected, answer.

    Args:
        turn: The turn.
        wanted: All calls that the question takes, in order; those of earlier rounds stand first again.
        announcement: What is said with the first request.
    """
    done = turn.done
    has_stopped = any(call.fate in {"rejected", "stopped"} for call in done)
    if len(done) < len(wanted) and not has_stopped:
        return turn.ask(wanted[len(done) :], "" if done else announcement)
    lines = [
        in_one_line(call.told)
        if call.fate == "answered" and "\n" not in call.told.strip()
        else what_went_wrong(turn, call)
        for call in done
    ]
    if len(lines) == 1 and not has_stopped:
        is_chinese = any("\u3400" <= sign <= "\u9fff" for sign in lines[0])
        return turn.answer(lines[0] if is_chinese else turn.words(lines[0], f"查到了，服务器的原话：{lines[0]}"))
    text = "\n".join(f"- {line}" if "\n" not in line else f"\n{line}\n" for line in lines)
    if has_stopped:
        text += turn.words("\n\nSo I stop here and make nothing up.", "\n\n所以我到此为止，不会编造结果。")
    return turn.answer(text)
