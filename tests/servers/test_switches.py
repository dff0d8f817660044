"""Tools that are switched off, and the instructions of servers that are switched on."""

from __future__ import annotations

import pytest

from tests.servers.running import made_with_sdk, started
from tui_host.errors import ServerError


async def test_a_tool_that_is_switched_off_is_not_offered_and_an_approved_call_of_it_is_not_sent() -> None:
    async with started(made_with_sdk("sdk")) as running:
        running.pool.take_switches({"sdk": True, "sdk.add": False})
        assert "add" not in {tool.name for tool in running.pool.tools()}
        assert "add" in {tool.name for tool in running.status("sdk").tools}, "it is still shown"
        sent = len(running.lines("sdk", "out"))
        with pytest.raises(ServerError, match="add has been switched off; nothing was sent"):
            await running.call("sdk", "add", b'{"a":1,"b":2}')
        assert len(running.lines("sdk", "out")) == sent
        before = running.pool.revision
        running.pool.server("sdk").switch_tool("add", is_on=True)
        assert running.pool.revision > before
        assert "add" in {tool.name for tool in running.pool.tools()}


async def test_instructions_are_told_only_where_they_are_switched_on() -> None:
    async with started(made_with_sdk("sdk"), made_with_sdk("other", instructions=True)) as running:
        assert running.pool.instructions() == (("other", "Be kind."),)
        running.pool.server("sdk").switch_instructions(is_on=True)
        running.pool.server("other").switch_instructions(is_on=False)
        assert running.pool.instructions() == (("sdk", "Be kind."),)
