"""What servers say of themselves: how they end at a probe, log messages of any form, news of resources."""

from __future__ import annotations

import pytest

from tests.kit.mcp_server import tool
from tests.servers.running import scripted, started
from tui_host.errors import JSON
from tui_host.servers.connection import RESTARTED
from tui_host.servers.lists import is_of

ENDS: dict[str, dict[str, object]] = {
    "exits with a fault": {"exit": 1},
    "exits in order": {"exit": 0},
    "closes its output": {"close": 1},
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_a_program_that_ends_at_the_probe_is_started_again_with_initialize(end: dict[str, object]) -> None:
    script = {"tools": [tool("echo")], "on": {"server/discover": [end]}}
    async with started(scripted("old", script)) as running:
        status = running.status("old")
        assert (status.state, status.detail, status.protocol_version) == ("ready", "", "2025-11-25")
        assert (status.connection, status.notices) == ("old#2", (RESTARTED,))
        assert (await running.call("old")).content[0].text == "{}"
        running.pool.server("old").reconnect()
        await running.until(lambda: running.status("old").connection == "old#3")
        await running.until(lambda: running.status("old").state == "ready")
        assert running.status("old").notices == ()
        assert sum(b"server/discover" in line for line in running.lines("old", "out")) == 1


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


@pytest.mark.parametrize(
    ("uri", "resource", "is_part"),
    [
        ("file:///a", "file:///a", True),
        ("file:///a/b", "file:///a", True),
        ("file:///a/b", "file:///a/", True),
        ("note://one?line=2", "note://one", True),
        ("note://one#end", "note://one", True),
        ("file:///ab", "file:///a", False),
        ("file:///", "file:///a", False),
    ],
)
def test_an_update_counts_for_a_resource_and_for_what_it_is_part_of(uri: str, resource: str, *, is_part: bool) -> None:
    assert is_of(uri, resource) == is_part
