"""The turn loop against the demo model over a real socket; the servers are a double that computes, so that it can misbehave."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import anyio
import pytest

from tui_host.capture.recorder import Recorder
from tui_host.capture.redact import Redactor
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.chat.policy import Approver, Policy, Question, Refuse
from tui_host.chat.services import Services
from tui_host.chat.session import Session
from tui_host.chat.turn import Turn, TurnResult
from tui_host.errors import ServerError
from tui_host.llm.messages import ToolResult
from tui_host.llm.model import ModelClient
from tui_host.servers.catalog import Content, Tool, ToolOutput
from tui_host.settings.schema import ModelRef, Provider, Settings, Template

NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}


@dataclass(slots=True)
class Sums:
    """Servers as the turn loop sees them."""

    sent: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    fails: bool = False
    hangs: bool = False
    began: anyio.Event = field(default_factory=anyio.Event)

    def tools(self) -> tuple[Tool, ...]:
        return tuple(Tool(server="math", name=name, schema=NUMBERS, fingerprint=name) for name in OPERATIONS)

    async def settled(self, _seconds: float) -> tuple[str, ...]:
        return ()

    async def call(self, server: str, tool: str, arguments: bytes, **_: object) -> ToolOutput:
        self.sent.append((f"{server}.{tool}", arguments))
        self.began.set()
        if self.hangs:
            await anyio.sleep_forever()
        if self.fails:
            raise ServerError("server ended (exit 3)", where=server)
        value = json.loads(arguments)
        text = f"{OPERATIONS[tool](value['a'], value['b']):g}"
        return ToolOutput(content=(Content(kind="text", text=text),), raw={"content": [{"type": "text", "text": text}]})


class Answers:
    """Answers each question by a function."""

    def __init__(self, answer: Callable[[Question], object]) -> None:
        self._answer = answer
        self.seen: list[Question] = []

    async def decide(self, questions: Sequence[Question]) -> None:
        self.seen.extend(questions)
        for question in questions:
            self._answer(question)


@pytest.fixture(scope="module")
def demo_url() -> Iterator[str]:
    command = [sys.executable, "-m", "tui_host.demo.model", "--pace", "0", "--lifeline"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["dialects"]["openai"]
        process.terminate()


@dataclass(slots=True)
class Bench:
    """One session and what its turns work with."""

    services: Services
    session: Session
    pool: Sums
    recorder: Recorder

    async def ask(self, text: str) -> TurnResult:
        self.session.begin_turn(text)
        with anyio.fail_after(20):
            return await Turn(self.services, self.session).run()

    def items(self, kind: type) -> list[object]:
        return [item for item in self.session.conversation.items if isinstance(item, kind)]


def made(url: str, tmp_path: Path, approver: Approver | None, *, yes: bool) -> Bench:
    recorder = Recorder(None, Redactor(), capture="c1")
    pool = Sums()
    provider = Provider(name="demo", base_url=Template(text=url, literal=True))

    async def find(name: str) -> Provider:
        return provider

    services = Services(
        settings=Settings(config_dir=tmp_path, data_dir=tmp_path),
        recorder=recorder,
        pool=pool,  # pyright: ignore[reportArgumentType] - the double has what the turn uses
        client=ModelClient(recorder, {}),
        provider=find,
        approver=approver or Refuse(),
        clock=time.monotonic,
        started=time.monotonic(),
    )
    session = Session(
        id="s1",
        source="ask",
        created_ns=1,
        model=ModelRef(provider="demo", model="openai"),
        protocol="native",
        policy=Policy((), allow_all=yes),
    )
    return Bench(services, session, pool, recorder)


class Make(Protocol):
    def __call__(self, *, approver: Approver | None = None, yes: bool = False) -> Bench: ...


@pytest.fixture
async def bench(demo_url: str, tmp_path: Path) -> AsyncIterator[Make]:
    benches: list[Bench] = []

    def make(*, approver: Approver | None = None, yes: bool = False) -> Bench:
        benches.append(made(demo_url, tmp_path, approver, yes=yes))
        return benches[-1]

    yield make
    for at in benches:
        await at.services.client.aclose()


async def test_a_question_of_several_steps_is_answered_with_what_the_tools_gave(bench: Make) -> None:
    at = bench(yes=True)
    result = await at.ask("what is (6 × 5 + 7) / 2?")
    assert result.stop == "done"
    assert "18.5" in (result.answer or "")
    assert [name for name, _ in at.pool.sent] == ["math.multiply", "math.add", "math.divide"]
    assert [outcome.to_json()["by"] for outcome in result.outcomes] == ["flag"] * 3
    assert result.tokens("input_total")


async def test_a_call_that_was_not_decided_is_never_sent(bench: Make) -> None:
    at = bench()
    result = await at.ask("what is 6 × 5?")
    assert at.pool.sent == []
    assert result.stop == "done"
    assert [(o.decision.verdict, o.decision.by) for o in result.outcomes if o.decision] == [("rejected", "default")]


async def test_what_is_sent_is_what_was_edited_and_approved(bench: Make) -> None:
    at = bench(approver=Answers(lambda question: question.approve(edited=b'{"a":6,"b":7}')))
    result = await at.ask("what is 6 × 5?")
    assert at.pool.sent == [("math.multiply", b'{"a":6,"b":7}')]
    assert result.outcomes[0].to_json()["decision"] == "edited"
    assert "42" in (result.answer or "")


async def test_a_rejection_and_its_reason_are_told_to_the_model(bench: Make) -> None:
    at = bench(approver=Answers(lambda question: question.reject("not today")))
    await at.ask("what is 6 × 5?")
    told = [part for message in at.session.messages for part in message.parts if isinstance(part, ToolResult)]
    assert "not today" in str(told[0].content)
    assert at.pool.sent == []


async def test_a_rejection_that_stops_ends_the_turn_and_sends_nothing_more(bench: Make) -> None:
    at = bench(approver=Answers(lambda question: question.reject(stop=True)))
    result = await at.ask("what is 6 × 5?")
    assert (result.stop, result.steps, at.pool.sent) == ("stopped", 1, [])
    assert at.session.messages[-1].source == "host"


async def test_a_call_stopped_while_it_runs_gets_a_truthful_result_and_the_next_turn_works(bench: Make) -> None:
    at = bench(yes=True)
    at.pool.hangs = True
    at.session.begin_turn("what is 6 × 5?")
    turn = Turn(at.services, at.session)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(turn.run)
            await at.pool.began.wait()
            turn.stop()
    assert turn.result.stop == "stopped"
    told = [part for message in at.session.messages for part in message.parts if isinstance(part, ToolResult)]
    assert "may have had its effect" in str(told[0].content)
    at.pool.hangs = False
    assert (await at.ask("hello")).stop == "done"


async def test_a_server_that_dies_is_told_and_the_turn_goes_on(bench: Make) -> None:
    at = bench(yes=True)
    at.pool.fails = True
    result = await at.ask("what is 6 × 5?")
    assert result.stop == "done"
    calls = [item for item in at.items(CallItem) if isinstance(item, CallItem)]
    assert calls[0].state == "failed"
    assert "exit 3" in calls[0].result


async def test_a_providers_error_is_a_card_with_its_own_words(bench: Make) -> None:
    at = bench()
    result = await at.ask("error 429")
    assert result.stop == "error"
    notes = [item for item in at.items(NoteItem) if isinstance(item, NoteItem)]
    assert notes[-1].kind == "error"
    assert notes[-1].again


async def test_an_answer_that_breaks_off_stays_and_the_model_will_know(bench: Make) -> None:
    at = bench()
    result = await at.ask("error cut")
    assert result.stop == "error"
    answers = [item for item in at.items(AnswerItem) if isinstance(item, AnswerItem)]
    assert answers[-1].state == "cut"
    assert answers[-1].text
    assert at.session.messages[-1].source == "host"


async def test_arguments_that_are_no_json_are_never_run_and_the_model_is_told_why(bench: Make) -> None:
    at = bench(yes=True)
    result = await at.ask('raw call math.add {"a": 1,')
    assert at.pool.sent == []
    assert result.outcomes[0].to_json()["decision"] == "invalid"


async def test_every_decision_and_link_is_a_record(bench: Make) -> None:
    at = bench(yes=True)
    await at.ask("what is 6 × 5?")
    records = [record.draft for record in at.recorder.since(0)]
    decisions = [json.loads(draft.data) for draft in records if draft.kind == "decision"]
    assert [decision["sent"] for decision in decisions] == [{"a": 6, "b": 5}]
    links = [json.loads(draft.data) for draft in records if draft.kind == "link"]
    assert list(dict.fromkeys(link["relation"] for link in links)) == ["asked", "told"]
    asked = links[0]
    body = b"".join(
        draft.data for draft in records if draft.exchange == asked["span"]["exchange"] and draft.kind == "chunk"
    )
    assert b"math__multiply" in body[asked["span"]["start"] : asked["span"]["end"]]
