"""Logins through a relay, and what a host shows of its credentials: it passes, and is nowhere in what is kept."""

from __future__ import annotations

import json

import anyio
import pytest

from tests.kit.peer import Link, peer, response
from tests.tap.relaying import answer, origin_of, relaying, request, rest_of
from tui_host.errors import JSON
from tui_host.tap.http.logins import TapPlaces
from tui_host.tap.http.upstream import upstream_of
from tui_host.tap.http_messages import HeadError, MessageHead, read_request

OWN = "http://127.0.0.1:8322"
PREFIX = "/tui-host-authorization"
THERE = f"{OWN}{PREFIX}/https/login.example"
FORM = b"grant_type=x&resource=http%3A%2F%2F127.0.0.1%3A8322%2Fmcp&a=%2f+b&scope="
MEANT = b"grant_type=x&resource=https%3A%2F%2FMCP.example%2Fmcp&a=%2f+b&scope="
NAMES: dict[str, JSON] = {"resource": "https://MCP.example/mcp", "authorization_servers": ["https://login.example/t/"]}
SERVER: dict[str, JSON] = {
    "issuer": "https://login.example/t/",
    "authorization_endpoint": "https://login.example/t/in?p=1",
    "token_endpoint": "https://tokens.example:8443/t",
    "registration_endpoint": "https://login.example/r",
    "jwks_uri": "https://login.example/k",
    "scopes_supported": ["https://login.example/scope"],
}


def told(places: TapPlaces, document: dict[str, JSON]) -> JSON:
    passed: JSON = json.loads(places.document(json.dumps(document).encode()))
    return passed


def asked(target: str, method: bytes = b"GET") -> MessageHead:
    return read_request(b"%s %s HTTP/1.1\r\nHost: a\r\n\r\n" % (method, target.removeprefix(OWN).encode()))


UPSTREAM = upstream_of("https://mcp.example/mcp", {})


def before() -> TapPlaces:
    return TapPlaces(UPSTREAM, OWN, print)


def test_an_authorization_server_elsewhere_gets_a_place() -> None:
    places = before()
    assert told(places, NAMES) == {"resource": f"{OWN}/mcp", "authorization_servers": [f"{THERE}/t/"]}
    known, path = "/.well-known/", f"{PREFIX}/https/login.example/t"
    for form, target in (
        (f"{known}oauth-authorization-server{path}", f"{known}oauth-authorization-server/t"),
        (f"{known}openid-configuration{path}", f"{known}openid-configuration/t"),
        (f"{path}{known}openid-configuration", f"/t{known}openid-configuration"),
    ):
        assert places.route(asked(form)).target.decode() == target
    changed = {
        "issuer": f"{THERE}/t/",
        "authorization_endpoint": f"{THERE}/t/in?p=1",
        "token_endpoint": f"{OWN}{PREFIX}/https/tokens.example:8443/t",
    }
    assert told(places, SERVER) == SERVER | changed
    token = places.route(asked(changed["token_endpoint"], b"POST"))
    assert (token.upstream.origin, token.target, token.redirect_url) == ("https://tokens.example:8443", b"/t", b"")
    page = places.route(asked(f"{THERE}/t/in?p=1&client_id=a&response_type=code&" + FORM.decode()))
    assert page.redirect_url == b"https://login.example/t/in?p=1&client_id=a&response_type=code&" + MEANT


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


def test_of_a_form_nothing_is_changed_but_what_names_the_tap_as_the_resource() -> None:
    places = before()
    told(places, NAMES)
    for form in (
        b"resource=http%3A%2F%2F127.0.0.1%3A83221%2Fmcp",
        b"resource=https%3A%2F%2Fother.example",
        b"xresource=http%3A%2F%2F127.0.0.1%3A8322&a=resource=http%3A%2F%2F127.0.0.1%3A8322",
        b"resource",
        b"",
    ):
        assert places.with_server_url(form) == form
        assert places.with_server_url(FORM + b"&" + form) == MEANT + b"&" + form


async def test_a_form_that_comes_after_its_head_is_passed_on_with_the_line_breaks_at_its_beginning() -> None:
    form, kind = b"\r\na=b", b"application/x-www-form-urlencoded"
    async with (
        peer(always=response(b"{}")) as up,
        relaying(up.origin + "/mcp", is_mcp=True) as relay,
        await relay.client() as client,
    ):
        head, end, _ = request(relay.host, target=b"/token", body=form, kind=kind).partition(b"\r\n\r\n")
        await client.send(head + end)
        await anyio.sleep(0.05)
        await client.send(form)
        assert b"200 OK" in await rest_of(client)
    assert up.bodies == [form]


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
