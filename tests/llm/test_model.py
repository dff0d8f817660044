"""One exchange with a model over a real socket: its events, its records, its ends."""

from __future__ import annotations

import gzip
import json

import anyio
import pytest

from tests.kit.bodies import DONE, chunk
from tests.kit.peer import PATIENCE, Exchange, cuts, hangs, head, peer
from tests.llm.asking import (
    ASK,
    KEY,
    PLACE,
    RECORDED,
    asked,
    body_of,
    kinds,
    provider_at,
    recorder,
    refused,
    told,
    told_with_error,
)
from tests.llm.recorded.case import TEXT
from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.record import Place
from tui_host.errors import ModelError
from tui_host.llm.fold import Fold
from tui_host.llm.model_client import ModelClient, Stream
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Template


async def test_an_answer_comes_as_events_and_every_byte_of_it_is_recorded() -> None:
    kept = recorder()
    pieces = [RECORDED[start : start + 100] for start in range(0, len(RECORDED), 100)]

    async with peer([head(), *pieces]) as there:
        fold = await asked(there.url, kept=kept)

    assert (fold.text, fold.stop, len(fold.calls)) == (TEXT, "tools", 1)
    records = list(kept.since(0))
    assert kinds(records)[:2] == ["request", "response"]
    assert kinds(records)[-1] == "end"
    assert records[0].draft.data == there.bodies[0]
    assert records[0].draft.head is not None
    assert records[0].draft.head.url == f"{there.url}/chat/completions"
    assert body_of(records) == RECORDED
    assert read_ending(records[-1].draft.data).reason == "complete"
    assert {record.draft.place for record in records} == {PLACE}
    assert {record.draft.peer for record in records} == {"mine"}


async def test_what_goes_out_is_what_the_provider_is_configured_to_get() -> None:
    environment = {"MINE": KEY, "TEAM": "blue", "EXTRA": "e"}
    async with peer([head(), RECORDED]) as there:
        await asked(
            f"{there.url}/?api-version=7",
            environment=environment,
            api_key=Template(text="${MINE}"),
            headers={"X-Team": Template(text="${TEAM}"), "user-agent": Template(text="own")},
            options=Options(temperature=0.5, extra_body={"deep": {"x": "${EXTRA}"}}),
        )

    request = there.requests[0].data.decode()
    top, _, body = request.partition("\r\n\r\n")
    lines = top.split("\r\n")
    assert lines[0] == "POST /v1/chat/completions?api-version=7 HTTP/1.1"
    assert f"Authorization: Bearer {KEY}" in lines
    assert "X-Team: blue" in lines
    assert "user-agent: own" in lines
    assert "Accept-Encoding: identity" in lines
    assert "Content-Type: application/json" in lines
    value = json.loads(body)
    assert (value["temperature"], value["deep"]) == (0.5, {"x": "e"})


@pytest.mark.parametrize("size", range(0, len(RECORDED), 131))
async def test_an_answer_that_breaks_off_keeps_what_came_and_says_so(size: int) -> None:
    finished = RECORDED.index(b"\n\n", RECORDED.index(b'"tool_calls"}'))

    async with peer([head(), RECORDED[:size]]) as there:
        fold, error = await told_with_error(there.url)

    if size >= finished:
        assert (fold.stop, error) == ("tools", None)
        return
    assert fold.stop == "cut"
    assert error is not None
    assert error.what.startswith(f"the answer broke off after {size:,} bytes")
    assert (error.exchange, error.status) == ("x1", 200)


async def test_a_connection_that_breaks_within_a_body_is_told_with_what_came() -> None:
    half = RECORDED[:500]
    kept = recorder()

    async with peer([head(more=f"content-length: {len(RECORDED)}\r\n"), half]) as there:
        with pytest.raises(ModelError, match=r"the answer broke off after 500 bytes: \w+"):
            await asked(there.url, kept=kept)

    ending = kept.since(0)[-1]
    assert ending.draft.kind == "error"
    assert read_ending(ending.draft.data).reason == "cut by peer"


async def test_a_refusal_has_the_provider_s_words_and_where_the_key_comes_from() -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key: {KEY}", "code": "invalid_api_key"}}).encode()

    async with peer([head("401 Unauthorized", kind="application/json"), body]) as there:
        error = await refused(there.url, environment={"MINE": KEY}, api_key=Template(text="${MINE}"))

    assert error.what == "401 invalid_api_key: Incorrect API key: ⟨secret:MINE⟩"
    assert error.remedy == "check the credential: providers.mine.api_key"
    assert (error.status, error.exchange) == (401, "x1")


