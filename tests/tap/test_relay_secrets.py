"""What a host shows of its credentials to its upstream passes, and is nowhere in what is kept."""

from __future__ import annotations

import json
from hashlib import sha256

import anyio
import pytest

from tests.capture.codings import coded
from tests.tap.relaying import PATIENCE, Kept, answer, peer, relaying, request
from tui_host.capture.exports.jsonl_export import record_line
from tui_host.capture.http.exchange import fold_exchanges
from tui_host.capture.http.exchange_end import read_ending

KEY = b"sk-of-the-host-0123456789"


@pytest.mark.parametrize("is_mcp", [False, True])
@pytest.mark.parametrize("coding", ["", "gzip", "br", "zstd"])
async def test_a_key_that_comes_back_or_is_said_again_passes_and_is_not_kept(*, is_mcp: bool, coding: str) -> None:
    refusal = b'{"error":"Incorrect API key provided: %s"}' % KEY
    sent = coded(refusal, coding)
    named = b"Content-Encoding: %s\r\n" % coding.encode() if coding else b""
    body = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"again":"Bearer %s"}}' % KEY

    async def script(stream: Kept) -> None:
        await stream.head()
        whole = answer(sent, status=b"401 No", more=named)
        await stream.send(whole[:-20])  # the key is cut in two
        await stream.send(whole[-20:])

    async with peer(script) as up, relaying(up.origin, is_mcp=is_mcp) as relay:
        answered = await relay.ask(request(relay.host, body=body, more=b"X-MyCo-Token: %s\r\n" % KEY))
    assert answered.endswith(sent)
    assert up.received[0].endswith(body)
    assert KEY in up.received[0].partition(b"\r\n\r\n")[0]
    assert KEY not in b"".join(map(record_line, relay.records()))
    for record in relay.records():
        assert KEY not in record.draft.data
    assert json.loads(relay.body())["error"] == "Incorrect API key provided: ⟨secret:x-myco-token⟩"


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
@pytest.mark.parametrize("is_late", [False, True])
async def test_an_answer_that_is_no_refusal_is_kept_without_a_key_too(*, is_late: bool, coding: str) -> None:
    said = b'{"you":"Bearer %s"}' % KEY
    before = b"".join(sha256(b"%d" % number).hexdigest().encode() for number in range(9000 if is_late else 0))
    sent = coded(before + said, coding)

    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(answer(sent, more=b"Content-Encoding: %s\r\n" % coding.encode()))

    async with peer(script) as up, relaying(up.origin) as relay:
        answered = await relay.ask(request(relay.host, more=b"X-Api-Key: %s\r\n" % KEY))
    assert answered.endswith(sent)
    (folded,) = fold_exchanges(relay.records()).values()
    assert (folded.decoded().data, folded.decoded().problem) == (
        before + said.replace(KEY, "⟨secret:x-api-key⟩".encode()),
        "",
    )
    end = read_ending(relay.records("end")[0].draft.data)
    assert end.kept == end.size == len(sent)
    marks = [each.name for record in relay.records("chunk") for each in record.draft.redacted]
    assert marks == [f"was {coding}", "x-api-key"]


@pytest.mark.parametrize("is_mcp", [False, True])
@pytest.mark.parametrize("status", [b"200 OK", b"401 No"])
async def test_an_answer_that_is_packed_though_its_head_does_not_say_so_is_kept_without_a_key(
    *, is_mcp: bool, status: bytes
) -> None:
    sent = coded(b'{"you":"Bearer %s"}' % KEY, "gzip")

    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(answer(sent, status=status))

    async with peer(script) as up, relaying(up.origin, is_mcp=is_mcp) as relay:
        answered = await relay.ask(request(relay.host, more=b"X-Api-Key: %s\r\n" % KEY))
    assert answered.endswith(sent)
    assert relay.body() == '{"you":"Bearer ⟨secret:x-api-key⟩"}'.encode()


@pytest.mark.parametrize("number", [b"1", b"1" * 9000], ids=["", "of more digits than Python reads"])
async def test_what_a_request_tells_of_keys_by_their_place_is_known_in_the_answer_too(number: bytes) -> None:
    tools = b'[{"type":"mcp","headers":{"X-Team":"blue-0123456789"}}]'
    told = b'{"tools":%s,"api_key":"sk-0123456789","n":%s}' % (tools, number)

    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(answer(b'{"echo":%s,"again":["blue-0123456789","sk-0123456789"]}' % told))

    async with peer(script) as up, relaying(up.origin) as relay:
        await relay.ask(request(relay.host, body=told))
    assert up.received[0].endswith(told)
    kept = b"".join(record.draft.data for record in relay.records())
    assert b"0123456789" not in kept
    assert json.loads(relay.body(), parse_int=str)["again"] == ["⟨secret:X-Team⟩", "⟨secret:api_key⟩"]


async def test_a_login_before_a_model_passes_and_its_tokens_are_not_kept() -> None:
    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(answer(b'{"access_token":"at-1","token_type":"Bearer","code":"c-1"}'))

    async with peer(script) as up, relaying(up.origin) as relay:
        answered = await relay.ask(request(relay.host, target=b"/oauth/token", body=b'{"client_secret":"cs-1"}'))
    kept = b"".join(record.draft.data for record in relay.records())
    assert b"at-1" in answered
    assert b"cs-1" in up.received[0]
    assert not any(secret in kept for secret in (b"at-1", b"cs-1", b"c-1"))


