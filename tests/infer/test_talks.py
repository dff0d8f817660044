"""Conversations as a person would count them: in which turn and step a request stands, and a frame."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.infer.forms import Answer, Results, User
from tests.infer.scene import OPENAI, SUM, Scene, call
from tests.infer.world import MS, World
from tui_host.chat.conversation import CallItem, Conversation
from tui_host.errors import JSON
from tui_host.infer.story import Story
from tui_host.infer.story_chat import Telling


@pytest.mark.parametrize(
    ("agent", "client", "words", "turn"),
    [
        ("", "", "sum", None),
        ("", "", "use add for this", 1),
        ("Cline/3", "cline", "sum", 1),
        ("Cline/3", "cursor", "use add for this", None),
    ],
)
def test_a_frame_stands_in_the_turn_of_the_host_whose_it_is_or_that_offers_its_tool_else_in_none(
    agent: str, client: str, words: str, turn: int | None
) -> None:
    world = World()
    model = world.model()
    next(model.answer(OPENAI, model.ask(OPENAI, [User(words)], agent), Answer("", [call("math__add")])))
    world.now += MS
    tap = world.server("math")
    tap.start(["add"], client)
    tap.call("add", SUM)
    story = world.story()
    assert story.feed(world.records[-1][1]).draft.place.turn == turn


@pytest.mark.parametrize(
    ("arguments", "seconds", "later", "turn"),
    [
        ({"a": 9}, 1, False, 1),
        ({"a": 9}, 300, False, None),
        ({"a": 9}, 1, True, None),
        (SUM, 1, True, None),  # the one that was asked for has its answer
    ],
)
def test_a_frame_that_nobody_asked_for_stands_in_no_turn_that_is_over(
    arguments: Mapping[str, JSON], seconds: int, *, later: bool, turn: int | None
) -> None:
    scene = Scene()
    math = scene.server("math", "add")
    scene.asks("use add for this", call("math__add"))
    scene.runs(math, "add", "3")
    for text in ("hello", "and use add?") if later else ():
        scene.asks(text)
    scene.world.now += seconds * 1000 * MS
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


def test_what_failed_is_tried_again_by_its_host_soon_and_by_a_person_after_other_turns() -> None:
    scene = Scene()

    def fails(text: str, *, later: int = 100 * MS) -> None:
        scene.world.now += later
        scene.model.refuse(scene.model.ask(OPENAI, [User(text)]))

    fails("one?")
    fails("two?")
    fails("one?", later=2_000 * MS)  # two conversations at a time
    fails("two?", later=60_000 * MS)  # in the last turn
    fails("one?", later=60_000 * MS)
    assert [said.turn for said in scene.world.story().exchanges] == [1, 2, 1, 2, 3]


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
        assert [len(each.told) for each in story.joined()] == [len(each.told) for each in world.story().joined()]


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
    chat = Conversation()
    Telling(story, chat).tell()
    assert [item.words for item in chat.items if isinstance(item, CallItem)] == [
        "approved by its host, not here · inferred · told otherwise"
    ]
