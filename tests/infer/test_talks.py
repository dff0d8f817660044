"""Conversations as a person would count them: in which turn and step a request stands, and a frame."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.infer.scene import OPENAI, SUM, Scene, call, chat_of
from tests.infer.world import World
from tests.kit.bodies import Answer, Results, User
from tui_host.chat.conversation import CallItem
from tui_host.errors import JSON
from tui_host.infer.story import Story


@pytest.mark.parametrize(("arguments", "turn"), [(SUM, 1), ({"a": 9}, None)])
def test_a_frame_stands_at_once_in_the_turn_whose_answer_has_such_a_call(
    arguments: Mapping[str, JSON], turn: int | None
) -> None:
    scene = Scene()
    math = scene.server("math", "add")
    scene.asks("use add for this", call("math__add"))
    math.call("add", arguments)
    placed = scene.world.story()
    records = [placed.feed(record) for _, record in scene.world.records]
    assert records[-1].draft.place.turn == turn


def test_turns_and_steps_are_counted_as_a_person_would() -> None:
    scene = Scene()
    scene.server("math", "add")
    one = call("math__add")
    scene.asks("the first question", one)
    scene.goes_on("the first question", [one], [(one, "3")])
    scene.asks("another conversation")
    story = scene.world.story()
    assert [(said.turn, said.step, said.text) for said in story.exchanges] == [
        (1, 1, "the first question"),
        (1, 2, ""),
        (2, 1, "another conversation"),
    ]


def test_what_was_joined_before_an_answer_was_whole_is_joined_again_when_it_is() -> None:
    calls = [call("math__add", each) for each in ("c1", "c2")]
    user, answer = User("twice"), Answer("", calls)
    told = Results([(each, "3") for each in calls])
    for chunks in range(len(OPENAI.response(answer))):
        world, story = World(), Story()
        model = world.model()
        coming = model.answer(OPENAI, model.ask(OPENAI, [user]), answer)
        for _ in range(chunks + 1):
            world.now += next(coming)
        model.ask(OPENAI, [user, answer, told])
        for _, record in world.records:
            story.feed(record)
        assert len(story.joined()) <= 2
        early = len(world.records)
        list(coming)
        for _, record in world.records[early:]:
            story.feed(record)
        assert [len(each.results) for each in story.joined()] == [len(each.results) for each in world.story().joined()]


def test_a_call_that_is_told_otherwise_has_the_only_frame_that_is_left_and_says_so() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    one = call("math__add")
    scene.asks("a sum", one)
    scene.runs(math, "add", "30")
    scene.goes_on("a sum", [one], [(one, "add reported an error: invalid structuredContent")])
    story = scene.world.story()
    (joined,) = story.joined()
    assert ([frame.tool for frame in joined.sent], joined.is_told_otherwise) == (["add"], True)
    told = [found.link.words for found in story.links() if found.link.relation == "told"]
    assert told == ["told otherwise: add reported an error: invalid structuredContent"]
    assert [item.words for item in chat_of(story) if isinstance(item, CallItem)] == [
        "approved by its host, not here · inferred · told otherwise"
    ]
