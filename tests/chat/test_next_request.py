"""What a request holds besides the conversation: tools that nobody offers, where the history calls them."""

from __future__ import annotations

import json

from tests.chat.bench import asks, says
from tests.chat.conftest import Make
from tui_host.chat.conversation import NoteItem
from tui_host.chat.policy import Policy
from tui_host.errors import JSON
from tui_host.settings.schema import Rule

SUM = '{"a":6,"b":5}'


async def test_a_history_with_calls_and_no_tools_names_those_that_were_called(bench: Make) -> None:
    async with bench.hearing(
        asks(("math__add", SUM)), says("11"), asks(("math__add", SUM)), says("no"), yes=True
    ) as at:
        await at.ask("add")
        at.pool.offered = []
        result = await at.ask("and again")
    tools = [json.loads(body).get("tools") for body in at.requests()]
    words = "Called earlier in this conversation. It is not available now: do not call it."
    stand_in: JSON = {"name": "math__add", "description": words, "parameters": {"type": "object", "properties": {}}}
    assert tools[2:] == [[{"type": "function", "function": stand_in}]] * 2
    assert (result.answer, len(at.pool.sent)) == ("no", 1)
    assert at.told()[-1] == "Error: there is no tool math__add. Nothing was run."


async def test_a_rule_without_a_tool_is_told_before_the_first_request(bench: Make) -> None:
    policy = Policy([Rule(server="math", tool="delete*", action="deny", where="config.toml")])
    async with bench.hearing(says("hi"), policy=policy) as at:
        await at.ask("hello")
        await at.ask("hello")
    assert [(note.what, note.remedy) for note in at.items(NoteItem)] == [
        (
            "the rule deny math.delete* in config.toml matches no tool of its server",
            "compare it with the tools' names in f3",
        )
    ]
