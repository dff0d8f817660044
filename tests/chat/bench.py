"""A session with what its turns work with: real providers over sockets; servers that are a double, so that they can misbehave."""

import json
import re
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from operator import add, mul
from pathlib import Path
from typing import TypeVar

import anyio
from typing_extensions import override

from tests.capture.wires import undone
from tests.kit import bodies
from tests.kit.bodies import Call
from tests.kit.peer import PATIENCE, head
from tui_host.answers.chain_page import CallStep, ChainReader
from tui_host.answers.wires import RecordedWires
from tui_host.capture.http.exchange_end import fold_exchanges
from tui_host.capture.link import Link, Relation, read_link
from tui_host.capture.record import Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.conversation import NoteItem
from tui_host.chat.policy import Approver, Policy, Question, Refuse
from tui_host.chat.result_words import text_of
from tui_host.chat.session import Session
from tui_host.chat.step import Services
from tui_host.chat.turn import Turn
from tui_host.chat.turn_result import TurnResult
from tui_host.errors import JSON, ServerError
from tui_host.llm.messages import Text, ToolCall, ToolResult
from tui_host.llm.model_client import ModelClient
from tui_host.servers.catalog import CallProgress, ContentBlock, ServerStatus, Tool, ToolOutput
from tui_host.settings.schema import ModelRef, Provider, Settings, Template, TurnLimits

T = TypeVar("T")
NUMBER: JSON = {"type": "number"}
NUMBERS: JSON = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]}
OPERATIONS: dict[str, Callable[[float, float], float]] = {"add": add, "multiply": mul, "divide": lambda a, b: a / b}
SUM = ("math__add", '{"a":6,"b":5}')
SECRET = "hunter2-hunter2"  # noqa: S105 - one that the tests give away


def adding(name: str, description: str = "") -> Tool:
    description = description or f"{name} two numbers"
    return Tool(server="math", name=name, schema=NUMBERS, fingerprint=f"{name} {description}", description=description)


@dataclass(slots=True)
class Sums:
    """Servers as the turn loop sees them: a pool's methods, with what the one server does."""

    sent: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    gives: ToolOutput | None = None
    instructing: tuple[tuple[str, str], ...] = ()
    fault: ServerError | None = None
    hangs: bool = False
    began: anyio.Event = field(default_factory=anyio.Event)
    connects: bool = False
    lists: Callable[[], bool] | None = None  # lists the changed tools that were announced; whether they came in time
    offered: list[Tool] = field(default_factory=lambda: list(map(adding, OPERATIONS)))

    def tools(self) -> tuple[Tool, ...]:
        return tuple(self.offered)

    def instructions(self) -> tuple[tuple[str, str], ...]:
        return self.instructing

    def statuses(self) -> tuple[ServerStatus, ...]:
        return (ServerStatus(name="math", state="ready", connection="math#1", tools=self.tools()),)

    async def listed(self, seconds: float) -> None:
        """Nothing is to be listed."""

    def has_current_tools(self, server: str) -> bool:
        del server
        return self.lists is None

    async def listed_again(self, server: str) -> bool:
        del server
        lists, self.lists = self.lists, None
        return lists is None or lists()

    async def settled(self, seconds: float, wants: Callable[[str], bool]) -> tuple[str, ...]:
        if not self.connects or not wants("math"):
            return ()
        self.began.set()
        await anyio.sleep(seconds)
        return ("math",)

    async def call(
        self,
        server: str,
        tool: str,
        arguments: bytes,
        *,
        fingerprint: str,
        on_progress: Callable[[CallProgress], None],
        **_: object,
    ) -> ToolOutput:
        found = next(each for each in self.offered if each.name == tool)
        assert found.fingerprint == fingerprint, "what was decided on is what is there"
        if self.fault is not None:
            raise self.fault
        self.sent.append((f"{server}.{tool}", arguments))
        on_progress(CallProgress(progress=1, total=2, message="half of it"))
        self.began.set()
        value = json.loads(arguments)
        if self.hangs or value.get("a") == "hang":
            await anyio.sleep_forever()
        return self.gives or text_output(f"{OPERATIONS[tool](value['a'], value['b']):g}")


