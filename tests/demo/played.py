"""A turn of the demo model played to its end, with the bundled servers' own tools as the other side."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_host.demo.model.brain.rules import answer
from tui_host.demo.model.json_values import is_object
from tui_host.demo.model.plan import AskedCall, Plan
from tui_host.demo.model.request_content import AssistantSaid, Call, Conversation, Message, Tool, ToolSaid, UserSaid
from tui_host.demo.servers.bundled import BundledServer, BundledTool, ToolFailed
from tui_host.demo.servers.math import MATH
from tui_host.demo.servers.orders import ORDERS
from tui_host.demo.servers.weather import WEATHER

BUNDLED: dict[str, BundledTool] = {
    f"{server.name}__{tool.name}": tool for server in (MATH, WEATHER, ORDERS) for tool in server.tools
}


def offered(server: BundledServer) -> tuple[Tool, ...]:
    return tuple(
        Tool(
            name=f"{server.name}__{tool.name}",
            description=tool.description,
            types={name: str(schema["type"]) for name, schema in tool.properties.items() if is_object(schema)},
            required=tuple(tool.properties),
        )
        for server in (server,)
        for tool in server.tools
    )


TOOLS = (*offered(MATH), *offered(WEATHER), *offered(ORDERS))


def tool(name: str, *parameters: str, kind: str = "string") -> Tool:
    return Tool(name=name, description="", types=dict.fromkeys(parameters, kind), required=parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    plans: tuple[Plan, ...]

    @property
    def asked(self) -> list[list[AskedCall]]:
        return [list(plan.calls) for plan in self.plans[:-1]]

    @property
    def names(self) -> list[list[str]]:
        return [[call.name for call in calls] for calls in self.asked]

    @property
    def arguments(self) -> list[list[str]]:
        return [[call.arguments for call in calls] for calls in self.asked]

    @property
    def text(self) -> str:
        return self.plans[-1].text


def told_by_servers(call: AskedCall) -> str:
    arguments: object = json.loads(call.arguments)
    assert is_object(arguments)
    try:
        return BUNDLED[call.name].call(arguments).text
    except ToolFailed as failure:
        return f"Error: {failure}"


def play(
    question: str,
    tools: Sequence[Tool] = TOOLS,
    *,
    told: Callable[[AskedCall], str] = told_by_servers,
    parallel: bool = True,
) -> Played:
    messages: list[Message] = [UserSaid(text=question)]
    plans: list[Plan] = []
    for step in range(60):
        plan = answer(Conversation(messages=tuple(messages), tools=tuple(tools), parallel=parallel))
        plans.append(plan)
        if not plan.calls:
            return Played(plans=tuple(plans))
        calls = tuple(
            Call(id=f"{step}.{index}", name=call.name, arguments=call.arguments)
            for index, call in enumerate(plan.calls)
        )
        messages.append(AssistantSaid(text=plan.text, calls=calls))
        messages += [ToolSaid(call_id=call.id, text=told(asked)) for call, asked in zip(calls, plan.calls, strict=True)]
    raise AssertionError("the demo model asks without end")
