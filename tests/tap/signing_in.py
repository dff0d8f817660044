"""A server made with the SDK that lets in who has signed in, with the SDK's own authorization server beside it."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal

import anyio
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from typing_extensions import override

from tui_host.demo.servers.asgi import serve_asgi

Way = Literal["metadata", "none", "strict"]
"""What the server says of itself: a protected resource's metadata, nothing but where one signs in, or that and tokens of its own alone."""


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Lets everybody in who asks.

    Attributes:
        secrets: Every code and token that it has given.
    """

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.renewals: dict[str, RefreshToken] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.secrets: set[str] = set()

    def _secret(self) -> str:
        made = secrets.token_urlsafe(24)
        self.secrets.add(made)
        return made

    @override
    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    @override
    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id or ""] = client_info

    @override
    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=self._secret(),
            scopes=params.scopes or ["all"],
            expires_at=time.time() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    @override
    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    @override
    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        return self._grant(self.codes.pop(authorization_code.code))

    def _grant(self, source: AuthorizationCode | RefreshToken) -> OAuthToken:
        access, renewal = self._secret(), self._secret()
        owner = {"client_id": source.client_id, "scopes": source.scopes, "resource": source.resource}
        self.tokens[access] = AccessToken.model_validate({"token": access, **owner})
        self.renewals[renewal] = RefreshToken.model_validate({"token": renewal, **owner})
        return OAuthToken(access_token=access, refresh_token=renewal, expires_in=60, scope=" ".join(source.scopes))

    @override
    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.renewals.get(refresh_token)

    @override
    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        return self._grant(self.renewals.pop(refresh_token.token))

    @override
    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    @override
    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens.pop(token.token, None)


@asynccontextmanager
async def guarded(way: Way) -> AsyncGenerator[tuple[str, Provider]]:
    """The server while the block runs; its URL, and whom it knows."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        provider = Provider()
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(origin),
            client_registration_options=ClientRegistrationOptions(enabled=True),
            required_scopes=["all"],
            resource_server_url=None if way == "none" else AnyHttpUrl(f"{origin}/mcp"),
            validate_token_resource=way == "strict",
        )
        server = MCPServer("guarded", auth=settings, auth_server_provider=provider)

        @server.tool()
        def secret() -> str:
            """What only those get who have signed in."""
            return "42"

        async with anyio.create_task_group() as group:
            group.start_soon(serve_asgi, server.streamable_http_app(), listener)
            yield f"{origin}/mcp", provider
            group.cancel_scope.cancel()
