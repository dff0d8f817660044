"""Which requests belong to one conversation, its turns and steps, and what is asked beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pytest
from typing_extensions import override

from tests.infer.forms import FORMS, Spoken
from tests.infer.scene import OPENAI, Scene, call, chat_of
from tests.infer.world import MS, ModelTap, World, found_in
from tests.kit.bodies import Answer, Call, Entry, Results, User, dumped
from tui_host.capture.record import Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.conversation import CallItem
from tui_host.errors import JSON
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.story import Story
from tui_host.infer.tap_facts import TapFacts
from tui_host.llm.dialects.table import dialect_at

TOOL: JSON = {"type": "function", "function": {"name": "math__add", "parameters": {"type": "object"}}}
CALLED = Answer("", [call("math__add")])
TITLE = "<session>\none\n</session>\nWrite a title."


class Sent(NamedTuple):
    """A request: what was said in turns by the person and the model; its answer, None for a refusal, "…" for one still to come."""

    said: Sequence[str]
    answer: Answer | str | None = Answer("yes")
    tools: bool = True


@pytest.mark.parametrize(
    ("requests", "places"),
    [
        ([Sent(["one"]), Sent(["one", "yes", "two"])], [(1, 1, None), (2, 1, 0)]),
        ([Sent(["one"], None), Sent(["one"], None), Sent(["one"]), Sent(["two"])], [(1, 1, None), (1, 1, 0), (1, 1, 1), (2, 1, None)]),
        ([Sent(["one"]), Sent(["one"])], [(1, 1, None), (2, 1, None)]),
        ([Sent(["one"]), Sent(["other", "yes", "two"])], [(1, 1, None), (2, 1, None)]),
        ([Sent(["one"]), Sent(["a summary", "yes", "two"]), Sent(["a summary", "yes", "two", "yes", "three"])], [(1, 1, None), (2, 1, None), (3, 1, 1)]),
        ([Sent([TITLE], tools=False), Sent(["one"]), Sent(["two"])], [(1, 1, None), (1, 1, None), (2, 1, None)]),
        ([Sent(["one"]), Sent([TITLE], tools=False)], [(1, 1, None), (1, 1, None)]),
        ([Sent(["one"], "…"), Sent(["is this bad?"], tools=False)], [(1, 1, None), (1, 1, None)]),
        ([Sent(["one"], CALLED), Sent(["sum up a page"], tools=False)], [(1, 1, None), (1, 1, None)]),
        ([Sent(["one"]), Sent(["two"], tools=False)], [(1, 1, None), (2, 1, None)]),
    ],
    ids=[
        "goes on", "again and again", "asked once more", "another answer", "made shorter", "a title first", "a title behind", "beside a running answer",
        "beside running calls", "without tools later",
    ],
)  # fmt: skip
def test_a_request_continues_the_one_whose_messages_it_begins_with(
    requests: Sequence[Sent], places: Sequence[tuple[int, int, int | None]]
) -> None:
    """Turn, step, and the number of the request before."""
    world = World()
    model = world.model()
    for sent in requests:
        world.now += 100 * MS
        roles = ("user", "assistant")
        messages: list[JSON] = [{"role": roles[n % 2], "content": text} for n, text in enumerate(sent.said)]
        offered: dict[str, JSON] = {"tools": [TOOL]} if sent.tools else {}
        exchange = model.exchange()
        draft = Record(wire="llm", kind="request", peer="example", direction="out", exchange=exchange)
        head = Head(method="POST", url=OPENAI.url)
        model.keep(replace(draft, head=head, data=dumped({"messages": messages, **offered})))
        if sent.answer is None:
            model.refuse(exchange)
        elif isinstance(sent.answer, Answer):
            world.run(model.answer(OPENAI, exchange, sent.answer))
    exchanges = world.story().exchanges
    keys = [each.key for each in exchanges]
    before = [None if each.previous is None else keys.index(each.previous) for each in exchanges]
    assert [(each.turn, each.step, before[n]) for n, each in enumerate(exchanges)] == places


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


def test_a_result_that_is_reported_differently_does_not_forbid_a_link() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    one = call("math__add")
    scene.asks("a sum", one)
    scene.runs(math, "add", "30")
    scene.goes_on("a sum", [one], [(one, "add reported an error: invalid structuredContent")])
    story = scene.world.story()
    (joined,) = story.joined()
    assert ([frame.tool for frame in joined.sent], joined.is_reported_differently) == (["add"], True)
    told = [found.link.words for found in story.links() if found.link.relation == "told"]
    assert told == ["reported differently: add reported an error: invalid structuredContent"]
    assert [item.words for item in chat_of(story) if isinstance(item, CallItem)] == [
        "approved by its host, not here · maybe · reported differently"
    ]


# A history that its host rewrites.


ADDED: dict[str, JSON] = {"a": 1, "b": 2}
CHATBOT = 'Choose a tool and answer {"tool": "name", "arguments": {}}.\nTool: math__add'
WRITTEN = '{"tool": "math__add", "arguments": {"a": 1, "b": 2}}'
RENDERED = "Calling tools:\n[{'id': 'call_1', 'type': 'function', 'function': {'name': 'math__add', 'arguments': {'a': 1, 'b': 2}}}]"


class Rewritten(Spoken):
    """A host whose requests are these messages."""

    def __init__(self, *messages: tuple[str, str]) -> None:
        super().__init__()
        self._messages = messages

    @override
    def request(self, entries: Sequence[Entry], system: str = "") -> bytes:
        del entries, system
        messages: list[JSON] = [{"role": role, "content": text} for role, text in self._messages]
        return dumped({"model": "gpt-x", "stream": True, "messages": messages})


@pytest.mark.parametrize(
    ("system", "answer", "repeated", "result"),
    [
        (CHATBOT, Answer(WRITTEN), WRITTEN, ("system", "Tool execution result: 3")),
        ("You call tools.", Answer("I add.", [Call("call_1", "math__add", ADDED)]), f"I add.\n{RENDERED}", ("user", "Observation:\n3")),
    ],
    ids=["result of the system's", "history anew"],
)  # fmt: skip
def test_a_turn_stays_one_and_its_result_is_told(
    system: str, answer: Answer, repeated: str, result: tuple[str, str]
) -> None:
    world = World()
    model, math = world.model(), world.server("math")
    math.start(["add"])
    before = (("system", system), ("user", "a sum"))
    form = Rewritten(*before)
    exchange = model.ask(form, [])
    world.run(model.answer(form, exchange, answer))
    world.now += 10 * MS
    identity, seq = math.call("add", ADDED)
    world.now += 10 * MS
    math.result(identity, "3")
    world.now += 10 * MS
    last = model.ask(Rewritten(*before, ("assistant", repeated), result), [])
    story, call = world.story(), (model.id, exchange, 0)
    assert {each.turn for each in story.exchanges} == {1}
    assert found_in(story) == {("sent", call, (math.id, seq)), ("told", call, (model.id, last))}


# What a story is called.


SECRET = "wonderful-" * 4
REMINDER = "<system-reminder>\nToday is Sunday.\n</system-reminder>"
URL = "https://api.example/v1/chat/completions"
FIRST_TOOL: JSON = {"type": "function", "function": {"name": "math__add", "parameters": {}}}


@dataclass(frozen=True)
class FirstAsked:
    """A request: what the person says, and the model in turn; with the vendor's tools, or without any."""

    said: Sequence[str]
    tools: bool = True
    result: str = ""

    @property
    def body(self) -> bytes:
        messages: list[JSON] = [
            {"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(self.said)
        ]
        messages += [{"role": "tool", "tool_call_id": "c", "content": self.result}] if self.result else []
        return dumped({"model": "x", "messages": messages, **({"tools": [FIRST_TOOL]} if self.tools else {})})


def asking(*asked: FirstAsked, chunks: int = 1) -> World:
    """A tap through which this is asked, each answered in so many pieces."""
    world = World()
    model = ModelTap(world, "tap")
    for each in asked:
        exchange, head = model.exchange(), Head(method="POST", url=URL)
        model.keep(Record(wire="llm", kind="request", peer="x", exchange=exchange, head=head, data=each.body))
        list(model.answer(FORMS["openai"], exchange, Answer("word " * chunks)))
    return world


def question_in(world: World, redactor: Redactor) -> str:
    """The question that a world's requests are called by."""
    facts = TapFacts(redact=redactor.text)
    for _, record in world.records:
        facts.feed(record)
    return facts.question


FIRST_TITLE = FirstAsked(["Name this conversation in a few words."], tools=False)


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ([FirstAsked(["What is 6 × 5?"])], "What is 6 × 5?"),
        ([FirstAsked(["What is 6 × 5?"]), FirstAsked(["And then?"])], "What is 6 × 5?"),
        ([FirstAsked(["hello"], tools=False), FIRST_TITLE], "hello"),
        ([FirstAsked([f"{REMINDER}\nWhat is 6 × 5?"])], "What is 6 × 5?"),
        ([FirstAsked(["What is 6 × 5?", "I ask."], result="30")], "What is 6 × 5?"),
        ([FirstAsked([REMINDER]), FirstAsked(["What is 6 × 5?"])], "What is 6 × 5?"),
        ([], ""),
        ([FirstAsked(["x" * 200])], "x" * 59 + "…"),
        ([FirstAsked([f"my key is {SECRET}, is it good?"])], "my key is ⟨secret:KEY⟩, is it good?"),
        ([FirstAsked([f"{'x' * 40} {SECRET}"])], f"{'x' * 40} ⟨secret:KEY⟩"),
    ],
)
def test_a_story_is_called_by_what_a_person_asked_first_where_tools_were_told_of(
    asked: Sequence[FirstAsked], question: str
) -> None:
    assert question_in(asking(*asked), Redactor([("KEY", SECRET)])) == question


