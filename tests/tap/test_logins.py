"""Logins through a relay, and what a host shows of its credentials: it passes, and is nowhere in what is kept."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp_types import TextContent
from pydantic import AnyUrl

from tests.kit.peer import Link, peer
from tests.servers.login_server import LoginServer, login_server
from tests.tap.relaying import answer, origin_of, relaying, request
from tui_host.capture.record import Head
from tui_host.errors import JSON
from tui_host.tap.http.logins import TapPlaces
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.http_messages import HeadError, MessageHead, read_request

OWN = "http://127.0.0.1:8322"
PREFIX = "/tui-host-authorization"


def told(places: TapPlaces, document: dict[str, JSON]) -> JSON:
    passed: JSON = json.loads(places.document(json.dumps(document).encode()))
    return passed


def asked(target: str, method: bytes = b"GET") -> MessageHead:
    return read_request(b"%s %s HTTP/1.1\r\nHost: a\r\n\r\n" % (method, target.removeprefix(OWN).encode()))


def before() -> TapPlaces:
    return TapPlaces(Upstream("https://mcp.example/mcp", {}), OWN, print)


@pytest.mark.parametrize(
    "url",
    [
        *("https://user:word@login.example/t", "file:///t", OWN + "/round", "http://login.example", "https://10.0.0.1"),
        *("https://login.example/x HTTP/1.1\r\nHost: a\r\n\r\nPOST /", "https://login.example\t/a"),
        *("https://login.example/\0", "https://mcp.example/a b", "https://mcp.example/\r\nX: y"),
        *("https://mcp.example%20HTTP/", "login.example/t"),
    ],
)
def test_what_no_place_can_stand_for_passes_as_it_is_and_nothing_leads_where_no_metadata_has_named(url: str) -> None:
    places = before()
    document: dict[str, JSON] = {"authorization_servers": [url], "token_endpoint": url}
    assert told(places, document) == document
    told(places, {"issuer": "https://mcp.example", "token_endpoint": "https://named.example/t"})
    unnamed = ("https/login.example/t", "https/10.0.0.1/", "https/127.0.0.1:8322/round", "http/named.example/t")
    for place in (*unnamed, "https/named.example:8443/t", "https/@named.example/t"):
        with pytest.raises(HeadError, match="no metadata has named"):
            places.route(asked(f"{PREFIX}/{place}", b"POST"))
    for place, target in (("named.example/t?x", b"/t?x"), ("named.example", b"/")):
        assert places.route(asked(f"{PREFIX}/https/{place}", b"POST")).target == target


async def test_a_page_may_send_a_browser_on_to_a_login_and_do_nothing_else() -> None:
    async with relaying("http://127.0.0.1:9/mcp", is_mcp=True) as relay:
        head = b" HTTP/1.1\r\nHost: %s\r\nSec-Fetch-Site: cross-site\r\nConnection: close\r\n\r\n" % relay.host
        sent_on = await relay.ask(b"GET /authorize?client_id=a&response_type=code" + head)
        assert b"Location: http://127.0.0.1:9/authorize?client_id=a&response_type=code\r\n" in sent_on
        for line in (b"GET /authorize?client_id=a", b"POST /authorize?client_id=a&response_type=code"):
            assert b"403 Forbidden" in await relay.ask(line + head)
        assert b"403 Forbidden" in await relay.ask(b"GET /.well-known/oauth-protected-resource" + head)


async def test_an_authorization_server_elsewhere_sends_nobody_on_to_the_server_and_shares_no_cookies_with_it() -> None:
    async def servers(stream: Link) -> None:
        asked = await stream.head()
        origin = origin_of(asked)
        if b"authorization-server" in asked:
            assert b"Accept-Encoding" not in asked
            await stream.send(answer(b'{"issuer": "%s", "token_endpoint": "%s/t/give"}' % (origin, origin)))
            return
        more = b"Location: ../moved?a=b\r\nSet-Cookie: theirs=1; Path=/\r\nX-Link: 1\r\n"
        await stream.send(answer(b"", status=b"307 Temporary Redirect", more=more))

    async def script(stream: Link) -> None:
        await stream.head()
        await stream.send(answer(b'{"authorization_servers": ["%s"]}' % login.origin.encode()))

    async with (
        peer(connection=servers) as login,
        peer(connection=script) as up,
        relaying(up.origin + "/mcp", is_mcp=True) as relay,
    ):
        place = b"/tui-host-authorization/http/127.0.0.1:%d" % login.port
        target = place + b"/t/give"
        unknown = await relay.ask(request(relay.host, target=target))
        for known in (b"/.well-known/oauth-protected-resource", b"/.well-known/oauth-authorization-server" + place):
            more = b"Accept-Encoding: br\r\nConnection: close\r\n\r\n"
            await relay.ask(b"GET %s HTTP/1.1\r\nHost: %s\r\n%s" % (known, relay.host, more))
        said = await relay.ask(request(relay.host, target=target, more=b"Cookie: servers=1\r\n"))
    assert b"404 Not Found" in unknown
    assert len(relay.told) == 1  # that it was refused
    assert b'{"authorization_servers": ["%s"]}' % login.origin.encode() in relay.body()  # as the server said it
    assert b"Location: %s/moved?a=b\r\n" % login.origin.encode() in said
    assert b"Set-Cookie" not in said
    assert b"X-Link: 1" in said
    assert b"POST /t/give" in login.received[-1]
    assert b"servers=1" not in b"".join(login.received)


# The SDK's own client signs in.


CALLBACK = "http://127.0.0.1:1/callback"


class Storage:
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


async def signed_in(url: str) -> tuple[list[str], list[str]]:
    """What a host of the SDK gets that signs in, renews what it was given, and asks again; and where the browser was."""
    shown: list[str] = []

    async def return_from_browser() -> AuthorizationCodeResult:
        async with httpx2.AsyncClient() as browser:
            while not shown[-1].startswith(CALLBACK):
                shown.append((await browser.get(shown[-1])).headers["location"])
        found = parse_qs(urlsplit(shown[-1]).query)
        return AuthorizationCodeResult(code=found["code"][0], state=found["state"][0], iss=found.get("iss", [None])[0])

    async def show(shown_url: str) -> None:
        shown.append(shown_url)

    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(CALLBACK)],
        client_name="test",
        token_endpoint_auth_method="client_secret_basic",  # noqa: S106 - the name of a method
    )
    login = OAuthClientProvider(url, metadata, Storage(), show, return_from_browser)
    got: list[str] = []
    async with httpx2.AsyncClient(auth=login, timeout=90) as web:
        try:
            async with Client(streamable_http_client(url, http_client=web)) as client:
                for _ in range(2):
                    said = (await client.call_tool("echo", {})).content[0]
                    got.append(said.text if isinstance(said, TextContent) else "")
                    login.context.token_expiry_time = 1.0  # so that the second call has to renew it
        except* OAuthFlowError:
            got.append("not signed in")
    return got, shown


Way = Literal["here", "elsewhere", "naming itself"]


@asynccontextmanager
async def guarded(way: Way) -> AsyncGenerator[tuple[LoginServer, LoginServer]]:
    """A server, and who gives its tokens: itself, or one elsewhere, which may say in its answers who it is."""
    async with login_server(client={"client_secret": "secret-of-the-client"}) as login:
        if way == "here":
            yield login, login
            return
        async with login_server(valid=login.valid, resource={"authorization_servers": [login.origin]}) as server:
            if way == "naming itself":
                login.answer = {"iss": login.origin}
                login.metadata = {"authorization_response_iss_parameter_supported": True}
            login.audience = server.url
            yield server, login


@pytest.mark.parametrize("way", ["here", "elsewhere", "naming itself"])
async def test_a_login_of_the_sdks_client_comes_to_the_same_through_a_relay(way: Way) -> None:
    async with guarded(way) as (server, login), relaying(server.url, is_mcp=True) as relay:
        plain, pages = await signed_in(server.url)
        assert plain == ["fine", "fine"]
        login.exchanges.clear()
        own = f"{relay.origin}/mcp"
        names_itself = way == "naming itself"
        if names_itself:  # its answers would not fit what the client was told: the next login goes there by itself
            login.audience = own
            assert await signed_in(own) == (["not signed in"], [])
        got, shown = await signed_in(own)
        given = {*login.valid, "secret-of-the-client", "code-of-the-login"}
    assert got == plain
    audience = login.audience or server.url
    assert {form["grant_type"] for _, form in login.exchanges} == {"authorization_code", "refresh_token"}
    assert {(form["resource"], header[:6]) for header, form in login.exchanges} == {(audience, "Basic ")}
    page = pages[0].partition("?")[0] + "?"
    if names_itself:
        assert shown[0].startswith(page)
        assert [told for told in relay.told if "names itself in its answers" in told] == relay.told != []
    else:
        assert (shown[0].startswith(relay.origin), shown[1].startswith(page), relay.told) == (True, True, [])
        heads = [each.head or Head() for each in relay.records("request")]
        marks = [dict(head.headers).get("Authorization", "") for head in heads if str(head.url).endswith("/token")]
        assert {each.startswith("Basic ⟨secret:") for each in marks} == {True}
    kept = repr(list(relay.records()))
    assert not [each for each in given if each in kept]
