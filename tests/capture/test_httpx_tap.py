"""What the tap on the model's side records is what was on the wire."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import httpx
import pytest

from tests.capture.wires import Kept
from tests.kit.peer import Peer, chunked, cuts, hangs, peer
from tui_host.capture.http import observer
from tui_host.capture.http.httpx_tap import HttpxTransport
from tui_host.capture.http.observer import Observer
from tui_host.capture.record import NOWHERE

EVENTS = [b'data: {"a":1}\n\n', b"data: \xe5\xb7", b"\xa5\n\n", b"data: [DONE]\n\n"]
KEY = "sk-canary-0123456789abcdef"


@asynccontextmanager
async def client(kept: Kept) -> AsyncGenerator[httpx.AsyncClient]:
    transport = HttpxTransport(Observer(kept, wire="llm", peer="demo"))
    with anyio.fail_after(90):
        async with httpx.AsyncClient(transport=transport, timeout=90) as opened:
            yield opened


async def post(kept: Kept, there: Peer, body: bytes = b"{}", **headers: str) -> httpx.Response:
    async with client(kept) as opened:
        return await opened.post(there.url + "/chat/completions", content=body, headers=headers)


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_stream_in_chunks_of_any_size_is_recorded_byte_for_byte(size: int) -> None:
    body = b"".join(EVENTS) * 5
    kept = Kept()
    async with peer(chunked(*(body[at : at + size] for at in range(0, len(body), size)))) as there:
        answer = await post(kept, there)
    assert kept.body() == body == answer.content


async def test_how_an_exchange_failed_is_told_with_what_came() -> None:
    kept = Kept()
    async with peer(cuts(*chunked(*EVENTS[:2], is_whole=False))) as there:
        with pytest.raises(httpx.RemoteProtocolError):
            await post(kept, there)
    assert (kept.body(), kept.ending().reason) == (b"".join(EVENTS[:2]), "cut by peer")
    assert "RemoteProtocolError" in kept.ending().error
    assert kept.of("error")
    with pytest.raises(httpx.ConnectError):  # nobody listens there any more
        await post(kept, there)
    assert kept.ending("x2").reason == "not connected"
    assert "refused" in kept.ending("x2").error.lower()
    async with peer(always=hangs()) as there, client(kept) as opened, anyio.create_task_group() as group:
        with pytest.raises(httpx.ReadTimeout):
            await opened.get(there.url, timeout=httpx.Timeout(5, read=0.05))
        group.start_soon(opened.get, there.url)
        while len(there.requests) < 2:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert [kept.ending(name).reason for name in ("x3", "x4")] == ["timed out", "closed by host"]


async def test_a_credential_goes_out_on_the_wire_and_never_into_a_record() -> None:
    kept = Kept(("API_KEY", KEY))
    echo = b"data: your key is " + KEY.encode() + b" indeed\n\n"
    async with peer(chunked(*(echo[at : at + 5] for at in range(0, len(echo), 5)))) as there:
        answer = await post(kept, there, b'{"k":"' + KEY.encode() + b'"}', Authorization=f"Bearer {KEY}")
    assert KEY.encode() in there.requests[0].head
    assert answer.content == echo
    assert KEY not in repr(kept.drafts)
    assert kept.body() == echo.replace(KEY.encode(), "⟨secret:API_KEY⟩".encode())
    assert any(draft.redacted for draft in kept.of("chunk"))


def test_bytes_beyond_the_limit_are_counted_and_nothing_comes_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "BODY_LIMIT", 2500)
    kept = Kept()
    live = Observer(kept, wire="llm", peer="demo").begin("POST", "http://x", [], b"y" * 3000, NOWHERE)
    live.response(200, [])
    for _ in range(10):
        live.chunk(b"x" * 1000)
    live.end(missed=7)
    live.chunk(b"late")
    live.end("failed", "late")
    assert [draft.kind for draft in kept.drafts] == ["request", "response", "chunk", "chunk", "chunk", "end"]
    assert kept.body() == b"x" * 2500
    assert (kept.ending().size, kept.ending().kept) == (10_007, 2500)
    assert len(kept.of("request")[0].data) == 2500
    assert "3000" in (kept.of("request")[0].malformed or "")
