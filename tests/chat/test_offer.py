"""What is offered is made of the catalog once, and anew when that has changed."""

from __future__ import annotations

from tui_host.chat.next_request import Offer, offer_of
from tui_host.llm.schema_adaptation import SchemaRules
from tui_host.llm.tool_names import OPENAI_NAMES, TEXT_NAMES, NameRule
from tui_host.servers.catalog import Tool

ADD = Tool(server="math", name="add", schema={"type": "object", "properties": {}})
LOOK = Tool(server="weather", name="look", description="looks")
SHORT = NameRule(limit=12)


def offer(*tools: Tool, rule: NameRule = OPENAI_NAMES, is_hub: bool = False, before: Offer | None = None) -> Offer:
    return offer_of(tools, rule, SchemaRules(), is_hub=is_hub, before=before)


def test_the_same_catalog_is_the_same_offer_and_whatever_has_changed_another() -> None:
    before, hub = offer(ADD, LOOK), offer(ADD, LOOK, is_hub=True)
    assert offer(ADD, LOOK, before=before) is before
    assert offer(ADD, LOOK, is_hub=True, before=hub) is hub
    stares = Tool(server="weather", name="look", description="stares")
    for after in (
        offer(ADD, before=before),
        offer(LOOK, ADD, before=before),
        offer(ADD, stares, before=before),
        offer(ADD, LOOK, rule=SHORT, before=before),
        offer(ADD, LOOK, is_hub=True, before=before),
    ):
        assert after is not before


def test_a_name_that_the_vendor_refuses_stands_in_the_description() -> None:
    found = Tool(server="天气", name="查询", description="查天气")
    bare = Tool(server="天气", name="天气_查询")
    assert [spec.description for spec in offer(found, bare, LOOK).specs] == ["查询: 查天气", "天气_查询", "looks"]
    in_words = offer(found, bare, rule=TEXT_NAMES).specs
    assert [(spec.name, spec.description) for spec in in_words] == [("天气__查询", "查天气"), ("天气__天气_查询", "")]
