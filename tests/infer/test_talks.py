"""Conversations as a person would count them: in which turn and step a request stands, and a frame."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.infer.forms import FORMS, Answer, Results, User
from tests.infer.scene import OPENAI, SUM, Scene, call
from tests.infer.world import MS, World
from tests.steps import steps
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


def test_two_that_say_the_same_at_once_each_through_a_tap_of_its_own_have_turns_of_their_own() -> None:
    world, one = World(), call("math__add", "")
    models = [world.model(), world.model()]
    entries: list[User | Answer | Results] = [User("sum")]
    for answer in (Answer("", [one]), Answer("It is 3.", [])):
        exchanges = [model.ask(FORMS["ollama"], entries) for model in models]
        for model, exchange in zip(models, exchanges, strict=True):
            world.now += MS
            list(model.answer(FORMS["ollama"], exchange, answer))
        entries += [answer, Results([(one, "3")])] if answer.calls else []
        world.now += MS
    said = {(each.asking.key[0], each.turn, each.step) for each in world.story().exchanges}
    assert said == {(model.id, turn, step) for turn, model in enumerate(models, 1) for step in (1, 2)}


def test_a_request_that_ends_with_an_answer_is_one_that_tells_no_result_of_its_calls() -> None:
    """Hosts let a model write on at what it has said so far."""
    world, one = World(), call("math__add", "")
    model, spoken = world.model(), FORMS["ollama"]
    asked: list[User | Answer | Results] = [User("sum"), Answer("I add.", [one])]
    for entries, answer in ((asked[:1], asked[1]), (asked, Answer("them.")), ([*asked, Results([(one, "3")])], None)):
        world.now += 100 * MS
        exchange = model.ask(spoken, entries)
        if isinstance(answer, Answer):
            world.run(model.answer(spoken, exchange, answer))
    story = world.story()
    assert [(said.turn, said.step) for said in story.exchanges] == [(1, 1), (1, 2), (1, 2)]
    assert [[told.exchange for told in each.told] for each in story.joined()] == [["3"]]


def test_a_question_to_a_host_that_drops_calls_from_its_history_is_the_new_one_alone() -> None:
    scene = Scene()
    scene.server("math", "add")
    one = call("math__add")
    hello: list[User | Answer | Results] = [User("hello"), Answer("Hello.", [])]
    scene.again(hello[:1], text="Hello.")
    scene.again([*hello, User("a sum")], one)
    scene.again([*hello, User("a sum"), Answer("", [one]), Results([(one, "3")])], text="It is 3.")
    scene.again([*hello, User("a sum"), Answer("It is 3.", []), User("another")])
    assert [said.text for said in scene.world.story().exchanges] == ["hello", "a sum", "", "another"]


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


@pytest.mark.parametrize("before", [[], [User("hello"), Answer("Hello.")]])
def test_what_is_asked_again_once_another_turn_is_over_stands_behind_that(before: list[User | Answer]) -> None:
    scene = Scene()

    def refused(text: str, *, later: int = 100 * MS) -> None:
        scene.world.now += later
        scene.model.refuse(scene.model.ask(OPENAI, [*before, User(text)]))

    if before:
        scene.again(before[:1], text="Hello.")
    first = len(before) // 2
    refused("a title for it")
    refused("a title for it")
    scene.again([User("a sum")], text="It is 3.")
    refused("a title for it", later=(9_000 if not before else 25_000) * MS)
    refused("a title for it")
    said = scene.world.story().exchanges[first:]
    turns = [each.turn - first for each in said]
    assert turns == [1, 1, 2, 3, 3]
    assert [each.text for each in said] == ["a title for it", "", "a sum", "a title for it", ""]


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


def test_a_frame_that_either_of_two_conversations_may_have_asked_for_stands_in_no_turn() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    scene.asks("one", call("math__add", "c1"))
    scene.asks("two", call("math__add", "c2"))
    for _ in range(2):
        scene.runs(math, "add", "3")
    placed = scene.world.story()
    frames = [placed.feed(record) for _, record in scene.world.records if record.draft.kind == "frame"]
    assert {record.draft.place.turn for record in frames[-4:]} == {None}


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


def twice_at_once(size: int) -> int:
    """How many functions it takes to hear the same said so often, by two at a time, and told the same."""
    world, form = World(), FORMS["ollama"]
    model, answer = world.model(), Answer("", [call("math__add")])
    told = [User("sums"), answer, Results([(call("math__add"), "3")])]
    for entries, said in [
        ([User("sums")], answer),
        ([User("sums")], answer),
        (told, "It is 3."),
        (told, "It is 3."),
    ] * size:
        world.run(model.answer(form, model.ask(form, entries), Answer(said, []) if isinstance(said, str) else said))
        world.now += MS
    return steps(world.story)


def test_what_many_answers_went_on_with_is_counted_once_for_each_request() -> None:
    few, many = twice_at_once(15), twice_at_once(60)
    assert many < 2 * 4 * few
