"""The tools that a session offers to its model, under names the dialect accepts, or the hub in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.chat.tool_hub import Hub
from tui_host.llm.messages import ResourceSpec, ToolSpec
from tui_host.llm.request_writing import Tools
from tui_host.llm.tool_names import NameRule, NameTable

if TYPE_CHECKING:
    from tui_host.servers.catalog import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A pure function of the catalog, reused for every step until the catalog changes.

    Attributes:
        tools: The offered tools' definitions.
        rule: The dialect's rule for tool names.
        table: Maps names to servers and tools.
        specs: What is sent.
        known: Tools the model may know by name: offered ones, and those behind the hub.
        hub: Stands in for all tools; None if the tools are offered directly.
    """

    tools: tuple[Tool, ...]
    rule: NameRule
    table: NameTable
    specs: Tools
    known: Tools
    hub: Hub | None = None

    @classmethod
    def make(cls, tools: tuple[Tool, ...], rule: NameRule, *, is_hub: bool, before: Offer | None = None) -> Offer:
        """Return the offer of these tools; the previous one if nothing has changed."""
        if before is not None and (before.rule, before.hub is not None, before.tools) == (rule, is_hub, tools):
            return before
        table = NameTable.make(((tool.server, tool.name) for tool in tools), rule)
        specs = Tools(
            ToolSpec(
                name=table.name(tool.server, tool.name),
                description=tool.description,
                schema=tool.schema,
                server=tool.server,
                tool=tool.name,
                resources=_resources(tool),
            )
            for tool in tools
        )
        if not is_hub:
            return cls(tools=tools, rule=rule, table=table, specs=specs, known=specs)
        hub = Hub(specs)
        own = Tools(hub.specs)
        return cls(tools=tools, rule=rule, table=table, specs=own, known=Tools((*own, *specs)), hub=hub)


def _resources(tool: Tool) -> tuple[ResourceSpec, ...] | None:
    if tool.resources is None:
        return None
    return tuple(
        ResourceSpec(
            uri=resource.uri, name=resource.name, description=resource.description, is_template=resource.is_template
        )
        for resource in tool.resources
    )
