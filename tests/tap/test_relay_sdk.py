"""The SDK's own client through a relay: over both transports, and through a login."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client._transport import Transport
from mcp.client.auth import OAuthClientProvider
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.servers.running import SDK_SERVER
from tests.tap.relaying import Kept, answer, peer, relaying
from tui_host.capture.frames import read_frame
from tui_host.errors import JSON

WEATHER = ("-m", "tui_host.demo.servers", "weather", "--http")


@contextmanager
def served(*arguments: str) -> Generator[str]:
    """A server that tells its URL."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        told: dict[str, str] = json.loads(process.stdout.readline())
        try:
            yield told["url"]
        finally:
            process.kill()


@pytest.mark.parametrize("kind", ["sse", "weather"])
async def test_the_sdks_client_does_not_notice_a_relay(kind: str) -> None:
    arguments = WEATHER if kind == "weather" else (str(SDK_SERVER), kind)
    tool, given = ("get_forecast", {"city": "Paris"}) if kind == "weather" else ("echo", {"text": "中文 \u2028"})
    with served(*arguments) as url:
        async with relaying(url, is_mcp=True) as relay:
            own = relay.origin + urlsplit(url).path
            async with Client(_transport(kind, own)) as client, Client(_transport(kind, url)) as plain:
                listed = await client.list_tools()
                called = await client.call_tool(tool, given)
                assert listed.tools == (await plain.list_tools()).tools
                assert called.content == (await plain.call_tool(tool, given)).content
    heads = [(record.draft.direction, read_frame(record.draft.data).head) for record in relay.records("frame")]
    asked = {head.method: head.id for direction, head in heads if direction == "out" and head.kind == "request"}
    answered = {head.id for direction, head in heads if direction == "in" and head.answers}
    assert {"tools/list", "tools/call"} <= set(asked)
    assert {asked["tools/list"], asked["tools/call"]} <= answered
    assert len({record.draft.connection for record in relay.records("frame")}) == 1
    assert relay.told == []


def _transport(kind: str, url: str) -> Transport:
    return sse_client(url) if kind == "sse" else streamable_http_client(url)


class Storage:
    """Keeps what a login gives, as long as the test lasts."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def guarded(stream: Kept) -> None:
    """A server that wants a token, and is its own authorization server."""
    while True:
        asked = await stream.head()
        lengths = [each for each in asked.lower().split(b"\r\n") if each.startswith(b"content-length:")]
        body = asked.partition(b"\r\n\r\n")[2]
        while lengths and len(body) < int(lengths[0].split(b":")[1]):
            body += await stream.receive()
        origin = "http://" + asked.lower().partition(b"\r\nhost: ")[2].partition(b"\r\n")[0].decode()
        await stream.send(reply(asked.split(b" ")[1].decode(), asked, body, origin))


def reply(path: str, asked: bytes, body: bytes, origin: str) -> bytes:
    documents: dict[str, JSON] = {
        "/.well-known/oauth-protected-resource/mcp": {"resource": f"{origin}/mcp", "authorization_servers": [origin]},
        "/.well-known/oauth-authorization-server": {
            "issuer": origin,
            "authorization_endpoint": f"{origin}/authorize",
            "token_endpoint": f"{origin}/token",
            "registration_endpoint": f"{origin}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        },
        "/token": {"access_token": "granted", "token_type": "Bearer", "expires_in": 3600},
    }
    if path == "/register":
        registered: dict[str, JSON] = json.loads(body)
        return answer(json.dumps({**registered, "client_id": "me"}).encode(), status=b"201 Created")
    if path == "/mcp" and b"bearer granted" not in asked.lower():
        metadata = f'{origin}/.well-known/oauth-protected-resource/mcp"'
        more = f'WWW-Authenticate: Bearer resource_metadata="{metadata}\r\n'.encode()
        return answer(b"", status=b"401 Unauthorized", more=more)
    if path == "/mcp":
        return answer(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    return answer(json.dumps(documents[path]).encode()) if path in documents else answer(b"", status=b"404 Not Found")


async def test_a_login_of_the_sdks_client_works_through_a_relay() -> None:
    shown: list[str] = []

    async def show(url: str) -> None:
        shown.append(url)

    async def return_from_browser() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code="c0de", state=parse_qs(urlsplit(shown[-1]).query)["state"][0])

    async with peer(guarded) as up, relaying(f"{up.origin}/mcp", is_mcp=True) as relay:
        url = f"{relay.origin}/mcp"
        metadata = OAuthClientMetadata(redirect_uris=[AnyUrl("http://127.0.0.1:1/callback")], client_name="test")
        login = OAuthClientProvider(url, metadata, Storage(), show, return_from_browser)
        async with httpx2.AsyncClient(auth=login, timeout=5) as client:
            answered = await client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert answered.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    (browser,) = shown
    assert browser.startswith(f"{up.origin}/authorize?")
    assert parse_qs(urlsplit(browser).query)["resource"] == [url]
    assert "granted" not in repr(relay.records())
