"""What a session offers to its model: the tools, under the names that the dialect takes, or what stands for them."""

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
    """Made of a catalog and nothing else; the same for every step until that changes, so that nothing is written anew.

    Attributes:
        tools: What it was made of.
        rule: How the dialect wants tools to be named.
        table: Leads from the names back to servers and tools.
        specs: What is offered.
        known: What a model may know by name: what is offered, and what the hub leads to.
        hub: What stands for all tools, None where they are offered themselves.
    """

    tools: tuple[Tool, ...]
    rule: NameRule
    table: NameTable
    specs: Tools
    known: Tools
    hub: Hub | None = None

    @classmethod
    def make(cls, tools: tuple[Tool, ...], rule: NameRule, *, is_hub: bool, before: Offer | None = None) -> Offer:
        """The offer of these tools; the one before where it is of the same."""
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
        ResourceSpec(uri=each.uri, name=each.name, description=each.description, is_template=each.is_template)
        for each in tool.resources
    )
