"""How a relay reaches its upstream: encrypted, verified, by the proxy of the environment; and what cannot be one."""

from __future__ import annotations

import ssl
from pathlib import Path

import anyio
import pytest
from anyio.streams.tls import TLSStream

from tests.kit.peer import Link, peer
from tests.llm.test_model_reach import certificate
from tests.ports import unused_port
from tests.tap.relaying import answer, relaying, request, says
from tui_host.capture.ladder.ladder import Ladder
from tui_host.errors import SettingsError, TuiHostError
from tui_host.tap.http.upstream import upstream_of


def encrypting(folder: Path) -> tuple[Path, ssl.SSLContext]:
    own = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return own, context


async def answer_once(stream: TLSStream) -> bytes:
    asked = b""
    while b"\r\n\r\n" not in asked:
        asked += await stream.receive()
    await stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
    await stream.send(b"0\r\n\r\n")
    return asked


@pytest.mark.parametrize("way", ["--ca-file", "SSL_CERT_FILE"])
async def test_an_encrypted_upstream_is_reached_if_its_certificate_is_trusted(tmp_path: Path, way: str) -> None:
    own, context = encrypting(tmp_path)

    async def script(stream: Link) -> None:
        async with await TLSStream.wrap(stream, server_side=True, ssl_context=context) as secret:
            await answer_once(secret)

    async with peer(connection=script) as up:
        url = up.origin.replace("http:", "https:")
        ca_file, environment = (own, {}) if way == "--ca-file" else (None, {"SSL_CERT_FILE": str(own)})
        async with relaying(url, environment=environment, ca_file=ca_file) as relay:
            assert (await relay.ask(request(relay.host))).endswith(b"2\r\nok\r\n0\r\n\r\n")
        assert relay.body() == b"ok"


@pytest.mark.parametrize(
    ("host", "trusts", "words"),
    [
        ("127.0.0.1", False, b"is not trusted: CERTIFICATE_VERIFY_FAILED: "),
        ("localhost", True, b"the certificate is for another name: use that name in --upstream"),
    ],
)
async def test_a_certificate_that_nobody_signed_or_for_another_name_is_refused_with_what_helps(
    tmp_path: Path, host: str, words: bytes, *, trusts: bool
) -> None:
    own, context = encrypting(tmp_path)

    async def script(stream: Link) -> None:
        with pytest.raises((ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream)):
            await TLSStream.wrap(stream, server_side=True, ssl_context=context)

    async with peer(connection=script) as up:
        url = up.origin.replace("http:", "https:").replace("127.0.0.1", host)
        async with relaying(url, ca_file=own if trusts else None) as relay:
            answered = await relay.ask(request(relay.host))
    assert answered.startswith(b"HTTP/1.1 502 ")
    assert words in answered
    assert (b"--ca-file" in answered) is not trusts


async def test_where_an_upstream_does_not_encrypt_the_url_that_may_be_meant_is_named() -> None:
    async def script(stream: Link) -> None:
        await stream.receive()
        await stream.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    async with peer(connection=script) as up, relaying(up.origin.replace("http:", "https:")) as relay:
        answered = await relay.ask(request(relay.host))
    assert b"does not answer in TLS: " in answered
    assert b"write --upstream %s/" % up.origin.encode() in answered
    assert b"Operation not permitted" not in answered


async def test_another_machine_is_reached_through_the_proxy_of_the_environment() -> None:
    async with peer(connection=says(answer(b"by proxy"))) as proxy:
        environment = {"http_proxy": proxy.origin.replace("://", "://ann:p%40ss@")}
        async with relaying("http://model.example/v1", environment=environment) as relay:
            assert (await relay.ask(request(relay.host))).endswith(b"by proxy")
    asked = bytes(proxy.received[0])
    assert asked.startswith(b"POST http://model.example/v1/chat/completions HTTP/1.1\r\nHost: model.example\r\n")
    assert b"\r\nProxy-Authorization: Basic YW5uOnBAc3M=\r\n" in asked
    assert "YW5u" not in repr(relay.records())


@pytest.mark.parametrize("consents", [True, False])
async def test_an_encrypted_one_through_a_proxy_that_sees_nothing_of_it(tmp_path: Path, *, consents: bool) -> None:
    own, context = encrypting(tmp_path)
    seen: list[bytes] = []

    async def script(stream: Link) -> None:
        seen.append(await stream.head())
        if not consents:
            await stream.send(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        await stream.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with await TLSStream.wrap(stream, server_side=True, ssl_context=context) as secret:
            seen.append(await answer_once(secret))

    async with peer(connection=script) as proxy:
        environment = {"https_proxy": proxy.origin}
        async with relaying("https://model.example/v1", environment=environment, ca_file=own) as relay:
            answered = await relay.ask(request(relay.host))
    assert seen[0].startswith(b"CONNECT model.example:443 HTTP/1.1\r\nHost: model.example:443\r\n")
    if consents:
        assert seen[1].startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: model.example\r\n")
        assert answered.endswith(b"2\r\nok\r\n0\r\n\r\n")
    else:
        assert b"407 Proxy Authentication Required" in answered
        assert b"Server: tui-host tap" in answered


@pytest.mark.parametrize(
    ("typed", "environment", "what"),
    [
        ("api.deepseek.com/v1", {}, "not an http or https URL"),
        ("ftp://x", {}, "not an http or https URL"),
        ("https://me:secret@x/v1", {}, "a URL with a user, a query or a fragment in it"),
        ("https://x/v1?key=1", {}, "a URL with a user, a query or a fragment in it"),
        ("https://x", {"HTTPS_PROXY": "socks5://p:1"}, "a proxy of the kind socks5"),
        ("https://x", {"HTTPS_PROXY": "http://p:port"}, "the proxy's address is not a URL"),
    ],
)
def test_what_can_be_no_upstream_is_told(typed: str, environment: dict[str, str], what: str) -> None:
    with pytest.raises(SettingsError) as told:
        upstream_of(typed, environment)
    assert told.value.what == what
    assert "secret" not in str(told.value)


async def test_a_tap_before_itself_is_refused() -> None:
    port = unused_port()
    with pytest.raises(TuiHostError, match="is this tap itself"):
        async with relaying(f"http://localhost:{port}/v1", port=port):
            pass


@pytest.mark.parametrize("is_mcp", [False, True])
@pytest.mark.parametrize(
    ("origin", "status", "words"),
    [
        ("", b"502", "the tap itself answered 502: http://127.0.0.1:"),
        ("Origin: http://evil.example\r\n", b"403", "the tap itself answered: Origin is http://evil.example: "),
    ],
)
async def test_an_answer_of_the_tap_itself_is_one_row_that_says_so(
    origin: str, status: bytes, words: str, *, is_mcp: bool
) -> None:
    ladder = Ladder()
    async with relaying(f"http://127.0.0.1:{unused_port()}/v1", is_mcp=is_mcp) as relay:
        head = b"POST /v1 HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n" % (relay.host, origin.encode())
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        answered = await relay.ask(
            head + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        ladder.feed(relay.records())
    assert answered.startswith(b"HTTP/1.1 %s " % status)
    (failed,) = [row for row in ladder.rows if row.error]
    assert failed.words.startswith(words)
    assert failed.status == (403 if origin else 0)
