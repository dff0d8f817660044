"""The logins of the official conformance suite, made anew for the gate, which has no Node.js to run the suite itself."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

import pytest

from tests.servers.login_server import LoginServer, Person, connected, login_server, state_of
from tui_host.errors import JSON, ServerError
from tui_host.settings.login_storage import LoginStore
from tui_host.settings.schema import Template

PRM, ASM, OIDC = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    "openid-configuration",
)
DOCUMENT = "https://client.example/metadata.json"
BASIC = f"Basic {base64.b64encode(b'client0:the-secret-of-the-client').decode()}"


async def log_in(server: LoginServer, document: str = "") -> str:
    return await state_of(server, Person(pastes=True), client_metadata_url=document)


@pytest.mark.parametrize(
    ("knobs", "tried"),
    [
        ({}, [f"{PRM}/mcp", ASM]),
        ({"challenge": 'realm="x"'}, [f"{PRM}/mcp", ASM]),
        (
            {"challenge": 'realm="x"', "prm": PRM, "asm": f"/.well-known/{OIDC}"},
            [f"{PRM}/mcp", PRM, ASM, f"/.well-known/{OIDC}"],
        ),
        ({"prm": "/custom", "issuer": "/tenant", "asm": f"{ASM}/tenant"}, ["/custom", f"{ASM}/tenant"]),
        (
            {"issuer": "/tenant", "asm": f"/tenant/.well-known/{OIDC}"},
            [f"{PRM}/mcp", f"{ASM}/tenant", f"/.well-known/{OIDC}/tenant", f"/tenant/.well-known/{OIDC}"],
        ),
    ],
)
async def test_metadata_are_looked_for_in_every_place_in_order(knobs: Mapping[str, object], tried: list[str]) -> None:
    async with login_server(**knobs) as server:
        assert await log_in(server) == "ready"
        assert server.steps == [f"GET {path}" for path in tried] + ["POST /register", "GET /authorize", "POST /token"]


async def test_the_address_of_a_document_is_the_client_where_the_server_takes_it() -> None:
    async with login_server(metadata={"client_id_metadata_document_supported": True}) as server:
        assert await log_in(server, DOCUMENT) == "ready"
        assert (server.authorizations[0]["client_id"], "POST /register" in server.steps) == (DOCUMENT, False)
    async with login_server() as server:
        assert await log_in(server, DOCUMENT) == "ready"
        assert server.authorizations[0]["client_id"] == "client0"


@pytest.mark.parametrize(
    ("knobs", "scope"),
    [
        ({"challenge": 'scope="a b"', "resource": {"scopes_supported": ["c"]}}, "a b"),
        ({"resource": {"scopes_supported": ["c", "d"]}}, "c d"),
        ({}, None),
        ({"challenge": 'scope="a"', "metadata": {"scopes_supported": ["a", "offline_access"]}}, "a offline_access"),
        ({"challenge": 'scope="a"', "metadata": {"scopes_supported": ["a"]}}, "a"),
    ],
)
async def test_no_more_scopes_are_asked_for_than_needed(knobs: Mapping[str, object], scope: str | None) -> None:
    async with login_server(**knobs) as server:
        assert await log_in(server) == "ready"
        assert server.authorizations[0].get("scope") == scope
        assert server.authorizations[0]["resource"] == server.url


async def test_a_step_up_keeps_the_scopes_before_and_is_not_repeated() -> None:
    async with (
        login_server(resource={"scopes_supported": ["basic"]}, scope="write") as server,
        connected(server, Person()) as running,
    ):
        assert (await running.call("guarded")).content[0].text == "fine"
        assert server.authorizations[1]["scope"].split() == ["basic", "write"]
        server.scope = "never"
        server.granted = "write"
        with pytest.raises(ServerError, match=r"it refuses the token that the login has just brought.* not run"):
            await running.call("guarded")
        assert [len(query.get("scope", "").split()) for query in server.authorizations] == [1, 2, 3]


@pytest.mark.parametrize(
    ("client", "authorization", "secret"),
    [
        ({"token_endpoint_auth_method": "none"}, "", None),
        ({"client_secret": "the-secret-of-the-client"}, BASIC, None),
        (
            {"client_secret": "the-secret-of-the-client", "token_endpoint_auth_method": "client_secret_post"},
            "",
            "the-secret-of-the-client",
        ),
    ],
)
async def test_the_client_authenticates_as_it_was_registered(
    client: Mapping[str, JSON], authorization: str, secret: str | None
) -> None:
    async with login_server(client=client) as server:
        assert await log_in(server) == "ready"
        ((given, form),) = server.exchanges
        assert (given, form.get("client_secret")) == (authorization, secret)


async def test_given_credentials_are_sent_as_the_server_takes_them_and_to_no_other_issuer() -> None:
    given = {
        "client_id": Template(text="client0", literal=True),
        "client_secret": Template(text="the-secret-of-the-client", literal=True),
    }
    logins = LoginStore()
    async with login_server(registers=False) as server:
        assert await state_of(server, Person(), logins, **given) == "ready"
        assert server.exchanges[0][0] == BASIC
        server.valid.clear()
        server.issuer = "/other"
        server.asm = f"{ASM}/other"
        server.steps.clear()
        moved = f"moved to the authorization server {server.origin}/other"
        assert moved in await state_of(server, Person(), logins, **given)
        assert server.steps.count("GET /authorize") == 0


async def test_a_changed_authorization_server_means_a_new_registration() -> None:
    logins = LoginStore()
    async with login_server() as server:
        await state_of(server, Person(), logins)
        server.valid.clear()
        server.issuer = "/other"
        server.asm = f"{ASM}/other"
        assert await state_of(server, Person(), logins) == "ready"
        assert [query["client_id"] for query in server.authorizations] == ["client0", "client1"]
        assert logins.load(server.url)["issuer"] == f"{server.origin}/other"


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        (
            {"resource": {"resource": "https://elsewhere.example/mcp"}},
            "at .*/oauth-protected-resource/mcp: .* does not match",
        ),
        (
            {"metadata": {"issuer": "https://elsewhere.example"}},
            "at .*/oauth-authorization-server: .* issuer mismatch",
        ),
        ({"metadata": {"authorization_response_iss_parameter_supported": True}}, "in the browser at .* missing iss"),
        ({"answer": {"iss": "https://elsewhere.example"}}, "in the browser at .* iss mismatch"),
        ({"answer": {"error": "oops", "iss": "https://elsewhere.example"}}, "iss mismatch"),
        (
            {"metadata": {"token_endpoint": "http://elsewhere.example/token"}},
            "at http://elsewhere.example/token: .* plain http",
        ),
        ({"client": {"token_endpoint_auth_method": "tls_client_auth"}}, "at .*/register: .* unsupported"),
    ],
)
async def test_what_is_not_to_be_trusted_is_refused_by_its_step(knobs: Mapping[str, object], words: str) -> None:
    async with login_server(**knobs) as server:
        told = await log_in(server)
        assert re.search(words, told), told
        assert "oops" not in told
        assert server.valid == {}
