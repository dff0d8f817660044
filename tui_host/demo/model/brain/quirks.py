"""Rules: calls in a wrong or misleading form, questions back, resources: to test hosts."""

from __future__ import annotations

import re
from dataclasses import replace

from tui_host.demo.model.brain.named_calls import call
from tui_host.demo.model.brain.quoting import in_one_line, what_went_wrong
from tui_host.demo.model.plan import AskedCall, Plan, Quirk, arguments_text
from tui_host.demo.model.question_turn import Turn

_KINDS: dict[str, Quirk] = {
    "unclosed": "unclosed",
    "未闭合": "unclosed",
    "invented": "invented",
    "编造": "invented",
    "prose": "prose",
    "文中": "prose",
    "fenced": "fenced",
    "围栏": "fenced",
    "wrapped": "wrapped",
    "包裹": "wrapped",
    "double": "double",
    "重复": "double",
}
_QUIRKY = re.compile(rf"\s*({'|'.join(_KINDS)})\s*(?=call\b|调用)", re.IGNORECASE)
_MALFORMED = re.compile(r"\s*(always\s+|总是)?(?:malformed|错误)\s*(?=call\b|调用)", re.IGNORECASE)
_ASK = re.compile(
    r"\s*(?:ask me|问我)\s*[:：,，]?\s*(?P<question>[^?？]*[?？]?)\s*(?P<options>.*)", re.IGNORECASE | re.DOTALL
)
_READ = re.compile(
    r"\s*(?:read(?:\s+the)?\s+resource|读取资源)\s+(?P<server>[A-Za-z0-9_-]+)\s+(?P<uri>\S+)", re.IGNORECASE
)
_MOST_MALFORMED = 10
_MOST_OPTIONS = 5


def quirky_call(turn: Turn) -> Plan | None:
    """Answer `unclosed call …`, `invented call …` and the like: a call in a form against the protocol."""
    match = _QUIRKY.match(turn.question)
    if not match:
        return None
    kind = _KINDS[match[1].lower()]
    if kind == "unclosed":
        return _until_mended(turn, match.end()) or replace(_call(replace(turn, rounds=()), match.end()), quirk=kind)
    plan = _call(turn, match.end())
    return replace(plan, quirk=kind) if plan.calls else plan


def malformed_call(turn: Turn) -> Plan | None:
    """Answer `malformed call …` with broken arguments, mended after the host's complaint, or never with `always`."""
    match = _MALFORMED.match(turn.question)
    if not match:
        return None
    stays = bool(match[1]) and len(turn.rounds) < _MOST_MALFORMED
    plan = _call(replace(turn, rounds=()), match.end())
    mended = None if stays or not plan.calls else _until_mended(turn, match.end())
    broken = tuple(AskedCall(name=asked.name, arguments=f"{asked.arguments[:-1]},}}") for asked in plan.calls)
    return mended or replace(plan, calls=broken)


def _until_mended(turn: Turn, end: int) -> Plan | None:
    """Repeat a refused call in its right form, then tell its result. None before a refusal."""
    if not turn.rounds:
        return _call(turn, end) if turn.is_corrected else None
    if len(turn.rounds) == 1 and all(done_call.fate == "failed" for done_call in turn.done):
        return _call(replace(turn, rounds=()), end)
    return turn.answer("\n\n".join(what_went_wrong(turn, done_call) for done_call in turn.rounds[-1]))


def _call(turn: Turn, end: int) -> Plan:
    plan = call(replace(turn, question=turn.question[end:]))
    return plan or turn.answer(
        turn.words("Name a tool: `call SERVER.TOOL {…}`.", "请写出工具：`call SERVER.TOOL {…}`。")
    )


def question_back(turn: Turn) -> Plan | None:
    """Answer `ask me Which city? Paris | Tokyo` with a question to the person."""
    match = _ASK.match(turn.question)
    if not match:
        return None
    question = match["question"].strip() or turn.words("What do you mean?", "你的意思是？")
    options = [option.strip() for option in match["options"].split("|") if option.strip()][:_MOST_OPTIONS]
    if turn.done:
        reply = in_one_line(turn.done[-1].told)
        return turn.answer(turn.words(f"You answered: {reply}", f"你的回答是：{reply}"))
    if not any(tool.name == "ask_followup_question" for tool in turn.tools.tools):
        return turn.answer("\n".join([question, "", *(f"- {option}" for option in options)]))
    options = options or [turn.words("Yes", "是"), turn.words("No", "否")]
    values = arguments_text({"question": question, "options": list(options)})
    return turn.ask([AskedCall(name="ask_followup_question", arguments=values)])


def resource(turn: Turn) -> Plan | None:
    """Answer `read resource SERVER URI`, where a protocol lets the model read resources."""
    match = _READ.match(turn.question)
    if not match:
        return None
    if turn.done:
        return turn.answer("\n\n".join(what_went_wrong(turn, done_call) for done_call in turn.done))
    if not any(tool.name == "access_mcp_resource" for tool in turn.tools.tools):
        return turn.answer(turn.words("I was offered no way to read a resource.", "请求里没有读取资源的办法。"))
    values = arguments_text({"server_name": match["server"], "uri": match["uri"]})
    return turn.ask([AskedCall(name="access_mcp_resource", arguments=values)])
