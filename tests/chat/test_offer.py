"""What is offered is made of the catalog once, and anew when that has changed."""

from __future__ import annotations

from tui_host.chat.offered_tools import Offer
from tui_host.llm.messages import Message, Text
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
