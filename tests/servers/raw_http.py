"""An MCP server over HTTP, byte by byte: what it answers to a call is the test's to say."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
from anyio.abc import SocketStream

from tui_host.errors import JSON

TOOLS: JSON = [{"name": "echo", "description": "", "inputSchema": {"type": "object"}}]


@dataclass(kw_only=True)
class Asked:
    """One request, and the socket to answer on."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    stream: SocketStream

    @property
    def frame(self) -> Mapping[str, JSON]:
        value: JSON = json.loads(self.body) if self.body else {}
        assert isinstance(value, Mapping)
        return value

    @property
    def rpc(self) -> JSON:
        return self.frame.get("method")

    async def answer(self, status: str, body: bytes = b"", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.stream.send("\r\n".join([*lines, "", ""]).encode() + body)

    async def result(self, result: JSON, **headers: str) -> None:
        value = {"jsonrpc": "2.0", "id": self.frame.get("id"), "result": result}
        await self.answer("200 OK", json.dumps(value).encode(), Content_Type="application/json", **headers)

    async def events(self) -> None:
        """Begin an event stream, which the end of the connection ends."""
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        await self.stream.send(head.encode())


Script: TypeAlias = Callable[[Asked], Awaitable[None]]


@dataclass(kw_only=True)
class RawHttp:
    """The server while it runs.

    Attributes:
        url: Its endpoint.
        asked: Everything it was asked, in order.
    """

    url: str = ""
    asked: list[Asked] = field(default_factory=list[Asked])

    def count(self, method: str) -> int:
        return sum(asked.method == method for asked in self.asked)


async def well_behaved(asked: Asked) -> None:
    """The stateful era with JSON answers and a session."""
    match asked.rpc:
        case "initialize":
            capabilities: JSON = {"tools": {}}
            info: JSON = {"name": "raw", "version": "1"}
            result: JSON = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
            await asked.result(result, Mcp_Session_Id="s1")
        case "tools/list":
            await asked.result({"tools": TOOLS})
        case "tools/call":
            await asked.result({"content": [{"type": "text", "text": "fine"}]})
        case "server/discover":
            await asked.answer("400 Bad Request")
        case None if asked.method != "POST":
            await asked.answer("405 Method Not Allowed")
        case _:
            await asked.answer("202 Accepted")


@asynccontextmanager
async def raw_http(*, call: Script | None = None, everything: Script | None = None) -> AsyncGenerator[RawHttp]:
    """Serve: `call` answers tool calls, `everything` all of it."""
    server = RawHttp()

    async def serve(stream: SocketStream) -> None:
        async with stream:
            asked = await read_request(stream)
            if asked is None:
                return
            server.asked.append(asked)
            script = everything or (call if call is not None and asked.rpc == "tools/call" else None) or well_behaved
            try:
                await script(asked)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    async with listener, anyio.create_task_group() as group:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - anyio's, not Django's
        server.url = f"http://127.0.0.1:{port}/mcp"
        group.start_soon(listener.serve, serve)
        yield server
        group.cancel_scope.cancel()


async def read_request(stream: SocketStream) -> Asked | None:
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            data += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return None
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += await stream.receive()
    method, path, _ = first.split()
    return Asked(method=method, path=path, headers=headers, body=body, stream=stream)
