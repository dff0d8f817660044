"""What the chat of a tapped conversation says beside what was said in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

import pytest

from tests.infer.forms import FORMS, Answer, Call, Results, User
from tests.infer.world import MS, ModelTap, World
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import Draft, Head
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.infer.story import Story
from tui_host.infer.story_chat import Telling, doubts_of

OPENAI = FORMS["openai"]
SSE = Head(headers=(("content-type", "text/event-stream"),))


def told(world: World) -> tuple[Story, list[Item]]:
    """All that was recorded, and its chat."""
    story, chat = Story(), Conversation()
    for _, record in world.records:
        story.feed(record)
    Telling(story, chat).tell()
    return story, list(chat.items)


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


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([1, 1], "math #1 (2 of them)"),
        ([2, 1], "math #1 (2 of them), math #2"),
        ([6, 1], "math #1 (2 of them), math #2, math #3, math #4 +2 more"),
    ],
)
def test_frames_of_the_same_server_and_number_are_named_once(times: list[int], words: str) -> None:
    world, asked = World(), [User("one and two, again and again")]
    model = world.model()
    servers = [world.server("math") for _ in times]
    for server in servers:
        server.start(["add"])
    arguments: Mapping[str, JSON] = {"a": 1, "b": 2}
    calls = [Call(f"c{number}", "math__add", arguments) for number in range(sum(times))]
    list(model.answer(OPENAI, model.ask(OPENAI, asked), Answer("", calls)))
    for server, count in zip(servers, times, strict=True):
        for _ in range(count):
            world.now += 50 * MS
            server.result(server.call("add", arguments)[0], "3")
    said = {item.words for item in told(world)[1] if isinstance(item, CallItem)}
    assert said == {f"doubtful which of {words} carried it: not joined"}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ([2], "call 1 or 2 of turn 1 step 1"),
        ([3], "call 1, 2 or 3 of turn 1 step 1"),
        ([6], "call 1, 2, 3 or 4 of turn 1 step 1, or another"),
        ([1, 1], "call 1 of turn 1 step 1 or call 1 of turn 2 step 1"),
    ],
)
def test_a_frame_that_nothing_tells_whose_it_is_names_the_calls_that_it_may_carry(
    asked: Sequence[int], words: str
) -> None:
    world = World()
    model, math = world.model(), world.server("math")
    math.start(["add"])
    arguments: Mapping[str, JSON] = {"a": 1, "b": 2}
    for talk, count in enumerate(asked):  # several at once are conversations side by side
        calls = [Call(f"{talk} {number}", "math__add", arguments) for number in range(count)]
        list(model.answer(OPENAI, model.ask(OPENAI, [User(f"question {talk}")]), Answer("", calls)))
    for _ in range(sum(asked)):
        world.now += 50 * MS
        math.result(math.call("add", arguments)[0], "3")
    assert set(doubts_of(told(world)[0]).values()) == {words}


def test_what_two_conversations_say_in_turns_says_to_which_it_belongs() -> None:
    world, chat = World(), Conversation()
    model, story = world.model(), Story()
    telling = Telling(story, chat)
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


def test_one_conversation_needs_no_word_on_what_belongs_to_what() -> None:
    world = World()
    model = world.model()
    entries: list[User | Answer] = []
    for number in range(3):
        entries.append(User(f"question {number}"))
        exchange = model.ask(OPENAI, entries)
        entries.append(Answer(f"answer {number}"))
        world.now += 100 * MS
        list(model.answer(OPENAI, exchange, Answer(f"answer {number}")))
        world.now += 100 * MS
    assert not [item for item in told(world)[1] if isinstance(item, NoteItem)]


def test_what_failed_in_the_same_way_several_times_in_a_row_is_one_line_with_their_number() -> None:
    world, chat, story = World(), Conversation(), Story()
    model, telling = world.model(), Telling(story, chat)

    def ask(text: str, *, status: int = 0) -> None:
        world.now += 100 * MS
        exchange = model.ask(OPENAI, [User(text)])
        model.refuse(exchange, status) if status else list(model.answer(OPENAI, exchange, Answer("Hello.")))

    def hear() -> None:
        for _, record in world.records:
            story.feed(record)
        world.records.clear()
        telling.tell()

    for _ in range(1_089):
        ask("hello", status=404)
    for status in (404, 404, 429, 404, 404, 0):
        hear()
        ask("hello", status=status)
    ask("something else", status=404)
    hear()
    assert [(type(item), getattr(item, "what", "") or getattr(item, "text", "")) for item in chat.items] == [
        (UserItem, "hello"),
        (NoteItem, "example answered 404: slow down (1,091 times)"),
        (NoteItem, "example answered 429: slow down"),
        (NoteItem, "example answered 404: slow down (2 times)"),
        (AnswerItem, "Hello."),
        (UserItem, "something else"),
        (NoteItem, "example answered 404: slow down"),
    ]
