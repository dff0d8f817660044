"""An MCP server behind a small authorization server, both on one port, with what a test makes of them, and a person who logs in."""

import base64
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

import anyio
from anyio import to_thread
from typing_extensions import override

from tests.kit.mcp_http import mcp_http
from tests.kit.peer import Exchange, Peer, Script, peer
from tests.servers.running import FINE, Running, remote, started
from tui_host.cli.commands.conformance import visit
from tui_host.errors import JSON
from tui_host.servers.login_store import LoginStore
from tui_host.servers.server_questions import Answering, Declines, Login

Tokens = dict[str, str]


@dataclass(kw_only=True)
class LoginServer:
    """Both servers, and what they received; a test changes what they say while they run."""

    era: str = "handshake"
    issuer: str = ""  # a path behind the origin
    registers: bool = True
    client: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    clients: list[str] = field(default_factory=list[str])
    scope: str = ""
    challenge: str = ""  # what refusals say, in place of where the metadata are
    prm: str = "/.well-known/oauth-protected-resource/mcp"
    asm: str = "/.well-known/oauth-authorization-server"
    resource: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    metadata: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    audience: str = ""  # the resource that tokens are asked for, else this server
    granted: str = ""  # else the scope that was asked for
    lifetime: int = 3600
    forgot: str = ""  # `STATUS CODE` for an unknown client at the token endpoint
    rotates: bool = False  # what renews is good once, and its second use ends the login
    losing: int = 0  # renewals whose answer is lost
    valid: Tokens = field(default_factory=dict[str, str])
    steps: list[str] = field(default_factory=list[str])
    answer: Mapping[str, str] = field(default_factory=dict[str, str])
    authorizations: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    exchanges: list[tuple[str, Mapping[str, str]]] = field(default_factory=list[tuple[str, Mapping[str, str]]])
    server: Peer = field(default_factory=lambda: Peer("", "/mcp"))
    _codes: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    _issued: int = 0

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def origin(self) -> str:
        return self.server.origin

    def script(self) -> Script:
        mcp = mcp_http({**FINE, "era": self.era})

        async def serve(asked: Exchange) -> None:
            parts = urlsplit(asked.request.path)
            if parts.path == "/mcp":
                if not await self._refused(asked):
                    await mcp(asked)
                return
            self.steps.append(f"{asked.request.method} {parts.path}")
            if parts.path == "/authorize":
                await self._authorize(asked, dict(parse_qsl(parts.query)))
            elif parts.path == "/token":
                await self._token(asked, dict(parse_qsl(asked.request.body.decode())))
            else:
                await tell(asked, self._documents(parts.path, asked.request.json))

        return serve

    def _documents(self, path: str, body: Mapping[str, JSON]) -> JSON:
        """What stands at a path, or is made there; nothing at any other."""
        if path == self.prm:
            return {"resource": self.url, "authorization_servers": [f"{self.origin}{self.issuer}"], **self.resource}
        if path == "/register":
            self.clients.append(f"client{len(self.clients)}")
            return {**body, **self.client, "client_id": self.clients[-1]}
        places = {"authorization": "authorize", "token": "token"}
        places |= {"registration": "register"} if self.registers else {}
        return path == self.asm and {
            "issuer": f"{self.origin}{self.issuer}",
            "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"],
            **{f"{name}_endpoint": f"{self.origin}/{place}" for name, place in places.items()},
            **self.metadata,
        }

    async def _authorize(self, asked: Exchange, query: Mapping[str, str]) -> None:
        self.authorizations.append(query)
        code = f"code-of-the-login-{len(self._codes)}"
        self._codes[code] = query
        answer = {"code": code, "state": query["state"], **self.answer}
        await asked.respond("302 Found", Location=f"{query['redirect_uri']}?{urlencode(answer)}")

    async def _token(self, asked: Exchange, form: Mapping[str, str]) -> None:
        self.exchanges.append((asked.request.headers.get("authorization", ""), form))
        is_renewal = form["grant_type"] == "refresh_token"
        if self.forgot and form["client_id"] not in self.clients:
            status, _, code = self.forgot.partition(" ")
            await tell(asked, {"error": code}, f"{status} Refused")
            return
        scope = self._renewed(form["refresh_token"]) if is_renewal else self._granted(form)
        if scope is None:
            await tell(asked, {"error": "invalid_grant"}, "400 Bad Request")
            return
        if self.losing and is_renewal:
            self.losing -= 1
            return
        self._issued += 1
        token, renewal = f"access-token-{self._issued}-Aa", f"refresh-token-{self._issued}-Bb"
        self.valid |= {token: scope, renewal: scope}
        given: JSON = {"access_token": token, "token_type": "bearer", "expires_in": self.lifetime}
        await tell(asked, {**given, "refresh_token": renewal})

    def _renewed(self, token: str) -> str | None:
        scope = self.valid.get(token)
        if self.rotates and self.valid.pop(token, None) is None:
            self.valid.clear()
        return scope

    def _granted(self, form: Mapping[str, str]) -> str:
        query = self._codes.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == query["code_challenge"]
        assert (form["redirect_uri"], form["resource"]) == (query["redirect_uri"], self.audience or self.url)
        return self.granted or query.get("scope", "")

    async def _refused(self, asked: Exchange) -> bool:
        """Refuse a request without a token, or a call without its scope."""
        token = asked.request.headers.get("authorization", "").removeprefix("Bearer ")
        place = self.challenge or f'resource_metadata="{self.origin}{self.prm}"'
        lacks_scope = asked.request.rpc == "tools/call" and self.scope not in self.valid.get(token, "")
        if token not in self.valid:
            await asked.respond("401 Unauthorized", WWW_Authenticate=f"Bearer {place}")
        elif lacks_scope:
            missing = f'Bearer error="insufficient_scope", scope="{self.scope}", {place}'
            await asked.respond("403 Forbidden", WWW_Authenticate=missing)
        return token not in self.valid or lacks_scope


async def tell(asked: Exchange, value: JSON, status: str = "200 OK") -> None:
    body = json.dumps(value).encode()
    await asked.respond(status if value else "404 Not Found", body, Content_Type="application/json")


@asynccontextmanager
async def login_server(**knobs: object) -> AsyncGenerator[LoginServer]:
    login = LoginServer()
    for name, value in knobs.items():
        setattr(login, name, value)
    async with peer(always=login.script(), path="/mcp") as login.server:
        yield login


class Person(Declines):
    """Logs in with a browser that reaches the listener, or pastes the address; or `leaves`, where the browser said that the client is unknown."""

    def __init__(self, *, pastes: bool = False, leaves: bool = False) -> None:
        self.logins: list[Login] = []
        self._pastes = pastes
        self._leaves = leaves

    @property
    def reasons(self) -> list[str]:
        return [login.reason for login in self.logins]

    @override
    async def log_in(self, login: Login) -> str | None:
        self.logins.append(login)
        if self._leaves:
            return None
        place = await to_thread.run_sync(visit, login.url)
        assert place is not None
        if self._pastes:
            return place
        await to_thread.run_sync(visit, place)
        await anyio.sleep_forever()
        return None


@asynccontextmanager
async def connected(
    server: LoginServer, person: Declines, logins: LoginStore | None = None, **more: object
) -> AsyncGenerator[Running]:
    answering = Answering(answerer=lambda: person, logins=logins or LoginStore())
    async with started(remote("guarded", server.url, **more), answering=answering) as running:
        yield running


async def state_of(server: LoginServer, person: Declines, logins: LoginStore | None = None, **more: object) -> str:
    async with connected(server, person, logins, **more) as running:
        status = running.status("guarded")
        return status.detail or status.state
