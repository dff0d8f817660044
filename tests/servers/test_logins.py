"""Logins at servers behind URLs, those of the official conformance suite too: the gate has no Node.js to run it."""

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest

from tests.servers.login_server import LoginServer, Person, connected, login_server, state_of
from tui_host.errors import ServerError
from tui_host.servers.login_store import FILE, LoginStore
from tui_host.servers.server_questions import Declines
from tui_host.settings.schema import Template

PRM, ASM = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"
OIDC = "openid-configuration"
FIRST = [f"GET {PRM}/mcp", f"GET {ASM}", "POST /register", "GET /authorize", "POST /token"]
AGAIN = "the server no longer takes the last login"
EVIL, PLAIN = "https://elsewhere.example", "http://elsewhere.example/token"
DOCUMENT = "https://client.example/metadata.json"
ITS_WORD = "the-secret-of-the-client"
BASIC = f"Basic {base64.b64encode(b'client0:the-secret-of-the-client').decode()}"


async def log_in(server: LoginServer, document: str = "") -> str:
    return await state_of(server, Person(pastes=True), client_metadata_url=document)


@pytest.mark.parametrize("era", ["handshake", "discover"])
@pytest.mark.parametrize("pastes", ["", "pastes"])
async def test_the_person_logs_in_once_and_a_restart_does_not_ask_again(era: str, pastes: str, tmp_path: Path) -> None:
    logins, person = LoginStore(tmp_path), Person(pastes=bool(pastes))
    async with login_server(era=era) as server:
        async with connected(server, person, logins) as running:
            assert (await running.call("guarded")).content[0].text == "fine"
            assert (server.steps, person.reasons) == (FIRST, ["the first login"])
            (notice,) = running.status("guarded").notices
            assert FILE in notice
            records = running.records("guarded")
            requests = [record.head for record in running.records("guarded", kind="request")]
        seen = b"".join(record.data for record in records) + str([each.head for each in records]).encode()
        assert [secret for secret in [*server.valid, "code-of-the-login"] if secret.encode() in seen] == []
        assert [record for record in records if record.malformed] == []
        visited = [f"{head.method} {urlsplit(head.url or '').path}" for head in requests if head is not None]
        assert visited[1 : len(FIRST) + 1] == FIRST
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
        assert await state_of(server, Declines(), logins) == "ready"
        assert server.steps == FIRST
        for token in [token for token in server.valid if token.startswith("access")]:
            del server.valid[token]
        assert await state_of(server, Declines(), logins) == "ready"  # renewed
        assert server.steps[-1] == "POST /token"


async def expired(server: LoginServer, path: Path, person: Declines) -> int:
    """Keep a login whose token has expired; returns how many tokens were given."""
    await state_of(server, person, LoginStore(path))
    server.lifetime = 3600
    return len(server.exchanges)


async def test_processes_that_renew_at_once_wait_in_turn_and_a_lost_answer_asks_for_a_login(tmp_path: Path) -> None:
    states: list[str] = []
    person = Person()

    async def renew() -> None:
        states.append(await state_of(server, Declines(), LoginStore(tmp_path)))

    async with login_server(lifetime=-1, rotates=True) as server:
        given = await expired(server, tmp_path, Person())
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(renew)
        assert (states, len(server.exchanges)) == (["ready"] * 3, given + 1)
        server.lifetime, other = -1, tmp_path / "other"
        await expired(server, other, person)
        server.losing = 1
        assert await state_of(server, person, LoginStore(other)) == "ready"
        assert person.reasons == ["the first login", AGAIN]


@pytest.mark.parametrize("forgot", ["401 invalid_client", "400 invalid_client", "400 invalid_grant"])
async def test_a_client_that_was_forgotten_is_registered_anew_once(forgot: str, tmp_path: Path) -> None:
    logins = LoginStore(tmp_path)
    async with login_server(forgot=forgot) as server:
        assert await state_of(server, Person(), logins) == "ready"
        server.clients.clear()
        server.valid.clear()
        assert "it was given up" in await state_of(server, Person(leaves=True), logins)
        assert server.steps.count("POST /register") == 2
        assert await state_of(server, Person(), logins) == "ready"
        assert server.steps.count("POST /register") == 3


