"""A login of the SDK's own client through a relay."""

from __future__ import annotations

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

from tests.servers.login_server import LoginServer, login_server
from tests.tap.relaying import relaying
from tui_host.capture.record import Head

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
        names = {"authorization_servers": [login.origin]}
        async with login_server(valid=login.valid, resource=names) as server:
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
