"""Requests to a provider before sending: address, headers, body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit, urlunsplit

from typing_extensions import override

from tui_host.errors import ModelError, SettingsError
from tui_host.llm.dialects.dialect import Target, Window
from tui_host.llm.dialects.table import dialect
from tui_host.llm.messages import Ask
from tui_host.llm.request_writing import Growing
from tui_host.settings.environment_references import Secret, credential, resolve_headers, resolve_options
from tui_host.settings.presets import PRESETS, service_at
from tui_host.settings.provider_check import address_of, demand_key
from tui_host.settings.schema import Provider
from tui_host.settings.urls import shown


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Outgoing:
    """A request ready to be sent. Its repr has no headers and no path or query, since these may hold keys.

    Attributes:
        headers: All headers, with the credential, except `Host` and `Content-Length`, which HTTP adds.
        growing: The place of the conversation in the body.
        secret: The credential in the request.
        window: The window of a server that cuts long prompts silently.
        unsent: The options not sent as they were set, each with the reason.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    growing: Growing = field(default_factory=Growing)
    secret: Secret | None = None
    window: Window | None = None
    unsent: Mapping[str, str] = field(default_factory=dict[str, str])

    @override
    def __repr__(self) -> str:
        return f"Outgoing({self.method} {shown(urlsplit(self.url))}, {len(self.body)} bytes)"

    @property
    def host(self) -> str:
        """The host's name, without port."""
        return urlsplit(self.url).hostname or ""

    @property
    def origin(self) -> str:
        """Scheme, host and port, which are safe to show in an error."""
        return shown(urlsplit(self.url))


def join(base: str, path: str, versions: tuple[str, ...] = ()) -> str:
    """Join a base URL and a path; both may have a query (`api-version`).

    `versions` are the API's versions that the base may end with; if it has none of them, the first is inserted.
    """
    parts, more = urlsplit(base), urlsplit(path)
    root = parts.path.rstrip("/")
    if versions and root.rpartition("/")[2] not in versions:
        root = f"{root}/{versions[0]}"
    query = "&".join(filter(None, (more.query, parts.query)))
    return urlunsplit(parts._replace(path=f"{root}/{more.path}", query=query, fragment=""))


def model_request(
    provider: Provider, ask: Ask, environment: Mapping[str, str], *, has_short_ids: bool = False
) -> Outgoing:
    """Make the request for an answer; the provider's options have the lowest priority.

    Raises:
        ModelError: The address or the credential is missing or wrong, as the settings say it. Nothing was sent.
    """
    try:
        below = resolve_options(provider.options, environment, where=f"providers.{provider.name}")
        options = ask.options.over(below)
        whole = replace(ask, options=options, extra=(*ask.extra, *options.extra_body.items()))
        spoken = dialect(provider.dialect)
        address, headers, secret = _outside(provider, environment)
        request = spoken.write(whole, replace(_target(provider, address), has_short_ids=has_short_ids))
    except SettingsError as error:
        raise ModelError(error.what, error.where, error.remedy) from error
    return Outgoing(
        method="POST",
        url=join(address, request.path, spoken.versions),
        headers=_merged(request.headers, headers),
        body=request.body,
        growing=request.growing,
        secret=secret,
        window=request.window,
        unsent=request.unsent,
    )


def unsent(provider: Provider, ask: Ask, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options that are not sent as they were set, each with the reason; includes the provider's options."""
    try:
        address = address_of(provider, environment)
    except SettingsError:
        address = ""
    return dialect(provider.dialect).write(ask, _target(provider, address)).unsent


def models_request(provider: Provider, environment: Mapping[str, str]) -> Outgoing:
    """Make the request for the list of models. Raises as `model_request`."""
    try:
        address, headers, secret = _outside(provider, environment)
        spoken = dialect(provider.dialect)
    except SettingsError as error:
        raise ModelError(error.what, error.where, error.remedy) from error
    accept = (("Accept", "application/json"),)
    url = join(address, spoken.models_path, spoken.versions)
    return Outgoing(method="GET", url=url, headers=_merged(accept, headers), secret=secret)


def credential_place(provider: Provider) -> str:
    """Say where a provider's key comes from, for a remedy."""
    if provider.in_keyring:
        return "the key in the system's keyring, which f4 stores and forgets"
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
    every = dialect(provider.dialect).headers(secret, _target(provider, address))
    return address, _merged((*fixed, *every), tuple(own.items())), secret


def _target(provider: Provider, address: str) -> Target:
    service = provider.name if provider.name in PRESETS else service_at(address)
    return Target(provider=provider.name, service=service, api_version=provider.api_version or "")


def _merged(first: tuple[tuple[str, str], ...], second: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Merge two mappings; on equal names the second wins."""
    names = {name.lower() for name, _ in second}
    return (*(pair for pair in first if pair[0].lower() not in names), *second)
