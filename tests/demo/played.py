"""A turn of the demo model played to its end; what the bundled servers would say stands in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_host.demo.model.brain.rules import answer
from tui_host.demo.model.conversation import DemoCall, DemoConversation, DemoMessage
from tui_host.demo.model.json_values import parsed_object
from tui_host.demo.model.plan import Plan

TOOLS = (
    *("math__add", "math__subtract", "math__multiply", "math__divide"),
    *("weather__get_forecast", "weather__get_alerts", "orders__get_order", "orders__list_orders"),
)


def told_by_servers(call: DemoCall) -> str:
    values = parsed_object(call.arguments) or {}
    a, b = (float(str(values.get(name, 0))) for name in ("a", "b"))
    match call.name.partition("__")[2]:
        case "add":
            return f"{a + b:g}"
        case "subtract":
            return f"{a - b:g}"
        case "multiply":
            return f"{a * b:g}"
        case "divide":
            return f"{a / b:g}" if b else "Error: division by zero"
        case name:
            return f"{name} of {', '.join(map(str, values.values())) or 'all'}"


@dataclass(frozen=True, slots=True)
class Played:
    plans: tuple[Plan, ...]

    @property
    def asked(self) -> list[list[tuple[str, str]]]:
        return [[(call.name, call.arguments) for call in plan.calls] for plan in self.plans[:-1]]

    @property
    def text(self) -> str:
        return self.plans[-1].text


def play(
    question: str,
    tools: Sequence[str] = TOOLS,
    *,
    told: Callable[[DemoCall], str] = told_by_servers,
    parallel: bool = True,
    planned: Callable[[DemoConversation], Plan] = answer,
) -> Played:
    messages: list[DemoMessage] = [DemoMessage(role="user", text=question)]
    plans: list[Plan] = []
    for step in range(60):
        plan = planned(DemoConversation(messages=tuple(messages), tools=tuple(tools), parallel=parallel))
        plans.append(plan)
        if not plan.calls:
            return Played(tuple(plans))
        calls = tuple(
            DemoCall(id=f"{step}.{index}", name=call.name, arguments=call.arguments)
            for index, call in enumerate(plan.calls)
        )
        messages.append(DemoMessage(role="assistant", text=plan.text, calls=calls))
        messages += [DemoMessage(role="tool", call_id=call.id, text=told(call)) for call in calls]
    raise AssertionError("the demo model asks without end")
