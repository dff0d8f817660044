"""What goes to a provider, whole and before it goes: address, headers, body. Nothing here sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit, urlunsplit

from typing_extensions import override

from tui_host.errors import ModelError, SettingsError
from tui_host.llm.dialects import dialect
from tui_host.llm.messages import Ask
from tui_host.settings.schema import Provider
from tui_host.settings.secrets import Secret, credential, resolve_headers, resolve_json
from tui_host.settings.urls import shown
from tui_host.settings.usable import address_of, demand_key


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Outgoing:
    """A request, ready to send. Its repr shows neither headers nor the rest of the address: keys may stand in them.

    Attributes:
        method: `GET` or `POST`.
        url: The whole address.
        headers: All of them but what HTTP itself adds (`Host`, `Content-Length`), with the credential.
        body: The exact bytes.
        secret: The credential in it, None if there is none.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    secret: Secret | None = None

    @override
    def __repr__(self) -> str:
        return f"Outgoing({self.method} {shown(urlsplit(self.url))}, {len(self.body)} bytes)"

    @property
    def host(self) -> str:
        """The host's name, without port."""
        return urlsplit(self.url).hostname or ""

    @property
    def origin(self) -> str:
        """Scheme, host and port: what of the address may stand in an error."""
        return shown(urlsplit(self.url))


def join(base: str, path: str) -> str:
    """A base URL and what follows it; a query of the base (`api-version`) stays at the end."""
    parts = urlsplit(base)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{path}", fragment=""))


def model_request(provider: Provider, ask: Ask, environment: Mapping[str, str]) -> Outgoing:
    """The request for an answer; the provider's options and extra body are merged in here.

    Raises:
        ModelError: The address or the credential is missing or wrong, as the settings say it. Nothing was sent.
    """
    try:
        options = {**provider.options, **dict(ask.options)}
        where = f"providers.{provider.name}.extra_body"
        extra = {
            name: resolve_json(value, environment, where=f"{where}.{name}").value
            for name, value in provider.extra_body.items()
        }
        whole = replace(ask, options=tuple(options.items()), extra=(*ask.extra, *extra.items()))
        request = dialect(provider.dialect).write(whole, provider=provider.name)
        address, headers, secret = _outside(provider, environment)
    except SettingsError as error:
        raise ModelError(error.what, error.where, error.remedy) from error
    return Outgoing(
        method="POST",
        url=join(address, request.path),
        headers=_merged(request.headers, headers),
        body=request.body,
        secret=secret,
    )


def models_request(provider: Provider, environment: Mapping[str, str]) -> Outgoing:
    """The request for the list of models.

    Raises:
        ModelError: As `model_request` does.
    """
    try:
        address, headers, secret = _outside(provider, environment)
        path = dialect(provider.dialect).models_path
    except SettingsError as error:
        raise ModelError(error.what, error.where, error.remedy) from error
    accept = (("Accept", "application/json"),)
    return Outgoing(method="GET", url=join(address, path), headers=_merged(accept, headers), secret=secret)


def credential_place(provider: Provider) -> str:
    """Where a provider's key comes from, for a remedy."""
    if provider.api_key is not None:
        return f"providers.{provider.name}.api_key"
    if provider.key_variable is not None:
        return f"the environment variable {provider.key_variable}"
    return f"providers.{provider.name}.api_key, which is not set"


def _outside(
    provider: Provider, environment: Mapping[str, str]
) -> tuple[str, tuple[tuple[str, str], ...], Secret | None]:
    address = address_of(provider, environment)
    own = resolve_headers(provider.headers, environment, where=f"providers.{provider.name}.headers")
    secret = credential(provider, environment)
    demand_key(provider, address, own, secret)
    fixed = (("User-Agent", "tui-host"), ("Accept-Encoding", "identity"))
    return address, _merged((*fixed, *dialect(provider.dialect).auth(secret)), tuple(own.items())), secret


def _merged(first: tuple[tuple[str, str], ...], second: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Both, where a name of the second stands in for the same name of the first."""
    names = {name.lower() for name, _ in second}
    return (*(pair for pair in first if pair[0].lower() not in names), *second)
