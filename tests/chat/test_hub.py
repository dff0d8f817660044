"""Three tools stand for all: what is listed the host answers, what is invoked is decided on and sent as the call that it is."""

from __future__ import annotations

import json

import pytest

from tests.chat.bench import asks, says
from tests.chat.conftest import Make
from tests.llm.protocols.answers import call
from tui_host.chat.conversation import CallItem
from tui_host.chat.next_request import HUB, INSPECT, INVOKE, LIST

SUM = '{"name": "math__add", "params": {"a": 6, "b": 5}}'


async def test_the_inner_call_is_the_one_that_is_decided_and_sent(bench: Make) -> None:
    answers = (
        asks((LIST, "{}")),
        asks((INSPECT, '{"name": "math__add"}')),
        asks((INVOKE, SUM)),
        says("It is 11."),
    )
    async with bench.hearing(*answers, yes=True, protocol="hub") as at:
        result = await at.ask("what is 6 + 5?")

    assert (result.stop, result.answer, at.pool.sent) == ("done", "It is 11.", [("math.add", b'{"a":6,"b":5}')])
    assert [(outcome.server, outcome.tool, outcome.asked) for outcome in result.outcomes] == [
        ("math", "add", {"a": 6, "b": 5})
    ]
    assert [(item.server, item.tool, item.state) for item in at.items(CallItem)] == [
        ("hub", LIST, "done"),
        ("hub", INSPECT, "done"),
        ("math", "add", "done"),
    ]
    first, *_, last = [json.loads(body) for body in at.requests()]
    assert [tool["function"]["name"] for tool in first["tools"]] == [LIST, INSPECT, INVOKE]
    told = [message["content"] for message in last["messages"] if message["role"] == "tool"]
    assert told[0].startswith("Total: 3 tools, offset 0, returned 3\n\n- math__add: add two numbers")
    assert '"required": ["a", "b"]' in told[1]
    assert told[2] == "11"


@pytest.mark.parametrize(
    ("invoked", "sent", "told"),
    [
        ('{"name": "math__add", "arguments": {"a": 6, "b": 5}}', [("math.add", b'{"a":6,"b":5}')], "11"),
        ('{"name": "add", "params": {"a": 6, "b": 5}}', [("math.add", b'{"a":6,"b":5}')], "11"),
        (
            '{"name": "math__add"}',
            [],
            'Error: params is missing: math__add requires ["a", "b"]. Nothing was run.',
        ),
    ],
)
async def test_what_is_invoked_never_runs_without_the_arguments_that_it_requires(
    bench: Make, invoked: str, sent: list[tuple[str, bytes]], told: str
) -> None:
    async with bench.hearing(asks((INVOKE, invoked)), says("It is 11."), yes=True, protocol="hub") as at:
        await at.ask("what is 6 + 5?")

    assert at.pool.sent == sent
    assert json.loads(at.requests()[1])["messages"][-1]["content"] == told


async def test_a_tool_that_there_is_not_is_told_and_nothing_is_sent(bench: Make) -> None:
    wrong = asks(
        (INVOKE, '{"name": "math__power", "params": {}}'),
        (INSPECT, "{}"),
        (INVOKE, '{"name": "math__add", "params": 3}'),
    )
    async with bench.hearing(wrong, says("sorry"), yes=True, protocol="hub") as at:
        await at.ask("what is 6 ^ 5?")

    assert at.pool.sent == []
    assert [item.state for item in at.items(CallItem)] == ["invalid", "invalid", "invalid"]


@pytest.mark.parametrize(
    ("protocol", "tool", "told"),
    [
        ("hub", "hub__list", "there is no tool hub__list (list_tools names those that there are)"),
        ("hub", "math__ad", "there is no tool math__ad (list_tools names those that there are)"),
        ("hub", "math__add", 'call invoke_tool with {"name": "math__add", "params": {…}}'),
        ("hub+cline", "add", 'call hub invoke_tool with {"name": "math__add", "params": {…}}'),
    ],
)
async def test_a_call_of_what_was_not_offered_is_not_run_and_told_how_it_is_made(
    bench: Make, protocol: str, tool: str, told: str
) -> None:
    spoken = protocol.partition("+")[2]
    arguments = '{"a": 6, "b": 5}'
    direct = says(call(spoken, tool, arguments)) if spoken else asks((tool, arguments))
    async with bench.hearing(direct, says("sorry"), yes=True, protocol=protocol) as at:
        await at.ask("what is 6 + 5?")

    assert at.pool.sent == []
    assert told in json.loads(at.requests()[1])["messages"][-1]["content"]


async def test_it_stands_over_any_other_tool_protocol(bench: Make) -> None:
    invoked = call("hermes", INVOKE, SUM, server=HUB)
    async with bench.hearing(says(invoked), says("It is 11."), yes=True, protocol="hub+hermes") as at:
        result = await at.ask("what is 6 + 5?")

    assert (result.answer, at.pool.sent) == ("It is 11.", [("math.add", b'{"a":6,"b":5}')])
    body = json.loads(at.requests()[0])
    assert "tools" not in body
    assert f'"name": "{LIST}"' in body["messages"][0]["content"]


async def test_what_a_rule_denies_it_denies_inside_too(bench: Make) -> None:
    async with bench.hearing(asks((INVOKE, SUM)), says("no"), protocol="hub") as at:
        result = await at.ask("what is 6 + 5?")

    assert at.pool.sent == []
    assert [outcome.decision.verdict for outcome in result.outcomes if outcome.decision is not None] == ["rejected"]