async def test_a_redirect_is_told_and_never_followed() -> None:
    async with peer([head(), RECORDED]) as evil:
        answer = head("307 Temporary Redirect", more=f"location: {evil.url}\r\n")
        async with peer([answer]) as there:
            error = await refused(there.url, environment={"MINE": KEY}, api_key=Template(text="${MINE}"))

    assert error.what == f"307: redirected to {evil.url.removesuffix('/v1')}"
    assert evil.requests == []


async def test_nobody_there_is_told_in_words() -> None:
    kept = recorder()
    async with peer(cuts()) as gone:
        pass

    error = await refused(gone.url, kept=kept)

    assert error.what.startswith("cannot connect")
    assert error.remedy == "is it running? check base_url"
    assert error.exchange == "x1"
    assert kinds(list(kept.since(0))) == ["request", "error"]


@pytest.mark.parametrize("sent", [b"", head(), head() + chunk({"content": "x"})])
async def test_cancelling_an_answer_closes_the_connection_at_once(sent: bytes) -> None:
    kept = recorder()
    client = ModelClient(kept, {})
    waits = anyio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.send(*([sent] if sent else []))
        waits.set()
        await exchange.link.until_closed()

    async with peer(script) as there, anyio.create_task_group() as group:

        async def ask() -> None:
            await told(Stream(client=client, provider=provider_at(there.url), ask=ASK, place=PLACE))

        group.start_soon(ask)
        with anyio.fail_after(PATIENCE):
            await waits.wait()
            while len(kept.since(0)) < (1 if not sent else 2 if sent == head() else 3):
                await anyio.sleep(0.001)
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await there.until(lambda there: there.ended)

    assert read_ending(kept.since(0)[-1].draft.data).reason == "closed by host"
    await client.aclose()


async def test_a_server_that_says_nothing_is_given_up_after_its_timeout() -> None:
    async with peer(hangs(head() + chunk({"content": "x"}))) as there:
        error = await refused(there.url, timeout=0.5)

    assert error.what.startswith("no byte for 0.5 s")


async def test_a_connection_that_stays_open_after_the_end_does_not_hold_the_answer() -> None:
    client = ModelClient(recorder(), {})
    asks = anyio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.send(head() + chunk({"content": "x"}) + chunk(finish="stop") + DONE)
        await asks.wait()

    async with (
        peer(script) as there,
        Stream(client=client, provider=provider_at(there.url), ask=ASK, place=PLACE) as stream,
    ):
        fold = Fold(provider="p", model="m", call_id=str)
        with anyio.fail_after(PATIENCE):
            async for events in stream.batches():
                for event in events:
                    fold.add(event)
                if fold.stop is not None:
                    asks.set()

    assert (fold.text, fold.stop) == ("x", "end")
    await client.aclose()


async def test_a_compressed_answer_is_read_and_recorded_as_it_was_sent() -> None:
    kept = recorder()
    packed = gzip.compress(RECORDED)

    async with peer([head(more="content-encoding: gzip\r\n"), packed[:50], packed[50:]]) as there:
        fold = await asked(there.url, kept=kept)

    assert fold.stop == "tools"
    assert body_of(list(kept.since(0))) == packed
    first = fold.calls[0].spans[0]
    assert b"get_weather" in RECORDED[slice(*first)]


async def test_a_bomb_is_refused() -> None:
    packed = gzip.compress(b" " * 20_000_000, 9)

    async with peer([head(more="content-encoding: gzip\r\n"), packed]) as there:
        error = await refused(there.url)

    assert "200 times its length" in error.what


async def test_a_whole_answer_and_a_page_are_told_apart() -> None:
    whole = b'{"choices":[{"message":{"content":"37"},"finish_reason":"stop"}]}'

    async with peer([head(kind="application/json"), whole]) as there:
        assert (await asked(there.url)).text == "37"
    async with peer([head(kind="text/html"), b"<title>Sign in</title>"]) as there:
        assert "Sign in" in (await refused(there.url)).what


async def test_models_are_listed_and_the_listing_is_recorded() -> None:
    kept = recorder()
    client = ModelClient(kept, {})

    async with peer([head(kind="application/json"), b'{"data":[{"id":"a"},{"id":"b"}]}']) as there:
        assert await client.list_models(provider_at(there.url)) == ("a", "b")
    async with peer([head("500 Oops"), b"oops"]) as there:
        with pytest.raises(ModelError, match="500: oops"):
            await client.list_models(provider_at(there.url))
    await client.aclose()

    assert there.requests[0].data.startswith(b"GET /v1/models HTTP/1.1\r\n")
    assert kinds(list(kept.since(0)))[:4] == ["request", "response", "chunk", "end"]
    assert kept.since(0)[0].draft.place == Place()
