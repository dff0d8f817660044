"""What is offered is made of the catalog once, and anew when that has changed."""

from __future__ import annotations

import pytest

from tests.llm.asking import TARGET
from tui_host.chat.offered_tools import Offer
from tui_host.llm.dialects.dialect_table import dialect
from tui_host.llm.messages import Ask, Message, Text, ToolSpec
from tui_host.llm.protocols.protocol_table import protocol
from tui_host.llm.request_writing import Tools
from tui_host.llm.tool_names import OPENAI_NAMES, NameRule
from tui_host.servers.catalog import Tool

ADD = Tool(server="math", name="add", schema={"type": "object", "properties": {}})
LOOK = Tool(server="weather", name="look", description="looks")
SHORT = NameRule(limit=12)
QUESTION = Message(role="user", parts=(Text(text="hello"),))


def offer(*tools: Tool, rule: NameRule = OPENAI_NAMES, is_hub: bool = False, before: Offer | None = None) -> Offer:
    return Offer.make(tools, rule, is_hub=is_hub, before=before)


def test_the_same_catalog_is_the_same_offer() -> None:
    before = offer(ADD, LOOK)
    assert offer(ADD, LOOK, before=before) is before
    hub = offer(ADD, LOOK, is_hub=True)
    assert offer(ADD, LOOK, is_hub=True, before=hub) is hub


def test_whatever_has_changed_is_another_offer() -> None:
    before = offer(ADD, LOOK)
    stares = Tool(server="weather", name="look", description="stares")
    for after in (
        offer(ADD, before=before),
        offer(LOOK, ADD, before=before),
        offer(ADD, stares, before=before),
        offer(ADD, LOOK, rule=SHORT, before=before),
        offer(ADD, LOOK, is_hub=True, before=before),
    ):
        assert after is not before


def test_nothing_is_written_twice_of_tools_that_stay() -> None:
    specs = offer(ADD, LOOK).specs
    made: list[str] = []

    def form(tool: ToolSpec) -> str:
        made.append(tool.name)
        return tool.name

    assert specs.written(form) == specs.written(form) == '["math__add","weather__look"]'
    assert made == ["math__add", "weather__look"]


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "gemini", "ollama"])
def test_what_is_kept_is_what_would_be_written(name: str) -> None:
    specs = offer(ADD, LOOK).specs
    speaks = dialect(name)
    kept, plain = (Ask(model="m", messages=(QUESTION,), tools=tools) for tools in (specs, tuple(specs)))
    first = speaks.write(kept, TARGET)
    assert first == speaks.write(kept, TARGET) == speaks.write(plain, TARGET)


def test_a_tool_protocol_passes_on_what_is_kept() -> None:
    specs = offer(ADD, LOOK).specs
    assert protocol("native").prepare([QUESTION], specs).tools is specs
    assert isinstance(specs, Tools)
