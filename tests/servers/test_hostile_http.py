"""What can go wrong on HTTP: each fault is one call's, said in words, and the next call works."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace

import anyio
import pytest

from tests.servers.raw_http import Asked, Script, raw_http, well_behaved
from tests.servers.running import Running, hostile, listening, remote, started
from tui_host.errors import ServerError


def once(script: Script) -> Script:
    """Misbehave in the first call alone."""
    done: list[bool] = []

    async def first(asked: Asked) -> None:
        if done:
            await well_behaved(asked)
        else:
            done.append(True)
            await script(asked)

    return first


async def dropped(asked: Asked) -> None:
    await asked.stream.aclose()


async def half_a_body(asked: Asked) -> None:
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
    await asked.stream.send(head.encode() + b'{"jsonrpc":"2.0",')


async def bad_gzip(asked: Asked) -> None:
    await asked.answer("200 OK", b"\x1f\x8bnonsense", Content_Type="application/json", Content_Encoding="gzip")


async def gzip_bomb(asked: Asked) -> None:
    body = gzip.compress(b" " * 100_000_000, 1)
    await asked.answer("200 OK", body, Content_Type="application/json", Content_Encoding="gzip")


async def login_page(asked: Asked) -> None:
    page = b"<html><script>var x = 1;</script><body><h1>Sign in to \x1b[2JHotel WiFi</h1></body></html>"
    await asked.answer("200 OK", page, Content_Type="text/html")


async def unavailable(asked: Asked) -> None:
    await asked.answer("503 Service Unavailable", b"<p>Back at <b>noon</b></p>", Retry_After="120")


async def unauthorized(asked: Asked) -> None:
    await asked.answer("401 Unauthorized", b'{"error":"no token"}', Content_Type="application/json")


async def elsewhere(asked: Asked) -> None:
    await asked.answer("307 Temporary Redirect", Location="http://127.0.0.1:9/steal")


async def nowhere(asked: Asked) -> None:
    await asked.answer("307 Temporary Redirect", Location="http://[::x/%zz")


async def accepted(asked: Asked) -> None:
    await asked.answer("202 Accepted")


async def rpc_error(asked: Asked) -> None:
    value = {"jsonrpc": "2.0", "id": asked.frame["id"], "error": {"code": -32602, "message": "no such city"}}
    await asked.answer("400 Bad Request", json.dumps(value).encode(), Content_Type="application/json")


async def rpc_error_of_the_same_code(asked: Asked) -> None:
    value = {"jsonrpc": "2.0", "id": asked.frame["id"], "error": {"code": -32000, "message": "all rooms are taken"}}
    await asked.answer("200 OK", json.dumps(value).encode(), Content_Type="application/json")


async def no_json(asked: Asked) -> None:
    await asked.answer("200 OK", b'{"jsonrpc":"2.0",', Content_Type="application/json")


async def many_parts(asked: Asked) -> None:
    await asked.result({"content": [{"type": "text", "text": "a"}] * 30_000})


async def many_parts_in_an_event(asked: Asked) -> None:
    await asked.events()
    result = {"content": [{"type": "text", "text": "a"}] * 30_000}
    value = {"jsonrpc": "2.0", "id": asked.frame["id"], "result": result}
    await asked.stream.send(b"event: message\ndata: " + json.dumps(value).encode() + b"\n\n")


async def many_lines_in_an_event(asked: Asked) -> None:
    await asked.events()
    await asked.stream.send(b"data:\n" * 30_000 + b"\n")


async def compressed_stream(asked: Asked) -> None:
    """It would be 30 MB of one line where the SDK unpacked it."""
    bomb = gzip.compress(b"data: " + b"a" * 30_000_000, 1)
    await asked.answer("200 OK", bomb, Content_Type="text/event-stream; charset=utf-8", Content_Encoding="gzip")


async def stream_without_answer(asked: Asked) -> None:
    await asked.events()
    await asked.stream.send(b": nothing to say\n\n")


FAULTS: list[tuple[Script, str]] = [
    (dropped, "the answer was lost: Server disconnected .*; the tool may have run"),
    (half_a_body, "the answer was lost: peer closed connection .*; the tool may have run"),
    (bad_gzip, "broken"),
    (gzip_bomb, "decodes to more than"),
    (login_page, "HTTP 200 OK: Sign in to .*Hotel WiFi"),
    (unavailable, r"HTTP 503 Service Unavailable: Back at noon \(try again after 120\)"),
    (unauthorized, "HTTP 401 Unauthorized: no token.*Authorization"),
    (elsewhere, "HTTP 307"),
    (nowhere, "HTTP 307"),
    (accepted, "202"),
    (rpc_error, "no such city"),
    (rpc_error_of_the_same_code, "^raw: all rooms are taken$"),
    (no_json, "Failed to parse"),
    (many_parts, "parts or more"),
    (many_parts_in_an_event, "parts or more"),
    (many_lines_in_an_event, "lines; 20,000 are read"),
    (compressed_stream, r"its event stream is compressed \(gzip\); we asked for identity"),
    (stream_without_answer, "the answer was lost: .* without a response; the tool may have run"),
]


async def as_asked(asked: Asked) -> None:
    """Misbehave as the call's arguments name it."""
    params = asked.frame["params"]
    arguments = params.get("arguments") if isinstance(params, dict) else None
    name = arguments.get("fault") if isinstance(arguments, dict) else None
    await {fault.__name__: fault for fault, _ in FAULTS}.get(str(name), well_behaved)(asked)


