"""The login at a server as it outlives the program: client, tokens, and the metadata that tell where to renew them."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ValidationError

from tui_host.capture.json.narrowing import as_json, mapping, text_or_empty
from tui_host.errors import SettingsError
from tui_host.servers.login_store import FILE, LoginStore
from tui_host.settings.environment_references import resolve

if TYPE_CHECKING:
    from tui_host.servers.wire import Wire

LOCK_SECONDS, LOCK_PAUSE_SECONDS = 60.0, 0.1  # another process may be in the middle of a renewal


class _Kept(BaseModel):
    """The stored form."""

    issuer: str = ""
    expires: float | None = None  # absolute
    client: OAuthClientInformationFull
    tokens: OAuthToken | None = None
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None


@dataclass(slots=True, eq=False)
class LoginRecord:
    """Carries a login between the SDK's context and the place where it is kept. The SDK's storage of tokens."""

    _url: str
    _wire: Wire
    _logins: LoginStore
    context: OAuthContext = field(init=False)
    known: set[str] = field(default_factory=set[str])  # tokens, the empty one where none was kept

    @property
    def issuer(self) -> str:
        """The authorization server that the login belongs to; empty while there are no metadata."""
        return "" if self.context.oauth_metadata is None else str(self.context.oauth_metadata.issuer)

    @property
    def authorization(self) -> str:
        tokens = self.context.current_tokens
        return f"Bearer {tokens.access_token}" if tokens is not None and tokens.access_token else ""

    async def catch_up(self) -> bool:
        """Take over the kept login, if another process has changed it since; returns whether it brought a token to try."""
        try:
            login = await to_thread.run_sync(self._logins.load, self._url)
        except SettingsError as error:
            self._wire.notice(str(error))
            return False
        token = text_or_empty(mapping(login.get("tokens")).get("access_token"))
        if token in self.known:
            return False
        self.known.add(token)
        with suppress(ValidationError):  # one that cannot be read is none
            kept, context = _Kept.model_validate(login), self.context
            context.client_info, context.current_tokens = kept.client, kept.tokens
            context.token_expiry_time, context.oauth_metadata = kept.expires, kept.metadata
            context.protected_resource_metadata = kept.resource
            if kept.resource is not None:
                context.auth_server_url = str(kept.resource.authorization_servers[0])
            self._learn()
        spec, client, given = self._wire.spec, self.context.client_info, dict[str, str]()
        if spec.client_id is not None:  # the configured client counts, and not the kept one
            where, environment = f"servers.{spec.name}", self._wire.shared.environment
            given["client_id"] = resolve(spec.client_id, environment, where=f"{where}.client_id").text
            if spec.client_secret is not None:
                given["client_secret"] = resolve(spec.client_secret, environment, where=f"{where}.client_secret").text
            if client is None or client.client_id != given["client_id"]:
                self.context.clear_tokens()
            elif client.issuer:
                given["issuer"] = client.issuer
            self.context.client_info = OAuthClientInformationFull.model_validate(given)
        return self.context.is_token_valid()

    # What the SDK calls: it has the kept login already.

    async def get_tokens(self) -> OAuthToken | None:
        return self.context.current_tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.context.client_info

    async def set_tokens(self, tokens: OAuthToken) -> None:
        del tokens
        await self._keep()

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        del client_info
        await self._keep()

    async def _keep(self) -> None:
        context = self.context
        if context.client_info is None:
            return
        context.client_info.issuer = context.client_info.issuer or self.issuer or None  # no other is told its secret
        self._learn()
        kept = _Kept(
            issuer=self.issuer,
            expires=context.token_expiry_time,
            client=context.client_info,
            tokens=context.current_tokens,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
        )
        login = mapping(as_json(kept.model_dump(mode="json", exclude_none=True)))
        try:
            told = await to_thread.run_sync(self._logins.save, self._url, login)
        except SettingsError as error:
            told = f"the login is not kept for the next start: {error}"
        if told:
            self._wire.notice(told)

    def _learn(self) -> None:
        """Let no record show the secrets of the login."""
        tokens, client = self.context.current_tokens, self.context.client_info
        secrets = [client.client_secret] if client is not None else []
        secrets += [tokens.access_token, tokens.refresh_token] if tokens is not None else []
        for secret in filter(None, secrets):
            self.known.add(secret)
            self._wire.recorder.redactor.add((f"login of {self._wire.server}", secret))

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Keep other processes from renewing the login meanwhile; the system unlocks the file where this process ends."""
        folder, name = self._logins.folder, hashlib.sha256(self._url.encode()).hexdigest()[:16]
        if folder is None:  # no other process has it
            yield
            return
        with (folder / f"{FILE}.{name}.lock").open("ab") as file:
            until = anyio.current_time() + LOCK_SECONDS
            while anyio.current_time() < until:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    await anyio.sleep(LOCK_PAUSE_SECONDS)
                except OSError:  # some network file systems have no locks
                    break
                else:
                    break
            yield
