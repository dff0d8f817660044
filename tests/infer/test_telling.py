"""What the chat of a tapped conversation says beside what was said in it."""

from __future__ import annotations

import json
from functools import partial

import pytest

from tests.infer.forms import FORMS
from tests.infer.scene import chat_of
from tests.infer.world import MS, ModelTap, World
from tests.kit.bodies import Answer, Call, Results, User
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import Draft, Head
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, NoteItem, UserItem
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat, doubts_of

OPENAI = FORMS["openai"]


def told(world: World) -> tuple[Story, list[Item]]:
    """All that was recorded, and its chat."""
    story = world.story()
    return story, chat_of(story)


def cut(model: ModelTap, exchange: str) -> None:
    list(model.answer(OPENAI, exchange, Answer("It is"), cut=True))


def keep_a_part(model: ModelTap, exchange: str) -> None:
    """All of it came, and more than is kept."""
    model.keep(Draft(wire="llm", kind="response", peer="example", exchange=exchange, head=Head(status=200)))
    model.keep(Draft(wire="llm", kind="chunk", peer="example", exchange=exchange, data=b'{"choices": [{"me'))
    ending = Ending(size=30, kept=17).to_bytes()
    model.keep(Draft(wire="llm", kind="end", peer="example", exchange=exchange, data=ending))


def hang(model: ModelTap, exchange: str) -> None:
    """The host waits no longer."""
    model.keep(Draft(wire="llm", kind="response", peer="example", exchange=exchange, head=Head(status=200)))
    ending = Ending(reason="closed by host").to_bytes()
    model.keep(Draft(wire="llm", kind="end", peer="example", exchange=exchange, data=ending))


def end_with(reason: str, text: str, model: ModelTap, exchange: str) -> None:
    body = {"choices": [{"message": {"content": text}, "finish_reason": reason}]}
    head = Head(status=200, headers=(("content-type", "application/json"),))
    model.keep(Draft(wire="llm", kind="response", peer="example", exchange=exchange, head=head))
    model.keep(Draft(wire="llm", kind="chunk", peer="example", exchange=exchange, data=json.dumps(body).encode()))
    model.keep(Draft(wire="llm", kind="end", peer="example", exchange=exchange, data=Ending().to_bytes()))


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (ModelTap.refuse, "example answered 429: slow down"),
        (ModelTap.fail, "no answer came: cut by peer"),
        (cut, "the answer broke off: cut by peer"),
        (hang, "the answer broke off: closed by host"),
        (keep_a_part, "of the answer 17 of 30 bytes are kept"),
        (partial(end_with, "length", "It is"), "cut at the token limit"),
        (partial(end_with, "stop", ""), "an empty answer"),
    ],
)
def test_an_answer_that_did_not_come_is_told_in_the_words_of_who_refused_it(ends: object, words: str) -> None:
    world = World()
    model = world.model()
    assert callable(ends)
    ends(model, model.ask(OPENAI, [User("what is one and two?")]))
    assert [item.what for item in told(world)[1] if isinstance(item, NoteItem)] == [words]


@pytest.mark.parametrize(
    ("says_which", "words"),
    [
        (True, {"approved by its host, not here"}),
        (False, {"doubtful which of math #1, math #2 carried it: not joined"}),
    ],
)
def test_a_call_that_is_joined_to_no_frame_because_of_others_like_it_says_so(
    words: set[str], *, says_which: bool
) -> None:
    world, asked = World(), [User("one and two, twice")]
    model, math = world.model(), world.server("math")
    math.start(["add"])
    calls = [Call(name, "math__add", {"a": 1, "b": 2}) for name in ("c1", "c2")]
    list(model.answer(OPENAI, model.ask(OPENAI, asked), Answer("", calls)))
    for call in calls:
        world.now += 50 * MS
        identity, _ = math.call("add", {"a": 1, "b": 2}, meta={"claudecode/toolUseId": call.id} if says_which else {})
        world.now += 50 * MS
        math.result(identity, "3")
    model.ask(OPENAI, [*asked, Answer("", calls), Results([(call, "3") for call in calls])])
    story, chat = told(world)
    assert {item.words for item in chat if isinstance(item, CallItem)} == words
    ladder = Ladder("story")
    ladder.feed(story.clock.on_it(record) for _, record in world.records)
    ladder.doubt(doubts_of(story))
    sent = [row for row in ladder.rows if row.method == "tools/call" and row.outward]
    assert [row.doubtful for row in sent] == ["" if says_which else "call 1 or 2 of turn 1 step 1"] * 2
    assert list(ladder.filter("kind:doubtful")) == [row.number for row in sent if row.doubtful]
    ladder.doubt({})
    assert not any(row.doubtful for row in ladder.rows)


def test_what_two_conversations_say_in_turns_says_to_which_it_belongs() -> None:
    world, chat = World(), Conversation()
    model, story = world.model(), Story()
    telling = StoryChat(story, chat)
    talks: dict[str, list[User | Answer]] = {name: [User(f"first of {name}")] for name in ("a", "b")}

    def hear() -> None:
        world.now += 100 * MS
        for _, record in world.records:
            story.feed(record)
        world.records.clear()
        telling.tell()

    def ask(name: str) -> str:
        exchange = model.ask(OPENAI, talks[name])
        hear()
        return exchange

    def answer(name: str, exchange: str) -> None:
        said = Answer(f"answer to {talks[name][-1].text}")
        list(model.answer(OPENAI, exchange, said))
        talks[name] += [said, User(f"second of {name}")]
        hear()

    first, other = ask("a"), ask("b")
    answer("a", first)
    answer("b", other)
    second, other = ask("a"), ask("b")
    answer("b", other)
    answer("a", second)
    assert [item.what if isinstance(item, NoteItem) else getattr(item, "text", "") for item in chat.items] == [
        "first of a",
        "first of b",
        'to "first of a":',
        "answer to first of a",
        'to "first of b":',
        "answer to first of b",
        'after "first of a":',
        "second of a",
        'after "first of b":',
        "second of b",
        "answer to second of b",
        'to "second of a":',
        "answer to second of a",
    ]


def test_what_failed_in_the_same_way_several_times_in_a_row_is_one_line_with_their_number() -> None:
    world, chat, story = World(), Conversation(), Story()
    model, telling = world.model(), StoryChat(story, chat)

    def ask(text: str, *, status: int = 0) -> None:
        world.now += 100 * MS
        exchange = model.ask(OPENAI, [User(text)])
        model.refuse(exchange, status) if status else list(model.answer(OPENAI, exchange, Answer("Hello.")))

    def hear() -> None:
        for _, record in world.records:
            story.feed(record)
        world.records.clear()
        telling.tell()

    for _ in range(40):
        ask("hello", status=404)
    for status in (404, 404, 429, 404, 404, 0):
        hear()
        ask("hello", status=status)
    ask("something else", status=404)
    hear()
    assert [(type(item), getattr(item, "what", "") or getattr(item, "text", "")) for item in chat.items] == [
        (UserItem, "hello"),
        (NoteItem, "example answered 404: slow down (42 times)"),
        (NoteItem, "example answered 429: slow down"),
        (NoteItem, "example answered 404: slow down (2 times)"),
        (AnswerItem, "Hello."),
        (UserItem, "something else"),
        (NoteItem, "example answered 404: slow down"),
    ]
