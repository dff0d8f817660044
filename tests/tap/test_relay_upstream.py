"""How a relay reaches its upstream: encrypted, verified, by the proxy of the environment; how far inside; and what cannot be one."""

import asyncio
import socket
import ssl
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from anyio.streams.tls import TLSStream

from tests.kit.peer import Link, peer
from tests.llm.test_model import certificate
from tests.ports import unused_port
from tests.tap.relaying import answer, relaying, request, says
from tui_host.errors import SettingsError, TuiHostError
from tui_host.tap.http.llm_tap import base_url, instructions
from tui_host.tap.http.upstream import Upstream

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"


def encrypting(folder: Path) -> tuple[Path, ssl.SSLContext]:
    own = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return own, context


async def answer_encrypted(stream: Link, context: ssl.SSLContext) -> bytes:
    async with await TLSStream.wrap(stream, server_side=True, ssl_context=context) as secret:
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += await secret.receive()
        await secret.send(CHUNKED)
        await secret.send(b"0\r\n\r\n")
    return asked


@pytest.mark.parametrize(
    ("host", "way", "words"),
    [
        ("127.0.0.1", "--ca-file", b""),
        ("127.0.0.1", "SSL_CERT_FILE", b""),
        ("127.0.0.1", "", b"is not trusted: CERTIFICATE_VERIFY_FAILED: "),
        ("localhost", "--ca-file", b"is not trusted: CERTIFICATE_VERIFY_FAILED: Hostname mismatch"),
    ],
)
async def test_an_encrypted_upstream_is_reached_if_its_certificate_is_trusted_and_for_its_name(
    tmp_path: Path, host: str, way: str, words: bytes
) -> None:
    own, context = encrypting(tmp_path)

    async def script(stream: Link) -> None:
        with suppress(ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream):
            await answer_encrypted(stream, context)

    async with peer(connection=script) as up:
        url = up.origin.replace("http:", "https:").replace("127.0.0.1", host)
        environment = {"SSL_CERT_FILE": str(own)} if way == "SSL_CERT_FILE" else {}
        async with relaying(url, environment=environment, ca_file=own if way == "--ca-file" else None) as relay:
            answered = await relay.ask(request(relay.host))
    if words:
        assert (answered.startswith(b"HTTP/1.1 502 "), words in answered) == (True, True)
        assert (b"--ca-file" in answered) is (way == "")
    else:
        assert (answered, relay.body()) == (CHUNKED + b"0\r\n\r\n", b"ok")


async def test_another_machine_is_reached_through_the_proxy_of_the_environment() -> None:
    async with peer(connection=says(answer(b"by proxy"))) as proxy:
        environment = {"http_proxy": proxy.origin.replace("://", "://ann:p%40ss@")}
        async with relaying("http://model.example/v1", environment=environment) as relay:
            assert (await relay.ask(request(relay.host))).endswith(b"by proxy")
    asked = bytes(proxy.received[0])
    assert asked.startswith(b"POST http://model.example/v1/chat/completions HTTP/1.1\r\nHost: model.example\r\n")
    assert b"\r\nProxy-Authorization: Basic YW5uOnBAc3M=\r\n" in asked
    assert "YW5u" not in repr(relay.records())


