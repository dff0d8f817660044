"""One exchange with a model over a real socket: its events, its records, its ends."""

from __future__ import annotations

import gzip
import json

import anyio
import pytest

from tests.kit.bodies import DONE, chunk
from tests.kit.peer import PATIENCE, Exchange, cuts, hangs, head, peer
from tests.llm.asking import KEY, PLACE, RECORDED, asked, body_of, kinds, recorder, refused
from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, call
from tests.llm.recorded.case import TEXT
from tui_host.capture.http.exchange_end import read_ending
from tui_host.errors import ModelError
from tui_host.llm.answer_stream import CLOSED, MADE_UP_LIMIT
from tui_host.llm.fold import Fold
from tui_host.llm.protocols.table import protocol
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Template


async def refused_by(*pieces: bytes, **more: object) -> ModelError:
    async with peer(list(pieces)) as there:
        return await refused(there.url, **more)


async def test_an_answer_comes_as_events_and_every_byte_of_it_is_recorded() -> None:
    kept = recorder()
    pieces = [RECORDED[start : start + 100] for start in range(0, len(RECORDED), 100)]
    async with peer([head(), *pieces]) as there:
        fold = await asked(there.url, kept=kept)

    assert (fold.text, fold.stop, len(fold.calls)) == (TEXT, "tools", 1)
    records = list(kept.since(0))
    assert (kinds(records)[:2], kinds(records)[-1]) == (["request", "response"], "end")
    assert records[0].data == there.bodies[0]
    assert records[0].head is not None
    assert records[0].head.url == f"{there.url}/chat/completions"
    assert body_of(records) == RECORDED
    assert read_ending(records[-1].data).reason == "complete"
    assert {(record.place, record.peer) for record in records} == {(PLACE, "mine")}


async def test_what_goes_out_is_what_the_provider_is_configured_to_get() -> None:
    async with peer([head(), RECORDED]) as there:
        await asked(
            f"{there.url}/?api-version=7",
            environment={"MINE": KEY, "TEAM": "blue", "EXTRA": "e"},
            api_key=Template(text="${MINE}"),
            headers={"X-Team": Template(text="${TEAM}"), "user-agent": Template(text="own")},
            options=Options(temperature=0.5, extra_body={"deep": {"x": "${EXTRA}"}}),
        )

    top, _, body = there.requests[0].data.decode().partition("\r\n\r\n")
    lines = top.split("\r\n")
    assert lines[0] == "POST /v1/chat/completions?api-version=7 HTTP/1.1"
    assert {f"Authorization: Bearer {KEY}", "X-Team: blue", "user-agent: own"} <= set(lines)
    assert {"Accept-Encoding: identity", "Content-Type: application/json"} <= set(lines)
    value = json.loads(body)
    assert (value["temperature"], value["deep"]) == (0.5, {"x": "e"})


async def test_an_answer_that_breaks_off_keeps_what_came_and_says_so() -> None:
    for more, reason in (("", "complete"), (f"content-length: {len(RECORDED)}\r\n", "cut by peer")):
        kept, fold = recorder(), Fold(provider="mine", model="m", call_id=str)
        error = await refused_by(head(more=more), RECORDED[:500], kept=kept, fold=fold)

        assert error.what.startswith("the answer broke off after 500 bytes")
        assert (fold.stop, fold.text[:3], error.exchange, error.status) == ("cut", TEXT[:3], "x1", 200)
        assert read_ending(kept.since(0)[-1].data).reason == reason


async def test_a_refusal_has_the_provider_s_words_without_the_key_and_says_where_the_key_comes_from() -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key: {KEY}", "code": "invalid_api_key"}}).encode()
    answer = head("401 Unauthorized", kind="application/json")
    error = await refused_by(answer, body, environment={"MINE": KEY}, api_key=Template(text="${MINE}"))

    assert error.what == "401 invalid_api_key: Incorrect API key: ⟨secret:MINE⟩"
    assert error.remedy == "check the credential: providers.mine.api_key"
    assert (error.status, error.exchange) == (401, "x1")


