"""Rules for calls that the user names, also in a wrong or misleading form; for questions back; for resources."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from tui_host.demo.model.brain.quoting import in_one_line, outcome
from tui_host.demo.model.plan import AskedCall, Plan, Quirk, arguments_text
from tui_host.demo.model.question_turn import Turn

_CALL = re.compile(
    r"^[ \t]*(?:please[ \t]+|请)?(?:call|调用)[ \t]*[:：]?[ \t]*(?P<name>[^\s{]+)", re.IGNORECASE | re.MULTILINE
)
_RAW = re.compile(r"\s*raw[ \t]+call[ \t]+(?P<name>\S+)[ \t]*(?P<text>.*)", re.IGNORECASE | re.DOTALL)
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


def call(turn: Turn) -> Plan | None:
    """Answer `call SERVER.TOOL JSON`; several lines become calls in the same answer."""
    matches = list(_CALL.finditer(turn.question))
    if not matches or matches[0].start() > 0:
        return None
    ends = [following.start() for following in matches[1:]] + [len(turn.question)]
    named = [
        (match["name"], *_read(turn.question[match.end() : end])) for match, end in zip(matches, ends, strict=True)
    ]
    # Once there are results, answer from them, even if the server has gone since.
    mistakes = [] if turn.done else [text for name, _, mistake in named if (text := _mistake(turn, name, mistake))]
    if mistakes:
        return turn.answer("\n".join(f"- {text}" for text in mistakes) if len(mistakes) > 1 else mistakes[0])
    return _ask_or_tell(turn, [_asked(turn, name, arguments) for name, arguments, _ in named])


def raw_call(turn: Turn) -> Plan | None:
    """Answer `raw call SERVER.TOOL TEXT`: sends TEXT as the arguments, JSON or not, also to an unknown tool."""
    match = _RAW.match(turn.question)
    return _ask_or_tell(turn, [_asked(turn, match["name"], match["text"])]) if match else None


def _read(text: str) -> tuple[str, str]:
    """Return the JSON object at the beginning of a text, as written, and what is wrong with the text."""
    text = text.strip() or "{}"
    try:
        value, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(text)
    except ValueError as error:
        return "", str(error)
    except RecursionError:
        return "", "it is nested too deep"
    return (text[:end], "") if isinstance(value, dict) else ("", "it is not an object")


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _asked(turn: Turn, name: str, arguments: str) -> AskedCall:
    tool = turn.tools.named(name)
    return AskedCall(name=tool.name if tool else name.replace(".", "__", 1), arguments=arguments)


def _mistake(turn: Turn, name: str, mistake: str) -> str:
    if turn.tools.named(name) is None:
        return _not_offered(turn, name)
    if not mistake:
        return ""
    return turn.words(
        f"I cannot read the arguments for `{name}`: {mistake}. Write one JSON object, such as "
        f'`call {name} {{"name": "value"}}`; `raw call …` sends any text as it is.',
        f"`{name}` 的参数无法读取：{mistake}。请写一个 JSON 对象，例如 "
        f'`call {name} {{"name": "value"}}`；用 `raw call …` 可以原样发送任何文本。',
    )


def _not_offered(turn: Turn, asked: str) -> str:
    close = turn.tools.close_to(asked)
    servers = ", ".join(turn.tools.by_server()) or turn.words("none at all", "一个也没有")
    if close:
        names = ", ".join(f"`{name}`" for name in close)
        hint = turn.words(f" Close to it: {names}.", f"相近的有：{names}。")
    else:
        hint = turn.words(f" The tools I was offered come from: {servers}.", f"请求里的工具来自：{servers}。")
    return turn.words(f"No tool `{asked}` was offered to me.{hint}", f"请求里没有工具 `{asked}`。{hint}")


def _ask_or_tell(turn: Turn, wanted: list[AskedCall]) -> Plan:
    done = turn.done
    if len(done) < len(wanted) and not any(item.fate in {"rejected", "stopped"} for item in done):
        return turn.ask(wanted[len(done) :])
    lines = [outcome(turn, item) for item in done]
    return turn.answer("\n\n".join(lines))


def quirky_call(turn: Turn) -> Plan | None:
    """Answer `unclosed call …`, `invented call …` and the like: writes a call in a form that breaks the tool protocol."""
    match = _QUIRKY.match(turn.question)
    if not match:
        return None
    kind = _KINDS[match[1].lower()]
    if kind == "unclosed":
        return _until_mended(turn, match.end()) or replace(
            _named_call(replace(turn, rounds=()), match.end()), quirk=kind
        )
    plan = _named_call(turn, match.end())
    return replace(plan, quirk=kind) if plan.calls else plan


def malformed_call(turn: Turn) -> Plan | None:
    """Answer `malformed call …` with broken arguments, corrected after the host's complaint; with `always`, never."""
    match = _MALFORMED.match(turn.question)
    if not match:
        return None
    stays = bool(match[1]) and len(turn.rounds) < _MOST_MALFORMED
    plan = _named_call(replace(turn, rounds=()), match.end())
    mended = None if stays or not plan.calls else _until_mended(turn, match.end())
    broken = tuple(AskedCall(name=asked.name, arguments=f"{asked.arguments[:-1]},}}") for asked in plan.calls)
    return mended or replace(plan, calls=broken)


def _until_mended(turn: Turn, end: int) -> Plan | None:
    """Repeat a refused call in its correct form, then report its result; None before a refusal."""
    if not turn.rounds:
        return _named_call(turn, end) if turn.is_corrected else None
    if len(turn.rounds) == 1 and all(done_call.fate == "failed" for done_call in turn.done):
        return _named_call(replace(turn, rounds=()), end)
    return turn.answer("\n\n".join(outcome(turn, done_call) for done_call in turn.rounds[-1]))


def _named_call(turn: Turn, end: int) -> Plan:
    plan = call(replace(turn, question=turn.question[end:]))
    return plan or turn.answer(
        turn.words("Name a tool: `call SERVER.TOOL {…}`.", "请写出工具：`call SERVER.TOOL {…}`。")
    )


def question_back(turn: Turn) -> Plan | None:
    """Answer `ask me Which city? Paris | Tokyo` with a question to the user."""
    match = _ASK.match(turn.question)
    if not match:
        return None
    question = match["question"].strip() or turn.words("What do you mean?", "你的意思是？")
    options = [option.strip() for option in match["options"].split("|") if option.strip()][:_MOST_OPTIONS]
    if turn.done:
        reply = in_one_line(turn.done[-1].result)
        return turn.answer(turn.words(f"You answered: {reply}", f"你的回答是：{reply}"))
    if not any(tool.name == "ask_followup_question" for tool in turn.tools.tools):
        return turn.answer("\n".join([question, "", *(f"- {option}" for option in options)]))
    options = options or [turn.words("Yes", "是"), turn.words("No", "否")]
    values = arguments_text({"question": question, "options": list(options)})
    return turn.ask([AskedCall(name="ask_followup_question", arguments=values)])


def resource(turn: Turn) -> Plan | None:
    """Answer `read resource SERVER URI`, for tool protocols that let the model read resources."""
    match = _READ.match(turn.question)
    if not match:
        return None
    if turn.done:
        return turn.answer("\n\n".join(outcome(turn, done_call) for done_call in turn.done))
    if not any(tool.name == "access_mcp_resource" for tool in turn.tools.tools):
        return turn.answer(turn.words("I was offered no way to read a resource.", "请求里没有读取资源的办法。"))
    values = arguments_text({"server_name": match["server"], "uri": match["uri"]})
    return turn.ask([AskedCall(name="access_mcp_resource", arguments=values)])
