"""Hosts that this project did not write, with `tap stdio` before their server: they notice nothing, and all is recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.interop.others import EVERYTHING, HOME, INSPECTOR, Node, npx
from tests.tap.stdio_taps import data, recorded, tap

pytestmark = pytest.mark.timeout(120, func_only=True)

ASKED = (
    ("--method", "tools/list"),
    ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=写"),
    ("--method", "resources/list"),
)


@pytest.mark.usefixtures("fetched")
async def test_the_sdks_client_gets_through_a_tap_what_it_gets_without(tmp_path: Path) -> None:
    said: list[str] = []
    for command in (npx(EVERYTHING), tap(tmp_path, *npx(EVERYTHING))):
        parameters = StdioServerParameters(command=command[0], args=command[1:], env={"HOME": HOME})
        with anyio.fail_after(60):
            async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                tools = await session.list_tools()
                result = await session.call_tool("echo", {"message": "hello"})
        said.append(tools.model_dump_json() + result.model_dump_json())
    assert said[0] == said[1]
    found = await anyio.to_thread.run_sync(recorded, tmp_path)
    assert [record for record in found if record.draft.wire == "mcp" and record.draft.malformed] == []
    assert b'"tools/call"' in data(found, "out")


@pytest.mark.parametrize("words", ASKED, ids=lambda words: words[1])
def test_the_inspectors_command_line_prints_through_a_tap_what_it_prints_without(
    tmp_path: Path, words: tuple[str, ...], node: Node
) -> None:
    printed: list[bytes] = []
    # Not by npx: the inspector does not end where that stands before its server, tap or no tap.
    server = node.command(EVERYTHING, "stdio")
    for command in (server, tap(tmp_path, *server)):
        run = subprocess.run(
            [*node.command(INSPECTOR), "--cli", *command, *words],
            capture_output=True,
            check=True,
            env={"HOME": HOME, "PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin:/usr/local/bin"},
            timeout=50,
        )
        printed.append(run.stdout)
    assert printed[0] == printed[1]
    assert words[1].encode() in data(recorded(tmp_path), "out")
