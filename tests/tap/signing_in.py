"""A server made with the SDK that lets in who has signed in, with the SDK's own authorization server beside it."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal

import anyio
from mcp.server.auth.handlers.metadata import MetadataHandler
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    ProviderTokenVerifier,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.routing import Route
from typing_extensions import override

from tui_host.demo.lifetime import serve_asgi

Way = Literal["metadata", "none", "strict", "elsewhere", "naming itself", "naming itself, strict"]
"""What the server says of itself: a protected resource's metadata; nothing but where one signs in; a resource's metadata, and takes tokens
for its own URL alone; the same with its authorization server at another origin; one there that says in its answers who it is, before a
server that takes all tokens, and before a strict one."""
ELSEWHERE = frozenset[Way](("elsewhere", "naming itself", "naming itself, strict"))
STRICT = frozenset[Way](("strict", "elsewhere", "naming itself, strict"))


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Lets everybody in who asks; `secrets` are all codes and tokens that it has given."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.renewals: dict[str, RefreshToken] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.secrets: set[str] = set()
        self.names_itself = ""

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
        named = self.names_itself or None
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state, iss=named)

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
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_server(("127.0.0.1", 0)) as other:
        is_elsewhere = way in ELSEWHERE
        origin = _origin(listener)
        provider = Provider()
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(_origin(other) if is_elsewhere else origin),
            client_registration_options=ClientRegistrationOptions(enabled=True),
            required_scopes=["all"],
            resource_server_url=None if way == "none" else AnyHttpUrl(f"{origin}/mcp"),
            validate_token_resource=way in STRICT,
        )
        if is_elsewhere:
            server = MCPServer("guarded", auth=settings, token_verifier=ProviderTokenVerifier(provider))
        else:
            server = MCPServer("guarded", auth=settings, auth_server_provider=provider)

        @server.tool()
        def secret() -> str:
            """What only those get who have signed in."""
            return "42"

        async with anyio.create_task_group() as group:
            group.start_soon(serve_asgi, server.streamable_http_app(), listener)
            if is_elsewhere:
                group.start_soon(serve_asgi, _authorization(settings, provider, way), other)
            yield f"{origin}/mcp", provider
            group.cancel_scope.cancel()


def _origin(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def _authorization(settings: AuthSettings, provider: Provider, way: Way) -> Starlette:
    """An authorization server by itself."""
    registration = settings.client_registration_options or ClientRegistrationOptions()
    routes = create_auth_routes(provider, settings.issuer_url, None, registration)
    metadata = build_metadata(settings.issuer_url, None, registration, RevocationOptions())
    if way.startswith("naming itself"):
        provider.names_itself = str(metadata.issuer)
        metadata.authorization_response_iss_parameter_supported = True
    about = Route("/.well-known/oauth-authorization-server", MetadataHandler(metadata).handle)
    return Starlette(routes=[about, *routes])
