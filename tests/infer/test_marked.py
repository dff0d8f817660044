"""What hosts put into texts is looked for in the time that these take, whatever stands in them: pages have long stretches of nothing."""

from __future__ import annotations

import pytest

from tests.infer.forms import Answer, Call, Results, User, form
from tests.infer.world import World
from tui_host.chat.conversation import CallItem, Conversation, UserItem
from tui_host.infer.asking.text_protocols import names_told
from tui_host.infer.story_chat import Telling

CALL = Call("", "math__add", {"a": 1, "b": 2})
SIZE = 200_000
REPEATED = {
    "blanks": " ",
    "blank lines": "\n",
    "empty rows": "|\n",
    "lists of tools that do not end": "<tools>{",
    "results that do not end": "<tool_response>",
    "longer ones": "<tool_use_result>\n<name>a</name><result>",
    "words of a host that do not end": "<system-reminder>",
}


@pytest.mark.parametrize("name", ["openai", "cline", "older cherry", "hermes"])
@pytest.mark.parametrize("repeated", REPEATED)
def test_a_long_question_and_a_long_result_are_told_in_no_time(name: str, repeated: str) -> None:
    text = f"x{REPEATED[repeated] * (SIZE // len(REPEATED[repeated]))}y"
    world, chat = World(), Conversation()
    entries = [User(text), Answer("", [CALL]), Results([(CALL, text)]), Answer("Yes."), User(text)]
    world.model().ask(form(name, ["math__add"]), entries)
    Telling(world.story(), chat).tell()
    items = list(chat.items)
    assert [item.text for item in items if isinstance(item, UserItem)] == [text, text]
    assert [len(item.result) >= len(text) for item in items if isinstance(item, CallItem)] == [True]


@pytest.mark.parametrize("repeated", ["-", "\n", "|\n"])
def test_the_tools_of_a_long_prompt_are_named_in_no_time(repeated: str) -> None:
    assert list(names_told("json", f"{repeated * SIZE}\n- add: adds\n")) == ["add"]


@pytest.mark.parametrize(
    ("name", "result"), [("react", "Observation: y\n"), ("hermes", "<tool_response>\ny\n</tool_response>\n")]
)
def test_many_results_in_one_message_are_told_in_no_time_each_in_its_place(name: str, result: str) -> None:
    world, chat, count = World(), Conversation(), 10_000
    model = world.model()
    exchange = model.ask(form(name, ["math__add"]), [User("first"), Answer("No."), User(result * count)])
    story = world.story()
    Telling(story, chat).tell()
    results = [item for item in chat.items if isinstance(item, CallItem)]
    body = story.talks.said[model.id, exchange].asking.body
    places = [int(item.call.rpartition(".")[2]) for item in results]
    assert ([item.result for item in results], sorted({*places})) == (["y"] * count, places)
    assert {body[place : place + 1] for place in places} == {b"y"}
    assert {link.link.words for link in story.links()} >= {"frames a result"}
