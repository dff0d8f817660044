"""What is kept of a login: client, tokens with their absolute expiry, the metadata that tell where to renew them; and its lock."""

from __future__ import annotations

import fcntl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import anyio
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ValidationError

from tui_host.capture.json.narrowing import as_json, mapping
from tui_host.errors import JSON

LOCK_SECONDS, LOCK_PAUSE_SECONDS = 60.0, 0.1
"""How long to wait for another process that renews the login, and how often to look."""


class _Kept(BaseModel):
    issuer: str = ""
    expires: float | None = None
    client: OAuthClientInformationFull
    tokens: OAuthToken | None = None
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None


def login_of(context: OAuthContext) -> Mapping[str, JSON]:
    """Return what to keep of a login; nothing before there is a client."""
    if context.client_info is None:
        return {}
    kept = _Kept(
        issuer=issuer_of(context),
        expires=context.token_expiry_time,
        client=context.client_info,
        tokens=context.current_tokens,
        metadata=context.oauth_metadata,
        resource=context.protected_resource_metadata,
    )
    return mapping(as_json(kept.model_dump(mode="json", exclude_none=True)))


def restore(context: OAuthContext, login: Mapping[str, JSON]) -> None:
    """Fill the context with a kept login; one that cannot be read is none."""
    try:
        kept = _Kept.model_validate(login)
    except ValidationError:
        return
    context.client_info, context.current_tokens = kept.client, kept.tokens
    context.token_expiry_time = kept.expires
    context.oauth_metadata, context.protected_resource_metadata = kept.metadata, kept.resource
    if kept.resource is not None:
        context.auth_server_url = str(kept.resource.authorization_servers[0])


def issuer_of(context: OAuthContext) -> str:
    """Return the authorization server that a login belongs to; empty if it has no metadata."""
    return "" if context.oauth_metadata is None else str(context.oauth_metadata.issuer)


@asynccontextmanager
async def alone(path: Path | None) -> AsyncGenerator[None]:
    """Keep other processes from renewing the same login meanwhile; the system unlocks the file where this process ends."""
    if path is None:
        yield
        return
    with path.open("ab") as file:
        with anyio.move_on_after(LOCK_SECONDS):
            while not _is_locked(file):
                await anyio.sleep(LOCK_PAUSE_SECONDS)
        yield


def _is_locked(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network file systems have no locks
        return True
    return True
