"""What can go wrong on HTTP: a fault is one call's, said in words; a refusal is heard at once, and sent again as its server says."""

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, Mapping

import anyio
import pytest

from tests.kit.mcp_http import mcp_http
from tests.kit.mcp_server import McpScript
from tests.kit.peer import Answer, Exchange, Script, cuts, give, head, peer, response, rpc
from tests.servers.running import FINE, Running, behind_url, remote, started
from tui_host.errors import JSON, ServerError


def answering(status: str, body: bytes = b"", **headers: str) -> Script:
    async def script(asked: Exchange) -> None:
        await asked.respond(status, body, **headers)

    return script


def bomb(begin: bytes, size: int, kind: str) -> Script:
    """Answer with blanks beyond all bounds, compressed."""

    async def script(asked: Exchange) -> None:
        await asked.respond("200 OK", gzip.compress(begin + b" " * size, 1), Content_Type=kind, Content_Encoding="gzip")

    return script


def in_json(status: str, **members: JSON) -> Script:
    async def script(asked: Exchange) -> None:
        await asked.respond(status, rpc(id=asked.request.json["id"], **members), Content_Type="application/json")

    return script


def once(answer: Answer) -> Script:
    left, usual = [answer], mcp_http(FINE)

    async def script(asked: Exchange) -> None:
        await give(left.pop() if left else usual, asked)

    return script


async def outcome(running: Running, name: str) -> str:
    try:
        return (await running.call(name)).content[0].text
    except ServerError as error:
        return str(error).removeprefix(f"{name}: ")


IN_JSON, ZIPPED = {"Content_Type": "application/json"}, {"Content_Encoding": "gzip"}
PAGE = b"<html><script>var x = 1;</script><body><h1>Sign in to \x1b[2JHotel WiFi</h1></body></html>"
MOVED = "307 Temporary Redirect"
NO_MESSAGE = "the answer was lost: the answer is no JSON-RPC message; the tool may have run$"
FAULTS: dict[str, tuple[Answer, str]] = {
    "dropped": (cuts(), "the answer was lost: Server disconnected .*; the tool may have run"),
    "half a body": (cuts(response(b'{"jsonrpc":"2.0",' + b" " * 500)[:-400]),
        "the answer was lost: peer closed connection .*; the tool may have run"),
    "bad gzip": (answering("200 OK", b"\x1f\x8bnonsense", **IN_JSON, **ZIPPED), "broken"),
    "a gzip bomb": (bomb(b" ", 100_000_000, "application/json"), "decodes to more than"),
    "a login page": (answering("200 OK", PAGE, Content_Type="text/html"),
        "it answered text/html: a login page, or the wrong URL. Sign in to .*Hotel WiFi; the tool may have run"),
    "unavailable": (answering("503 Service Unavailable", b"<p>Back at <b>noon</b></p>", Retry_After="120"),
        r"HTTP 503 Service Unavailable: Back at noon \(try again after 120\)"),
    "unauthorized": (answering("401 Unauthorized", b'{"error":"no token"}', **IN_JSON),
        "HTTP 401 Unauthorized: it needs a login: no token; the tool was not run .run tui-host servers login raw."),
    "elsewhere": (answering(MOVED, Location="http://127.0.0.1:9/steal"), "HTTP 307"),
    "nowhere": (answering(MOVED, Location="http://[::x/%zz"), "HTTP 307"),
    "accepted": (answering("202 Accepted"), "202"),
    "an error": (in_json("400 Bad Request", error={"code": -32602, "message": "no such city"}), "no such city"),
    "no JSON": (answering("200 OK", b'{"jsonrpc":"2.0",', **IN_JSON), NO_MESSAGE),
    "a batch": (answering("200 OK", b'[{"jsonrpc":"2.0","id":1,"result":{}}]', **IN_JSON), NO_MESSAGE),
    "many parts": (in_json("200 OK", result={"content": [{"type": "text", "text": "a"}] * 30_000}), "parts or more"),
    "a compressed stream": (  # it would be 30 MB of one line where the SDK unpacked it
        bomb(b"data: ", 30_000_000, "text/event-stream; charset=utf-8"),
        r"its event stream is compressed \(gzip\); we asked for identity",
    ),
    "a stream without an answer": ([head(), b": nothing to say\n\n"],
        "the answer was lost: .* without a response; the tool may have run"),
}  # fmt: skip


async def as_asked(asked: Exchange) -> None:
    """Misbehave as the call's arguments name it."""
    params = asked.request.json["params"]
    arguments = params.get("arguments") if isinstance(params, dict) else None
    name = arguments.get("fault") if isinstance(arguments, dict) else None
    await give(FAULTS.get(str(name), (mcp_http(FINE), ""))[0], asked)


@pytest.fixture(scope="module")
async def raw() -> AsyncGenerator[Running]:
    async with behind_url(**{"tools/call": as_asked}) as (server, running):
        yield running
        assert not any(asked.path == "/steal" for asked in server.requests)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_in_one_call_is_told_and_the_next_call_works(raw: Running, fault: str) -> None:
    with anyio.fail_after(90), pytest.raises(ServerError, match=FAULTS[fault][1]):
        await raw.call("raw", arguments=json.dumps({"fault": fault}, separators=(",", ":")).encode())
    with anyio.fail_after(90):
        assert (await raw.call("raw")).content[0].text == "fine"


NOISE = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":[%s]}}\n\n'


async def test_a_server_that_is_no_mcp_server_or_declares_no_tools_is_told_by_its_own_words() -> None:
    async with behind_url(POST=answering("403 Forbidden", b"members only")) as (_, running):
        assert running.status("raw").detail.startswith("HTTP 403 Forbidden: members only")
    async with (
        peer(always=mcp_http({"capabilities": {}}), path="/mcp") as server,
        started(remote("raw", server.url)) as running,
    ):
        assert running.status("raw").notices == ("it declares no tools, so it was not asked for any",)


