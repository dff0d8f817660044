"""An MCP server behind a small authorization server, both on one port, in both eras, with what a test makes of them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.kit.peer import Exchange, Peer
from tests.servers.raw_http import TOOLS, raw_http, well_behaved
from tui_host.errors import JSON

JSON_TYPE = {"Content_Type": "application/json"}


@dataclass(kw_only=True)
class LoginServer:
    """Both servers.

    Attributes:
        era: The era of MCP.
        issuer: What the authorization server calls itself, behind its origin.
        registers: Whether it registers clients.
        client: What it adds to the record of a registered client.
        clients: The known clients, each with its secret.
        scope: The scope that calls need.
        challenge: What the server's refusals say, besides where its metadata are.
        prm: Where the server's metadata are.
        asm: Where the authorization server's metadata are.
        resource: What the server's metadata say besides, or instead.
        metadata: What the authorization server's metadata say besides, or instead.
        granted: The scope that the next tokens have; if empty, the scope that was asked for.
        lifetime: Seconds for which a token is said to be valid.
        forgot: The answer to an unknown client at the token endpoint, as `STATUS CODE`; empty where it is not looked at.
        rotates: Whether a token that renews is good once, and its second use ends the login.
        losing: Number of renewals whose answer is lost.
        valid: The tokens that are taken, each with its scope.
        steps: The steps of logins, as `GET /path`.
        answer: What the authorization server answers the browser besides, or instead.
        authorizations: The parameters of the browser's visits.
        exchanges: The `Authorization` header and the form of each request for a token.
    """

    era: str = "stateful"
    issuer: str = ""
    registers: bool = True
    client: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    clients: dict[str, str] = field(default_factory=dict[str, str])
    scope: str = ""
    challenge: str = ""
    prm: str = "/.well-known/oauth-protected-resource/mcp"
    asm: str = "/.well-known/oauth-authorization-server"
    resource: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    metadata: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    granted: str = ""
    lifetime: int = 3600
    forgot: str = ""
    rotates: bool = False
    losing: int = 0
    valid: dict[str, str] = field(default_factory=dict[str, str])
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

    async def serve(self, asked: Exchange) -> None:
        parts = urlsplit(asked.request.path)
        if parts.path != "/mcp":
            self.steps.append(f"{asked.request.method} {parts.path}")
        match parts.path:
            case self.prm:
                issuer = f"{self.origin}{self.issuer}"
                await self._tell(asked, {"resource": self.url, "authorization_servers": [issuer], **self.resource})
            case self.asm:
                await self._tell(asked, self._metadata())
            case "/register":
                known = json.loads(asked.request.body)
                self.clients[client := f"client{len(self.clients)}"] = ""
                await self._tell(asked, {**known, **self.client, "client_id": client}, "201 Created")
            case "/authorize":
                await self._authorize(asked, dict(parse_qsl(parts.query)))
            case "/token":
                await self._token(asked, dict(parse_qsl(asked.request.body.decode())))
            case "/mcp":
                await self._mcp(asked)
            case _:
                await asked.respond("404 Not Found")

    def _metadata(self) -> JSON:
        places: dict[str, JSON] = {f"{name}_endpoint": f"{self.origin}/{path}" for name, path in self._places()}
        return {
            "issuer": f"{self.origin}{self.issuer}",
            "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"],
            **places,
            **self.metadata,
        }

    def _places(self) -> list[tuple[str, str]]:
        places = [("authorization", "authorize"), ("token", "token")]
        return [*places, ("registration", "register")] if self.registers else places

    async def _authorize(self, asked: Exchange, query: Mapping[str, str]) -> None:
        self.authorizations.append(query)
        code = f"code-of-the-login-{len(self._codes)}"
        self._codes[code] = query
        answer = {"code": code, "state": query["state"], **self.answer}
        where = f"{query['redirect_uri']}?{urlencode({name: value for name, value in answer.items() if value})}"
        await asked.respond("302 Found", Location=where)

    async def _token(self, asked: Exchange, form: Mapping[str, str]) -> None:
        self.exchanges.append((asked.request.headers.get("authorization", ""), form))
        if self.forgot and form["client_id"] not in self.clients:
            status, _, code = self.forgot.partition(" ")
            await self._tell(asked, {"error": code}, f"{status} Refused")
            return
        if form["grant_type"] == "refresh_token":
            scope = self.valid.get(form["refresh_token"])
            if self.rotates and self.valid.pop(form["refresh_token"], None) is None:
                self.valid.clear()
        else:
            query = self._codes.pop(form["code"])
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == query["code_challenge"]
            assert (form["redirect_uri"], form["resource"]) == (query["redirect_uri"], self.url)
            scope = self.granted or query.get("scope", "")
        if scope is None:
            await self._tell(asked, {"error": "invalid_grant"}, "400 Bad Request")
            return
        if self.losing and form["grant_type"] == "refresh_token":
            self.losing -= 1
            return
        self._issued += 1
        token, renewal = f"access-token-{self._issued}-Aa", f"refresh-token-{self._issued}-Bb"
        self.valid |= {token: scope, renewal: scope}
        given: JSON = {
            "access_token": token,
            "token_type": "bearer",
            "expires_in": self.lifetime,
            "refresh_token": renewal,
        }
        await self._tell(asked, given)

    async def _mcp(self, asked: Exchange) -> None:
        token = asked.request.headers.get("authorization", "").removeprefix("Bearer ")
        place = f'resource_metadata="{self.origin}{self.prm}"' if not self.challenge else self.challenge
        if token not in self.valid:
            await asked.respond("401 Unauthorized", WWW_Authenticate=f"Bearer {place}")
        elif asked.request.rpc == "tools/call" and self.scope not in self.valid[token]:
            missing = f'Bearer error="insufficient_scope", scope="{self.scope}", {place}'
            await asked.respond("403 Forbidden", WWW_Authenticate=missing)
        elif self.era == "stateful":
            await well_behaved(asked)
        elif asked.request.rpc == "server/discover":
            await asked.result(_complete({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}))
        elif asked.request.rpc == "tools/list":
            await asked.result(_complete({"tools": TOOLS}))
        else:
            await asked.result({"resultType": "complete", "content": [{"type": "text", "text": "fine"}]})

    @staticmethod
    async def _tell(asked: Exchange, value: JSON, status: str = "200 OK") -> None:
        await asked.respond(status, json.dumps(value).encode(), **JSON_TYPE)


def _complete(result: Mapping[str, JSON]) -> JSON:
    info: JSON = {"name": "guarded", "version": "1"}
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "serverInfo": info, **result}


@asynccontextmanager
async def login_server(**knobs: object) -> AsyncGenerator[LoginServer]:
    """Serve both."""
    login = LoginServer()
    for name, value in knobs.items():
        setattr(login, name, value)
    async with raw_http(everything=login.serve) as server:
        login.server = server
        yield login
