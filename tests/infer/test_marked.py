"""What hosts put into texts is looked for in the time that these take, whatever stands in them: pages have long stretches of nothing."""

from __future__ import annotations

import pytest

from tests.infer.forms import form
from tests.infer.scene import chat_of
from tests.infer.world import World
from tests.kit.bodies import Answer, Call, Results, User
from tui_host.chat.conversation import CallItem, UserItem

CALL = Call("", "math__add", {"a": 1, "b": 2})
SIZE = 100_000
REPEATED = {
    "blanks": " ",
    "blank lines": "\n",
    "empty rows": "|\n",
    "lists of tools that do not end": "<tools>{",
    "results that do not end": "<tool_response>",
    "longer ones": "<tool_use_result>\n<name>a</name><result>",
    "words of a host that do not end": "<system-reminder>",
}


@pytest.mark.parametrize(
    "name",
    ["cline", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("openai", "older cherry", "hermes"))],
)
@pytest.mark.parametrize("repeated", REPEATED)
def test_a_long_question_and_a_long_result_are_told_in_no_time(name: str, repeated: str) -> None:
    text = f"x{REPEATED[repeated] * (SIZE // len(REPEATED[repeated]))}y"
    world = World()
    entries = [User(text), Answer("", [CALL]), Results([(CALL, text)]), Answer("Yes."), User(text)]
    world.model().ask(form(name, ["math__add"]), entries)
    items = chat_of(world.story())
    assert [item.text for item in items if isinstance(item, UserItem)] == [text, text]
    assert [len(item.result) >= len(text) for item in items if isinstance(item, CallItem)] == [True]
