"""An MCP server's HTTP traffic is recorded as bytes, and as the frames in them, each in its place."""

import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest

from tests.capture.wires import Kept
from tests.kit.peer import Answer, Peer, chunked, cuts, hangs, peer, response, rpc
from tui_host.capture.http.httpx2_tap import Httpx2Transport
from tui_host.capture.http.observer import Observer
from tui_host.capture.record import NOWHERE, Place, current_place

CALL = Place(session="s", turn=1, step=1, call="c1")
ASK = rpc(id=4, method="tools/call", params={"name": "add", "arguments": {"a": 1}, "_meta": {"progressToken": 4}})
RESULT = rpc(id=4, result={"content": [{"type": "text", "text": "3"}], "isError": False})
PROGRESS = rpc(method="notifications/progress", params={"progressToken": 4, "progress": 1})


@asynccontextmanager
async def client(kept: Kept) -> AsyncGenerator[httpx2.AsyncClient]:
    transport = Httpx2Transport(Observer(kept, wire="mcp", peer="math", connection="math#1"))
    with anyio.fail_after(90):
        async with httpx2.AsyncClient(transport=transport, timeout=90) as opened:
            yield opened


async def recorded(answer: Answer, body: bytes = ASK) -> Kept:
    kept = Kept()
    async with peer(answer) as there, client(kept) as opened:
        await post(opened, there, body)
    return kept


async def post(opened: httpx2.AsyncClient, there: Peer, body: bytes = ASK) -> None:
    token = current_place.set(CALL)
    await opened.post(there.url, content=body)
    current_place.reset(token)


def frames(kept: Kept) -> list[tuple[str | None, bytes]]:
    return [(draft.direction, draft.data) for draft in kept.of("frame")]


def event(data: bytes) -> bytes:
    return b"event: message\r\nid: 1\r\ndata: " + data + b"\r\n\r\n"


FIRST, SECOND = rpc(id=1, method="ping"), rpc(id=2, method="ping", params={"x": ["]", "工"]})
ANSWERS = [rpc(id=2, result={}), rpc(id=1, result={})]
REFUSED = rpc(id=4, error={"code": 1})


@pytest.mark.parametrize(
    ("asked", "answer", "expected"),
    [
        (ASK, response(RESULT), [("out", ASK), ("in", RESULT)]),
        (ASK, response(b'{"error":"invalid_token"}', status="401 No"), [("out", ASK)]),
        (ASK, response(REFUSED, status="401 No"), [("out", ASK), ("in", REFUSED)]),
        (b"[" + FIRST + b"," + SECOND + b"]", response(b" [" + b" ,\n".join(ANSWERS) + b"] "),
         [("out", FIRST), ("out", SECOND), *(("in", answer) for answer in ANSWERS)]),
        (ASK, chunked(b"event: endpoint\ndata: /messages?s=1\n\n", event(RESULT)), [("out", ASK), ("in", RESULT)]),
        (b"grant_type=authorization_code", response(b'{"access_token":"t"}'), []),
    ],
    ids=["json", "refusal of its own", "refusal", "batch", "endpoint", "login"],
)  # fmt: skip
async def test_a_body_gives_a_frame_for_each_message_beside_its_bytes(
    asked: bytes, answer: Answer, expected: list[tuple[str, bytes]]
) -> None:
    kept = await recorded(answer, asked)
    assert frames(kept) == expected
    assert {draft.kind for draft in kept.drafts} - {"frame", "chunk"} == {"request", "response", "end"}
    assert {(draft.place, draft.wire, draft.peer, draft.connection, draft.exchange) for draft in kept.drafts} == {
        (CALL, "mcp", "math", "math#1", "x1")
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
    assert (frames(kept), kept.body()) == ([("out", ASK), ("in", PROGRESS), ("in", RESULT)], sent)


async def test_an_answer_that_comes_on_another_stream_is_in_the_place_of_its_request() -> None:
    kept = Kept()
    late = rpc(id=9, result={})
    async with (
        peer(response(b"", status="202 Accepted"), chunked(event(RESULT), event(late))) as there,
        client(kept) as opened,
    ):
        await post(opened, there)
        await opened.get(there.url)
    assert [draft.place for draft in kept.of("frame")] == [CALL, CALL, NOWHERE]
    assert kept.of("frame")[2].malformed == "an answer to nothing that was asked"


async def test_half_a_message_is_no_frame_nor_what_the_client_leaves() -> None:
    kept = Kept()
    cut = cuts(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n" + RESULT)
    async with peer(cut, hangs(*chunked(event(RESULT), is_whole=False))) as there, client(kept) as opened:
        with pytest.raises(httpx2.RemoteProtocolError):
            await opened.post(there.url, content=ASK)
        assert (frames(kept), kept.body()) == ([("out", ASK)], RESULT)
        assert (kept.ending().reason, kept.ending().size) == ("cut by peer", len(RESULT))
        async with opened.stream("POST", there.url, content=ASK) as answer:
            async for _ in answer.aiter_raw():
                break
    assert kept.ending("x2").reason == "closed by host"
    assert kept.of("end")


@pytest.mark.parametrize("body", [b"\x1f\x8bnothing", gzip.compress(b"[" * 4_000_000)], ids=["cut", "bomb"])
def test_a_body_that_cannot_be_decoded_gives_no_frame_and_no_error(body: bytes) -> None:
    kept = Kept()
    observed = Observer(kept, wire="mcp", peer="math").begin("POST", "http://x", [], ASK, CALL)
    observed.response(200, [("content-type", "text/event-stream"), ("content-encoding", "gzip")])
    observed.chunk(body)
    observed.end()
    assert (kept.body(), frames(kept)) == (body, [("out", ASK)])


def test_a_secret_cut_between_chunks_is_kept_from_the_records_whole_exchange() -> None:
    kept = Kept(("KEY", "abcdefghij-secret"))
    headers = [("x-api-key", "zz")]
    observed = Observer(kept, wire="mcp", peer="math").begin("POST", "http://x/?api_key=zz", headers, ASK, CALL)
    observed.response(200, [("content-type", "text/event-stream")])
    for piece in (b'data: {"jsonrpc":"2.0","id":4,"result":"abcdef', b"ghij-sec", b'ret"}\n\n'):
        observed.chunk(piece)
    observed.end()
    assert "ghij" not in repr(kept.drafts)
    assert kept.of("frame")[1].redacted
    assert "zz" not in repr(kept.of("request")[0].head)
