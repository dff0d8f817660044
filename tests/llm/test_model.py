"""One exchange with a model over a real socket: its events, its records, its ends, and which machines are reached."""

import datetime as dt
import gzip
import ipaddress
import json
import ssl
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.kit.bodies import DONE, chunk
from tests.kit.peer import PATIENCE, Exchange, hangs, head, peer
from tests.llm.asking import KEY, PLACE, RECORDED, asked, body_of, recorder, refused
from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, call
from tests.llm.recorded.case import TEXT
from tui_host.capture.http.exchange_end import read_ending
from tui_host.errors import ModelError
from tui_host.llm.answer_stream import CLOSED, MADE_UP_LIMIT
from tui_host.llm.fold import Fold
from tui_host.llm.probe import LocalServer, local_servers
from tui_host.llm.protocols.table import protocol
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Template


async def refused_by(*pieces: bytes, **more: object) -> ModelError:
    async with peer(list(pieces)) as there:
        return await refused(there.url, **more)


async def test_an_answer_comes_as_events_and_every_byte_of_it_is_recorded_as_it_was_sent() -> None:
    for more, body in (("", RECORDED), ("content-encoding: gzip\r\n", gzip.compress(RECORDED))):
        kept = recorder()
        async with peer([head(more=more), *[body[start : start + 100] for start in range(0, len(body), 100)]]) as there:
            fold = await asked(there.url, kept=kept)
        assert (fold.text, fold.stop, len(fold.calls)) == (TEXT, "tools", 1)
        assert b"get_weather" in RECORDED[slice(*fold.calls[0].spans[0])]
        records = list(kept.since(0))
        first, second, *_, last = records
        assert (first.kind, second.kind, last.kind) == ("request", "response", "end")
        assert first.data == there.bodies[0]
        assert first.head is not None
        assert first.head.url == f"{there.url}/chat/completions"
        assert body_of(records) == body
        assert read_ending(last.data).reason == "complete"
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


async def test_silence_is_given_up_after_its_timeout_but_not_behind_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.llm.model_client.LINGER_SECONDS", 0.2)
    begun = head() + chunk({"content": "x"})
    async with peer(hangs(begun), hangs(begun + chunk(finish="stop") + DONE)) as there:
        error = await refused(there.url, timeout=0.5)
        with anyio.fail_after(PATIENCE):
            fold = await asked(there.url)
    assert error.what.startswith("no byte for 0.5 s")
    assert error.remedy == "try again, or raise providers.mine.timeout"
    assert (fold.text, fold.stop) == ("x", "end")


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


# Which machines are reached, and how: keys, addresses, proxies, certificates.

HERE = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("url", "more", "what"),
    [
        (HERE, {"api_key": Template(text="${DEEPSEEK_API_KEY}")}, "DEEPSEEK_API_KEY is not set"),
        (HERE, {"headers": {"X": Template(text="${TOKEN}")}}, "TOKEN is not set"),
        (HERE, {"options": Options(extra_body={"a": ["${TOKEN}"]})}, "TOKEN is not set"),
        (HERE, {"dialect": "smtp"}, "no dialect 'smtp'"),
        ("http://192.0.2.1/v1", {}, "unencrypted"),
        ("ftp://127.0.0.1", {}, "not an http or https URL"),
        ("https://a.example/v1", {"key_variable": "K"}, "K is not set: set the environment variable K"),
        ("https://127.0.0.1:1/v1", {"ca_file": Path(__file__)}, ": check ca_file and the proxy"),
    ],
)
async def test_what_cannot_be_resolved_or_must_not_travel_is_told(url: str, more: dict[str, object], what: str) -> None:
    kept = recorder()
    error = await refused(url, kept=kept, **more)
    assert (what in f"{error.what}: {error.remedy}", kept.since(0)) == (True, [])


async def test_a_proxy_of_the_environment_is_used_for_another_machine_and_never_for_this_one() -> None:
    async with peer([head(), RECORDED]) as there, peer([head(), RECORDED]) as proxy:
        address = proxy.url.removesuffix("/v1")
        await asked(there.url, environment={"HTTP_PROXY": address, "http_proxy": address, "ALL_PROXY": address})
        assert (len(there.requests), proxy.requests) == (1, [])
        fold = await asked("http://model.example/v1", environment={"http_proxy": address}, allow_http=True)
    assert fold.stop == "tools"
    assert proxy.requests[0].data.startswith(b"POST http://model.example/v1/chat/completions HTTP/1.1\r\n")


async def test_a_proxy_that_is_no_url_is_told_without_its_password() -> None:
    proxy = {"http_proxy": "http://ann:pass[word]@proxy.example:port:80"}
    error = await refused("http://model.example/v1", environment=proxy, allow_http=True)
    assert (error.what, error.remedy) == ("the proxy's address is no URL", "correct the proxy in the environment")


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 and model.example that nobody but itself has signed, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("model.example")]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file = folder / "own.pem"
    file.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()) + made.public_bytes(encoding))
    return file


async def test_a_certificate_that_nobody_signed_is_refused_unless_it_is_named(tmp_path: Path) -> None:
    own = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    async with peer([head(), RECORDED], tls=context) as there:
        error = await refused(there.url)
        fold = await asked(there.url, ca_file=own)
    assert error.what.startswith("its certificate cannot be verified")
    assert error.remedy == "set providers.mine.ca_file to the certificate that signed it, if you trust it"
    assert (len(there.requests), fold.stop) == (1, "tools")


LIST = b'{"object":"list","data":[{"id":"qwen3:8b","object":"model"}]}'


async def test_servers_that_list_models_are_found_and_none_that_hangs_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.llm.probe._SECONDS", 1)  # a busy machine takes longer than a start has time for
    async with (
        peer([head(kind="application/json"), b'{"models":[{"name":"qwen3:8b","model":"qwen3:8b"}]}']) as tags,
        peer([head(kind="application/json"), LIST]) as lists,
        peer(hangs()) as hanging,
    ):
        urls = {"ollama": tags.url.removesuffix("/v1"), "llamacpp": hanging.url, "vllm": lists.url}
        with anyio.fail_after(PATIENCE):
            servers = await local_servers({**urls, "lmstudio": "http://127.0.0.1:9/v1"})
    wanted = [LocalServer(provider=name, base_url=urls[name], models={"qwen3:8b": None}) for name in ("ollama", "vllm")]
    assert servers == tuple(wanted)
    assert tags.requests[0].data.startswith(b"GET /api/tags HTTP/1.1\r\n")
    assert lists.requests[0].data.startswith(b"GET /v1/models HTTP/1.1\r\n")


@pytest.mark.parametrize("pieces", [[head("404 Not Found"), LIST], [], [head(), b"x" * 3_000_000]])
async def test_what_is_no_model_server_is_left_out(pieces: list[bytes]) -> None:
    async with peer(pieces) as there:
        assert await local_servers({"llamacpp": there.url}) == ()
