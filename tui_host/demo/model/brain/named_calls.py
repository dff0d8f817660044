"""Rule: a call named by the person, for any offered tool."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from tui_host.demo.model.brain.quoting import what_went_wrong
from tui_host.demo.model.plan import AskedCall, Plan
from tui_host.demo.model.question_turn import Turn

_CALL = re.compile(
    r"^[ \t]*(?:please[ \t]+|请)?(?:call|调用)[ \t]*[:：]?[ \t]*(?P<name>[^\s{]+)", re.IGNORECASE | re.MULTILINE
)
_RAW = re.compile(r"\s*raw[ \t]+call[ \t]+(?P<name>\S+)[ \t]*(?P<text>.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    asked: str
    arguments: str
    mistake: str = ""


def call(turn: Turn) -> Plan | None:
    """Answer `call SERVER.TOOL JSON`: all lines are asked for at once."""
    matches = list(_CALL.finditer(turn.question))
    if not matches or matches[0].start() > 0:
        return None
    ends = [following.start() for following in matches[1:]] + [len(turn.question)]
    named = [_read(match["name"], turn.question[match.end() : end]) for match, end in zip(matches, ends, strict=True)]
    # Calls with results are answered from the results, even if the server is gone by now.
    mistakes = [] if turn.done else [text for item in named if (text := _mistake(turn, item))]
    if mistakes:
        return turn.answer("\n".join(f"- {text}" for text in mistakes) if len(mistakes) > 1 else mistakes[0])
    return _ask_or_tell(turn, [_asked(turn, item) for item in named])


def raw_call(turn: Turn) -> Plan | None:
    """`raw call SERVER.TOOL TEXT`: the text goes out as the arguments, JSON or not; an unknown tool's name too."""
    match = _RAW.match(turn.question)
    if not match:
        return None
    return _ask_or_tell(turn, [_asked(turn, _Named(asked=match["name"], arguments=match["text"]))])


def _read(asked: str, rest: str) -> _Named:
    text = rest.strip()
    if not text:
        return _Named(asked=asked, arguments="{}")
    try:
        value, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(text)
    except ValueError as error:
        return _Named(asked=asked, arguments="", mistake=str(error))
    except RecursionError:
        return _Named(asked=asked, arguments="", mistake="it is nested too deep")
    if not isinstance(value, dict):
        return _Named(asked=asked, arguments="", mistake="it is not an object")
    return _Named(asked=asked, arguments=text[:end])


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _asked(turn: Turn, named: _Named) -> AskedCall:
    tool = turn.tools.named(named.asked)
    return AskedCall(name=tool.name if tool else named.asked.replace(".", "__", 1), arguments=named.arguments)


def _mistake(turn: Turn, named: _Named) -> str:
    if turn.tools.named(named.asked) is None:
        return _not_offered(turn, named.asked)
    if not named.mistake:
        return ""
    return turn.words(
        f"I cannot read the arguments for `{named.asked}`: {named.mistake}. Write one JSON object, such as "
        f'`call {named.asked} {{"name": "value"}}`; `raw call …` sends any text as it is.',
        f"`{named.asked}` 的参数无法读取：{named.mistake}。请写一个 JSON 对象，例如 "
        f'`call {named.asked} {{"name": "value"}}`；用 `raw call …` 可以原样发送任何文本。',
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
    lines = [what_went_wrong(turn, item) for item in done]
    return turn.answer("\n\n".join(lines))