def text_output(text: str) -> ToolOutput:
    return ToolOutput(
        content=(ContentBlock(kind="text", text=text),), raw={"content": [{"type": "text", "text": text}]}
    )


class Answers(Refuse):
    """Answers each question by a function, until `limit` are answered."""

    def __init__(self, answer: Callable[[Question], object], *, limit: int = 1000) -> None:
        self._answer = answer
        self._limit = limit
        self.seen: list[Question] = []
        self.portions: list[tuple[int, int]] = []  # how many questions were put together, and how many were to come

    @override
    async def decide(self, questions: Sequence[Question]) -> None:
        self.portions.append((len(questions), questions[0].later))
        for question in questions:
            if len(self.seen) < self._limit:
                self.seen.append(question)
                self._answer(question)


class Silent(Refuse):
    def __init__(self) -> None:
        self.asked = anyio.Event()

    @override
    async def decide(self, questions: Sequence[Question]) -> None:
        del questions
        self.asked.set()
        await anyio.sleep_forever()


@dataclass(slots=True)
class Bench:
    services: Services
    session: Session
    pool: Sums
    recorder: Recorder

    async def ask(self, text: str) -> TurnResult:
        self.session.begin_turn(text)
        return await self.again()

    async def again(self) -> TurnResult:
        with anyio.fail_after(PATIENCE):
            return await Turn(self.services, self.session).run()

    @asynccontextmanager
    async def asking(self, text: str) -> AsyncGenerator[Turn]:
        """A turn at work in the background; it has ended when the block has."""
        self.session.begin_turn(text)
        turn = Turn(self.services, self.session)
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(turn.run)
                yield turn

    def speaking(self, dialect: str = "openai", **limits: int) -> None:
        plain = self.services.provider

        async def find(model: ModelRef) -> Provider:
            return replace(await plain(model), dialect=dialect)

        self.services.provider = find
        self.services.settings = replace(self.services.settings, limits=TurnLimits(**limits))

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await anyio.sleep(0.001)

    def items(self, kind: type[T]) -> list[T]:
        return [item for item in self.session.conversation if isinstance(item, kind)]

    def notes(self) -> list[str]:
        return [f"{note.what} / {note.remedy}" for note in self.items(NoteItem)]

    def parts(self, kind: type[T]) -> list[T]:
        return [part for message in self.session.messages for part in message.parts if isinstance(part, kind)]

    def said(self) -> list[tuple[str, str]]:
        """The texts of the history: who, and what."""
        messages = self.session.messages
        return [(each.role, part.text) for each in messages for part in each.parts if isinstance(part, Text)]

    def told(self) -> list[str]:
        return [text_of(part) for part in self.parts(ToolResult)]

    @property
    def records(self) -> Sequence[Record]:
        return self.recorder.since(0)

    def requests(self) -> list[bytes]:
        return [record.data for record in self.records if record.kind == "request"]

    def decisions(self) -> list[dict[str, JSON]]:
        return [json.loads(record.data) for record in self.records if record.kind == "decision"]

    def links(self) -> list[Link]:
        found = (read_link(record.data) for record in self.records if record.kind == "link")
        return [link for link in found if link is not None]

    def linked(self, relation: Relation) -> list[bytes]:
        """The bytes that links of one kind name, in order."""
        exchanges = fold_exchanges(self.records)
        links = [link for link in self.links() if link.relation == relation]
        wholes = [undone(exchanges["c1", link.span.exchange or ""], link.span.side) for link in links]
        return [b"".join(link.span.pieces(whole)) for link, whole in zip(links, wholes, strict=True)]


def made(url: str, tmp_path: Path, *, approver: Approver | None = None, policy: Policy | None = None) -> Bench:
    recorder = Recorder(None, Redactor([("PASSWORD", SECRET)]), capture="c1")
    pool = Sums()
    provider = Provider(name="demo", base_url=Template(text=url, literal=True))

    async def find(_: ModelRef) -> Provider:
        return provider

    services = Services(
        settings=Settings(config_dir=tmp_path, data_dir=tmp_path, limits=TurnLimits(steps=6, retries=0)),
        recorder=recorder,
        pool=pool,  # pyright: ignore[reportArgumentType] - the double has what the turn uses
        client=ModelClient(recorder, {}),
        provider=find,
        approver=approver or Refuse(),
        clock=time.monotonic,
    )
    return Bench(services, session_of(policy or Policy(())), pool, recorder)


