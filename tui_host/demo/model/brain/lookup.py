"""Rules for questions that are answered by looking things up with a tool: orders by number, the weather in cities."""

from __future__ import annotations

import re

from tui_host.demo.model.brain.toolbox import tool_for
from tui_host.demo.model.brain.turn import DemoTurn
from tui_host.demo.model.conversation import DemoCall
from tui_host.demo.model.json_values import compact
from tui_host.demo.model.plan import Plan

_NUMBERS = r"#?\d{1,12}(?:\s*(?:,|、|，|\band\b|&|和|与)\s*#?\d{1,12})*"
_ORDERS = re.compile(
    rf"\borders?\s*(?:no\.?|numbers?|:)?\s*({_NUMBERS})|订单(?:号|编号)?\s*[:：]?\s*({_NUMBERS})|({_NUMBERS})\s*号?的?订单",
    re.IGNORECASE,
)
_ALL_ORDERS = re.compile(
    r"\b(?:list|all|show|my|which|what)\b[^.!?\n]{0,20}\borders\b|(?:所有|全部|列出|哪些|我的|有什么)的?订单|订单列表",
    re.IGNORECASE,
)
_FORECAST = re.compile(
    r"\b(?:weather|forecast|temperature|raining|snowing|sunny)\b|天气|预报|气温|下雨|下雪", re.IGNORECASE
)
_ALERTS = re.compile(r"\b(?:alerts?|warnings?)\b|预警|警报", re.IGNORECASE)
_PLACES = re.compile(
    r"\b(?:in|for|at|of)\s+(.+?)(?=[?!;:\n]|\.(?:\s|$)|,?\s+and\s+(?:alerts?|warnings?|weather|forecast|the|is)\b|,?\s+(?:in|for|at)\s|$)",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"^([^?!.;:\n]{1,60}?)(?:'s)?\s+(?:weather|forecast|temperature|alerts?)\b", re.IGNORECASE)
# Words around the names of cities, in English at the ends, in Chinese anywhere.
_FILLING = re.compile(
    r"^(?:(?:what|how)(?:'s|\s+is)?|is|it|the|show|tell|get|give|me|please|current|us|about|use|tools?)\b\s*"
    r"|[\s,]*\b(?:today|tomorrow|tonight|now|please|like|this week|at the moment|use the tools)$|^[ \t.\"'“”]+|[ \t.?!\"'“”]+$",
    re.IGNORECASE,
)
_CHINESE_FILLING = re.compile(
    r"请问|请|帮我|查一下|查询|查|看看|告诉我|今天|明天|现在|天气|预报|气温|预警|警报|怎么样|怎样|如何|好吗|是什么|是多少|多少度"
    r"|有没有|会不会|有什么|有|会|下雨|下雪|吗|呢|吧|的|[？?！!。.:：]"
)
_SEPARATORS = re.compile(r"\s*(?:[,;/&、，；]|\band\b|\bor\b|以及|还有|和|与|跟|及)\s*", re.IGNORECASE)
_MOST_LOOKED_UP = 10


def orders(turn: DemoTurn) -> Plan | None:
    """Answer questions about orders with `get_order` or `list_orders`."""
    match = _ORDERS.search(turn.question)
    if match is None and not _ALL_ORDERS.search(turn.question):
        return None
    tool = tool_for(turn.tools, "orders", "get_order" if match else "list_orders")
    if tool is None:
        return turn.answer(
            turn.words("I was offered no tool for orders, and I know of none myself.", "请求里没有查订单的工具。"),
            lacks_tool=True,
        )
    if match is None:
        return _look_up(turn, [DemoCall(name=tool, arguments="{}")])
    numbers = list(dict.fromkeys(re.findall(r"\d+", match[0])))[:_MOST_LOOKED_UP]
    wanted = [DemoCall(name=tool, arguments=compact({"number": int(number)})) for number in numbers]
    return _look_up(turn, wanted)


def weather(turn: DemoTurn) -> Plan | None:
    """Answer questions about the weather: `get_forecast` for each city, or `get_alerts` if alerts were asked for."""
    asks_alerts, asks_forecast = bool(_ALERTS.search(turn.question)), bool(_FORECAST.search(turn.question))
    if not (asks_alerts or asks_forecast):
        return None
    is_chinese = re.search(r"[\u3400-\u9fff]", turn.question) is not None
    if is_chinese and not re.search(r"\b(?:in|for|at)\s", turn.question, re.IGNORECASE):
        places = [_CHINESE_FILLING.sub(" ", turn.question)]
    else:
        places = _PLACES.findall(turn.question) or _BEFORE.findall(turn.question)
    named: dict[str, str] = {}  # the cities as written, each once
    for name in (name for place in places for name in _SEPARATORS.split(place[:500])):
        bare, before = name.strip(), ""
        while bare != before:
            bare, before = _FILLING.sub("", bare), bare
        if bare:
            named.setdefault(bare.casefold(), bare)
    cities = list(named.values())[:_MOST_LOOKED_UP]
    if not cities:
        return None
    forecast = tool_for(turn.tools, "weather", "get_forecast") if asks_forecast else None
    alerts = tool_for(turn.tools, "weather", "get_alerts") if asks_alerts else None
    offered = [tool for tool in (forecast, alerts) if tool is not None]
    if not offered:
        return turn.answer(
            turn.words("I was offered no tool for the weather, and I know none myself.", "请求里没有查天气的工具。"),
            lacks_tool=True,
        )
    wanted = [DemoCall(name=tool, arguments=compact({"city": city})) for tool in offered for city in cities]
    return _look_up(turn, wanted)


def _look_up(turn: DemoTurn, wanted: list[DemoCall]) -> Plan:
    """Ask for every call without a result, then answer with the servers' own words."""
    lines = [call.result.text.strip() if call.fate == "answered" else turn.outcome(call) for call in turn.done]
    if any(call.fate == "refused" for call in turn.done):
        lines.append(turn.words("So I stop here and make nothing up.", "所以我到此为止，不会编造结果。"))
    return turn.ask(wanted) or turn.answer("\n\n".join(lines))
