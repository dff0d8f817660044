"""Chooses the rule that answers a conversation: the first rule that matches the question."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tui_host.demo.model.brain import arithmetic, calls, lookup, texts
from tui_host.demo.model.brain.turn import DemoTurn, turn_of
from tui_host.demo.model.conversation import DemoConversation
from tui_host.demo.model.plan import Plan

Rule = Callable[[DemoTurn], Plan | None]
_RULES: tuple[Rule, ...] = (
    # Commands for trying things out come first; rules that guess the meaning of sentences come last.
    *(calls.call, texts.trouble, texts.prose, texts.showcase),
    *(lookup.orders, lookup.weather, arithmetic.sums, texts.greeting),
)
_THINK = re.compile(r"(?:think(?:\s+(?:about|hard))?\b|思考(?:一下)?)\s*[:：,，]?\s*", re.IGNORECASE)


def answer(conversation: DemoConversation) -> Plan:
    """Return the demo model's next answer. The answer depends only on the conversation."""
    turn = turn_of(conversation)
    prefix = _THINK.match(turn.question)
    if prefix:
        turn = replace(turn, question=turn.question[prefix.end() :])
    plan = next((plan for rule in _RULES if (plan := rule(turn)) is not None), None) or texts.not_recognised(turn)
    if conversation.thinking == "always" or (prefix and conversation.thinking == "asked"):
        question, offered, done = " ".join(turn.question.split())[:120], len(turn.tools), len(turn.done)
        asked = ", ".join(f"{call.name} {call.arguments}" for call in plan.calls)
        following = turn.words("No further call is needed, so I answer.", "不需要再调用工具，可以回答了。")
        if asked:
            following = turn.words(f"Next I ask for {asked}.", f"接下来我要请求：{asked}。")
        thinking = turn.words(
            f"The question is: “{question}”. I try my rules one after the other. "
            f"The request offers {offered} tools, and {done} results of this turn are there. {following}",
            f"问题是：“{question}”。我逐条检查规则。请求里提供了 {offered} 个工具，本轮已有 {done} 个结果。{following}",
        )
        plan = replace(plan, thinking=thinking)
    return plan if conversation.parallel else replace(plan, calls=plan.calls[:1])
