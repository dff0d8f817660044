"""Results of which nothing tells whose they are: each stands in the chat once, and their calls do not seem unanswered."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import form
from tests.infer.scene import chat_of
from tests.infer.world import MS, World
from tests.kit.bodies import Answer, Call, Results, User
from tui_host.chat.conversation import AnswerItem, CallItem, UserItem

NAMES = ("older cherry", "cherry", "hermes", "ollama", "gemini")
"""Forms in which no ids tell whose a result is."""
TOOL, OTHER = "weather__get_forecast", "math__add"
CITIES = [Call("", TOOL, {"city": city}) for city in ("Paris", "Tokyo")]
TWO = "doubtful which of the 2 results told below is its own"
ROOM = 77
"""Columns for these words on a screen of 80."""


def _world(name: str, calls: Sequence[Call], told: Sequence[tuple[Call, str]]) -> World:
    """A model's half alone, which goes on to an answer and a second question."""
    world, asked, said = World(), [User("weather?")], form(name, (TOOL, OTHER))
    model = world.model()
    entries: list[User | Answer | Results] = [*asked, Answer("", calls), Results(list(told))]
    for before, answer in ((asked, Answer("", calls)), (entries, Answer("Rain and sun."))):
        world.now += 100 * MS
        exchange = model.ask(said, before)
        world.run(model.answer(said, exchange, answer))
    world.now += 100 * MS
    model.ask(said, [*entries, Answer("Rain and sun."), User("sure?")])
    return world


@pytest.mark.parametrize("name", NAMES)
def test_of_the_same_tool_twice_each_result_is_told_once_and_the_calls_say_that_nobody_knows_whose_it_is(
    name: str,
) -> None:
    items = chat_of(_world(name, CITIES, list(zip(CITIES, ("rain", "sun"), strict=True))).story())
    calls = [item for item in items if isinstance(item, CallItem)]
    assert [(item.state, item.words, item.result) for item in calls[:2]] == [("asked", TWO, "")] * 2
    assert [(item.state, item.result, item.asked) for item in calls[2:]] == [("done", "rain", ""), ("done", "sun", "")]
    assert all(len(item.words) <= ROOM for item in calls)
    kinds = [type(item) for item in items if not isinstance(item, AnswerItem) or item.text.strip()]
    assert kinds == [UserItem, *[CallItem] * 4, AnswerItem, UserItem], "they stand where they were told"