async def test_a_redirect_is_told_and_never_followed() -> None:
    async with peer([head(), RECORDED]) as evil:
        moved = head("307 Temporary Redirect", more=f"location: {evil.url}?key=sk-123\r\n")
        error = await refused_by(moved, environment={"MINE": KEY}, api_key=Template(text="${MINE}"))

    assert error.what == f"307: redirected to {evil.url.removesuffix('/v1')}"
    assert evil.requests == []


async def test_nobody_there_is_told_in_words() -> None:
    kept = recorder()
    async with peer(cuts()) as gone:
        pass
    error = await refused(gone.url, kept=kept)

    assert error.what.startswith("cannot connect")
    assert (error.remedy, error.exchange) == ("is it running? check base_url", "x1")
    assert kinds(list(kept.since(0))) == ["request", "error"]


@pytest.mark.parametrize(("sent", "records"), [([], 1), ([head()], 2), ([head(), chunk({"content": "x"})], 3)])
async def test_cancelling_an_answer_closes_the_connection_at_once(sent: list[bytes], records: int) -> None:
    kept = recorder()
    async with peer(hangs(*sent)) as there, anyio.create_task_group() as group:

        async def ask() -> None:
            await asked(there.url, kept=kept)

        group.start_soon(ask)
        with anyio.fail_after(PATIENCE):
            await there.until(lambda there: bool(there.requests) and len(kept.since(0)) >= records)
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await there.until(lambda there: there.ended)

    assert read_ending(kept.since(0)[-1].data).reason == "closed by host"


async def test_silence_is_given_up_after_its_timeout_but_does_not_hold_an_answer_that_has_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_host.llm.model_client.LINGER_SECONDS", 0.2)
    begun = head() + chunk({"content": "x"})
    async with peer(hangs(begun), hangs(begun + chunk(finish="stop") + DONE)) as there:
        error = await refused(there.url, timeout=0.5)
        with anyio.fail_after(PATIENCE):
            fold = await asked(there.url)

    assert error.what.startswith("no byte for 0.5 s")
    assert error.remedy == "try again, or raise providers.mine.timeout"
    assert (fold.text, fold.stop) == ("x", "end")


async def test_a_compressed_answer_is_read_and_recorded_as_it_was_sent() -> None:
    kept = recorder()
    packed = gzip.compress(RECORDED)
    async with peer([head(more="content-encoding: gzip\r\n"), packed[:50], packed[50:]]) as there:
        fold = await asked(there.url, kept=kept)

    assert fold.stop == "tools"
    assert body_of(list(kept.since(0))) == packed
    assert b"get_weather" in RECORDED[slice(*fold.calls[0].spans[0])]


async def test_a_bomb_and_a_page_are_refused_and_a_whole_answer_is_read() -> None:
    bomb = gzip.compress(b" " * 20_000_000, 9)
    assert "200 times its length" in (await refused_by(head(more="content-encoding: gzip\r\n"), bomb)).what
    assert "Sign in" in (await refused_by(head(kind="text/html"), b"<title>Sign in</title>")).what
    whole = b'{"choices":[{"message":{"content":"37"},"finish_reason":"stop"}]}'
    async with peer([head(kind="application/json"), whole]) as there:
        assert (await asked(there.url)).text == "37"


@pytest.mark.parametrize("name", PLAIN)
async def test_an_answer_that_goes_on_behind_its_call_is_read_for_a_while_then_closed(name: str) -> None:
    async def goes_on(exchange: Exchange) -> None:
        await exchange.send(head() + chunk({"content": call(name)}))
        while True:
            await exchange.send(chunk({"content": "\nObservation: I have it. " + "x" * 500}))

    kept = recorder()
    async with peer(goes_on) as there:
        fold = await asked(there.url, kept=kept, reader=protocol(name).reader(TOOLS))
        with anyio.fail_after(PATIENCE):
            await there.until(lambda there: there.ended)

    assert [(each.call.name, each.call.arguments, each.complete) for each in fold.calls] == [("math__add", SUM, True)]
    assert (fold.stop, fold.vendor_stop, fold.usage.output_total) == ("end", CLOSED, None)
    assert sum(len(piece.text) for piece in fold.cut_off) > MADE_UP_LIMIT  # what is made up is what people come to see
    assert read_ending(list(kept.since(0))[-1].data).reason == "closed by host"
