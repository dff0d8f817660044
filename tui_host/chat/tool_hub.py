"""`hub`: three tools in the place of all, for hundreds of them; the model finds what it needs. Source: tool-protocols.md, section 3.

What it lists and inspects the host answers by itself, from the catalog; what it invokes becomes the call of the tool itself,
decided on and sent as any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tui_host.chat.call_arguments import read_arguments
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import ToolCall, ToolSpec
from tui_host.llm.tool_names import nearest

HUB = "hub"
"""The tool protocol's name; `hub+NAME` is over another one than `native`."""
LIST, INSPECT, INVOKE = "list_tools", "inspect_tool", "invoke_tool"
_MOST = 100
_USUAL = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the host itself answers."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """The call that is really meant: the tool by the name that the model was told, and its arguments as JSON text."""

    name: str
    arguments: str


Meant: TypeAlias = Answer | Inner


class Hub:
    """The three tools that stand for all others.

    Args:
        tools: All others.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What is offered to the model."""
        name: JSON = {"type": "string", "description": "the tool's exact name"}
        number: JSON = {"type": "integer", "minimum": 0}
        return (
            _spec(
                LIST,
                f"List the tools that there are, by name and description ({_MOST} at most; more by offset).",
                {"limit": number, "offset": number},
            ),
            _spec(INSPECT, "Show a tool's description and the schema of its arguments.", {"name": name}, "name"),
            _spec(
                INVOKE,
                "Call a tool. Inspect it first, and give arguments that fit its schema.",
                {"name": name, "params": {"type": "object", "description": "the tool's arguments"}},
                "name",
                "params",
            ),
        )

    def meant(self, call: ToolCall) -> Meant | None:
        """What a call means; None if it is none of these three.

        Raises:
            TuiHostError: Its arguments are wrong, or there is no such tool.
        """
        if call.name not in {LIST, INSPECT, INVOKE}:
            return None
        given = read_arguments(call.arguments)
        if call.name == LIST:
            return Answer(text=self._listed(_count(given.get("limit"), _USUAL), _count(given.get("offset"), 0)))
        tool = self._tool(given.get("name"))
        if call.name == INSPECT:
            return Answer(text=f"{tool.name}: {tool.description}\n\nArguments: {_json(tool.schema)}")
        params = given.get("params", {})
        if not isinstance(params, dict):
            raise TuiHostError("params is no JSON object")
        return Inner(name=tool.name, arguments=_json(params))

    def refused(self, name: str, spoken: Callable[[str], str]) -> TuiHostError:
        """Why a call of none of these three is not run, and how it is made.

        Args:
            name: What the model called.
            spoken: A name as the tool protocol says it.
        """
        if name in self._tools:
            params = f'{{"name": {_json(name)}, "params": {{…}}}}'
            return TuiHostError(f"{name} is not offered by itself", remedy=f"call {spoken(INVOKE)} with {params}")
        own = {tool.name for tool in self.specs}
        near = nearest(name, (*self.specs, *self._tools.values()))
        ways = [spoken(each) if each in own else f"{each} by way of {spoken(INVOKE)}" for each in near]
        remedy = f"there is {', '.join(ways)}" if ways else f"{spoken(LIST)} names those that there are"
        return TuiHostError(f"there is no tool {spoken(name)}", remedy=remedy)

    def _listed(self, limit: int, offset: int) -> str:
        limit = min(limit, _MOST)
        some = list(self._tools.values())[offset : offset + limit]
        lines = [f"Total: {len(self._tools)} tools, offset {offset}, returned {len(some)}", ""]
        return "\n".join([*lines, *(f"- {tool.name}: {' '.join(tool.description.split())}" for tool in some)])

    def _tool(self, name: JSON) -> ToolSpec:
        found = self._tools.get(name) if isinstance(name, str) else None
        if found is None:
            near = nearest(str(name), self._tools.values())
            there = f"there is {', '.join(near)}; " if near else ""
            raise TuiHostError(f"there is no tool {str(name)[:100]!r}", remedy=f"{there}{LIST} names all")
        return found


def _spec(name: str, description: str, properties: dict[str, JSON], *required: str) -> ToolSpec:
    schema: JSON = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=description, schema=schema, server=HUB, tool=name)


def _count(value: JSON, usual: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else usual


def _json(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)
