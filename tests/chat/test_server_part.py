"""The part of a request that one server makes stands in that request, letter by letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_host.chat.offered_tools import Offer
from tui_host.chat.server_part import ServerPart, server_parts
from tui_host.llm.dialects.dialect import Target
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.messages import Ask, Message, Text
from tui_host.llm.protocols.table import PROTOCOLS, protocol
from tui_host.llm.tool_names import TEXT_NAMES
from tui_host.servers.catalog import Tool
from tui_host.settings.protocol_prompts import template_of

SCHEMA = {"type": "object", "properties": {"a": {"type": "number", "description": "Größe"}}, "required": ["a"]}


def tool(server: str, name: str) -> Tool:
    return Tool(server=server, name=name, description=f"Do {name}.", schema=SCHEMA)


TOOLS = [tool("one", "add"), tool("two", "add"), tool("two", "adder"), tool("three", "sub")]
QUESTION = Message(role="user", parts=(Text(text="hi"),))


def request_of(part: ServerPart, folder: Path) -> str:
    """A whole request with the tools of all servers."""
    speaks = DIALECTS[part.dialect or "openai"]
    offer = Offer.make(
        tuple(TOOLS), speaks.name_rule if part.dialect else TEXT_NAMES, speaks.schema_rules, is_hub=False
    )
    prepared = protocol(part.protocol, template_of(part.protocol, folder)).prepare([QUESTION], offer.specs)
    if not part.dialect:
        return "".join(part.text for part in prepared.messages[0].parts if isinstance(part, Text))
    ask = Ask(model="m", messages=prepared.messages, tools=prepared.tools)
    return speaks.write(ask, Target(provider="p")).body.decode()


@pytest.mark.parametrize("server", ["one", "two", "three"])
def test_the_part_of_a_server_stands_in_the_request_and_has_only_its_tools(server: str, tmp_path: Path) -> None:
    parts = list(server_parts(TOOLS, server))
    assert [(part.protocol, part.dialect) for part in parts] == [
        *(("native", name) for name in DIALECTS),
        *((name, "") for name in PROTOCOLS if name != "native"),
    ]
    for part in parts:
        assert part.text.count("Größe") == sum(tool.server == server for tool in TOOLS), part
        assert part.tokens > 20
        whole = request_of(part, tmp_path)
        assert all(text in whole for _, text in part.pieces)


def test_a_server_without_tools_has_no_part() -> None:
    assert {part.text for part in server_parts(TOOLS, "four")} == {""}
