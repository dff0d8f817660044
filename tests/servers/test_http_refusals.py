"""What a server refuses over HTTP and SSE: what that means for the session, when it is tried again, and how soon it is heard."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import anyio
import pytest

from tests.kit.mcp_http import mcp_http
from tests.kit.mcp_server import McpScript
from tests.kit.peer import Exchange, Script, give, head, peer, rpc
from tests.servers.running import FINE, behind_url, remote, started
from tui_host.errors import JSON, ServerError


@pytest.mark.parametrize("status", ["404 Not Found", "400 Bad Request", "405 Method Not Allowed"])
async def test_a_notification_that_is_refused_is_no_lost_session(status: str) -> None:
    async def refuses(asked: Exchange) -> None:
        await asked.respond(status, b"<h1>Session not found</h1>", Content_Type="text/html")

    async with behind_url(**{"notifications/initialized": refuses}) as (server, running):
        for _ in range(3):
            assert (await running.call("raw")).content[0].text == "fine"
        assert (running.status("raw").connection, running.status("raw").notices) == ("raw#1", ())
        assert [tool.name for tool in running.pool.tools()] == ["echo"]
        assert server.count("DELETE") == 0


def busy(status: str, headers: Mapping[str, str]) -> Script:
    """Refuse the first request alone."""
    left, usual = [status], mcp_http(FINE)

    async def script(asked: Exchange) -> None:
        if left:
            await asked.respond(left.pop(), b"busy", **headers)
        else:
            await give(usual, asked)

    return script


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
    async with behind_url(**{method: busy(status, headers)}) as (server, running):
        told = ""
        try:
            assert (await running.call("raw")).content[0].text == "fine"
        except ServerError as error:
            told = str(error)
        assert told == (f"raw: {words}" if words else "")
        assert running.status("raw").connection == "raw#1"
        assert server.count(method) == (1 if words else 2)


async def test_a_server_that_is_away_at_the_first_connection_is_tried_again_later() -> None:
    async def away(asked: Exchange) -> None:
        await asked.respond("503 Service Unavailable", b"back soon", Retry_After="45")

    async with behind_url(POST=away) as (_, running):
        await running.until(lambda: "try 1" in running.status("raw").detail)
        words = "HTTP 503 Service Unavailable: back soon (try again after 45); try 1 of 10 in 4"
        assert running.status("raw").state == "lost"
        assert running.status("raw").detail.startswith(words)


async def test_a_broken_stream_goes_on_where_and_when_its_server_says() -> None:
    numbers: list[JSON] = []
    resumed: list[str] = []

    async def breaks(asked: Exchange) -> None:
        numbers.append(asked.request.json["id"])
        await asked.send(head(), b"id: 7\nretry: 10\ndata:\n\n")

    async def goes_on(asked: Exchange) -> None:
        if "last-event-id" not in asked.request.headers:
            await asked.respond("405 Method Not Allowed")
            return
        resumed.append(asked.request.headers["last-event-id"])
        result: JSON = {"content": [{"type": "text", "text": "whole"}]}
        await asked.send(head(), b"data: %s\n\n" % rpc(id=numbers[0], result=result))

    async with behind_url(GET=goes_on, **{"tools/call": breaks}) as (_, running):
        assert (await running.call("raw")).content[0].text == "whole"
        assert resumed == ["7"]


def older(endpoint: str, calls: str = "", bom: bytes = b"") -> Script:
    """The older transport: answers come in the stream of the GET. `endpoint` is what it names, `calls` how it answers calls."""
    frames = asyncio.Queue[Mapping[str, object]]()
    state = McpScript(FINE, frames.put_nowait)

    async def serve(asked: Exchange) -> None:
        message = asked.request.json
        if asked.request.method == "GET":
            await asked.send(head(), bom + f"event: endpoint\ndata: {endpoint}\n\n".encode())
            while True:
                await asked.send(b"event: message\ndata: %s\n\n" % json.dumps(await frames.get()).encode())
        elif not asked.request.path.startswith("/messages") or (calls and asked.request.rpc == "tools/call"):
            await asked.respond(calls or "404 Not Found", b"it went wrong")
        else:
            await asked.respond("202 Accepted")
            state.play(state.steps(message), message)

    return serve


NAMED = "from {origin}/messages, the address that the server named"


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ("", "fine"),
        (
            "500 Internal Server Error",
            f"HTTP 500 Internal Server Error: it went wrong, {NAMED}; the tool may have run",
        ),
        (
            "404 Not Found",
            (
                f"HTTP 404 Not Found: it went wrong, {NAMED}; the tool was not run"
                " (the server did answer at this URL before: check whether it was changed)"
            ),
        ),
        (
            "401 Unauthorized",
            (
                "HTTP 401 Unauthorized: it needs a login: it went wrong; the tool was not run"
                " (run tui-host servers login old)"
            ),
        ),
    ],
)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
async def test_what_the_older_transport_refuses_is_heard_at_once(calls: str, words: str, bom: bytes) -> None:
    async with (
        peer(always=older("/messages?s=1", calls, bom), path="/mcp") as server,
        started(remote("old", server.url, transport="sse")) as running,
    ):
        with anyio.fail_after(30):
            try:
                told = (await running.call("old")).content[0].text
            except ServerError as error:
                told = str(error).removeprefix("old: ")
        assert told == words.format(origin=server.origin)


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
    async with (
        peer(always=older(endpoint), path="/mcp") as server,
        started(remote("old", server.url, transport="sse")) as running,
    ):
        assert running.status("old").detail == words.format(origin=server.origin)
