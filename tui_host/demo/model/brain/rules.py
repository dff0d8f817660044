"""Chooses the rule that answers a conversation: the first rule that matches the question."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tui_host.demo.model.brain import arithmetic, call_rules, lookup_rules, text_rules
from tui_host.demo.model.plan import Plan
from tui_host.demo.model.question_turn import Turn, turn_of
from tui_host.demo.model.request_content import Conversation

# Commands for trying things out come first; rules that guess the meaning of sentences come last.
_RULES: tuple[tuple[str, str, Callable[[Turn], Plan | None]], ...] = (
    ("call in a certain form", "特定形式的调用", call_rules.quirky_call),
    ("malformed call", "错误调用", call_rules.malformed_call),
    ("raw call", "原样调用", call_rules.raw_call),
    ("call", "调用", call_rules.call),
    ("question back", "反问", call_rules.question_back),
    ("resource", "资源", call_rules.resource),
    ("trouble", "出错", text_rules.trouble),
    ("prose", "长文", text_rules.prose),
    ("showcase", "演示", text_rules.showcase),
    ("tools", "工具", text_rules.list_tools),
    ("orders", "订单", lookup_rules.orders),
    ("weather", "天气", lookup_rules.weather),
    ("arithmetic", "算术", arithmetic.sums),
    ("pictures", "图片", text_rules.pictures),
    ("help", "帮助", text_rules.greeting),
)
_WITH_TOOLS = {
    *("call in a certain form", "malformed call", "raw call", "call", "tools", "orders", "weather", "arithmetic"),
}
_THINK = re.compile(
    r"(?:think(?:\s+(?:about|hard(?:\s+about)?|step by step))?|思考(?:一下)?)(?:\s*[:：,，]\s*|\s+|(?<=[考下]))",
    re.IGNORECASE,
)


def answer(conversation: Conversation) -> Plan:
    """Return the demo model's next answer. The answer depends only on the conversation."""
    turn, is_asked = _without_thinking(turn_of(conversation))
    plan, rule = _first(turn)
    thinks = conversation.thinking == "always" or (is_asked and conversation.thinking == "asked")
    if thinks and plan.trouble is None:
        plan = replace(plan, thinking=_thinking(turn, plan, rule))
    return plan if conversation.parallel else replace(plan, calls=plan.calls[:1])


def wants_tools(conversation: Conversation) -> bool:
    """Return whether the question needs tools, offered or not."""
    turn, _ = _without_thinking(turn_of(conversation))
    return _first(turn)[1] in {turn.words(english, chinese) for english, chinese, _ in _RULES if english in _WITH_TOOLS}


def _without_thinking(turn: Turn) -> tuple[Turn, bool]:
    """Return the turn without words that ask for thinking, and whether there were such words."""
    prefix = _THINK.match(turn.question)
    return (replace(turn, question=turn.question[prefix.end() :].strip()), True) if prefix else (turn, False)


def _first(turn: Turn) -> tuple[Plan, str]:
    for english, chinese, rule in _RULES:
        plan = rule(turn)
        if plan is not None:
            return plan, turn.words(english, chinese)
    return text_rules.not_recognised(turn), ""


def _thinking(turn: Turn, plan: Plan, rule: str) -> str:
    offered, done = len(turn.tools.tools), len(turn.done)
    asked = ", ".join(f"{call.name} {call.arguments}" for call in plan.calls)
    question = " ".join(turn.question.split())[:120]
    if turn.language == "zh":
        recognised = f"识别它的规则是“{rule}”。" if rule else "没有规则能识别它。"
        then = f"接下来我要请求：{asked}。" if asked else "不需要再调用工具，可以回答了。"
        return f"问题是：“{question}”。我逐条检查规则；{recognised}请求里提供了 {offered} 个工具，本轮已有 {done} 个结果。{then}"
    recognised = f"The rule “{rule}” recognises it. " if rule else "None recognises it. "
    then = f"Next I ask for {asked}." if asked else "No further call is needed, so I answer."
    return (
        f"The question is: “{question}”. I try my rules one after the other. {recognised}"
        f"The request offers {offered} tools, and {done} results of this turn are there. {then}"
    )
