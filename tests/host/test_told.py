"""What a model is told of a server that fails: the cause, and no secret that the server repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.desk import rule, server
from tests.host.test_host import PATIENCE, answers, asked, configured, serving, until
from tests.kit.bodies import asks, text
from tests.kit.mcp_http import mcp_http
from tests.kit.mcp_server import tool
from tests.kit.peer import Exchange, peer, peer_in_thread
from tui_host.capture.record import Draft, Head

TOKEN = "tok-12345678"  # noqa: S105 - one that opens nothing
MARK = "⟨secret:MY_TOKEN⟩"


async def told(folder: Path, spec: str, *, has_words: bool = False) -> tuple[str, tuple[str, ...]]:
    """What the model is told of its call to `bad.echo`, and what a person reads of the server's standard error, if it has words."""
    with peer_in_thread(asks(("bad__echo", "{}")), text("so be it")) as peer:
        settings = configured(folder, peer.url, spec + rule("bad.*", "allow"), MY_TOKEN=TOKEN)
        async with serving(settings) as host:
            assert host.pool is not None
            await host.pool.settled(PATIENCE)
            session = host.sessions.new()
            await asked(host, session, "call it")
            assert answers(session) == ["so be it"]
            pool = host.pool
            await until(lambda: bool(pool.statuses()[0].stderr) or not has_words)
            [status] = pool.statuses()
        assert TOKEN.encode() not in b"".join(request.data for request in peer.requests)
        return str(peer.messages(1)[-1]["content"]), status.stderr


async def test_a_server_s_last_words_are_for_the_person_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.servers.server.RETRY_SECONDS", (600.0,))  # the next process says nothing
    last_words = 'env = { LAST_WORDS = "no way with ${MY_TOKEN}" }'
    words, errors = await told(tmp_path, server("bad", "dies", last_words), has_words=True)
    assert words == "Error: bad: the server exited 3 during the call; the tool may have run (reconnect it)"
    assert errors == (f"no way with {MARK}",)


async def test_a_secret_too_short_to_be_found_anywhere_is_taken_out_of_the_header_it_was_configured_for(
    tmp_path: Path,
) -> None:
    with peer_in_thread(text("fine")) as peer:
        servers = '[servers.x]\nurl = "http://127.0.0.1:9"\nenabled = false\nheaders = { X-Team = "${TEAM}" }\n'
        settings = configured(
            tmp_path, peer.url, servers + '[providers.mine.headers]\nX-Own = "${OWN}"\n', TEAM="ab", OWN="cd"
        )
        async with serving(settings) as host:
            await asked(host, host.sessions.new(), "hello")
            assert host.recorder is not None
            assert host.recorder.flush()
            [request] = [record for record in host.recorder.since(0, limit=100) if record.draft.kind == "request"]
            assert request.draft.head is not None
            assert ("X-Own", "⟨secret:OWN⟩") in request.draft.head.headers
            head = Head(headers=(("x-team", "ab"), ("x-other", "ab")))
            sent = host.recorder.redactor.draft(Draft(wire="mcp", kind="request", head=head)).head
        assert sent == Head(headers=(("x-team", "⟨secret:TEAM⟩"), ("x-other", "ab")))
        assert b"X-Own: cd" in peer.requests[0].head


async def test_a_credential_that_a_server_repeats_in_its_refusal_is_not_told(tmp_path: Path) -> None:
    async def refuse(exchange: Exchange) -> None:
        body = f"not with {exchange.request.headers['authorization']}".encode()
        await exchange.respond("401 Unauthorized", body)

    script = mcp_http({"tools": [tool("echo")]}, **{"tools/call": refuse})
    async with peer(always=script, path="/mcp") as there:
        headers = 'headers = { Authorization = "Bearer ${MY_TOKEN}" }'
        words, _ = await told(tmp_path, f'[servers.bad]\nurl = "{there.url}"\n{headers}\n')
    assert words.startswith(f"Error: bad: HTTP 401 Unauthorized: not with Bearer {MARK}")
