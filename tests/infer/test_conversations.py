"""Which requests belong to one conversation, its turns and steps, what is asked beside it, and what a story is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
from typing_extensions import override

from tests.infer.forms import FORMS, Spoken
from tests.infer.scene import OPENAI, Scene, call, chat_of
from tests.infer.world import MS, ModelTap, World, found_in
from tests.kit.bodies import Answer, Call, Entry, Results, User, dumped
from tui_host.capture.record import Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.story import Story
from tui_host.infer.tap_facts import TapFacts

TOOL: JSON = {"type": "function", "function": {"name": "math__add", "parameters": {"type": "object"}}}
CALLED = Answer("", [call("math__add")])


class Sent(NamedTuple):
    """A request: what was said in turns by the person and the model; its answer, None for a refusal, "…" for one still to come."""

    said: Sequence[str]
    answer: Answer | str | None = Answer("yes")
    tools: bool = True
    result: str = ""

    def pass_through(self, model: ModelTap) -> None:
        """Pass through a tap."""
        roles, exchange = ("user", "assistant"), model.exchange()
        messages: list[JSON] = [{"role": roles[n % 2], "content": text} for n, text in enumerate(self.said)]
        messages += [{"role": "tool", "tool_call_id": "c", "content": self.result}] if self.result else []
        offered: dict[str, JSON] = {"tools": [TOOL]} if self.tools else {}
        draft = Record(wire="llm", kind="request", peer="example", direction="out", exchange=exchange)
        body = dumped({"model": "x", "messages": messages, **offered})
        model.keep(replace(draft, head=Head(method="POST", url=OPENAI.url), data=body))
        if self.answer is None:
            model.refuse(exchange)
        elif isinstance(self.answer, Answer):
            list(model.answer(OPENAI, exchange, self.answer))


ONE = Sent(["one"])
TITLE = Sent(["<session>\none\n</session>\nWrite a title."], tools=False)
SHORT = ["a summary", "yes", "two"]


@pytest.mark.parametrize(
    ("requests", "places"),
    [
        ([ONE, Sent(["one", "yes", "two"])], [(1, 1, None), (2, 1, 0)]),
        ([Sent(["one"], None), Sent(["one"], None), ONE, Sent(["two"])], [(1, 1, None), (1, 1, 0), (1, 1, 1), (2, 1, None)]),
        ([ONE, ONE], [(1, 1, None), (2, 1, None)]),
        ([ONE, Sent(["other", "yes", "two"])], [(1, 1, None), (2, 1, None)]),
        ([ONE, Sent(SHORT), Sent([*SHORT, "yes", "three"])], [(1, 1, None), (2, 1, None), (3, 1, 1)]),
        ([TITLE, ONE, Sent(["two"])], [(1, 1, None), (1, 1, None), (2, 1, None)]),
        ([ONE, TITLE], [(1, 1, None), (1, 1, None)]),
        ([Sent(["one"], "…"), Sent(["is this bad?"], tools=False)], [(1, 1, None), (1, 1, None)]),
        ([Sent(["one"], CALLED), Sent(["sum up a page"], tools=False)], [(1, 1, None), (1, 1, None)]),
        ([ONE, Sent(["two"], tools=False)], [(1, 1, None), (2, 1, None)]),
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
        sent.pass_through(model)
    exchanges = world.story().exchanges
    keys = [exchange.key for exchange in exchanges]
    before = [None if exchange.previous is None else keys.index(exchange.previous) for exchange in exchanges]
    assert [(exchange.turn, exchange.step, before[n]) for n, exchange in enumerate(exchanges)] == places


def test_what_was_joined_before_an_answer_was_whole_is_joined_again_when_it_is() -> None:
    calls = [call("math__add", name) for name in ("c1", "c2")]
    user, answer, told = User("twice"), Answer("", calls), Results([(call, "3") for call in calls])
    for chunks in range(1, len(OPENAI.response(answer)) + 1):
        world, story = World(), Story()
        model = world.model()
        coming = model.answer(OPENAI, model.ask(OPENAI, [user]), answer)
        for _ in range(chunks):
            next(coming)
        model.ask(OPENAI, [user, answer, told])
        early = len(world.records)
        list(coming)
        for number, (_, record) in enumerate(world.records):
            if number == early:
                assert len(story.joined()) <= 2
            story.feed(record)
        assert [len(each.results) for each in story.joined()] == [len(each.results) for each in world.story().joined()]


def test_a_result_that_is_reported_differently_does_not_forbid_a_link() -> None:
    scene, one, words = Scene(), call("math__add"), "add reported an error: invalid structuredContent"
    math = scene.server("math", "add")
    scene.asks("a sum", one)
    scene.runs(math, "add", "30")
    scene.goes_on("a sum", [one], [(one, words)])
    story = scene.world.story()
    (joined,) = story.joined()
    assert ([frame.tool for frame in joined.sent], joined.is_reported_differently) == (["add"], True)
    told = [found.link.words for found in story.links() if found.link.relation == "told"]
    assert told == [f"reported differently: {words}"]
    (shown,) = [item.words for item in chat_of(story) if isinstance(item, CallItem)]
    assert shown == "approved by its host, not here · maybe · reported differently"


ADDED: dict[str, JSON] = {"a": 1, "b": 2}
CHATBOT = 'Choose a tool and answer {"tool": "name", "arguments": {}}.\nTool: math__add'
WRITTEN = '{"tool": "math__add", "arguments": {"a": 1, "b": 2}}'
RENDERED = f"Calling tools:\n[{{'id': 'call_1', 'type': 'function', 'function': {{'name': 'math__add', 'arguments': {ADDED}}}}}]"


class Rewritten(Spoken):
    """A host whose requests are these messages."""

    messages: Sequence[tuple[str, str]] = ()

    @override
    def request(self, entries: Sequence[Entry], system: str = "") -> bytes:
        messages: list[JSON] = [{"role": role, "content": text} for role, text in self.messages]
        return dumped({"model": "gpt-x", "stream": True, "messages": messages})


@pytest.mark.parametrize(
    ("system", "answer", "repeated", "result"),
    [
        (CHATBOT, Answer(WRITTEN), WRITTEN, ("system", "Tool execution result: 3")),
        ("You call.", Answer("I add.", [Call("call_1", "math__add", ADDED)]), f"I add.\n{RENDERED}", ("user", "Observation:\n3")),
    ],
    ids=["result of the system's", "history anew"],
)  # fmt: skip
def test_a_turn_of_a_history_that_its_host_rewrites_stays_one_and_its_result_is_told(
    system: str, answer: Answer, repeated: str, result: tuple[str, str]
) -> None:
    scene, form = Scene(), Rewritten()
    model, math = scene.model, scene.server("math", "add")
    form.messages = [("system", system), ("user", "a sum")]
    exchange = model.ask(form, [])
    scene.world.run(model.answer(form, exchange, answer))
    frame = scene.runs(math, "add", "3")
    scene.world.now += 10 * MS
    form.messages = [*form.messages, ("assistant", repeated), result]
    last = model.ask(form, [])
    story, asked = scene.world.story(), (model.id, exchange, 0)
    assert {each.turn for each in story.exchanges} == {1}
    assert found_in(story) == {("sent", asked, frame), ("told", asked, (model.id, last))}


SECRET = "wonderful-" * 4
REMINDER = "<system-reminder>\nToday is Sunday.\n</system-reminder>"
ASKS = Sent(["What is 6 × 5?"])


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ([ASKS, Sent(["And then?"])], "What is 6 × 5?"),
        ([Sent(["hello"], tools=False), TITLE], "hello"),
        ([TITLE, ASKS], "What is 6 × 5?"),
        ([Sent([f"{REMINDER}\nWhat is 6 × 5?"])], "What is 6 × 5?"),
        ([Sent(["What is 6 × 5?", "I ask."], result="30")], "What is 6 × 5?"),
        ([Sent([REMINDER]), ASKS], "What is 6 × 5?"),
        ([], ""),
        ([Sent(["x" * 200])], "x" * 59 + "…"),
        ([Sent([f"{'x' * 40} {SECRET}, is it good?"])], f"{'x' * 40} ⟨secret:KEY⟩, is i…"),
    ],
)
def test_a_story_is_called_by_what_a_person_asked_first_where_tools_were_told_of(
    asked: Sequence[Sent], question: str
) -> None:
    world, facts = World(), TapFacts(redact=Redactor([("KEY", SECRET)]).text)
    model = world.model()
    for sent in asked:
        sent.pass_through(model)
    for _, record in world.records:
        facts.feed(record)
    assert facts.question == question


def test_a_question_stands_before_what_its_own_request_repeats() -> None:
    world = World()
    Sent(["What is 6 × 5?", "I ask."], result="30").pass_through(world.model())
    kinds = [type(item) for item in chat_of(world.story())]
    assert kinds == [NoteItem, UserItem, AnswerItem, AnswerItem]


@pytest.mark.parametrize("name", FORMS)
def test_a_request_says_the_same_whatever_was_read_before_it(name: str) -> None:
    form, call = FORMS[name], Call("id-1", "math__add", {"a": 1, "b": 2})
    talk: list[Entry] = [
        User("one?"),
        Answer("", [call]),
        Results([(call, "7 é\n")]),
        Answer("three"),
        User("and four?"),
    ]
    bodies = [form.request(talk[:count]) for count in (1, 3, 5)]
    bodies += [form.request([User("two?"), *talk[1:3]]), bodies[2], bodies[2].replace(b"{", b"{ ", 1), b"[", b"{}"]
    bodies += [bodies[1][:-1] + b',"messages":[{"role":"user","content":"once more"}]}', bodies[2]]
    reader = RequestReader()
    for body in bodies:
        assert reader.read(body) == RequestReader().read(body)
    messages = reader.read(bodies[-1]).messages
    assert [message.role for message in messages] == ["user", "model", "user", "model", "user"]
    texts = [part for message in messages for part in message.of("text")]
    assert all(bodies[-1][part.start : part.end].decode().startswith('"') for part in texts)
