"""Rules for questions that are answered by looking things up with a tool: orders by number, the weather in cities."""

from __future__ import annotations

import re

from tui_host.demo.model.brain.quoting import in_one_line, outcome
from tui_host.demo.model.plan import AskedCall, Plan, arguments_text
from tui_host.demo.model.question_turn import Turn
from tui_host.demo.model.request_content import Tool
from tui_host.demo.model.toolbox import parameter

_NUMBERS = r"#?\d{1,12}(?:\s*(?:,|、|，|\band\b|&|和|与)\s*#?\d{1,12})*"
_ORDERS_BY_NUMBER = (
    re.compile(rf"\borders?\s*(?:no\.?|nr\.?|numbers?|:)?\s*({_NUMBERS})", re.IGNORECASE),
    re.compile(rf"订单(?:号|编号)?\s*[:：]?\s*({_NUMBERS})"),
    re.compile(rf"({_NUMBERS})\s*号?(?:的)?订单"),
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
_BEFORE = re.compile(r"([^?!.;:\n]{1,60}?)(?:'s)?\s+(?:weather|forecast|temperature|alerts?)\b", re.IGNORECASE)
_FILLING = re.compile(
    r"^(?:(?:what|how|where|when|who)(?:'s|\s+is)?|is|it|the|show|tell|get|give|me|please|current|us|about|use|tools?)\b\s*"
    r"|\s*\b(?:today|tomorrow|tonight|now|right now|please|like|this week|the next days|at the moment|using tools|use the tools)$",
    re.IGNORECASE,
)
_CHINESE_FILLING = re.compile(
    r"请问|请|帮我|查一下|查询|查|看看|看一下|告诉我|今天|明天|现在|目前|最近|天气|预报|气温|预警|警报|怎么样|怎样|如何|好吗|是什么|是多少|多少度"
    r"|有没有|会不会|有什么|有|会|下雨|下雪|吗|呢|吧|的|[？?！!。.:：]"
)
_SEPARATORS = re.compile(
    r"\s*(?:[,;/&、，；]|\band\b|\bor\b|\bversus\b|\bvs\b\.?|以及|还有|和|与|跟|及)\s*", re.IGNORECASE
)
_MOST_CITIES = 10


def orders(turn: Turn) -> Plan | None:
    """Answer questions about orders with `get_order` or `list_orders`."""
    for pattern in _ORDERS_BY_NUMBER:
        match = pattern.search(turn.head)
        if match:
            return _orders_by_number(turn, list(dict.fromkeys(re.findall(r"\d+", match[1])))[:10])
    return _all_orders(turn) if _ALL_ORDERS.search(turn.head) else None


def _orders_by_number(turn: Turn, numbers: list[str]) -> Plan:
    tool = turn.tools.ending("get_order", "order", "find_order", prefer="orders")
    if tool is None:
        return _no_order_tool(turn)
    name = parameter(tool, "number", "order_number", "id", "order_id")
    as_text = tool.types.get(name) == "string"
    wanted = [
        AskedCall(name=tool.name, arguments=arguments_text({name: number if as_text else int(number)}))
        for number in numbers
    ]
    listed = ", ".join(numbers)
    return look_up(turn, wanted, turn.words(f"I look up order {listed}.", f"我来查一下订单 {listed}。"))


def _all_orders(turn: Turn) -> Plan:
    tool = turn.tools.ending("list_orders", "orders", prefer="orders")
    if tool is None:
        return _no_order_tool(turn)
    return look_up(turn, [AskedCall(name=tool.name, arguments="{}")], "")


def _no_order_tool(turn: Turn) -> Plan:
    return turn.answer(
        turn.words(
            "I was offered no tool for orders, and I know of none myself.",
            "请求里没有查订单的工具，我自己也不知道任何订单。",
        )
    )


def weather(turn: Turn) -> Plan | None:
    """Answer questions about the weather: `get_forecast` for each city, or `get_alerts` if alerts were asked for."""
    asks_alerts, asks_forecast = bool(_ALERTS.search(turn.head)), bool(_FORECAST.search(turn.head))
    if not asks_alerts and not asks_forecast:
        return None
    cities = cities_in(turn.head)
    if not cities:
        return turn.answer(
            turn.words(
                "For which city? For example: `weather in Paris and Tokyo`.",
                "哪个城市？例如：`东京和巴黎的天气怎么样？`",
            )
        )
    alerts = turn.tools.ending("get_alerts", "alerts", "get_warnings", prefer="weather") if asks_alerts else None
    forecast = turn.tools.ending("get_forecast", "get_weather", "forecast", "weather", prefer="weather")
    tools = [tool for tool in (forecast if asks_forecast or alerts is None else None, alerts) if tool is not None]
    if not tools:
        return turn.answer(
            turn.words(
                "I was offered no tool for the weather, and I have no observations of my own.",
                "请求里没有查天气的工具，我自己也没有任何观测数据。",
            )
        )
    listed = turn.words(", ", "、").join(cities)
    wanted = [_asked(tool, city) for tool in tools for city in cities]
    return look_up(turn, wanted, turn.words(f"I look up the weather: {listed}.", f"我来查一下天气：{listed}。"))


def _asked(tool: Tool, city: str) -> AskedCall:
    return AskedCall(name=tool.name, arguments=arguments_text({parameter(tool, "city", "location", "place"): city}))


def cities_in(question: str) -> list[str]:
    """Return the cities in a question about the weather, as written."""
    if re.search(r"[\u3400-\u9fff]", question) and not re.search(r"\b(?:in|for|at)\s", question, re.IGNORECASE):
        places = [_CHINESE_FILLING.sub(" ", question)]
    else:
        line = next(
            (line for line in question.splitlines() if _FORECAST.search(line) or _ALERTS.search(line)), question
        )
        places = [match[1] for match in _PLACES.finditer(line)] or [match[1] for match in _BEFORE.finditer(line)]
    names = [_bare(name) for place in places for name in _SEPARATORS.split(place[:500])]
    cities: dict[str, str] = {}
    for name in names:
        if name:
            cities.setdefault(name.casefold(), name)
    return list(cities.values())[:_MOST_CITIES]


def _bare(name: str) -> str:
    name = name.strip(" \t.?!\"'“”")
    while True:
        shorter = _FILLING.sub("", name).strip(" \t.?!\"'“”")
        if shorter == name:
            return name
        name = shorter


def look_up(turn: Turn, wanted: list[AskedCall], announcement: str) -> Plan:
    """Ask for every call without a result. Once all results are there, or a call was rejected, give the answer.

    Args:
        turn: The current turn.
        wanted: All calls that the question needs, in order, including those of earlier rounds.
        announcement: The text before the first calls.
    """
    done = turn.done
    has_stopped = any(call.fate in {"rejected", "stopped"} for call in done)
    if len(done) < len(wanted) and not has_stopped:
        return turn.ask(wanted[len(done) :], "" if done else announcement)
    lines = [
        in_one_line(call.result) if call.fate == "answered" and "\n" not in call.result.strip() else outcome(turn, call)
        for call in done
    ]
    if len(lines) == 1 and not has_stopped:
        is_chinese = any("\u3400" <= sign <= "\u9fff" for sign in lines[0])
        return turn.answer(lines[0] if is_chinese else turn.words(lines[0], f"查到了，服务器的原话：{lines[0]}"))
    text = "\n".join(f"- {line}" if "\n" not in line else f"\n{line}\n" for line in lines)
    if has_stopped:
        text += turn.words("\n\nSo I stop here and make nothing up.", "\n\n所以我到此为止，不会编造结果。")
    return turn.answer(text)
