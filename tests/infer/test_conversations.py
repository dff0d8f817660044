"""Which requests belong to one conversation, its turns and steps, and what is asked beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from typing_extensions import override

from tests.infer.forms import FORMS, Form, Spoken
from tests.infer.scene import OPENAI, Scene, call, chat_of
from tests.infer.world import MS, ModelTap, World, found_in
from tests.kit.bodies import Answer, Call, Entry, Results, User, dumped
from tui_host.capture.record import Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.conversation import CallItem, Conversation, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat
from tui_host.infer.tap_facts import TapFacts
from tui_host.llm.dialects.table import dialect_at

ONE = call("math__add")
TOLD = [User("a sum"), Answer("", [ONE]), Results([(ONE, "3")])]
SUMS = [*TOLD, Answer("It is 3."), User("another")]


class Asked:
    """A model that is asked, and in the end the numbers of the requests with which each one is compared."""

    def __init__(self) -> None:
        self.world = World()
        self.model = self.world.model()

    def ask(
        self, entries: list[Entry], answer: Answer | None = None, *, model: ModelTap | None = None, form: Form = OPENAI
    ) -> None:
        """A request, and its answer; it is refused if there is none."""
        model = model or self.model
        self.world.now += 100 * MS
        exchange = model.ask(form, entries)
        if answer is None:
            model.refuse(exchange)
        else:
            self.world.run(model.answer(form, exchange, answer))

    def before(self) -> list[int | None]:
        """Of each request, from 0."""
        said = self.world.story().exchanges
        keys = [each.key for each in said]
        return [None if each.previous is None else keys.index(each.previous) for each in said]


def test_what_a_host_asks_beside_its_conversation_is_not_what_that_is_compared_with() -> None:
    asked = Asked()
    asked.ask([User("a title for: a sum")], Answer("Sums"))
    asked.ask([*TOLD[:1]], Answer("", [ONE]))
    asked.ask([User("is this a new topic?")])
    asked.ask([*TOLD], Answer("It is 3."))
    asked.ask([User("a title for: another")], Answer("Sums"))
    asked.ask([*SUMS], Answer("Yes."))
    assert asked.before() == [None, None, None, 1, None, 3]


# Turns and steps.


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


# Beside it.


TOOL: JSON = {"type": "function", "function": {"name": "math__add", "parameters": {"type": "object"}}}
TITLE = "<session>\n{}\n</session>\nWrite a title."


class Host:
    """One that offers tools with what a person asks, and none with what it asks itself."""

    def __init__(self) -> None:
        self.world = World()
        self.chat = Conversation()
        self._model = self.world.model()
        self._story = Story()
        self._telling = StoryChat(self._story, self.chat)

    def ask(self, *said: str, tools: bool = True, agent: str = "", later: int = 100) -> str:
        """A request: what was said in turns by the person and the model."""
        self.world.now += later * MS
        messages: list[JSON] = [
            {"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(said)
        ]
        offered: dict[str, JSON] = {"tools": [TOOL]} if tools else {}
        exchange = self._model.exchange()
        headers = (("content-type", "application/json"), ("user-agent", agent))
        head = Head(method="POST", url=OPENAI.url, headers=headers)
        draft = Record(wire="llm", kind="request", peer="example", direction="out", exchange=exchange, head=head)
        self._model.keep(replace(draft, data=dumped({"messages": messages, **offered})))
        return exchange

    def title(self, text: str, *, later: int = 1) -> str:
        """It asks for one."""
        return self.ask(TITLE.format(text), tools=False, later=later)

    def refuse(self, exchange: str) -> None:
        """No answer."""
        self._model.refuse(exchange)

    def answer(self, exchange: str, text: str) -> None:
        """An answer, whole."""
        self.world.run(self._model.answer(OPENAI, exchange, Answer(text)))

    def hear(self) -> Sequence[tuple[int, int]]:
        """Turn and step of each request by now; the chat is told."""
        for _, record in self.world.records:
            self._story.feed(record)
        self.world.records.clear()
        self._telling.tell()
        return [(said.turn, said.step) for said in self._story.exchanges]


@pytest.mark.parametrize("hears", [True, False])
def test_a_title_that_is_asked_for_before_or_behind_a_question_stands_in_its_turn(*, hears: bool) -> None:
    host = Host()
    for text in ("hello one", "hello two"):
        first = host.title(text) if text == "hello one" else ""
        if hears:
            host.hear()
        question = host.ask(text)
        title = first or host.title(text)
        host.refuse(title)
        host.answer(question, f"Yes: {text}.")
    assert host.hear() == [(1, 1), (1, 1), (2, 1), (2, 1)]
    assert [item.text for item in host.chat.items if isinstance(item, UserItem)] == ["hello one", "hello two"]
    notes = [item.what for item in host.chat.items if isinstance(item, NoteItem)]
    assert len([what for what in notes if what.startswith('the host asks beside it: "<session>')]) == 2


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
        assert hearing.read(dialect, body) == RequestReader().read(dialect, body)
    last = hearing.read(dialect, bodies[-1])
    whole = RequestReader().read(dialect, bodies[-1])
    for message in last.messages:
        for piece in message.of("text"):
            assert bodies[-1][piece.start : piece.end].decode().startswith('"')
    assert [message.role for message in whole.messages] == ["user", "model"] * 3 + ["user"]