NO_SESSION: JSON = {"code": -32000, "message": "Bad Request: No valid session ID provided"}


@pytest.mark.parametrize("forgotten", [answering("404 Not Found"), in_json("400 Bad Request", error=NO_SESSION)])
async def test_a_call_refused_for_a_lost_session_is_sent_again_over_a_new_one_once(forgotten: Script) -> None:
    async with behind_url(**{"tools/call": once(forgotten)}) as (server, running):
        output = await running.call("raw", arguments=b'{"a":1.0}')
        assert (output.content[0].text, output.is_resent) == ("fine", True)
        assert running.status("raw").connection == "raw#2"
        assert running.status("raw").notices == ("the server no longer knew the session; a new one was made",)
        sent = [asked.body for asked in server.requests if asked.rpc == "tools/call"]
        assert [b'"arguments":{"a":1.0}' in body for body in sent] == [True, True]
        assert not (await running.call("raw")).is_resent
    async with behind_url(**{"tools/call": answering("404 Not Found")}) as (server, running):
        assert "no longer knows the session (HTTP 404 Not Found); nothing ran" in await outcome(running, "raw")
        assert server.count("tools/call") == 2


async def test_a_credential_goes_where_it_is_configured_and_a_redirect_does_not_carry_it_away() -> None:
    async with peer(path="/mcp") as thief, behind_url(POST=answering(MOVED, Location=thief.url)) as (_, running):
        assert running.status("raw").state == "failed"
        assert "change the URL" in running.status("raw").detail
        assert thief.requests == []


@pytest.mark.parametrize("status", ["404 Not Found", "400 Bad Request", "405 Method Not Allowed"])
async def test_a_notification_that_is_refused_is_no_lost_session(status: str) -> None:
    refused = answering(status, b"<h1>Session not found</h1>", Content_Type="text/html")
    async with behind_url(**{"notifications/initialized": refused}) as (server, running):
        for _ in range(3):
            assert (await running.call("raw")).content[0].text == "fine"
        assert (running.status("raw").connection, running.status("raw").notices) == ("raw#1", ())
        assert [tool.name for tool in running.pool.tools()] == ["echo"]
        assert server.count("DELETE") == 0


@pytest.mark.parametrize(
    ("method", "status", "headers", "words"),
    [
        ("initialize", "503 Busy", {"Retry_After": "0"}, ""),
        ("initialize", "502 Bad", {}, ""),
        ("tools/list", "429 Slow", {"Retry_After": "Thu, 01 Jan 2026 00:00:00 GMT"}, ""),
        ("tools/call", "429 Slow", {"Retry_After": "0"}, ""),
        ("tools/call", "503 Busy", {"Retry_After": "0"}, ""),
        ("tools/call", "400 Bad", {}, "HTTP 400 Bad Request: busy; the tool was not run"),
        ("tools/call", "503 Busy", {}, "HTTP 503 Service Unavailable: busy; the tool may have run"),
        (*("tools/call", "502 Bad", {"Retry_After": "0"}),
         "HTTP 502 Bad Gateway: busy (try again after 0); the tool may have run"),
        (*("tools/call", "429 Slow", {"Retry_After": "120"}),
         "HTTP 429 Too Many Requests: busy (try again after 120); the tool was not run"),
    ],
)  # fmt: skip
async def test_what_is_refused_for_a_while_is_sent_again_as_the_server_says(
    method: str, status: str, headers: Mapping[str, str], words: str
) -> None:
    async with behind_url(**{method: once(answering(status, b"busy", **headers))}) as (server, running):
        assert await outcome(running, "raw") == (words or "fine")
        assert running.status("raw").connection == "raw#1"
        assert server.count(method) == (1 if words else 2)


async def test_a_server_that_is_away_at_the_first_connection_is_tried_again_later() -> None:
    async with behind_url(POST=answering("503 Busy", b"back soon", Retry_After="45")) as (_, running):
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
ELSEWHERE = "http://127.0.0.2:9/gw/messages"
CHANGED = " (the server did answer at this URL before: check whether it was changed)"
LOGIN = " (run tui-host servers login old)"
NOT_THERE = "from {origin}/gone, the address that the server named (correct the URL)"
ASK = " (ask whoever runs it: the address must be of the same origin)"


@pytest.mark.parametrize(
    ("endpoint", "calls", "words"),
    [
        ("", "", "fine"),
        ("", "500 Oops", f"HTTP 500 Internal Server Error: it went wrong, {NAMED}; the tool may have run"),
        ("", "404 Not Found", f"HTTP 404 Not Found: it went wrong, {NAMED}; the tool was not run{CHANGED}"),
        ("", "401 No", f"HTTP 401 Unauthorized: it needs a login: it went wrong; the tool was not run{LOGIN}"),
        ("/gone", "", f"HTTP 404 Not Found: it went wrong, {NOT_THERE}"),
        (f"{ELSEWHERE}?s=1", "", f"it named an address elsewhere for messages: {ELSEWHERE}{ASK}"),
    ],
)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
async def test_what_an_older_server_refuses_is_told_at_once(endpoint: str, calls: str, words: str, bom: bytes) -> None:
    async with (
        peer(always=older(endpoint or "/messages?s=1", calls, bom), path="/mcp") as server,
        started(remote("old", server.url, transport="sse")) as running,
    ):
        with anyio.fail_after(30):
            told = running.status("old").detail if endpoint else await outcome(running, "old")
        assert told == words.format(origin=server.origin)
