"""Servers made with the SDK, over every transport, in both eras of the protocol; and the SDK, which is imported in part."""

import json
from collections.abc import AsyncGenerator, Generator

import anyio
import pytest

from tests.answers.chained import steps_of
from tests.servers.running import Running, hostile, listening, made_with_sdk, remote, started
from tui_host.capture.record import Place
from tui_host.errors import JSON, ServerError
from tui_host.servers import lists
from tui_host.servers.catalog import READ, CallProgress, PromptArgument, ToolOutput
from tui_host.settings.schema import ServerSpec

WAYS = [("stdio", "auto"), ("stdio", "legacy"), ("http", "auto"), ("http", "legacy"), ("sse", "auto")]
PLACE = Place(session="s", turn=0, step=0)
# The pace is for servers that are made again and again; what one call changes is announced at once.
setattr(lists, "DEBOUNCE_SECONDS", 0.3)  # noqa: B010
ERAS = {"auto": ("2026-07-28", "stateless"), "legacy": ("2025-11-25", "stateful")}


@pytest.fixture(scope="module")
def sse_url() -> Generator[str]:
    with listening("sse") as (url, _):
        yield url


@pytest.fixture(scope="module", params=WAYS, ids=[f"{kind}-{mode}" for kind, mode in WAYS])
def spec(request: pytest.FixtureRequest, http_url: str, sse_url: str) -> ServerSpec:
    kind, mode = request.param
    if kind == "stdio":
        return made_with_sdk("sdk", mode=mode)
    return remote("sdk", sse_url if kind == "sse" else http_url, transport=kind, mode=mode)


@pytest.fixture(scope="module")
async def running(spec: ServerSpec) -> AsyncGenerator[Running]:
    """One connection for all that is tried on it; it is stopped in good order."""
    async with started(spec) as at:
        yield at
    assert at.status("sdk").state == "stopped"


async def test_a_server_says_what_it_is_and_its_tools_work(spec: ServerSpec, running: Running) -> None:
    status = running.status("sdk")
    assert status.state == "ready", status.detail
    if spec.transport != "sse":
        assert (status.protocol_version, status.era) == ERAS[spec.mode]
    assert (status.server_info, status.instructions) == ("made with the SDK 1.2.3", "Be kind.")
    assert {"echo", "add", "fail", "progress"} <= {tool.name for tool in running.pool.tools()}
    output = await running.call("sdk", "echo", '{"text":"Grüße 🌍 \\u0000"}'.encode())
    assert output.content[0].text == "Grüße 🌍 \0"
    added = await running.call("sdk", "add", b'{"a":1,"b":2.5}')
    assert added.structured == {"sum": 3.5}
    assert (await running.call("sdk", "fail")).is_error
    reported: list[CallProgress] = []
    assert (await running.call("sdk", "progress", on_progress=reported.append)).content[0].text == "worked"
    assert [progress.message for progress in reported][:1] == ["working"]
    await running.pool.listed(15)
    listed = running.status("sdk")
    assert listed.resources[0].uri == "note://one"  # other connections to the server add some
    assert [template.uri for template in listed.templates] == ["note://of/{name}"]
    assert listed.prompts[0].name == "greet"


async def test_a_resource_is_read_as_a_tool_is_called(running: Running) -> None:
    await running.pool.listed(15)
    (reading,) = (tool for tool in running.pool.tools() if tool.name == READ)
    offered = [(each.uri, each.is_template) for each in reading.resources or ()]
    assert (offered[0], offered[-1]) == (("note://one", False), ("note://of/{name}", True))
    place = Place(session="s", turn=1, step=1, call="reading")

    async def read(arguments: bytes) -> ToolOutput:
        own = reading.fingerprint
        return await running.pool.call("sdk", READ, arguments, place=place, fingerprint=own, on_progress=lambda _: None)

    output = await read(b'{"uri":"note://one"}')
    assert [(block.kind, block.text, block.uri) for block in output.content] == [("resource", "note", "note://one")]
    asked, answered = (each.data for each in running.records("sdk", kind="frame") if each.place == place)
    assert b'"resources/read"' in asked
    assert b'"uri":"note://one"' in asked
    assert b'"contents"' in answered
    assert [step.happened for step in steps_of("reading", running.records("sdk"))] == ["sent", "answered"]
    with pytest.raises(ServerError, match=r"note://two"):
        await read(b'{"uri":"note://two"}')
    for nothing in (b"{}", b'{"uri":1}', b'{"uri":""}'):
        with pytest.raises(ServerError, match="needs its uri"):
            await read(nothing)


