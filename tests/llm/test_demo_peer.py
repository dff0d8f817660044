"""Against the demo model, a program of its own on a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import aclosing

import anyio
import pytest

from tests.demo.running import model_at
from tests.llm.peer import body_of, provider_at, recorder
from tui_host.capture.record import Place
from tui_host.capture.recorder import Recorder
from tui_host.errors import ModelError
from tui_host.llm.dialects.dialect_table import dialect
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Ask, Message, Text, ToolResult, ToolSpec
from tui_host.llm.model_client import ModelClient
from tui_host.llm.protocols.protocol_table import protocol
from tui_host.llm.tool_names import NameTable

NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
TABLE = NameTable.make([("math", tool) for tool in ("add", "subtract", "multiply", "divide")])
TOOLS = tuple(
    ToolSpec(name=name, description=f"{tool.title()} two numbers.", schema=NUMBERS, server=server, tool=tool)
    for name, (server, tool) in TABLE.known.items()
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The base URL of a demo model without delays."""
    with model_at("--pace", "0") as (_, port):
        yield f"http://127.0.0.1:{port}/v1"


async def step(client: ModelClient, url: str, messages: list[Message], number: int) -> Fold:
    native = protocol("native")
    prepared = native.prepare(messages, TOOLS)
    fold = Fold(provider="demo", model="openai", call_id=lambda call: f"t1s{number}c{call}")
    ask = Ask(model="openai", messages=prepared.messages, tools=prepared.tools)
    place = Place(session="s", turn=1, step=number)
    stream = client.stream(provider_at(url), ask, place=place, reader=native.reader(TOOLS))
    with anyio.fail_after(20):
        async with stream:
            async for event in stream:
                fold.add(event)
    return fold


def result_of(fold: Fold) -> list[ToolResult]:
    found: list[ToolResult] = []
    for asked in fold.calls:
        known = TABLE.find(asked.call.name)
        assert known is not None
        numbers = json.loads(asked.call.arguments)
        value = {"multiply": numbers["a"] * numbers["b"], "add": numbers["a"] + numbers["b"]}[known[1]]
        found.append(ToolResult(call=asked.call, content=(Text(text=str(value)),)))
    return found


async def test_a_turn_of_several_steps_with_the_demo_model(url: str) -> None:
    kept = recorder()
    client = ModelClient(kept, {})
    messages = [Message(role="user", parts=(Text(text="what is 6 × 5 + 7?"),), turn=1)]
    asked: list[str] = []

    async with aclosing(client):
        fold = await step(client, url, messages, 1)
        for number in range(1, 6):
            messages.append(fold.message(turn=1))
            if not fold.calls:
                break
            asked += [found.call.name for found in fold.calls]
            for found in fold.calls:
                spans = [body_of_exchange(kept, number)[start:end] for start, end in found.spans]
                assert found.call.name.encode() in b"".join(spans)
            messages += protocol("native").results(result_of(fold), turn=1)
            fold = await step(client, url, messages, number + 1)
        models = await client.list_models(provider_at(url))

    assert asked == ["math__multiply", "math__add"]
    assert "37" in fold.text
    assert fold.stop == "end"
    assert fold.usage.input_total
    assert "openai" in models
    requests = [record.draft.data for record in kept.since(0) if record.draft.kind == "request"]
    outlines = [dialect("openai").outline(body, TABLE.known) for body in requests[:3]]
    assert [outline.count("messages") for outline in outlines if outline is not None] == [1, 3, 5]


def body_of_exchange(kept: Recorder, number: int) -> bytes:
    return body_of([record for record in kept.since(0) if record.draft.exchange == f"x{number}"])


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("429", 429, "429"),
        ("500", 500, "500"),
        ("stream", 200, "demo|error|fail"),
        ("cut", 200, "broke off"),
        ("html", 200, "HTML"),
    ],
)
async def test_errors_on_request_are_told_in_the_demo_model_s_own_words(
    url: str, kind: str, status: int, words: str
) -> None:
    client = ModelClient(recorder(), {})
    messages = [Message(role="user", parts=(Text(text=f"error {kind}"),), turn=1)]

    async with aclosing(client):
        with pytest.raises(ModelError, match=words) as caught:
            await step(client, url, messages, 1)

    assert caught.value.status == status
    assert caught.value.exchange == "x1"
