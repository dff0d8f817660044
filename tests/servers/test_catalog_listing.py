"""What a server lists: read tool by tool, page by page, and again when it changes."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from tests.servers.running import hostile, started
from tui_host.errors import ServerError


async def test_broken_tools_are_shown_with_their_reason_and_the_others_work() -> None:
    async with started(hostile("bad", "malformed-tools")) as running:
        tools = {(tool.name, tool.description): tool.problem for tool in running.status("bad").tools}
        assert [tool.name for tool in running.pool.tools()] == ["echo"]
        assert (await running.call("bad")).content[0].text == "{}"
        with pytest.raises(ServerError, match="the server no longer has a tool tasks"):
            await running.call("bad", "tasks")
    assert tools["echo", "The tool echo."] is None
    assert tools["echo", "another"] == "another tool of this server has the same name"
    assert "inputSchema" in (tools["no-schema", ""] or "")
    assert (tools["bad", "The tool bad."] or "").startswith("malformed")
    assert tools["tasks", "The tool tasks."] == "it runs only as a task of MCP 2025-11-25, which is not supported"
    assert len(running.status("bad").tools) == 7


async def test_a_listing_without_the_newer_eras_envelope_is_read_all_the_same() -> None:
    async with started(replace(hostile("old", "good"), mode="2026-07-28")) as running:
        assert running.status("old").era == "stateless"
        assert {tool.problem for tool in running.status("old").tools} == {None}
        assert (await running.call("old")).content[0].text == "{}"


@pytest.mark.parametrize(
    ("mode", "names", "notice"),
    [
        ("malformed-list", [], "tools: page 1 is malformed"),
        (
            "endless-pages",
            [f"t{number}" for number in range(1, 101)],
            "tools: 100 on 100 pages were read; there may be more",
        ),
        ("same-cursor", ["t1", "t2"], "tools: 2 on 2 pages were read; there may be more"),
        ("empty-cursor", ["first", "second"], ""),
    ],
)
async def test_a_list_that_is_none_or_has_no_end_stops_and_says_so(mode: str, names: list[str], notice: str) -> None:
    async with started(hostile("bad", mode)) as running:
        status = running.status("bad")
        assert (status.state, [tool.name for tool in status.tools]) == ("ready", names)
        assert not notice or notice in status.notices


async def test_a_hundred_announced_changes_are_listed_once() -> None:
    async with started(hostile("bad", "list-changed")) as running:
        await running.call("bad")
        await running.until(lambda: listings(running.lines("bad", "out")) == 2)
        await anyio.wait_all_tasks_blocked()
        assert listings(running.lines("bad", "out")) == 2


def listings(lines: list[bytes]) -> int:
    return sum(b'"tools/list"' in line for line in lines)


async def test_a_definition_that_changed_is_told_and_calls_decided_on_the_old_one_are_not_sent() -> None:
    async with started(hostile("bad", "changes")) as running:
        before = running.tool("bad", "echo")
        await running.call("bad")
        await running.until(lambda: running.tool("bad", "echo").fingerprint != before.fingerprint)
        assert running.status("bad").notices == (
            "+ tool more",
            "~ tool echo: description Reads → Sends, file. → file to me.",
        )
        sent = len(running.lines("bad", "out"))
        with pytest.raises(ServerError, match="has changed since the call was approved; nothing was sent"):
            await running.pool.call(
                "bad",
                "echo",
                b"{}",
                place=running.records("bad")[0].place,
                fingerprint=before.fingerprint,
                on_progress=lambda _: None,
            )
        assert len(running.lines("bad", "out")) == sent


@pytest.mark.parametrize(("mode", "is_listed"), [("changes", True), ("changes-silently", False)])
async def test_tools_are_not_current_between_the_news_of_a_change_and_their_list(mode: str, *, is_listed: bool) -> None:
    async with started(hostile("bad", mode)) as running:
        assert running.pool.has_current_tools("bad")
        before = running.tool("bad", "echo")
        await running.call("bad")
        await running.until(lambda: not running.pool.has_current_tools("bad"))
        assert running.tool("bad", "echo") == before
        running.limit("bad", 20 if is_listed else 0.1)
        assert await running.pool.listed_again("bad") == is_listed
        assert (running.tool("bad", "echo") != before) == is_listed


async def test_a_fingerprint_holds_for_the_definition_and_for_where_it_runs() -> None:
    async with started(hostile("one", "good"), hostile("two", "good"), hostile("other", "twice")) as running:
        one, two, other = (running.tool(name, "echo").fingerprint for name in ("one", "two", "other"))
        assert one == two
        assert one != other
