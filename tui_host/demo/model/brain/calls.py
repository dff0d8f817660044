"""Rules for calls that the user names, also with arguments that are no JSON."""

from __future__ import annotations

import json
import re

from tui_host.demo.model.brain.toolbox import tool_named
from tui_host.demo.model.brain.turn import DemoTurn
from tui_host.demo.model.conversation import DemoCall
from tui_host.demo.model.plan import Plan

_CALL = re.compile(
    r"^[ \t]*(?:please[ \t]+|请)?(?:call|调用)[ \t]*[:：]?[ \t]*(?P<name>[^\s{]+)", re.IGNORECASE | re.MULTILINE
)
_RAW = re.compile(r"\s*raw[ \t]+call[ \t]+(?P<name>\S+)[ \t]*(?P<text>.*)", re.IGNORECASE | re.DOTALL)


def call(turn: DemoTurn) -> Plan | None:
    """Answer `call SERVER.TOOL JSON`; several lines become calls in the same answer.

    `raw call SERVER.TOOL TEXT` sends TEXT as the arguments, JSON or not, also to an unknown tool.
    """
    raw = _RAW.match(turn.question)
    wanted = [(raw["name"], raw["text"])] if raw else []
    matches = [] if raw else list(_CALL.finditer(turn.question))
    if not raw and (not matches or matches[0].start() > 0):
        return None
    ends = [*(following.start() for following in matches[1:]), len(turn.question)]
    for match, end in zip(matches, ends, strict=False):
        text, mistake = turn.question[match.end() : end].strip() or "{}", ""
        try:
            value, length = json.JSONDecoder().raw_decode(text)
            text, mistake = text[:length], "" if isinstance(value, dict) else "it is not an object"
        except (ValueError, RecursionError) as error:
            mistake = str(error)
        name = match["name"]
        # Once there are results, answer from them, even if the server has gone since.
        if not turn.done and tool_named(turn.tools, name) is None:
            names = ", ".join(f"`{tool}`" for tool in turn.tools[:20]) or turn.words("none at all", "一个也没有")
            english = f"No tool `{name}` was offered to me. I was offered: {names}."
            chinese = f"请求里没有工具 `{name}`。请求里的工具有：{names}。"
            return turn.answer(turn.words(english, chinese), lacks_tool=True)
        if not turn.done and mistake:
            english = (
                f"I cannot read the arguments for `{name}`: {mistake}. Write one JSON object, such as "
                f'`call {name} {{"name": "value"}}`; `raw call …` sends any text as it is.'
            )
            chinese = f"`{name}` 的参数无法读取：{mistake}。请写一个 JSON 对象；用 `raw call …` 可以原样发送任何文本。"
            return turn.answer(turn.words(english, chinese))
        wanted.append((name, "" if mistake else text))
    asked = [
        DemoCall(name=tool_named(turn.tools, name) or name.replace(".", "__", 1), arguments=text)
        for name, text in wanted
    ]
    return turn.ask(asked) or turn.answer("\n\n".join(turn.outcome(done) for done in turn.done))
