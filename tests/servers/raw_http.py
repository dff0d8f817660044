"""An MCP server over HTTP whose misbehaviour is the test's to say, on the kit's peer."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.kit.peer import Exchange, Peer, Script, head, peer
from tui_host.errors import JSON

TOOLS: JSON = [{"name": "echo", "description": "", "inputSchema": {"type": "object"}}]
EVENTS = head(more="Connection: close\r\n")
"""The beginning of an event stream, which the end of the connection ends."""


async def well_behaved(asked: Exchange) -> None:
    """The stateful era with JSON answers and a session."""
    match asked.request.rpc:
        case "initialize":
            info: JSON = {"name": "raw", "version": "1"}
            result: JSON = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            await asked.result(result, Mcp_Session_Id="s1")
        case "tools/list":
            await asked.result({"tools": TOOLS})
        case "tools/call":
            await asked.result({"content": [{"type": "text", "text": "fine"}]})
        case "server/discover":
            await asked.respond("400 Bad Request")
        case "" if asked.request.method != "POST":
            await asked.respond("405 Method Not Allowed")
        case _:
            await asked.respond("202 Accepted")


@asynccontextmanager
async def raw_http(*, call: Script | None = None, everything: Script | None = None) -> AsyncGenerator[Peer]:
    """Serve: `call` answers tool calls, `everything` all of it."""

    async def script(asked: Exchange) -> None:
        is_call = call is not None and asked.request.rpc == "tools/call"
        await (everything or (call if call is not None and is_call else well_behaved))(asked)

    async with peer(always=script, path="/mcp") as there:
        yield there