async def test_a_renewal_that_is_refused_for_a_while_costs_no_login(tmp_path: Path) -> None:
    async with login_server(lifetime=-1) as server:
        await expired(server, tmp_path, Person())
        server.forgot = "503 busy"
        server.clients.clear()
        words = f"HTTP 401 Unauthorized: the login failed at {server.origin}/token: HTTP 503 Service Unavailable: busy"
        assert await state_of(server, Declines(), LoginStore(tmp_path)) == f"{words} (reconnect to try again)"
        server.forgot = ""
        assert await state_of(server, Declines(), LoginStore(tmp_path)) == "ready"


async def test_a_login_of_another_process_is_taken_over(tmp_path: Path) -> None:
    first, second = Person(), Person()
    async with login_server() as server, connected(server, first, LoginStore(tmp_path)) as running:
        server.valid.clear()
        await state_of(server, second, LoginStore(tmp_path))
        assert (await running.call("guarded")).content[0].text == "fine"
        assert (second.reasons, len(first.logins)) == ([AGAIN], 1)


async def test_the_older_transport_asks_for_the_login_too_and_without_a_person_the_status_names_the_remedy() -> None:
    async with login_server() as server:
        words = "HTTP 401 Unauthorized: it needs a login (run tui-host servers login guarded)"
        assert (await state_of(server, Declines()), server.steps) == (words, [])
        async with connected(server, Person(), transport="sse"):
            assert server.steps == FIRST


async def test_a_step_up_keeps_the_scopes_before_and_is_not_repeated() -> None:
    person = Person()
    async with (
        login_server(resource={"scopes_supported": ["basic"]}, scope="write") as server,
        connected(server, person) as running,
    ):
        assert (await running.call("guarded")).content[0].text == "fine"
        assert person.reasons == ["the first login", "further permissions: write"]
        assert server.authorizations[1]["scope"].split() == ["basic", "write"]
        server.scope, server.granted = "never", "write"
        with pytest.raises(ServerError, match=r"it refuses the token that the login has just brought.* not run"):
            await running.call("guarded")
        assert [len(query.get("scope", "").split()) for query in server.authorizations] == [1, 2, 3]


SCOPED = {"resource": {"scopes_supported": ["c", "d"]}}
LOGINS: list[tuple[Mapping[str, object], Mapping[str, object]]] = [
    # metadata are looked for in every place in order
    ({}, {"tried": [f"{PRM}/mcp", ASM], "scope": None}),
    ({"challenge": 'realm="x"'}, {"tried": [f"{PRM}/mcp", ASM]}),
    ({"challenge": 'realm="x"', "prm": PRM, "asm": f"/.well-known/{OIDC}"},
     {"tried": [f"{PRM}/mcp", PRM, ASM, f"/.well-known/{OIDC}"]}),
    ({"prm": "/custom", "issuer": "/tenant", "asm": f"{ASM}/tenant"}, {"tried": ["/custom", f"{ASM}/tenant"]}),
    ({"issuer": "/tenant", "asm": f"/tenant/.well-known/{OIDC}"},
     {"tried": [f"{PRM}/mcp", f"{ASM}/tenant", f"/.well-known/{OIDC}/tenant", f"/tenant/.well-known/{OIDC}"]}),
    # no more scopes are asked for than needed
    ({"challenge": 'scope="a b"', **SCOPED}, {"scope": "a b"}),
    (SCOPED, {"scope": "c d"}),
    ({"challenge": 'scope="a"', "metadata": {"scopes_supported": ["a", "offline_access"]}},
     {"scope": "a offline_access"}),
    ({"challenge": 'scope="a"', "metadata": {"scopes_supported": ["a"]}}, {"scope": "a"}),
    # the client authenticates as it was registered
    ({"client": {"token_endpoint_auth_method": "none"}}, {"client": ("", None)}),
    ({"client": {"client_secret": ITS_WORD}}, {"client": (BASIC, None)}),
    ({"client": {"client_secret": ITS_WORD, "token_endpoint_auth_method": "client_secret_post"}},
     {"client": ("", ITS_WORD)}),
]  # fmt: skip


