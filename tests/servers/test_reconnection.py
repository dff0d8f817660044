"""Servers that went away and come back, are waited for, and are switched off in part."""

import anyio
import pytest

from tests.kit.mcp_server import tool
from tests.ports import unused_port
from tests.servers.running import Running, hostile, listening, made_with_sdk, remote, scripted, started
from tui_host.errors import ServerError
from tui_host.servers.connection import RESTARTED


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.servers.server.RETRY_SECONDS", (0.05,) * 3)


def state(running: Running, name: str = "sdk") -> str:
    return running.status(name).state


async def test_a_program_that_exited_is_started_again_with_its_subscriptions_and_this_is_told_once() -> None:
    async with started(made_with_sdk("sdk", mode="legacy")) as running:
        told = running.told
        await running.pool.request("sdk", lambda server: server.subscribe("note://one", is_on=True))
        await running.call_and_lose("sdk", "exit", b'{"code":7}')
        await running.until(lambda: told == [("sdk", "lost"), ("sdk", "back")])
        assert (state(running), running.status("sdk").connection) == ("ready", "sdk#2")
        again = {"kind": "frame", "direction": "out", "connection": "sdk#2"}
        await running.until(lambda: any(b"subscribe" in record.data for record in running.records("sdk", **again)))
        assert [uri for uri, _ in running.status("sdk").subscriptions] == ["note://one"]


@pytest.mark.parametrize("end", [{"exit": 1}, {"close": 1}])
async def test_a_program_that_ends_at_the_probe_is_started_again_with_initialize(end: dict[str, object]) -> None:
    async with started(scripted("old", {"tools": [tool("echo")], "on": {"server/discover": [end]}})) as running:
        status = running.status("old")
        assert (status.state, status.detail, status.protocol_version) == ("ready", "", "2025-11-25")
        assert (status.connection, status.notices) == ("old#2", (RESTARTED,))
        assert (await running.call("old")).content[0].text == "{}"
        running.pool.server("old").reconnect()
        await running.until(lambda: running.status("old").connection == "old#3")
        await running.until(lambda: running.status("old").state == "ready")
        assert running.status("old").notices == ()
        assert sum(b"server/discover" in line for line in running.lines("old", "out")) == 1


async def test_a_program_that_keeps_exiting_is_given_up_and_a_wrong_command_is_tried_in_both_eras_alone() -> None:
    async with started(hostile("bad", "exits")) as running:
        status = running.status("bad")
        assert (status.state, status.detail, status.connection) == ("failed", "exited 4", "bad#2")
    async with started(hostile("bad", "dies")) as running:
        told = running.told
        for number in range(1, 5):  # ready each time, and gone with the first call
            ready = ("ready", f"bad#{number}")
            await running.until(lambda now=ready: (state(running, "bad"), running.status("bad").connection) == now)
            await running.call_and_lose("bad", "echo", b"{}")
        await running.until(lambda: state(running, "bad") == "failed")
        assert running.status("bad").detail == "exited 3; gave up after 3 tries"
        assert told[-1] == ("bad", "given up")


@pytest.mark.parametrize(("kind", "mode"), [("http", "auto"), ("sse", "auto")])
async def test_a_server_behind_a_url_that_went_away_is_found_again(kind: str, mode: str) -> None:
    port = unused_port()
    with listening(kind, port) as (url, process):
        async with started(remote("sdk", url, transport=kind, mode=mode)) as running:
            told = running.told
            process.terminate()
            process.wait()
            if kind == "http":
                with anyio.fail_after(90), pytest.raises(ServerError) as caught:
                    await running.call("sdk", "echo", b'{"text":"on"}')
                assert not caught.value.sent
            await running.until(lambda: ("sdk", "lost") in told)
            with listening(kind, port):
                running.pool.server("sdk").reconnect()  # at once, and with the tries counted anew
                await running.until(lambda: told == [("sdk", "lost"), ("sdk", "back")])
                assert state(running) == "ready"
                assert (await running.call("sdk", "echo", b'{"text":"on"}')).content[0].text == "on"


async def test_a_lost_server_can_be_stopped_and_a_turn_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.servers.server.RETRY_SECONDS", (600.0,) * 3)
    async with started(made_with_sdk("sdk")) as running:
        await running.call_and_lose("sdk", "exit", b'{"code":7}')
        await running.until(lambda: "; try 1 of 3 in " in running.status("sdk").detail)
        assert state(running) == "lost"
        with anyio.fail_after(90):
            assert await running.pool.settled(600) == ()
        running.pool.server("sdk").stop()
        assert (state(running), running.status("sdk").detail) == ("stopped", "")
        running.pool.server("sdk").reconnect()
        await running.until(lambda: state(running) == "ready")


async def test_a_connection_that_did_not_become_ready_is_waited_for_once() -> None:
    async with started(hostile("mute", "no-initialize"), settle=0) as running:
        pool = running.pool
        await running.until(lambda: pool.server("mute").connection is not None)
        assert await pool.settled(0.2) == ("mute",)
        with anyio.fail_after(90):
            assert await pool.settled(600) == ("mute",), "it was waited for in vain before"
        pool.server("mute").reconnect()
        with anyio.move_on_after(0.3) as waiting:
            await pool.settled(600)
        assert waiting.cancelled_caught, "the new connection is waited for"


async def test_a_tool_that_is_switched_off_is_not_offered_nor_sent_and_instructions_only_where_switched_on() -> None:
    async with started(made_with_sdk("sdk"), made_with_sdk("other", instructions=True)) as running:
        specs = {name: server.spec for name, server in running.pool.servers.items()}
        running.pool.take(specs, {"sdk": True, "sdk.add": False})
        assert [tool.server for tool in running.pool.tools() if tool.name == "add"] == ["other"]
        assert "add" in {tool.name for tool in running.status("sdk").tools}, "it is still shown"
        sent = len(running.lines("sdk", "out"))
        with pytest.raises(ServerError, match="add has been switched off; nothing was sent"):
            await running.call("sdk", "add", b'{"a":1,"b":2}')
        assert len(running.lines("sdk", "out")) == sent
        before = running.pool.revision
        running.pool.server("sdk").switch("add", is_on=True)
        assert running.pool.revision > before
        assert len([tool for tool in running.pool.tools() if tool.name == "add"]) == 2
        assert running.pool.instructions() == (("other", "Be kind."),)
        running.pool.server("sdk").switch(is_on=True)
        running.pool.server("other").switch(is_on=False)
        assert running.pool.instructions() == (("sdk", "Be kind."),)
