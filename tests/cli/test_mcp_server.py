"""`tui-host mcp`: a child process, driven by the SDK's client, on a recorded session."""

import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.cli.desk import Desk, desk, server
from tests.kit.bodies import asks, text
from tests.kit.program import Programs
from tests.opening.captured import archive, entry

TOOLS = "list_sessions show_turn look calls time show_call compare_requests bill tools servers search read_bytes"


@asynccontextmanager
async def _served(place: Desk, *more: str) -> AsyncGenerator[ClientSession]:
    words = ["-m", "tui_host", "mcp", *map(str, place.places), *more]
    parameters = StdioServerParameters(command=sys.executable, args=words, env={"MY_KEY": "sk-test-0123456789abcdef"})
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


async def _told(client: ClientSession, name: str, /, **given: object) -> tuple[str, bool]:
    result = await client.call_tool(name, given)
    assert isinstance(result, types.CallToolResult)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text, bool(result.is_error)


def _recorded(place: Desk) -> tuple[str, str]:
    place.ask("--allow", "good.echo", "ask the echo")
    place.ask("what else")
    later, first = (str(entry["id"]) for entry in place.listed())
    return first, later


async def test_a_recorded_session_is_told_to_other_programs_and_not_changed(program: Programs, tmp_path: Path) -> None:
    long = "é" * 30_000
    answers = (asks(("good__echo", '{"a":1}')), text(f"it echoed {long}"), text("nothing"))
    with desk(program, tmp_path, *answers, servers=server("good", "list-changed")) as place:
        first, later = _recorded(place)
        archived = entry("https://mcp.example/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, "")
        archived["response"] = {"status": 200, "content": {"size": 5120}}
        place.run("sessions", "import", "-", stdin=archive(archived))
        foreign = str(place.listed()[-1]["id"])
        before = (place.data / "tui-host.db").read_bytes()
        async with _served(place) as session:
            listed = await session.list_tools()
            assert " ".join(tool.name for tool in listed.tools) == TOOLS
            sessions, _ = await _told(session, "list_sessions")
            assert first in sessions
            assert later in sessions
            turn, _ = await _told(session, "show_turn", session=first, turn="turn 1")
            assert "tools/call" in turn
            assert "notifications/tools/list_changed" in turn
            assert "time of turn 1" in turn
            call, _ = await _told(session, "show_call", session=first, call="echo")
            assert "1 asked" in call
            changes, _ = await _told(session, "compare_requests", session=first, request="LLM 2")
            assert "LLM 2" in changes
            assert not (await _told(session, "bill", session=first))[1]
            assert first in (await _told(session, "search", text="echoed"))[0]

            row = int(next(entry for entry in turn.splitlines() if "LLM 2 <-" in entry).split()[1])
            span, _ = await _told(session, "read_bytes", session=first, row=row, start=0, length=50)
            assert f"row {row}: bytes 0 to 50 of " in span
            assert "more: start 50" in span
            assert re.search(rf"row {row}  \d\d:\d\d:\d\d\.\d{{3}}  LLM 2 <-", turn), "each row has its time"
            assert "  http://127.0.0.1:" in next(entry for entry in turn.splitlines() if "LLM 2 ->" in entry)
            for page, words in (("servers", "connection 1"), ("tools", "echo"), ("calls", "1.1.1  good.echo")):
                assert words in (await _told(session, page, session=first))[0]
            whole, _ = await _told(session, "read_bytes", session=first, row=row)
            assert "bytes 0 to 16000 of " in whole
            assert "more: start 16000" in whole
            assert "\n\n200\n" in whole
            assert "content-type: text/event-stream" in whole.lower()
            rest, _ = await _told(session, "list_sessions", offset=5)
            assert rest == f"{sessions[5:]}\n[characters 5 to {len(sessions)} of {len(sessions)}, the end]"
            assert "not in the file, 5,120 bytes" in (await _told(session, "show_turn", session=foreign))[0]
            lacking, _ = await _told(session, "read_bytes", session=foreign, row=1)
            assert "row 1: no bytes\nThe body is not in the file, 5,120 bytes.\n" in lacking
            wrong, is_error = await _told(session, "show_call", session=first, call="9.9.9")
            assert is_error
            assert "has no call 9.9.9" in wrong
            assert await _told(session, "read_bytes") == ("read_bytes: 'row' is a required property", True)
        assert (place.data / "tui-host.db").read_bytes() == before


async def test_only_the_named_sessions_are_served(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, text("one"), text("two")) as place:
        first, later = _recorded(place)
        async with _served(place, "--session", first) as session:
            sessions, _ = await _told(session, "list_sessions")
            assert first in sessions
            assert later not in sessions
            refused, is_error = await _told(session, "show_turn", session=later)
            assert is_error
            assert "not served here" in refused
            assert (await _told(session, "search", text="two"))[0] == "No session matches."
            assert "ask the echo" in (await _told(session, "show_turn"))[0] + sessions
