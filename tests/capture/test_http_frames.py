"""An MCP server's HTTP traffic is recorded as bytes, and as the frames in them, each in its place."""

from __future__ import annotations

import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest

from tests.capture.wires import Kept
from tests.kit.peer import Answer, Exchange, Peer, chunked, cuts, hangs, peer, response, rpc
from tui_host.capture.http.httpx2_tap import RecordingTransport
from tui_host.capture.http.observer import Observer
from tui_host.capture.record import NOWHERE, Place, Record, current_place

CALL = Place(session="s", turn=1, step=1, call="c1")
ASK = rpc(id=4, method="tools/call", params={"name": "add", "arguments": {"a": 1}, "_meta": {"progressToken": 4}})
RESULT = rpc(id=4, result={"content": [{"type": "text", "text": "3"}], "isError": False})
PROGRESS = rpc(method="notifications/progress", params={"progressToken": 4, "progress": 1})


@asynccontextmanager
async def client(kept: Kept) -> AsyncGenerator[httpx2.AsyncClient]:
    observer = Observer(kept, wire="mcp", peer="math", connection="math#1")
    async with httpx2.AsyncClient(transport=RecordingTransport(observer), timeout=90) as opened:
        yield opened


async def post(kept: Kept, there: Peer, body: bytes = ASK) -> httpx2.Response:
    token = current_place.set(CALL)
    try:
        with anyio.fail_after(90):
            async with client(kept) as opened:
                return await opened.post(there.url, content=body)
    finally:
        current_place.reset(token)


async def recorded(answer: Answer, body: bytes = ASK) -> Kept:
    kept = Kept()
    async with peer(answer) as there:
        await post(kept, there, body)
    return kept


def frames(kept: Kept) -> list[tuple[str | None, bytes]]:
    return [(draft.direction, draft.data) for draft in kept.of("frame")]


def event(data: bytes) -> bytes:
    return b"event: message\r\nid: 1\r\ndata: " + data + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("said", "frames_in_it"),
    [
        (b'{"error":"invalid_token","error_description":"Authentication required"}', 0),
        (rpc(id=4, error={"code": 1}), 1),
    ],
)
async def test_a_refusal_in_a_form_of_its_own_gives_no_frame(said: bytes, frames_in_it: int) -> None:
    kept = await recorded(response(said, status="401 No"))
    assert b"".join(draft.data for draft in kept.of("chunk")) == said
    assert frames(kept) == [("out", ASK), *[("in", said)] * frames_in_it]


async def test_a_json_answer_gives_a_frame_each_way_beside_the_bytes() -> None:
    kept = await recorded(response(RESULT))
    assert [draft.kind for draft in kept.drafts] == ["request", "frame", "response", "chunk", "frame", "end"]
    assert frames(kept) == [("out", ASK), ("in", RESULT)]
    assert {draft.place for draft in kept.drafts} == {CALL}
    assert {(draft.wire, draft.peer, draft.connection, draft.exchange) for draft in kept.drafts} == {
        ("mcp", "math", "math#1", "x1")
    }


@pytest.mark.parametrize(("size", "coding"), [(1, ""), (5, ""), (1000, ""), (20, "gzip")])
async def test_an_event_stream_gives_a_frame_for_each_event_as_it_comes(size: int, coding: str) -> None:
    body = event(PROGRESS) + b": ping\n\n" + event(RESULT)
    sent = gzip.compress(body) if coding else body
    chunks = [sent[at : at + size] for at in range(0, len(sent), size)]
    kept = await recorded(chunked(*chunks, more=f"Content-Encoding: {coding}\r\n" if coding else ""))
    head = kept.of("request")[0].head
    assert head is not None
    assert ("Accept-Encoding", "identity") in head.headers
    assert frames(kept) == [("out", ASK), ("in", PROGRESS), ("in", RESULT)]
    assert kept.body() == sent


async def test_the_address_that_an_older_server_sends_is_no_frame() -> None:
    kept = Kept()
    async with (
        peer(chunked(b"event: endpoint\ndata: /messages?s=1\n\n", event(RESULT))) as there,
        client(kept) as opened,
    ):
        await opened.get(there.url)
    assert frames(kept) == [("in", RESULT)]


async def test_every_message_of_a_batch_is_a_frame() -> None:
    first, second = rpc(id=1, method="ping"), rpc(id=2, method="ping", params={"x": ["]", "工"]})
    answers = [rpc(id=2, result={}), rpc(id=1, result={})]
    batch = response(b" [" + b" ,\n".join(answers) + b"] ")
    kept = await recorded(batch, b"[" + first + b"," + second + b"]")
    assert frames(kept) == [("out", first), ("out", second), ("in", answers[0]), ("in", answers[1])]