async def test_a_stopped_call_reaches_the_server_and_the_connection_lives(spec: ServerSpec, running: Running) -> None:
    def calls() -> int:
        return sum(b'"tools/call"' in line for line in running.lines("sdk", "out"))

    before = calls()
    with anyio.fail_after(90):
        async with anyio.create_task_group() as group:
            group.start_soon(running.call, "sdk", "wait", b'{"seconds":60}')
            await running.until(lambda: calls() == before + 1)
            group.cancel_scope.cancel()
        assert (await running.call("sdk", "echo", b'{"text":"on"}')).content[0].text == "on"
    if spec.transport == "stdio":
        await running.until(lambda: "the wait was cancelled" in running.status("sdk").stderr)
    elif running.status("sdk").era == "stateful":
        await running.until(lambda: any(b"notifications/cancelled" in line for line in running.lines("sdk", "out")))


async def test_a_prompt_is_filled_in_and_its_arguments_completed(running: Running) -> None:
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

    async def completed(reference: JSON, **more: JSON) -> tuple[str, ...]:
        params: dict[str, JSON] = {"ref": reference, "argument": {"name": "name", "value": "A"}, **more}
        return await running.pool.request("sdk", lambda server: server.complete(params))

    values = await completed({"type": "ref/prompt", "name": "greet"}, context={"arguments": {"other": "known"}})
    assert values == ("Anna greet known",)
    assert await completed({"type": "ref/resource", "uri": "note://of/{name}"}) == ("Anna note://of/{name}",)


async def test_what_is_new_is_offered_and_each_list_read_again_alone(spec: ServerSpec, running: Running) -> None:
    # In the stateless era news come on a stream of their own, which is open a moment after the connection is ready.
    if running.status("sdk").era == "stateless":
        await running.until(lambda: any(b"acknowledged" in line for line in running.lines("sdk", "in")))
    before = len(running.lines("sdk", "out"))
    name = f"more_{spec.transport}_{spec.mode}"  # a server that several connections share

    def asked() -> list[str]:
        return sorted(json.loads(line).get("method") for line in running.lines("sdk", "out")[before:])

    arguments = json.dumps({"name": name}, separators=(",", ":")).encode()
    await running.call("sdk", "list_more", arguments)
    await running.until(lambda: any(each.uri == f"note://{name}" for each in running.status("sdk").resources))
    await running.until(lambda: any(each.name == name for each in running.status("sdk").prompts))
    await running.until(lambda: "resources/templates/list" in asked())
    assert asked() == ["prompts/list", "resources/list", "resources/templates/list", "tools/call"]
    await running.call("sdk", "grow", arguments)
    await running.until(lambda: any(tool.name == name for tool in running.pool.tools()))
    assert f"+ tool {name}" in running.status("sdk").notices


async def test_updates_of_a_subscribed_resource_are_counted(running: Running) -> None:
    await running.pool.request("sdk", lambda server: server.subscribe("note://one", is_on=True))
    assert running.status("sdk").subscriptions == (("note://one", 0),)
    for uri in ("note://one", "note://other"):
        await running.call("sdk", "update", json.dumps({"uri": uri}, separators=(",", ":")).encode())
    await running.until(lambda: running.status("sdk").subscriptions[0][1] > 0)
    await running.pool.request("sdk", lambda server: server.subscribe("note://one", is_on=False))
    assert running.status("sdk").subscriptions == ()


async def test_a_server_that_announces_no_changes_refuses_a_subscription() -> None:
    async with started(hostile("plain", "good")) as running:
        with pytest.raises(ServerError, match="does not announce changes"):
            await running.pool.request("plain", lambda server: server.subscribe("x://y", is_on=True))
        assert await running.pool.request("plain", lambda server: server.complete({})) == ()


async def test_the_old_transport_is_found_behind_a_url_that_nobody_explained(sse_url: str) -> None:
    async with started(remote("sdk", sse_url)) as running:
        assert (running.status("sdk").state, running.status("sdk").transport) == ("ready", "sse")
        assert (await running.call("sdk", "echo", b'{"text":"x"}')).content[0].text == "x"
