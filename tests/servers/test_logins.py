"""Logins at servers behind URLs, against a small authorization server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest

from tests.servers.login_server import LoginServer, Person, connected, login_server, state_of
from tui_host.errors import ServerError
from tui_host.servers.server_questions import Declines
from tui_host.settings.login_storage import FILE, LoginStore
from tui_host.settings.schema import Template

WELL_KNOWN = "GET /.well-known/oauth-"
FIRST = [
    f"{WELL_KNOWN}protected-resource/mcp",
    f"{WELL_KNOWN}authorization-server",
    "POST /register",
    "GET /authorize",
    "POST /token",
]
AGAIN = "the server no longer takes the last login"


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
            kept = b"".join(record.draft.data for record in running.records("guarded"))
            heads = "".join(str(record.draft.head) for record in running.records("guarded"))
            requests = [record.draft.head for record in running.records("guarded", kind="request")]
            visited = [f"{head.method} {urlsplit(head.url or '').path}" for head in requests if head is not None]
            assert [record for record in running.records("guarded") if record.draft.malformed] == []
        for secret in [*server.valid, "code-of-the-login"]:
            assert secret.encode() not in kept
            assert secret not in heads
        assert visited[1 : len(FIRST) + 1] == FIRST
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
        assert await state_of(server, person, logins) == "ready"
        assert server.steps == FIRST


async def test_an_expired_token_is_renewed_without_the_person(tmp_path: Path) -> None:
    logins, person = LoginStore(tmp_path), Person(pastes=True)
    async with login_server(lifetime=-1) as server:
        await state_of(server, person, logins)
        server.lifetime = 3600
        async with connected(server, person, logins) as running:
            for token in [token for token in server.valid if token.startswith("access")]:
                del server.valid[token]
            assert (await running.call("guarded")).content[0].text == "fine"
        assert len(person.logins) == 1
        assert server.steps[len(FIRST) :].count("POST /token") == len(server.steps) - len(FIRST) >= 2


async def expired(server: LoginServer, path: Path, person: Declines) -> int:
    """Keep a login whose token has expired; returns how many tokens were given."""
    await state_of(server, person, LoginStore(path))
    server.lifetime = 3600
    return len(server.exchanges)


async def test_of_two_processes_one_renews_the_login_and_the_other_takes_it_over(tmp_path: Path) -> None:
    async with login_server(lifetime=-1, rotates=True) as server:
        given = await expired(server, tmp_path, Person())
        async with (
            connected(server, Declines(), LoginStore(tmp_path)) as first,
            connected(server, Declines(), LoginStore(tmp_path)) as second,
        ):
            for running in (first, second):
                assert (await running.call("guarded")).content[0].text == "fine"
        assert len(server.exchanges) == given + 1


async def test_processes_that_renew_at_once_wait_for_each_other(tmp_path: Path) -> None:
    states: list[str] = []

    async def renew() -> None:
        states.append(await state_of(server, Declines(), LoginStore(tmp_path)))

    async with login_server(lifetime=-1, rotates=True) as server:
        given = await expired(server, tmp_path, Person())
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(renew)
        assert (states, len(server.exchanges)) == (["ready"] * 3, given + 1)


async def test_a_renewal_whose_answer_is_lost_asks_for_a_login_once(tmp_path: Path) -> None:
    person = Person()
    async with login_server(lifetime=-1, rotates=True) as server:
        await expired(server, tmp_path, person)
        server.losing = 1
        assert await state_of(server, person, LoginStore(tmp_path)) == "ready"
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


async def test_a_stream_of_the_older_transport_asks_for_the_login_too() -> None:
    async with login_server() as server, connected(server, Person(), transport="sse"):
        assert server.steps == FIRST


async def test_a_login_of_another_process_is_taken_over(tmp_path: Path) -> None:
    first, second = Person(), Person()
    async with login_server() as server, connected(server, first, LoginStore(tmp_path)) as running:
        server.valid.clear()
        await state_of(server, second, LoginStore(tmp_path))
        assert (await running.call("guarded")).content[0].text == "fine"
        assert (second.reasons, len(first.logins)) == ([AGAIN], 1)


async def test_without_a_person_the_status_names_the_remedy() -> None:
    async with login_server() as server:
        words = "HTTP 401 Unauthorized: it needs a login (run tui-host servers login guarded)"
        assert (await state_of(server, Declines()), server.steps) == (words, [])


async def test_a_call_steps_up_to_further_scopes_once() -> None:
    person = Person()
    async with login_server(scope="mcp:write") as server, connected(server, person) as running:
        assert (await running.call("guarded")).content[0].text == "fine"
        assert person.reasons == ["the first login", "further permissions: mcp:write"]
        server.scope = "mcp:never"
        server.answer = {"error": "access_denied"}
        with pytest.raises(ServerError, match=r"in the browser at .* answered access_denied"):
            await running.call("guarded")


async def test_the_step_that_failed_is_named() -> None:
    async with login_server(metadata={"code_challenge_methods_supported": []}) as server:
        assert "does not announce PKCE (S256)" in await state_of(server, Person())
        assert server.steps == FIRST[:2]
    async with login_server(answer={"error": "access_denied"}) as server:
        assert f"the login failed in the browser at {server.origin}: " in await state_of(server, Person())
        assert server.steps.count("GET /authorize") == 1  # the probe's refusal asks, that of initialize does not


async def test_given_credentials_come_before_a_registration_and_are_named_where_there_is_none() -> None:
    async with login_server(registers=False) as server:
        given = Template(text="mine", literal=True)
        assert await state_of(server, Person(), client_id=given) == "ready"
        assert "set client_id and redirect_port of servers.guarded" in await state_of(server, Person())
        assert "POST /register" not in server.steps
