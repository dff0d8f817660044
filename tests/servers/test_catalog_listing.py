"""What a server lists: read tool by tool, page by page, and again when it changes; and what it says of itself."""

from dataclasses import replace

import anyio
import pytest

from tests.kit.mcp_server import tool
from tests.servers.running import hostile, scripted, started
from tui_host.errors import JSON, ServerError
from tui_host.servers.lists import is_of


async def test_broken_tools_are_shown_with_their_reason_and_the_others_work() -> None:
    async with started(
        hostile("bad", "malformed-tools"), replace(hostile("old", "good"), mode="2026-07-28")
    ) as running:
        tools = {(tool.name, tool.description): tool.problem for tool in running.status("bad").tools}
        assert [tool.name for tool in running.pool.tools() if tool.server == "bad"] == ["echo"]
        assert (await running.call("bad")).content[0].text == "{}"
        with pytest.raises(ServerError, match="the server no longer has a tool tasks"):
            await running.call("bad", "tasks")
        assert running.status("old").era == "stateless"  # its listing comes without that era's envelope
        assert {tool.problem for tool in running.status("old").tools} == {None}
        assert (await running.call("old")).content[0].text == "{}"
    assert tools["echo", "The tool echo."] is None
    assert tools["echo", "another"] == "another tool of this server has the same name"
    assert "inputSchema" in (tools["no-schema", ""] or "")
    assert (tools["bad", "The tool bad."] or "").startswith("malformed")
    assert tools["tasks", "The tool tasks."] == "it runs only as a task of MCP 2025-11-25, which is not supported"
    assert len(running.status("bad").tools) == 7


LISTS: dict[str, tuple[list[str], str | None]] = {
    "malformed-list": ([], "tools: page 1 is malformed"),
    "endless-pages": (
        [f"t{number}" for number in range(1, 101)],
        "tools: 100 on 100 pages were read; there may be more",
    ),
    "same-cursor": (["t1", "t2"], "tools: 2 on 2 pages were read; there may be more"),
    "empty-cursor": (["first", "second"], None),
}


async def test_a_list_that_is_none_or_has_no_end_stops_and_says_so() -> None:
    async with started(*(hostile(mode, mode) for mode in LISTS)) as running:
        for mode, (names, notice) in LISTS.items():
            status = running.status(mode)
            assert (status.state, [tool.name for tool in status.tools]) == ("ready", names)
            assert notice is None or notice in status.notices


async def test_a_hundred_announced_changes_are_listed_once() -> None:
    async with started(hostile("bad", "list-changed")) as running:
        await running.call("bad")
        await running.until(lambda: listings(running.lines("bad", "out")) == 2)
        await anyio.wait_all_tasks_blocked()
        assert listings(running.lines("bad", "out")) == 2


def listings(lines: list[bytes]) -> int:
    return sum(b'"tools/list"' in line for line in lines)


async def test_a_definition_that_changed_is_told_and_calls_decided_on_the_old_one_are_not_sent() -> None:
    async with started(hostile("bad", "changes"), hostile("same", "good"), hostile("two", "good")) as running:
        before = running.tool("bad", "echo")
        same, two = (running.tool(name, "echo").fingerprint for name in ("same", "two"))
        assert before.fingerprint != same == two, "it holds for the definition"
        assert running.pool.has_current_tools("bad")
        await running.call("bad")
        await running.until(lambda: not running.pool.has_current_tools("bad"))
        assert running.tool("bad", "echo") == before, "between the news of a change and the list"
        assert await running.pool.listed_again("bad")
        assert running.tool("bad", "echo").fingerprint != before.fingerprint
        assert running.status("bad").notices == (
            "+ tool more",
            "~ tool echo: description Reads → Sends, file. → file to me.",
        )
        sent = len(running.lines("bad", "out"))
        place, mark = running.records("bad")[0].place, before.fingerprint
        with pytest.raises(ServerError, match="has changed since the call was approved; nothing was sent"):
            await running.pool.call("bad", "echo", b"{}", place=place, fingerprint=mark, on_progress=lambda _: None)
        assert len(running.lines("bad", "out")) == sent


async def test_a_changed_list_that_does_not_come_leaves_the_tools_that_were_listed() -> None:
    async with started(hostile("bad", "changes-silently")) as running:
        before = running.tool("bad", "echo")
        await running.call("bad")
        await running.until(lambda: not running.pool.has_current_tools("bad"))
        running.limit("bad", 0.1)
        assert not await running.pool.listed_again("bad")
        assert running.tool("bad", "echo") == before


LOGGED: list[tuple[dict[str, JSON], tuple[str, str]]] = [
    ({"level": "ERROR", "data": "disk full"}, ("error", "disk full")),
    ({"level": "warn", "data": "slow"}, ("warning", "slow")),
    ({"level": "info", "message": "no data, a message"}, ("info", "no data, a message")),
    ({"level": "CRITICAL", "logger": "x", "data": {"a": 1}}, ("critical", '{"a": 1}')),
    ({"level": 40, "data": "a number"}, ("40", "a number")),
    ({"level": "Verbose", "data": None}, ("Verbose", "null")),
    ({"data": "no level"}, ("info", "no level")),
    ({"level": "debug", "event": "step", "n": 2}, ("debug", '{"event": "step", "n": 2}')),
]


async def test_log_messages_are_read_as_meant_and_kept_as_said() -> None:
    steps = [{"notify": "notifications/message", "params": params} for params, _ in LOGGED]
    script = {"tools": [tool("echo")], "on": {"tools/call": [*steps, {"text": "fine"}]}}
    async with started(scripted("logs", script)) as running:
        await running.call("logs")
        status = running.status("logs")
    assert [(entry.level, entry.text) for entry in status.log] == [read for _, read in LOGGED]
    assert dict(status.log_counts) == {"error": 1, "warning": 1, "info": 2, "critical": 1, "other": 2, "debug": 1}


def test_an_update_counts_for_a_resource_and_for_what_it_is_part_of() -> None:
    for uri in ("file:///a", "file:///a/b", "file:///a?line=2", "file:///a#end"):
        assert is_of(uri, "file:///a"), uri
    assert is_of("file:///a/b", "file:///a/")
    assert not is_of("file:///ab", "file:///a")
    assert not is_of("file:///", "file:///a")
