"""The tools that a session offers to its model, under names that the dialect accepts, or the three tools of the hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.chat.tool_hub import Hub
from tui_host.llm.messages import ResourceSpec, ToolSpec
from tui_host.llm.request_writing import Tools
from tui_host.llm.schema_adaptation import AdaptedSchema, SchemaRules, adapt
from tui_host.llm.tool_names import NameRule, NameTable

if TYPE_CHECKING:
    from tui_host.servers.catalog import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The tools to offer in a request. Depends on the catalog alone, so it is reused until the catalog changes.

    Attributes:
        tools: The offered tools, as servers define them.
        rule: The dialect's rule for tool names.
        schemas: The dialect's rules for schemas.
        adapted: The schemas changed for the dialect, by tool name.
        table: Maps the offered names to servers and tools.
        specs: The tool definitions to send.
        known: Tools whose names the model may know: the offered tools, and the tools behind the hub.
        hub: The three tools offered in place of all tools; None if the tools are offered directly.
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
        """Return the offer of these tools; returns `before` if the tools are unchanged."""
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