@pytest.fixture(scope="module")
async def raw() -> AsyncGenerator[Running]:
    """One connection that lives through every fault."""
    async with raw_http(call=as_asked) as server, started(remote("raw", server.url)) as running:
        assert running.status("raw").state == "ready", running.status("raw").detail
        yield running
        assert not any(asked.path == "/steal" for asked in server.asked)


@pytest.mark.parametrize(("fault", "words"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
async def test_a_fault_in_one_call_is_told_and_the_next_call_works(raw: Running, fault: Script, words: str) -> None:
    with anyio.fail_after(20), pytest.raises(ServerError, match=words):
        await raw.call("raw", arguments=b'{"fault":"%s"}' % fault.__name__.encode())
    with anyio.fail_after(20):
        assert (await raw.call("raw")).content[0].text == "fine"


NOISE = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":[%s]}}\n\n'
UNREADABLE = NOISE % b",".join([b"1"] * 30_000)
READABLE = NOISE % b"1"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"


@pytest.mark.parametrize("kind", ["parts", "compressed"])
async def test_a_stream_of_the_server_s_own_is_read_no_further_where_it_passes_the_bounds(kind: str) -> None:
    payload = b"\r\n" + READABLE + UNREADABLE
    if kind == "compressed":
        payload = b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(READABLE)
    closed = anyio.Event()

    async def script(asked: Asked) -> None:
        if asked.method != "GET":
            await well_behaved(asked)
            return
        await asked.stream.send(STREAM + payload)
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):  # either is the end that is waited for
            await asked.stream.receive()
        closed.set()

    async with raw_http(everything=script) as server, started(remote("raw", server.url)) as running:
        with anyio.fail_after(20):
            await closed.wait()  # we hang up, the server does not
            assert (await running.call("raw")).content[0].text == "fine"
        assert running.status("raw").state == "ready"


async def test_the_older_transport_has_the_same_bounds_and_says_why_it_ended() -> None:
    asked_for = anyio.Event()

    async def script(asked: Asked) -> None:
        if asked.method == "GET":
            await asked.stream.send(STREAM + b"\r\nevent: endpoint\ndata: /messages\n\n")
            await asked_for.wait()
            await asked.stream.send(UNREADABLE)
            await anyio.sleep_forever()
        asked_for.set()
        bomb = gzip.compress(b" " * 30_000_000, 1)
        await asked.answer("202 Accepted", bomb, Content_Encoding="gzip")

    async with (
        raw_http(everything=script) as server,
        started(replace(remote("raw", server.url), transport="sse")) as running,
    ):
        status = running.status("raw")
        assert status.state == "failed"
        assert "parts or more; 20,000 are read" in status.detail


async def test_a_refused_connection_is_one_line() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with started(remote("gone", f"http://127.0.0.1:{port}/mcp"), hostile("good", "good")) as running:
            status = running.status("gone")
            assert status.state == "failed"
            assert "refused" in status.detail
            assert status.notices == ()  # it is told once
            assert "\n" not in status.detail
            assert running.status("good").state == "ready"


async def test_a_call_to_a_server_that_has_gone_is_told_as_not_sent() -> None:
    with listening("http") as (url, process):
        async with started(remote("gone", url)) as running:
            process.kill()
            process.wait()
            with anyio.fail_after(20), pytest.raises(ServerError, match="refused; nothing was sent") as caught:
                await running.call("gone")
            assert not caught.value.sent
            assert running.status("gone").notices[-1] == "the last request failed: connection refused"


async def test_a_server_that_is_no_mcp_server_is_told_by_its_own_words() -> None:
    async def everything(asked: Asked) -> None:
        await asked.answer("403 Forbidden", b"members only")

    async with raw_http(everything=everything) as server, started(remote("raw", server.url)) as running:
        assert running.status("raw").detail.startswith("HTTP 403 Forbidden: members only")


FORGOTTEN = [
    ("404 Not Found", b""),
    (
        "400 Bad Request",
        b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}',
    ),
]