async def test_an_encrypted_one_through_a_proxy_that_sees_nothing_of_it_and_may_refuse(tmp_path: Path) -> None:
    own, context = encrypting(tmp_path)
    seen: list[bytes] = []

    async def script(stream: Link) -> None:
        seen.append(await stream.head())
        if len(seen) == 1:
            await stream.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            seen.append(await answer_encrypted(stream, context))
        else:
            await stream.send(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    async with peer(connection=script) as proxy:
        environment = {"https_proxy": proxy.origin}
        async with relaying("https://model.example/v1", environment=environment, ca_file=own) as relay:
            answered, refused = [await relay.ask(request(relay.host)) for _ in range(2)]
    assert seen[0].startswith(b"CONNECT model.example:443 HTTP/1.1\r\nHost: model.example:443\r\n")
    assert seen[1].startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: model.example\r\n")
    assert answered.endswith(b"2\r\nok\r\n0\r\n\r\n")
    assert b"407 Proxy Authentication Required" in refused
    assert b"Server: tui-host tap" in refused


@pytest.mark.parametrize(
    ("typed", "environment", "what"),
    [
        ("api.deepseek.com/v1", {}, "not an http or https URL"),
        ("ftp://x", {}, "not an http or https URL"),
        ("https://me:secret@x/v1", {}, "a URL with a user, a query or a fragment in it"),
        ("https://x", {"HTTPS_PROXY": "socks5://p:1"}, "the proxy's address is no http URL"),
        ("https://x", {"HTTPS_PROXY": "http://p:port"}, "the proxy's address is no http URL"),
    ],
)
def test_what_can_be_no_upstream_is_told(typed: str, environment: dict[str, str], what: str) -> None:
    with pytest.raises(SettingsError) as told:
        Upstream(typed, environment)
    assert told.value.what == what
    assert "secret" not in str(told.value)


async def test_a_tap_before_itself_is_refused() -> None:
    port = unused_port()
    with pytest.raises(TuiHostError, match="is this tap itself"):
        async with relaying(f"http://localhost:{port}/v1", port=port):
            pass


# How far inside a network what an upstream's metadata names may be.


INSIDE = "https://[::ffff:127.0.0.1] https://[64:ff9b::7f00:1] https://[fd00::1]"
NAMED = {
    "https://mcp.example/mcp": (
        "https://login.example https://[2606:2800:220:1::1]",
        f"http://login.example https://localhost https://127.1 https://10.0.0.1 https://169.254.169.254 {INSIDE}",
    ),
    "http://mcp.example/mcp": ("http://MCP.example:9", ""),
    "http://127.0.0.1:3000/mcp": ("http://localhost:9", ""),
    "http://localhost:3000/mcp": ("", "https://169.254.169.254"),
}
"""What a server may name, and what not."""


@pytest.mark.parametrize("proxy", ["", "http://proxy.example:3128"])
@pytest.mark.parametrize("upstream", NAMED)
def test_a_server_names_encrypted_places_and_beside_itself_plain_ones(upstream: str, proxy: str) -> None:
    server = Upstream(upstream, {"https_proxy": proxy})
    allowed, forbidden = (urls.split() for urls in NAMED[upstream])
    assert [server.other(named).origin for named in allowed] == [named.lower() for named in allowed]
    for named in forbidden:
        with pytest.raises(SettingsError, match="may not lead to"):
            server.other(named)


async def test_what_leads_further_in_than_the_server_is_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    async def looked_up(*_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]

    async with peer(connection=says(answer(b""), until=b"")) as inner:
        await Upstream("http://127.0.0.1", {}).other(f"http://localhost:{inner.port}").connect(asyncio.Protocol)
        await inner.until(lambda there: len(there.links) == 1)
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", looked_up)
        named = Upstream("http://mcp.example", {}).other(f"http://mcp.example:{inner.port}")
        with pytest.raises(ConnectionError, match="further inside"):
            await named.connect(asyncio.Protocol)
        assert len(inner.links) == 1


# Where hosts of others want a tap's address.

OWN = "http://127.0.0.1:8321"
OPENAI, ANTHROPIC, GEMINI, OLLAMA = "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST"


@pytest.mark.parametrize(
    ("upstream", "path", "names"),
    [
        ("https://api.deepseek.com/v1", "/v1", [OPENAI]),
        ("https://api.deepseek.com/v1/chat/completions", "/v1", [OPENAI]),
        ("https://llm.example/v1/messages", "", [ANTHROPIC]),
        ("https://api.anthropic.com/v1", "", [ANTHROPIC]),
        ("https://generativelanguage.googleapis.com/v1beta", "", [GEMINI]),
        ("https://llm.example/api/chat", "", [OLLAMA]),
        ("http://127.0.0.1:11434", "", [OLLAMA]),
        ("http://127.0.0.1:9000", "", [OPENAI, ANTHROPIC, GEMINI, OLLAMA]),
    ],
)
def test_hosts_are_told_the_address_of_whom_the_upstream_is_like(upstream: str, path: str, names: list[str]) -> None:
    server = Upstream(upstream, {}, None)
    url = base_url(server, OWN)
    assert url == OWN + path
    hints = "\n".join(instructions(server, OWN))
    assert [name for name in (OPENAI, ANTHROPIC, GEMINI, OLLAMA) if f" {name}=" in hints] == names
    version = "/v1" if len(names) > 1 else ""
    assert f" {names[0]}={url.rstrip('/')}{version}\n" in hints + "\n"
    assert ("--allow-host host.docker.internal" in hints) == (names[0] in {OPENAI, OLLAMA})
