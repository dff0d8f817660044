"""Rule: orders by number, and the list of all orders."""

from __future__ import annotations

import re

from tui_host.demo.model.brain.lookups import look_up
from tui_host.demo.model.plan import AskedCall, Plan, arguments_text
from tui_host.demo.model.question_turn import Turn
from tui_host.demo.model.toolbox import parameter

_NUMBERS = r"#?\d{1,12}(?:\s*(?:,|、|，|\band\b|&|和|与)\s*#?\d{1,12})*"
_BY_NUMBER = (
    re.compile(rf"\borders?\s*(?:no\.?|nr\.?|numbers?|:)?\s*({_NUMBERS})", re.IGNORECASE),
    re.compile(rf"订单(?:号|编号)?\s*[:：]?\s*({_NUMBERS})"),
    re.compile(rf"({_NUMBERS})\s*号?(?:的)?订单"),
)
_ALL = re.compile(
    r"\b(?:list|all|show|my|which|what)\b[^.!?\n]{0,20}\borders\b|(?:所有|全部|列出|哪些|我的|有什么)的?订单|订单列表",
    re.IGNORECASE,
)


def orders(turn: Turn) -> Plan | None:
    """Looks orders up with `get_order` or `list_orders`."""
    for pattern in _BY_NUMBER:
        match = pattern.search(turn.head)
        if match:
            return _by_number(turn, list(dict.fromkeys(re.findall(r"\d+", match[1])))[:10])
    return _all(turn) if _ALL.search(turn.head) else None


def _by_number(turn: Turn, numbers: list[str]) -> Plan:
    tool = turn.tools.ending("get_order", "order", "find_order", prefer="orders")
    if tool is None:
        return _no_tool(turn)
    name = parameter(tool, "number", "order_number", "id", "order_id")
    as_text = tool.types.get(name) == "string"
    wanted = [
        AskedCall(name=tool.name, arguments=arguments_text({name: number if as_text else int(number)}))
        for number in numbers
    ]
    listed = ", ".join(numbers)
    return look_up(turn, wanted, turn.words(f"I look up order {listed}.", f"我来查一下订单 {listed}。"))


def _all(turn: Turn) -> Plan:
    tool = turn.tools.ending("list_orders", "orders", prefer="orders")
    if tool is None:
        return _no_tool(turn)
    return look_up(turn, [AskedCall(name=tool.name, arguments="{}")], "")


def _no_tool(turn: Turn) -> Plan:
    return turn.answer(
        turn.words(
            "I was offered no tool for orders, and I know of none myself.",
            "请求里没有查订单的工具，我自己也不知道任何订单。",
        )
    )
