"""What is kept of a login: client, tokens with their absolute expiry, and the metadata that tell where to renew them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ValidationError

from tui_host.capture.json.narrowing import as_json, mapping, text_or_empty
from tui_host.errors import JSON

PAST = 1.0
"""An expiry long past. The SDK takes 0 for no expiry."""


def login_of(context: OAuthContext) -> Mapping[str, JSON]:
    """Return what to keep of a login."""
    parts = {
        "client": context.client_info,
        "tokens": context.current_tokens,
        "metadata": context.oauth_metadata,
        "resource": context.protected_resource_metadata,
    }
    return {
        "issuer": issuer_of(context),
        "expires": context.token_expiry_time,
        **{name: _dumped(part) for name, part in parts.items()},
    }


def restore(context: OAuthContext, login: Mapping[str, JSON]) -> None:
    """Fill the context with a kept login. A part that cannot be read is left out."""
    try:
        client = OAuthClientInformationFull.model_validate(login.get("client"))
        metadata, resource = login.get("metadata"), login.get("resource")
        context.oauth_metadata = None if metadata is None else OAuthMetadata.model_validate(metadata)
        context.protected_resource_metadata = (
            None if resource is None else ProtectedResourceMetadata.model_validate(resource)
        )
        context.client_info = client
        tokens = login.get("tokens")
        context.current_tokens = None if tokens is None else OAuthToken.model_validate(tokens)
    except ValidationError:
        return
    expires = login.get("expires")
    context.token_expiry_time = expires if isinstance(expires, float) else None
    if context.protected_resource_metadata is not None:
        context.auth_server_url = str(context.protected_resource_metadata.authorization_servers[0])


def issuer_of(context: OAuthContext) -> str:
    """Return the authorization server that a login belongs to; empty if it has no metadata."""
    return "" if context.oauth_metadata is None else str(context.oauth_metadata.issuer)


def secrets_in(login: Mapping[str, JSON]) -> Iterator[str]:
    """Yield the secrets of a kept login."""
    tokens, client = mapping(login.get("tokens")), mapping(login.get("client"))
    for secret in (tokens.get("access_token"), tokens.get("refresh_token"), client.get("client_secret")):
        if text := text_or_empty(secret):
            yield text


def _dumped(part: BaseModel | None) -> JSON:
    return None if part is None else as_json(part.model_dump(mode="json", exclude_none=True))