@pytest.mark.parametrize("name", FORMS)
def test_a_request_says_the_same_whatever_was_read_before_it(name: str) -> None:
    form = FORMS[name]
    dialect = dialect_at(form.url)
    assert dialect is not None
    call = Call("id-1", "math__add", {"a": 1, "b": 2})
    other = Call("id-2", "math__add", {"a": 3, "b": 4})
    talk: list[Entry] = [User("one?"), Answer("", [call]), Results([(call, "3")]), Answer("three"), User("and four?")]
    talk += [Answer("Let me see.", [other]), Results([(other, "7 é\n")]), Answer("seven")]
    bodies = [form.request(talk[:count]) for count in (1, 3, 5, 7)]
    bodies += [form.request([User("two?"), *talk[1:3]]), bodies[2], bodies[2].replace(b"{", b"{ ", 1), b"[", b"{}"]
    bodies += [bodies[3][:-1] + b',"messages":[{"role":"user","content":"once more"}]}', bodies[3]]
    hearing = RequestReader()
    for body in bodies:
        assert hearing.read(body) == RequestReader().read(body)
    last = hearing.read(bodies[-1])
    whole = RequestReader().read(bodies[-1])
    for message in last.messages:
        for piece in message.of("text"):
            assert bodies[-1][piece.start : piece.end].decode().startswith('"')
    assert [message.role for message in whole.messages] == ["user", "model"] * 3 + ["user"]