def session_of(policy: Policy) -> Session:
    model = ModelRef(provider="demo", model="openai")
    return Session(id="s1", source="ask", created_ns=1, model=model, protocol="native", policy=policy)


def asks(*called: tuple[str, str], text: str = "", finish: str = "") -> list[bytes]:
    made = [Call(f"w{number}", name, {}, arguments) for number, (name, arguments) in enumerate(called)]
    return bodies.says("openai", bodies.Answer(text, made, stop=finish))


def says(text: str, finish: str = "") -> list[bytes]:
    return bodies.says("openai", bodies.Answer(text, stop=finish))


def refuses(status: str, message: str = "", more: str = "") -> list[bytes]:
    body = json.dumps({"error": {"message": message}}).encode() if message else b""
    return [head(status, kind="application/json", more=more), body]


def chain(at: Bench, number: str = "1.1.1", dialect: str = "openai") -> dict[str, CallStep]:
    provider = Provider(name="demo", base_url=Template(text=""), dialect=dialect)
    found = ChainReader(RecordedWires(at.records, {"demo": provider}), number).chain()
    assert found is not None
    return {step.happened: step for step in found.steps}


# What holds whatever happened.

FOLLOWS = {"system": {""}, "user": {"", "system", "assistant"}, "assistant": {"user", "tool"}}
"""What a message may stand behind, by its role, at the strictest of the services."""


def check_requests(bodies: Sequence[bytes]) -> None:
    for messages in (value["messages"] for value in map(json.loads, bodies) if "stream_options" in value):
        waiting: list[str] = []
        before = ""
        for message in messages:
            role = message["role"]
            assert not waiting or role == "tool", "a call without its result"
            if role == "tool":
                assert message["tool_call_id"] == waiting.pop(0)
                assert message["content"]
            else:
                is_images = before == "tool" and isinstance(message["content"], list)
                assert is_images or before in FOLLOWS[role]
                asked = message.get("tool_calls", [])
                assert message["content"] or asked
                waiting = [call["id"] for call in asked]
                assert len(set(waiting)) == len(waiting)
                assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in asked)
            before = role
        assert not waiting
        assert before in {"user", "tool"}, "an answer is asked for"


def check_links(at: Bench) -> None:
    """The bytes that each link names are exactly the call's, or its result's, in what is kept."""
    kept = at.recorder.redactor.text
    calls = at.parts(ToolCall)
    known, results = {call.id: call for call in calls}, {part.call.id: part for part in at.parts(ToolResult)}
    assert len(known) == len(calls), "a call's id is its own"
    links = [link for link in at.links() if link.relation in {"asked", "told"}]
    if at.session.protocol == "native":  # those of plain text are looked at where they are made
        told, asked = at.linked("told"), at.linked("asked")
        for link in links:
            if link.relation == "told":
                said = json.loads(told.pop(0))
                text = re.sub("[\ud800-\udfff]", "\ufffd", kept(text_of(results[link.call])))
                assert (said["role"], said["content"].startswith(text)) == ("tool", True)
            elif link.call in known:
                assert call_in(asked.pop(0)) == (kept(known[link.call].name), kept(known[link.call].arguments))
    of_calls = [link.call for link in links if link.relation == "asked"]
    assert len(set(of_calls)) == len(of_calls), "one link for each call"
    assert set(known) <= set(of_calls)


def call_in(events: bytes) -> tuple[str, str]:
    """Name and arguments of the call that these bytes are: events with nothing else, or a call alone."""
    name = arguments = ""
    for line in events.splitlines():
        value = json.loads(line.removeprefix(b"data: ") or b"{}")
        for choice in value.get("choices", ()):
            (value,) = choice["delta"]["tool_calls"]
        function = value.get("function", {})
        name += function.get("name", "")
        arguments += function.get("arguments", "")
    return name, arguments