async def test_an_answer_that_comes_on_another_stream_is_in_the_place_of_its_request() -> None:
    kept = Kept()
    late = rpc(id=9, result={})
    with anyio.fail_after(90):
        async with (
            peer(response(b"", status="202 Accepted"), chunked(event(RESULT), event(late))) as there,
            client(kept) as opened,
        ):
            token = current_place.set(CALL)
            await opened.post(there.url, content=ASK)
            current_place.reset(token)
            await opened.get(there.url)
    assert [draft.place for draft in kept.of("frame")] == [CALL, CALL, NOWHERE]
    assert kept.of("frame")[2].malformed == "an answer to nothing that was asked"


async def test_calls_at_the_same_time_keep_apart() -> None:
    kept = Kept()

    async def answer(exchange: Exchange) -> None:
        asked = exchange.request.json["id"]
        said = rpc(method="notifications/message", params={"data": asked})
        await exchange.send(*chunked(event(said), event(rpc(id=asked, result={}))))

    async def call(number: int, opened: httpx2.AsyncClient, url: str) -> None:
        current_place.set(Place(session="s", turn=1, step=1, call=str(number)))
        await opened.post(url, content=rpc(id=number, method="tools/call", params={"name": "add"}))

    with anyio.fail_after(90):
        async with peer(always=answer) as there, client(kept) as opened, anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(call, number, opened, there.url)
    for number in range(5):
        own = [draft for draft in kept.of("frame") if draft.place.call == str(number)]
        assert len(own) == 3
        assert all(str(number).encode() in draft.data for draft in own)


async def test_half_a_message_is_no_frame() -> None:
    kept = Kept()
    cut = cuts(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n" + RESULT)
    async with peer(cut) as there:
        with pytest.raises(httpx2.RemoteProtocolError):
            await post(kept, there)
    assert frames(kept) == [("out", ASK)]
    assert kept.body() == RESULT
    assert (kept.ending().reason, kept.ending().size) == ("cut by peer", len(RESULT))


@pytest.mark.parametrize("body", [b"\x1f\x8bnothing", gzip.compress(b"[" * 4_000_000)], ids=["cut", "bomb"])
async def test_a_body_that_cannot_be_decoded_gives_no_frame_and_no_error(body: bytes) -> None:
    kept = Kept()
    observed = Observer(kept, wire="mcp", peer="math").begin("POST", "http://x", [], ASK, CALL)
    observed.response(200, [("content-type", "text/event-stream"), ("content-encoding", "gzip")])
    observed.chunk(body)
    observed.end()
    assert kept.body() == body
    assert frames(kept) == [("out", ASK)]


async def test_a_login_is_recorded_and_gives_no_frame() -> None:
    kept = await recorded(response(b'{"access_token":"t"}'), body=b"grant_type=authorization_code")
    assert frames(kept) == []


async def test_a_stream_that_the_client_leaves_after_its_answer_was_closed_by_the_host() -> None:
    kept = Kept()
    async with peer(hangs(*chunked(event(RESULT), is_whole=False))) as there, client(kept) as opened:
        with anyio.fail_after(90):
            async with opened.stream("POST", there.url, content=ASK) as answer:
                async for _ in answer.aiter_raw():
                    break
    assert kept.ending().reason == "closed by host"
    assert kept.of("end")


def test_what_comes_after_the_end_is_not_recorded() -> None:
    kept = Kept()
    observed = Observer(kept, wire="llm", peer="demo").begin("POST", "http://x", [], b"{}", NOWHERE)
    observed.response(200, [])
    observed.chunk(b"one")
    observed.end()
    observed.chunk(b"two")
    observed.fail("late")
    observed.close()
    assert [draft.kind for draft in kept.drafts] == ["request", "response", "chunk", "end"]


def test_a_secret_cut_between_chunks_is_kept_from_the_records_whole_exchange() -> None:
    kept = Kept(("KEY", "abcdefghij-secret"))
    observed = Observer(kept, wire="mcp", peer="math").begin(
        "POST", "http://x/?api_key=zz", [("x-api-key", "zz")], ASK, CALL
    )
    observed.response(200, [("content-type", "text/event-stream")])
    for piece in (b'data: {"jsonrpc":"2.0","id":4,"result":"abcdef', b"ghij-sec", b'ret"}\n\n'):
        observed.chunk(piece)
    observed.end()
    assert "ghij" not in repr(kept.drafts)
    (_, answer) = kept.of("frame")
    assert answer.redacted
    request: Record = kept.of("request")[0]
    assert request.head is not None
    assert "zz" not in repr(request.head)
