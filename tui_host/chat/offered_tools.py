"""The tools that a session offers to its model, under names that the dialect accepts, or the three tools of the hub.

The `hub` offers three tools instead of hundreds, by which the model finds and calls the right tool. The host answers two of them, listing and inspection, from the catalog. The third becomes an ordinary call of the
named tool, decided and sent like any other call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import mapping
from tui_host.chat.call_arguments import read_arguments
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import ResourceSpec, ToolCall, ToolSpec
from tui_host.llm.request_writing import Tools
from tui_host.llm.schema_adaptation import AdaptedSchema, SchemaRules, adapt
from tui_host.llm.tool_names import NameRule, NameTable, nearest, tool_meant

if TYPE_CHECKING:
    from tui_host.servers.catalog import Tool

HUB = "hub"
"""The tool protocol's name; `hub+NAME` builds on a tool protocol other than `native`."""
LIST, INSPECT, INVOKE = "list_tools", "inspect_tool", "invoke_tool"
MOST_LISTED, USUALLY_LISTED = 100, 50
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class InvokedCall:
    """The call that the model makes through the hub: the tool's offered name, and its arguments as JSON text."""

    name: str
    arguments: str


class Hub:
    """The three tools that the model uses to find and call all other tools."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        name: JSON = {"type": "string", "description": "the tool's exact name"}
        number: JSON = {"type": "integer", "minimum": 0}
        return (
            _hub_spec(
                LIST,
                f"List the tools that there are, by name and description ({MOST_LISTED} at most; more by offset).",
                {"limit": number, "offset": number},
            ),
            _hub_spec(INSPECT, "Show a tool's description and the schema of its arguments.", {"name": name}, "name"),
            _hub_spec(
                INVOKE,
                "Call a tool. Inspect it first, and give arguments that fit its schema.",
                {"name": name, "params": {"type": "object", "description": "the tool's arguments"}},
                "name",
                "params",
            ),
        )

    def interpret(self, call: ToolCall) -> InvokedCall | str | None:
        """Interpret a call of a hub tool, or raise why it cannot be done; or return the host's own answer; None for another tool."""
        own = tool_meant(call.name, self.specs)
        if own is None:
            return None
        given = read_arguments(call.arguments)
        if own.name == LIST:
            limit, offset = _count(given.get("limit"), USUALLY_LISTED), _count(given.get("offset"), 0)
            return self._listed(limit, offset)
        tool = self._tool(given.get("name"))
        if own.name == INSPECT:
            return f"{tool.name}: {tool.description}\n\nArguments: {_json(tool.schema)}"
        return InvokedCall(name=str(given["name"]), arguments=_json(_params(given, tool)))

    def refused(self, name: str, spoken: Callable[[str], str]) -> TuiHostError:
        tool = tool_meant(name, self._tools.values())
        if tool is not None:
            params = f'{{"name": {_json(tool.name)}, "params": {{…}}}}'
            return TuiHostError(f"{name} is not offered by itself", remedy=f"call {spoken(INVOKE)} with {params}")
        near = nearest(name, (*self.specs, *self._tools.values()))
        ways = [f"{tool} by way of {spoken(INVOKE)}" if tool in self._tools else spoken(tool) for tool in near]
        remedy = f"there is {', '.join(ways)}" if ways else f"{spoken(LIST)} names those that there are"
        return TuiHostError(f"there is no tool {spoken(name)}", remedy=remedy)

    def _listed(self, limit: int, offset: int) -> str:
        some = list(self._tools.values())[offset : offset + min(limit, MOST_LISTED)]
        lines = [f"Total: {len(self._tools)} tools, offset {offset}, returned {len(some)}", ""]
        lines += [f"- {tool.name}: {' '.join(tool.description.split())}" for tool in some]
        return "\n".join(lines)

    def _tool(self, name: JSON) -> ToolSpec:
        tool = tool_meant(name, self._tools.values()) if isinstance(name, str) else None
        if tool is None:
            near = nearest(str(name), self._tools.values())
            there = f"there is {', '.join(near)}; " if near else ""
            raise TuiHostError(f"there is no tool {str(name)[:_SHOWN_CHARACTERS]!r}", remedy=f"{there}{LIST} names all")
        return tool


def _hub_spec(name: str, description: str, properties: dict[str, JSON], *required: str) -> ToolSpec:
    schema: JSON = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=description, schema=schema, server=HUB, tool=name)


def _params(given: Mapping[str, JSON], tool: ToolSpec) -> JSON:
    """Return the arguments of an invoked tool. Models write either word, whatever the schema says."""
    params = given.get("params", given.get("arguments"))
    if params is None:
        required = mapping(tool.schema).get("required")
        if required:  # a call without them would run with other arguments than the model meant
            raise TuiHostError(f"params is missing: {tool.name} requires {_json(required)}")
        return {}
    if not isinstance(params, Mapping):
        raise TuiHostError("params is not a JSON object")
    return params


def _count(value: JSON, usual: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else usual


def _json(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The tools to offer in a request. Depends on the catalog alone, so it is reused until the catalog changes.

    `specs` are sent, `known` are all whose names the model may know (behind the hub too), `adapted` the changed schemas by name.
    """

    tools: tuple[Tool, ...]
    rule: NameRule
    schemas: SchemaRules
    adapted: Mapping[str, AdaptedSchema]
    table: NameTable
    specs: Tools
    known: Tools
    hub: Hub | None = None

    @classmethod
    def make(
        cls,
        tools: tuple[Tool, ...],
        rule: NameRule,
        schemas: SchemaRules,
        *,
        is_hub: bool,
        before: Offer | None = None,
    ) -> Offer:
        wanted = (rule, schemas, is_hub, tools)
        if before is not None and (before.rule, before.schemas, before.hub is not None, before.tools) == wanted:
            return before
        table = NameTable.make(((tool.server, tool.name) for tool in tools), rule)
        specs = own = known = Tools(_spec(tool, table.name(tool.server, tool.name)) for tool in tools)
        hub = None
        if is_hub:
            hub = Hub(specs)
            own, known = Tools(hub.specs), Tools((*hub.specs, *specs))
        adapted = {spec.name: schema for spec in own if (schema := adapt(spec.schema, schemas)).changes}
        return cls(
            tools=tools, rule=rule, schemas=schemas, adapted=adapted, table=table, specs=own, known=known, hub=hub
        )


def _spec(tool: Tool, name: str) -> ToolSpec:
    """Describe a tool to a model. The tool's own name precedes its description if the dialect's rule changed the name."""
    description = tool.description
    if name != f"{tool.server}__{tool.name}":
        description = f"{tool.name}: {description}" if description else tool.name
    resources = None
    if tool.resources is not None:
        resources = tuple(
            ResourceSpec(
                uri=resource.uri, name=resource.name, description=resource.description, is_template=resource.is_template
            )
            for resource in tool.resources
        )
    return ToolSpec(
        name=name,
        description=description,
        schema=tool.schema,
        server=tool.server,
        tool=tool.name,
        resources=resources,
    )
