"""What a host shows of its credentials to its upstream passes, and is nowhere in what is kept."""

from __future__ import annotations

import json

import pytest

from tests.capture.codings import coded
from tests.kit.peer import Link, peer
from tests.tap.relaying import answer, relaying, request, says
from tui_host.capture.exports.jsonl_export import record_line

KEY = b"sk-of-the-host-0123456789"


@pytest.mark.parametrize("is_mcp", [False, True])
@pytest.mark.parametrize("coding", ["", "gzip", "br", "zstd"])
async def test_a_key_that_comes_back_or_is_said_again_passes_and_is_not_kept(*, is_mcp: bool, coding: str) -> None:
    refusal = b'{"error":"Incorrect API key provided: %s"}' % KEY
    sent = coded(refusal, coding)
    named = b"Content-Encoding: %s\r\n" % coding.encode() if coding else b""
    body = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"again":"Bearer %s"}}' % KEY

    async def script(stream: Link) -> None:
        await stream.head()
        whole = answer(sent, status=b"401 No", more=named)
        await stream.send(whole[:-20])  # the key is cut in two
        await stream.send(whole[-20:])

    async with peer(connection=script) as up, relaying(up.origin, is_mcp=is_mcp) as relay:
        answered = await relay.ask(request(relay.host, body=body, more=b"X-MyCo-Token: %s\r\n" % KEY))
    assert answered.endswith(sent)
    assert up.received[0].endswith(body)
    assert KEY in up.received[0].partition(b"\r\n\r\n")[0]
    assert KEY not in b"".join(map(record_line, relay.records()))
    for record in relay.records():
        assert KEY not in record.draft.data
    assert json.loads(relay.body())["error"] == "Incorrect API key provided: ⟨secret:x-myco-token⟩"


@pytest.mark.parametrize("number", [b"1", b"1" * 9000], ids=["", "of more digits than Python reads"])
async def test_what_a_request_tells_of_keys_by_their_place_is_known_in_the_answer_too(number: bytes) -> None:
    tools = b'[{"type":"mcp","headers":{"X-Team":"blue-0123456789"}}]'
    told = b'{"tools":%s,"api_key":"sk-0123456789","n":%s}' % (tools, number)

    script = says(answer(b'{"echo":%s,"again":["blue-0123456789","sk-0123456789"]}' % told))
    async with peer(connection=script) as up, relaying(up.origin) as relay:
        await relay.ask(request(relay.host, body=told))
    assert up.received[0].endswith(told)
    kept = b"".join(record.draft.data for record in relay.records())
    assert b"0123456789" not in kept
    assert json.loads(relay.body(), parse_int=str)["again"] == ["⟨secret:X-Team⟩", "⟨secret:api_key⟩"]


async def test_a_login_before_a_model_passes_and_its_tokens_are_not_kept() -> None:
    script = says(answer(b'{"access_token":"at-1","token_type":"Bearer","code":"c-1"}'))
    async with peer(connection=script) as up, relaying(up.origin) as relay:
        answered = await relay.ask(request(relay.host, target=b"/oauth/token", body=b'{"client_secret":"cs-1"}'))
    kept = b"".join(record.draft.data for record in relay.records())
    assert b"at-1" in answered
    assert b"cs-1" in up.received[0]
    assert not any(secret in kept for secret in (b"at-1", b"cs-1", b"c-1"))
