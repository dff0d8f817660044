"""What a server refuses over HTTP and SSE: what that means for the session, when it is tried again, and how soon it is heard."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping

import anyio
import pytest

from tests.kit.peer import Exchange, Script
from tests.servers.raw_http import EVENTS, TOOLS, raw_http, well_behaved
from tests.servers.running import remote, started
from tui_host.errors import JSON, ServerError


@pytest.mark.parametrize("status", ["404 Not Found", "400 Bad Request", "405 Method Not Allowed"])
async def test_a_notification_that_is_refused_is_no_lost_session(status: str) -> None:
    async def script(asked: Exchange) -> None:
        if asked.request.rpc == "notifications/initialized":
            await asked.respond(status, b"<h1>Session not found</h1>", Content_Type="text/html")
        else:
            await well_behaved(asked)

    async with raw_http(everything=script) as server, started(remote("raw", server.url)) as running:
        for _ in range(3):
            assert (await running.call("raw")).content[0].text == "fine"
        assert (running.status("raw").connection, running.status("raw").notices) == ("raw#1", ())
        assert [tool.name for tool in running.pool.tools()] == ["echo"]
        assert server.count("DELETE") == 0


def refusing(method: str, status: str, **headers: str) -> tuple[Script, deque[str]]:
    """Refuse requests of a method while statuses are left."""
    left = deque([status])

    async def script(asked: Exchange) -> None:
        if left and asked.request.rpc == method:
            await asked.respond(left.popleft(), b"busy", **headers)
        else:
            await well_behaved(asked)

    return script, left


@pytest.mark.parametrize(
    ("method", "status", "headers", "words"),
    [
        ("initialize", "503 Busy", {"Retry_After": "0"}, ""),
        ("initialize", "502 Bad", {}, ""),
        ("tools/list", "429 Slow", {"Retry_After": "Thu, 01 Jan 2026 00:00:00 GMT"}, ""),
        ("tools/call", "429 Slow", {"Retry_After": "0"}, ""),
        ("tools/call", "503 Busy", {"Retry_After": "0"}, ""),
        ("tools/call", "503 Busy", {}, "HTTP 503 Service Unavailable: busy; the tool may have run"),
        (
            "tools/call",
            "502 Bad",
            {"Retry_After": "0"},
            "HTTP 502 Bad Gateway: busy (try again after 0); the tool may have run",
        ),
        (
            "tools/call",
            "429 Slow",
            {"Retry_After": "120"},
            "HTTP 429 Too Many Requests: busy (try again after 120); the tool was not run",
        ),
    ],
)
async def test_what_is_refused_for_a_while_is_sent_again_as_the_server_says(
    method: str, status: str, headers: Mapping[str, str], words: str
) -> None:
    script, left = refusing(method, status, **headers)
    async with raw_http(everything=script) as server, started(remote("raw", server.url)) as running:
        if words:
            with pytest.raises(ServerError) as caught:
                await running.call("raw")
            assert str(caught.value) == f"raw: {words}"
        else:
            assert (await running.call("raw")).content[0].text == "fine"
        assert running.status("raw").connection == "raw#1"
        assert not left


async def test_a_server_that_is_away_at_the_first_connection_is_tried_again_later() -> None:
    async def away(asked: Exchange) -> None:
        await asked.respond("503 Service Unavailable", b"back soon", Retry_After="45")

    async with raw_http(everything=away) as server, started(remote("raw", server.url)) as running:
        await running.until(lambda: "try 1" in running.status("raw").detail)
        status = running.status("raw")
        assert status.state == "lost"
        assert status.detail.startswith(
            "HTTP 503 Service Unavailable: back soon (try again after 45); try 1 of 10 in 4"
        )


async def test_a_broken_stream_goes_on_where_and_when_its_server_says() -> None:
    resumed: list[str] = []

    async def script(asked: Exchange) -> None:
        value = {"jsonrpc": "2.0", "id": 0, "result": {"content": [{"type": "text", "text": "whole"}]}}
        if asked.request.rpc == "tools/call":
            numbers.append(asked.request.json["id"])
            await asked.send(EVENTS)
            await asked.link.send(b"id: 7\nretry: 10\ndata:\n\n")
        elif asked.request.method == "GET" and "last-event-id" in asked.request.headers:
            resumed.append(asked.request.headers["last-event-id"])
            await asked.send(EVENTS)
            await asked.link.send(b"data: %s\n\n" % json.dumps({**value, "id": numbers[0]}).encode())
        else:
            await well_behaved(asked)

    numbers: list[JSON] = []
    async with raw_http(everything=script) as server, started(remote("raw", server.url)) as running:
        assert (await running.call("raw")).content[0].text == "whole"
        assert resumed == ["7"]


class SseServer:
    """The older transport: answers come in the stream of the GET. `endpoint` is what it names, `calls` how it answers calls."""

    def __init__(self, endpoint: str, calls: str = "", bom: bytes = b"") -> None:
        self.endpoint = endpoint
        self.calls = calls
        self.bom = bom
        self._frames = asyncio.Queue[JSON]()

    async def serve(self, asked: Exchange) -> None:
        if asked.request.method == "GET":
            await asked.send(EVENTS)
            await asked.link.send(self.bom + f"event: endpoint\ndata: {self.endpoint}\n\n".encode())
            while True:
                frame = json.dumps(await self._frames.get()).encode()
                await asked.link.send(b"event: message\ndata: %s\n\n" % frame)
        elif not asked.request.path.startswith("/messages") or (self.calls and asked.request.rpc == "tools/call"):
            await asked.respond(self.calls or "404 Not Found", b"it went wrong")
        else:
            await asked.respond("202 Accepted")
            results: dict[JSON, JSON] = {
                "initialize": {
                    "protocolVersion": "2024-11-05",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "case", "version": "1"},
                },
                "tools/list": {"tools": TOOLS},
                "tools/call": {"content": [{"type": "text", "text": "fine"}]},
            }
            error: JSON = {"code": -32601, "message": "Method not found"}
            outcome: dict[str, JSON] = (
                {"result": results[asked.request.rpc]} if asked.request.rpc in results else {"error": error}
            )
            if "id" in asked.request.json:
                await self._frames.put({"jsonrpc": "2.0", "id": asked.request.json["id"], **outcome})


@pytest.mark.parametrize(
    ("endpoint", "calls", "words"),
    [
        ("/messages?s=1", "", "fine"),
        (
            "/messages?s=1",
            "500 Internal Server Error",
            (
                "HTTP 500 Internal Server Error: it went wrong, from {origin}/messages, the address that the server named;"
                " the tool may have run"
            ),
        ),
        (
            "/messages?s=1",
            "404 Not Found",
            (
                "HTTP 404 Not Found: it went wrong, from {origin}/messages, the address that the server named; the tool was not run"
                " (the server did answer at this URL before: check whether it was changed)"
            ),
        ),
        (
            "/messages?s=1",
            "401 Unauthorized",
            (
                "HTTP 401 Unauthorized: it needs a login: it went wrong; the tool was not run"
                " (run tui-host servers login old)"
            ),
        ),
    ],
)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
async def test_what_the_older_transport_refuses_is_heard_at_once(
    endpoint: str, calls: str, words: str, bom: bytes
) -> None:
    case = SseServer(endpoint, calls, bom)
    async with (
        raw_http(everything=case.serve) as server,
        started(remote("old", server.url, transport="sse")) as running,
    ):
        with anyio.fail_after(30):
            try:
                told = (await running.call("old")).content[0].text
            except ServerError as error:
                told = str(error).removeprefix("old: ")
        assert told == words.format(origin=server.url.removesuffix("/mcp"))


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (
            "/gone",
            "HTTP 404 Not Found: it went wrong, from {origin}/gone, the address that the server named (correct the URL)",
        ),
        (
            "http://127.0.0.2:9/gw/messages?s=1",
            (
                "it named an address elsewhere for messages: http://127.0.0.2:9/gw/messages"
                " (ask whoever runs it: the address must be of the same origin)"
            ),
        ),
    ],
)
async def test_a_wrong_address_for_messages_is_named_at_once(endpoint: str, words: str) -> None:
    case = SseServer(endpoint)
    async with (
        raw_http(everything=case.serve) as server,
        started(remote("old", server.url, transport="sse")) as running,
    ):
        assert running.status("old").detail == words.format(origin=server.url.removesuffix("/mcp"))
