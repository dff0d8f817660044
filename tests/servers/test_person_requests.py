"""What the person asks a server for without a model: prompts, resources, completions, signs of life; and what it announces."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator

import pytest

from tests.servers.running import Running, hostile, listening, made_with_sdk, remote, started
from tui_host.capture.record import Place
from tui_host.errors import JSON, ServerError
from tui_host.servers.catalog import PromptArgument, Subscription
from tui_host.settings.schema import ServerSpec

PLACE = Place(session="s", turn=0, step=0)
WAYS = [("stdio", "auto"), ("stdio", "legacy"), ("http", "auto"), ("http", "legacy")]


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    with listening("http") as (url, _):
        yield url


@pytest.fixture(scope="module", params=WAYS, ids=[f"{kind}-{mode}" for kind, mode in WAYS])
def spec(request: pytest.FixtureRequest, url: str) -> ServerSpec:
    kind, mode = request.param
    return made_with_sdk("sdk", mode=mode) if kind == "stdio" else remote("sdk", url, mode=mode)


@pytest.fixture(scope="module")
async def running(spec: ServerSpec) -> AsyncGenerator[Running]:
    async with started(spec) as at:
        await at.pool.listed(90)
        yield at


async def test_a_prompt_is_filled_in_with_the_texts_given(running: Running) -> None:
    prompt = next(prompt for prompt in running.status("sdk").prompts if prompt.name == "greet")
    assert (prompt.title, prompt.description) == ("Greeting", "A greeting.")
    assert prompt.arguments == (PromptArgument(name="name"),)
    output = await running.pool.get_prompt("sdk", "greet", {"name": "Zoë"}, place=PLACE)
    assert [(message.role, message.content.text) for message in output.messages] == [("user", "hello Zoë")]
    assert isinstance(output.raw, dict)
    assert output.raw["messages"]
    asked = next(line for line in running.lines("sdk", "out") if b'"prompts/get"' in line)
    assert json.loads(asked)["params"]["arguments"] == {"name": "Zoë"}
    with pytest.raises(ServerError, match="error"):
        await running.pool.get_prompt("sdk", "nothing", {}, place=PLACE)


async def test_a_resource_is_read_without_a_model(running: Running) -> None:
    output = await running.pool.read("sdk", "note://of/Zoe", place=PLACE)
    assert [block.text for block in output.content] == ["note of Zoe"]
    with pytest.raises(ServerError, match="note://two"):
        await running.pool.read("sdk", "note://two", place=PLACE)


async def test_arguments_are_completed_with_what_is_known_of_the_others(running: Running) -> None:
    async def completed(reference: JSON, **more: JSON) -> tuple[str, ...]:
        params: dict[str, JSON] = {"ref": reference, "argument": {"name": "name", "value": "A"}, **more}
        return await running.pool.request("sdk", lambda server: server.complete(params))

    values = await completed({"type": "ref/prompt", "name": "greet"}, context={"arguments": {"other": "known"}})
    assert values == ("Anna greet known",)
    assert await completed({"type": "ref/resource", "uri": "note://of/{name}"}) == ("Anna note://of/{name}",)


async def test_a_server_that_is_alive_answers(running: Running) -> None:
    await running.pool.request("sdk", lambda server: server.ping())
    asked = b'"ping"' if running.status("sdk").era == "stateful" else b'"server/discover"'
    assert asked in running.lines("sdk", "out")[-1]


async def test_each_list_is_read_again_alone_when_it_changes(spec: ServerSpec, running: Running) -> None:
    await heard(running, 1)
    before = len(running.lines("sdk", "out"))
    name = f"more-{spec.transport}-{spec.mode}"
    await running.call("sdk", "list_more", json.dumps({"name": name}, separators=(",", ":")).encode())
    await running.until(lambda: any(each.uri == f"note://{name}" for each in running.status("sdk").resources))
    await running.until(lambda: any(each.name == name for each in running.status("sdk").prompts))

    def asked() -> list[str]:
        return sorted(json.loads(line).get("method") for line in running.lines("sdk", "out")[before:])

    await running.until(lambda: "resources/templates/list" in asked())
    assert asked() == ["prompts/list", "resources/list", "resources/templates/list", "tools/call"]


async def test_updates_of_a_subscribed_resource_are_counted(running: Running) -> None:
    await running.pool.request("sdk", lambda server: server.subscribe("note://one"))
    assert running.status("sdk").subscriptions == (Subscription(uri="note://one"),)
    for uri in ("note://one", "note://other"):
        await running.call("sdk", "update", json.dumps({"uri": uri}, separators=(",", ":")).encode())
    await running.until(lambda: running.status("sdk").subscriptions[0].updates > 0)
    await running.pool.request("sdk", lambda server: server.unsubscribe("note://one"))
    assert running.status("sdk").subscriptions == ()


async def test_a_server_that_announces_no_changes_refuses_a_subscription() -> None:
    async with started(hostile("plain", "good")) as running:
        with pytest.raises(ServerError, match="does not announce changes"):
            await running.pool.request("plain", lambda server: server.subscribe("x://y"))
        assert await running.pool.request("plain", lambda server: server.complete({})) == ()
        await running.pool.request("plain", lambda server: server.ping())


async def heard(running: Running, streams: int) -> None:
    """In the stateless era news come on streams of their own, which are open a moment after the connection is ready."""
    if running.status("sdk").era == "stateless":
        await running.until(
            lambda: sum(b"subscriptions/acknowledged" in line for line in running.lines("sdk", "in")) >= streams
        )
