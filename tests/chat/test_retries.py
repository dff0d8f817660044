"""What a provider refuses for a while is asked again by itself, visibly, a few times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chat.bench import Bench, in_turn, says
from tests.chat.conftest import Make
from tests.llm.peer import head, peer
from tests.llm.streams import chunk
from tui_host.chat.conversation import NoteItem
from tui_host.chat.retry import Retries
from tui_host.errors import ModelError
from tui_host.llm.provider_faults import refusal
from tui_host.settings.schema import Limits, ModelRef, Provider

JSON = "application/json"
BUSY = [head("529 Busy", kind=JSON, more="retry-after-ms: 1\r\n"), b'{"error":{"message":"overloaded"}}']


def patient(bench: Make, url: str, retries: int = 3) -> Bench:
    at = bench(url=url)
    at.services.settings = replace(at.services.settings, limits=Limits(retries=retries))
    return at


def test_a_wait_is_what_the_provider_asks_for_and_there_are_only_so_many() -> None:
    error = refusal(429, [("retry-after", "2")], b"")
    retries = Retries(limit=2)

    assert [retries.next_wait(error) for _ in range(3)] == [2.0, 2.0, None]


async def test_a_provider_that_is_busy_is_asked_again_until_it_answers(bench: Make) -> None:
    async with peer(in_turn(BUSY, BUSY, says("hi"))) as there:
        at = patient(bench, there.url)
        result = await at.ask("hello")

    assert (result.stop, result.answer, result.steps, len(there.requests)) == ("done", "hi", 1, 3)
    assert len(set(there.bodies)) == 1
    assert [(note.kind, note.what, note.remedy) for note in at.items(NoteItem)] == [
        ("note", "529: overloaded", "trying again in 0.0 s, 1 of 3"),
        ("note", "529: overloaded", "trying again in 0.0 s, 2 of 3"),
    ]


OVERLOADED = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'


@pytest.mark.parametrize(
    ("dialect", "inside"),
    [
        ("anthropic", OVERLOADED),
        ("openai", b'data: {"error":{"message":"Overloaded","type":"server_error","code":null}}\n\n'),
        ("openai-responses", b'data: {"type":"error","code":"server_is_overloaded","message":"Overloaded"}\n\n'),
        ("gemini", b'data: {"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}\n\n'),
        ("ollama", b'{"error":"server busy, please try again"}\n'),
        ("gemini", b""),
        ("ollama", b""),
    ],
)
async def test_what_passes_and_is_told_inside_a_200_before_any_answer_is_asked_again(
    bench: Make, dialect: str, inside: bytes
) -> None:
    async with peer(in_turn([head(), inside], [head(), inside])) as there:
        at = patient(bench, there.url, retries=1)
        plain = await at.services.provider(at.session.model)

        async def spoken(model: ModelRef) -> Provider:
            return replace(plain, dialect=dialect)

        at.services.provider = spoken
        result = await at.ask("hello")

    assert (result.stop, len(there.requests)) == ("error", 2)
    assert [note.kind for note in at.items(NoteItem)] == ["note", "error"]


async def test_it_is_not_asked_for_ever(bench: Make) -> None:
    async with peer(in_turn(BUSY, BUSY, BUSY)) as there:
        at = patient(bench, there.url, retries=2)
        result = await at.ask("hello")

    assert (result.stop, len(there.requests)) == ("error", 3)
    assert [note.kind for note in at.items(NoteItem)] == ["note", "note", "error"]


async def test_an_answer_that_has_begun_is_not_asked_for_again_by_itself(bench: Make) -> None:
    async with peer(in_turn([head(), chunk({"content": "half"})])) as there:
        at = patient(bench, there.url)
        result = await at.ask("hello")

    assert (result.stop, len(there.requests)) == ("error", 1)


async def test_the_wait_can_be_stopped(bench: Make) -> None:
    later = [head("429 Slow", kind=JSON, more="retry-after: 100\r\n")]
    async with peer(in_turn(later)) as there:
        at = patient(bench, there.url)
        async with at.asking("hello") as turn:
            await at.until(lambda: at.session.activity.waits == "retry")
            turn.stop()

    assert (turn.result.stop, len(there.requests)) == ("stopped", 1)


@pytest.mark.parametrize(
    ("status", "headers", "body", "passes"),
    [
        (408, [], b"", True),
        (429, [], b"", True),
        (529, [], b"", True),
        (400, [], b"", False),
        (402, [], b"", False),
        (429, [], b'{"error":{"message":"m","code":"insufficient_quota"}}', False),
        (500, [("x-should-retry", "false")], b"", False),
        (409, [("x-should-retry", "true")], b"", True),
    ],
)
def test_what_may_be_over_in_a_while_is_told_from_what_is_not(
    status: int, headers: list[tuple[str, str]], body: bytes, *, passes: object
) -> None:
    assert refusal(status, headers, body).passes is passes


def test_without_a_word_of_the_provider_the_wait_doubles_and_has_an_end() -> None:
    retries = Retries(limit=10, jitter=lambda: 0.0)
    busy = ModelError("busy", passes=True)

    waits = [retries.next_wait(busy) for _ in range(6)]

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert Retries().next_wait(ModelError("busy", passes=True, retry_after=500.0)) is None