@pytest.mark.parametrize(("knobs", "expected"), LOGINS)
async def test_a_login_goes_as_the_server_says(knobs: Mapping[str, object], expected: Mapping[str, object]) -> None:
    async with login_server(**knobs) as server:
        assert await log_in(server) == "ready"
        *looked, registers, authorizes, exchanges = server.steps
        assert [registers, authorizes, exchanges] == FIRST[2:]
        ((given, form),) = server.exchanges
        seen = {
            "tried": [step.removeprefix("GET ") for step in looked],
            "scope": server.authorizations[0].get("scope"),
            "client": (given, form.get("client_secret")),
        }
        assert {**seen, **expected} == seen
        assert server.authorizations[0]["resource"] == server.url


async def test_the_address_of_a_document_is_the_client_where_the_server_takes_it() -> None:
    async with login_server(metadata={"client_id_metadata_document_supported": True}) as server:
        assert await log_in(server, DOCUMENT) == "ready"
        assert (server.authorizations[0]["client_id"], "POST /register" in server.steps) == (DOCUMENT, False)
    async with login_server() as server:
        assert await log_in(server, DOCUMENT) == "ready"
        assert server.authorizations[0]["client_id"] == "client0"


@pytest.mark.parametrize("registers", [True, False])
async def test_credentials_are_bound_to_their_issuer_and_given_ones_come_before_a_registration(
    *, registers: bool
) -> None:
    words = {"client_id": "client0", "client_secret": ITS_WORD}
    given = {} if registers else {key: Template(text=text, literal=True) for key, text in words.items()}
    logins = LoginStore()
    async with login_server(registers=registers) as server:
        assert await state_of(server, Person(), logins, **given) == "ready"
        server.valid.clear()
        server.issuer, server.asm = "/other", f"{ASM}/other"
        told = await state_of(server, Person(), logins, **given)
        clients = [query["client_id"] for query in server.authorizations]
        if registers:
            assert (told, clients) == ("ready", ["client0", "client1"])
            assert logins.load(server.url)["issuer"] == f"{server.origin}/other"
        else:
            assert f"moved to the authorization server {server.origin}/other" in told
            assert (server.exchanges[0][0], clients) == (BASIC, ["client0"])
            assert "POST /register" not in server.steps


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"resource": {"resource": f"{EVIL}/mcp"}}, "at .*/oauth-protected-resource/mcp: .* does not match"),
        ({"metadata": {"issuer": EVIL}}, "at .*/oauth-authorization-server: .* issuer mismatch"),
        ({"metadata": {"authorization_response_iss_parameter_supported": True}}, "in the browser at .* missing iss"),
        ({"answer": {"iss": EVIL}}, "in the browser at .* iss mismatch"),
        ({"answer": {"error": "oops", "iss": EVIL}}, "iss mismatch"),
        ({"metadata": {"token_endpoint": PLAIN}}, f"at {PLAIN}: .* plain http"),
        ({"client": {"token_endpoint_auth_method": "tls_client_auth"}}, "at .*/register: .* unsupported"),
        ({"metadata": {"code_challenge_methods_supported": []}}, r"does not announce PKCE \(S256\)"),
        ({"answer": {"error": "access_denied"}}, "the login failed in the browser at .* answered access_denied"),
        ({"registers": False}, "set client_id and redirect_port of servers.guarded"),
    ],
)
async def test_what_is_not_to_be_trusted_is_refused_by_its_step(knobs: Mapping[str, object], words: str) -> None:
    async with login_server(**knobs) as server:
        told = await log_in(server)
        assert re.search(words, told), told
        assert "oops" not in told
        assert server.valid == {}
        assert server.steps.count("GET /authorize") <= 1  # the probe's refusal asks, that of initialize does not