@pytest.mark.parametrize(("status", "body"), FORGOTTEN, ids=["404", "400"])
async def test_a_forgotten_session_is_made_anew_once_and_the_call_is_not_repeated(status: str, body: bytes) -> None:
    async def forgotten(asked: Asked) -> None:
        await asked.answer(status, body, Content_Type="application/json")

    async with raw_http(call=once(forgotten)) as server, started(remote("raw", server.url)) as running:
        with pytest.raises(ServerError, match=status):
            await running.call("raw")
        await running.until(lambda: running.status("raw").state != "ready" or "#2" in running.status("raw").connection)
        await running.pool.settled(5)
        assert running.status("raw").connection == "raw#2"
        assert any("forgot the session" in notice for notice in running.status("raw").notices)
        assert sum(asked.rpc == "tools/call" for asked in server.asked) == 1
        assert (await running.call("raw")).content[0].text == "fine"


async def test_a_slow_answer_is_given_up_at_the_limit_and_cancelled() -> None:
    async def slow(asked: Asked) -> None:
        await anyio.sleep(30)  # the misbehaviour itself: nothing waits for its end

    async with raw_http(call=slow) as server, started(remote("raw", server.url)) as running:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(running.call, "raw")
                await running.until(lambda: any(asked.rpc == "tools/call" for asked in server.asked))
                group.cancel_scope.cancel()
            await running.until(lambda: any(asked.rpc == "notifications/cancelled" for asked in server.asked))


@pytest.mark.exhaustive
async def test_a_stream_that_ends_at_once_is_not_opened_again_and_again() -> None:
    opened: list[float] = []

    async def everything(asked: Asked) -> None:
        if asked.method == "GET":
            opened.append(time.monotonic())
            await asked.events()
            await asked.stream.send(b"retry: 0\nid: 1\ndata:\n\n")
        else:
            await well_behaved(asked)

    async with raw_http(everything=everything) as server, started(remote("raw", server.url)) as running:
        await running.until(lambda: len(opened) == 3)
        first, second, third = opened
        assert second - first > 0.9
        assert third - second > 1.9, "more and more slowly"
        assert running.status("raw").state == "ready"


async def test_an_event_of_two_megabytes_arrives() -> None:
    async def large(asked: Asked) -> None:
        await asked.events()
        value = {
            "jsonrpc": "2.0",
            "id": asked.frame["id"],
            "result": {"content": [{"type": "text", "text": "x" * 2_000_000}]},
        }
        data = b"data: " + json.dumps(value).encode() + b"\r\n\r\n"
        for start in range(0, len(data), 50_001):
            await asked.stream.send(data[start : start + 50_001])

    async with raw_http(call=large) as server, started(remote("raw", server.url)) as running:
        with anyio.fail_after(20):
            assert len((await running.call("raw")).content[0].text) == 2_000_000


async def test_a_session_that_is_never_let_go_does_not_delay_the_end() -> None:
    async def everything(asked: Asked) -> None:
        if asked.method == "DELETE":
            await anyio.sleep(30)  # the misbehaviour itself: nothing waits for its end
        await well_behaved(asked)

    async with raw_http(everything=everything) as server, started(remote("raw", server.url)) as running:
        began = time.monotonic()
        await running.pool.stop_all()
        assert time.monotonic() - began < 4
        assert server.count("DELETE") == 1
        assert running.status("raw").state == "stopped"


async def test_a_credential_goes_where_it_is_configured_and_a_redirect_does_not_carry_it_away() -> None:
    async with raw_http() as thief:

        async def everything(asked: Asked) -> None:
            await asked.answer("307 Temporary Redirect", Location=thief.url)

        async with raw_http(everything=everything) as server, started(remote("raw", server.url)) as running:
            assert running.status("raw").state == "failed"
            assert "change the URL" in running.status("raw").detail
        assert thief.asked == []
