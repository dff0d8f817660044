"""What a request holds besides the conversation: the offered tools, those that stand behind the hub, and what was called before."""

import json

import pytest

from tests.chat.bench import asks, says
from tests.chat.conftest import Make
from tests.llm.protocols.answers import call
from tui_host.chat.conversation import CallItem
from tui_host.chat.next_request import HUB, INSPECT, INVOKE, LIST, Offer, offer_of
from tui_host.errors import JSON
from tui_host.llm.schema_adaptation import SchemaRules
from tui_host.llm.tool_names import OPENAI_NAMES, TEXT_NAMES, NameRule
from tui_host.servers.catalog import Tool

SUM = '{"name": "math__add", "params": {"a": 6, "b": 5}}'
LOOK = Tool(server="weather", name="look", description="looks")


def offer(*tools: Tool, rule: NameRule = OPENAI_NAMES) -> Offer:
    return offer_of(tools, rule, SchemaRules(), is_hub=False, before=None)


def test_a_name_that_the_vendor_refuses_stands_in_the_description() -> None:
    found, bare = Tool(server="天气", name="查询", description="查天气"), Tool(server="天气", name="天气_查询")
    assert [spec.description for spec in offer(found, bare, LOOK).specs] == ["查询: 查天气", "天气_查询", "looks"]
    in_words = offer(found, bare, rule=TEXT_NAMES).specs
    assert [(spec.name, spec.description) for spec in in_words] == [("天气__查询", "查天气"), ("天气__天气_查询", "")]


async def test_a_history_with_calls_and_no_tools_names_those_that_were_called(bench: Make) -> None:
    called = asks(("math__add", '{"a":6,"b":5}'))
    async with bench.hearing(called, says("11"), called, says("no"), yes=True) as at:
        await at.ask("add")
        at.pool.offered = []
        result = await at.ask("and again")
    tools = [json.loads(body).get("tools") for body in at.requests()]
    words = "Called earlier in this conversation. It is not available now: do not call it."
    stand_in: JSON = {"name": "math__add", "description": words, "parameters": {"type": "object", "properties": {}}}
    assert tools[2:] == [[{"type": "function", "function": stand_in}]] * 2
    assert (result.answer, len(at.pool.sent)) == ("no", 1)
    assert at.told()[-1] == "Error: there is no tool math__add. Nothing was run."


# Three tools stand for all: what is listed the host answers, what is invoked is decided on and sent as the call that it is.


RUN = [("math.add", b'{"a":6,"b":5}')]


@pytest.mark.parametrize(
    ("protocol", "called", "arguments", "sent", "told"),
    [
        ("hub", INVOKE, '{"name": "math__add", "arguments": {"a": 6, "b": 5}}', [], "Error: params is missing: "),
        ("hub", INVOKE, '{"name": "add", "params": {"a": 6, "b": 5}}', RUN, "11"),
        ("hub", INVOKE, '{"name": "math__add"}', [], 'Error: params is missing: math__add requires ["a", "b"].'),
        ("hub", INVOKE, '{"name": "math__add", "params": 3}', [], "Error: params is not a JSON object."),
        ("hub", INVOKE, '{"name": "math__power", "params": {}}', [], "Error: there is no tool 'math__power'"),
        ("hub", INSPECT, "{}", [], "Error: name is missing (list_tools names all)."),
        ("hub", "hub__list", "{}", [], "Error: there is no tool hub__list (list_tools names those that there are)."),
        ("hub", "math__add", "{}", [], 'call invoke_tool with {"name": "math__add", "params": {…}}'),
        ("hub+cline", "add", "{}", [], 'call hub invoke_tool with {"name": "math__add", "params": {…}}'),
    ],
)
async def test_what_is_invoked_runs_only_whole_and_by_way_of_the_hub(
    bench: Make, protocol: str, called: str, arguments: str, sent: list[tuple[str, bytes]], told: str
) -> None:
    spoken = protocol.partition("+")[2]
    asked = says(call(spoken, called, arguments)) if spoken else asks((called, arguments))
    async with bench.hearing(asked, says("So."), yes=True, protocol=protocol) as at:
        await at.ask("what is 6 + 5?")
    assert at.pool.sent == sent
    assert told in json.loads(at.requests()[1])["messages"][-1]["content"]
    assert [item.state for item in at.items(CallItem)] == ["done" if sent else "invalid"]


async def test_it_stands_over_any_other_tool_protocol(bench: Make) -> None:
    invoked = call("hermes", INVOKE, SUM, server=HUB)
    async with bench.hearing(says(invoked), says("It is 11."), yes=True, protocol="hub+hermes") as at:
        result = await at.ask("what is 6 + 5?")
    assert (result.answer, at.pool.sent) == ("It is 11.", RUN)
    body = json.loads(at.requests()[0])
    assert "tools" not in body
    assert f'"name": "{LIST}"' in body["messages"][0]["content"]


async def test_what_nobody_allows_is_not_run_inside_either(bench: Make) -> None:
    async with bench.hearing(asks((INVOKE, SUM)), says("no"), protocol="hub") as at:
        result = await at.ask("what is 6 + 5?")
    assert at.pool.sent == []
    assert [outcome.decision.verdict for outcome in result.outcomes if outcome.decision is not None] == ["rejected"]
