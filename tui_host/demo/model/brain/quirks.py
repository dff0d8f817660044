"""Rules: calls in a wrong or misleading form, questions back, resources: to see what a host makes of them."""

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
    """`unclosed call …`, `invented call …`, and so on: a call whose form says something that the protocol does not want."""
    found = _QUIRKY.match(turn.question)
    if not found:
        return None
    kind = _KINDS[found[1].lower()]
    if kind == "unclosed":
        return _until_mended(turn, found.end()) or replace(_call(replace(turn, rounds=()), found.end()), quirk=kind)
    plan = _call(turn, found.end())
    return replace(plan, quirk=kind) if plan.calls else plan


def malformed_call(turn: Turn) -> Plan | None:
    """`malformed call …`: arguments that are no JSON; the right ones once the host has said so, or never with `always`."""
    found = _MALFORMED.match(turn.question)
    if not found:
        return None
    stays = bool(found[1]) and len(turn.rounds) < _MOST_MALFORMED
    plan = _call(replace(turn, rounds=()), found.end())
    mended = None if stays or not plan.calls else _until_mended(turn, found.end())
    broken = tuple(AskedCall(name=one.name, arguments=f"{one.arguments[:-1]},}}") for one in plan.calls)
    return mended or replace(plan, calls=broken)


def _until_mended(turn: Turn, end: int) -> Plan | None:
    """The same call in its right form once the wrong one was refused, then its result; None before that."""
    if not turn.rounds:
        return _call(turn, end) if turn.is_corrected else None
    if len(turn.rounds) == 1 and all(one.fate == "failed" for one in turn.done):
        return _call(replace(turn, rounds=()), end)
    return turn.answer("\n\n".join(what_went_wrong(turn, one) for one in turn.rounds[-1]))


def _call(turn: Turn, end: int) -> Plan:
    plan = call(replace(turn, question=turn.question[end:]))
    return plan or turn.answer(
        turn.words("Name a tool: `call SERVER.TOOL {…}`.", "请写出工具：`call SERVER.TOOL {…}`。")
    )


def question_back(turn: Turn) -> Plan | None:
    """`ask me Which city? Paris | Tokyo`: a question to the person, with answers to choose from where there is a form for it."""
    found = _ASK.match(turn.question)
    if not found:
        return None
    question = found["question"].strip() or turn.words("What do you mean?", "你的意思是？")
    options = [option.strip() for option in found["options"].split("|") if option.strip()][:_MOST_OPTIONS]
    if turn.done:
        told = in_one_line(turn.done[-1].told)
        return turn.answer(turn.words(f"You answered: {told}", f"你的回答是：{told}"))
    if not any(tool.name == "ask_followup_question" for tool in turn.tools.tools):
        return turn.answer("\n".join([question, "", *(f"- {option}" for option in options)]))
    options = options or [turn.words("Yes", "是"), turn.words("No", "否")]
    values = arguments_text({"question": question, "options": list(options)})
    return turn.ask([AskedCall(name="ask_followup_question", arguments=values)])


def resource(turn: Turn) -> Plan | None:
    """`read resource SERVER URI`, where a protocol lets the model read one by itself."""
    found = _READ.match(turn.question)
    if not found:
        return None
    if turn.done:
        return turn.answer("\n\n".join(what_went_wrong(turn, one) for one in turn.done))
    if not any(tool.name == "access_mcp_resource" for tool in turn.tools.tools):
        return turn.answer(turn.words("I was offered no way to read a resource.", "请求里没有读取资源的办法。"))
    values = arguments_text({"server_name": found["server"], "uri": found["uri"]})
    return turn.ask([AskedCall(name="access_mcp_resource", arguments=values)])