FORM = b"application/x-www-form-urlencoded"


async def test_json_that_is_called_a_form_as_by_curl_has_its_answer_recorded_as_it_comes() -> None:
    asked = b'{"model":"m","stream":true,"max_tokens":9,"prompt_cache_key":"a","messages":[]}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    events = [b'data: {"n":%d}\n\n' % number for number in range(3)]

    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(head)
        for number, event in enumerate(events):
            await stream.send(event)
            while len(relay.records("chunk")) <= number:  # before anything follows
                await anyio.sleep(0.001)

    with anyio.fail_after(PATIENCE):
        async with peer(script) as up, relaying(up.origin) as relay:
            await relay.ask(request(relay.host, target=b"/v1/chat/completions", body=asked, kind=FORM))
    assert [record.draft.data for record in relay.records("chunk")] == events
    assert relay.records("request")[0].draft.data == asked


@pytest.mark.parametrize("is_mcp", [False, True])
@pytest.mark.parametrize(
    "asked",
    [
        b"grant_type=client_credentials&client_id=c&client_secret=cs-1",
        b'{"grant_type":"client_credentials","client_id":"c"}',
        b'{"model":"m","refresh_token":"cs-1"}',
        b'{"model":"m","otp":123456}',
        b'{"email":"a@a.example","p":"q"}',
        b'["model"]',
        b'{"model":"m"',
    ],
)
async def test_a_login_at_any_place_has_no_token_kept_that_is_sent_as_a_form_or_called_one(
    *, is_mcp: bool, asked: bytes
) -> None:
    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(answer(b'{"access_token":"at-1","token_type":"Bearer"}'))

    async with peer(script) as up, relaying(up.origin, is_mcp=is_mcp) as relay:
        answered = await relay.ask(request(relay.host, target=b"/connect/somewhere", body=asked, kind=FORM))
    kept = b"".join(record.draft.data for record in relay.records())
    assert b"at-1" in answered
    assert asked in up.received[0]
    assert not any(secret in kept for secret in (b"at-1", b"cs-1"))


@pytest.mark.parametrize("coding", ["utf-8", "gzip", ""])
@pytest.mark.parametrize("is_packed", [False, True])
async def test_what_is_not_packed_as_its_head_says_passes_and_is_kept_without_a_key(
    *, coding: str, is_packed: bool
) -> None:
    said = b'{"again":"Bearer %s"}' % KEY
    sent = coded(said, "gzip") if is_packed else said
    more = b"Content-Encoding: %s\r\n" % coding.encode() if coding else b""

    async def script(stream: Kept) -> None:
        await stream.head()
        whole = answer(sent, more=more)
        await stream.send(whole[: -len(sent) + 1])  # the beginning is cut in two, and the key
        await stream.send(whole[-len(sent) + 1 : -9])
        await stream.send(whole[-9:])

    async with peer(script) as up, relaying(up.origin) as relay:
        answered = await relay.ask(request(relay.host, body=sent, more=b"X-Api-Key: %s\r\n" % KEY + more))
    assert answered.endswith(sent)
    assert up.received[0].endswith(sent)
    kept = '{"again":"Bearer ⟨secret:x-api-key⟩"}'.encode()
    for data in (relay.body(), relay.records("request")[0].draft.data):
        assert data == kept


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (
            b'{"access_token":"at-1","token_type":"Bearer"}',
            '{"access_token":"⟨secret:access_token⟩","token_type":"Bearer"}',
        ),
        (b'{"user":{"name":"a"},"accessToken":"at-1"}', '{"user":{"name":"a"},"accessToken":"⟨secret:accessToken⟩"}'),
        (b'<form><input name="code" value="at-1"/></form>', '<form><input name="code" value="⟨secret:code⟩"/></form>'),
    ],
)
@pytest.mark.parametrize("coding", ["", "gzip"])
@pytest.mark.parametrize("asked", [b'{"jobs":1}', b""])
async def test_a_token_in_an_answer_at_any_place_passes_and_is_not_kept(
    *, told: bytes, kept: str, coding: str, asked: bytes
) -> None:
    sent = coded(told, coding)
    more = b"Content-Encoding: %s\r\n" % coding.encode() if coding else b""

    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(answer(sent, more=more)[:-9])
        await stream.send(sent[-9:])

    async with peer(script) as up, relaying(up.origin) as relay:
        answered = await relay.ask(request(relay.host, target=b"/api/session", body=asked))
    assert answered.endswith(sent)
    assert relay.body().decode() == kept


async def test_lines_that_a_model_says_are_recorded_as_they_come() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"
    lines = [
        b'{"model":"m","message":{"role":"assistant","content":"%d"},"done":false}\n' % number for number in range(3)
    ]

    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(head)
        for number, line in enumerate(lines):
            await stream.send(line)
            while len(relay.records("chunk")) <= number:  # before anything follows
                await anyio.sleep(0.001)

    with anyio.fail_after(PATIENCE):
        async with peer(script) as up, relaying(up.origin) as relay:
            await relay.ask(request(relay.host, target=b"/api/chat", body=b'{"model":"m","messages":[]}'))
    assert [record.draft.data for record in relay.records("chunk")] == lines
