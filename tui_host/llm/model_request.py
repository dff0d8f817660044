"""Adds to a dialect's request what the settings say: the provider's address, options, headers and credential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

from tui_host.errors import ModelError, SettingsError
from tui_host.llm.dialects.table import dialect
from tui_host.llm.messages import Ask
from tui_host.llm.outgoing import Outgoing, Target
from tui_host.llm.provider_check import address_of, demand_key, resolve_options
from tui_host.settings.environment_references import credential, resolve_headers
from tui_host.settings.presets import PRESETS, service_at
from tui_host.settings.schema import Provider


def join(base: str, path: str, versions: tuple[str, ...] = ()) -> str:
    """Join a base URL and a path; both may have a query (`api-version`)."""
    parts, more = urlsplit(base), urlsplit(path)
    root = parts.path.rstrip("/")
    if versions and root.rpartition("/")[2] not in versions:
        root = f"{root}/{versions[0]}"  # people leave it out
    query = "&".join(filter(None, (more.query, parts.query)))
    return urlunsplit(parts._replace(path=f"{root}/{more.path}", query=query, fragment=""))


def model_request(
    provider: Provider, ask: Ask, environment: Mapping[str, str], *, has_short_ids: bool = False
) -> Outgoing:
    """Make the request for an answer. Raises `ModelError` if the address or the credential is missing or wrong."""
    try:
        below = resolve_options(provider.options, environment, where=f"providers.{provider.name}")
        options = ask.options.over(below)  # the provider's have the lowest priority
        whole = replace(ask, options=options, extra=(*ask.extra, *options.extra_body.items()))
        target = replace(_target(provider, address_of(provider, environment)), has_short_ids=has_short_ids)
        return _addressed(dialect(provider.dialect).writer(whole, target).outgoing(), provider, environment)
    except SettingsError as error:
        raise ModelError(error.what, error.where, error.remedy) from error


def models_request(provider: Provider, environment: Mapping[str, str]) -> Outgoing:
    """Make the request for the list of models. Raises as `model_request`."""
    try:
        path, accept = dialect(provider.dialect).models_path, (("Accept", "application/json"),)
        return _addressed(Outgoing(method="GET", url=path, headers=accept), provider, environment)
    except SettingsError as error:
        raise ModelError(error.what, error.where, error.remedy) from error


def unsent(provider: Provider, ask: Ask, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options that are not sent as they were set, each with the reason."""
    try:
        address = address_of(provider, environment)
    except SettingsError:
        address = ""
    return dialect(provider.dialect).writer(ask, _target(provider, address)).outgoing().unsent


def credential_place(provider: Provider) -> str:
    """Say where a provider's key comes from, for a remedy."""
    if provider.in_keyring:
        return "the key in the system's keyring, which /model stores and forgets"
    if provider.api_key is not None:
        return f"providers.{provider.name}.api_key"
    if provider.key_variable is not None:
        return f"the environment variable {provider.key_variable}"
    return f"providers.{provider.name}.api_key, which is not set"


def _addressed(request: Outgoing, provider: Provider, environment: Mapping[str, str]) -> Outgoing:
    spoken, address = dialect(provider.dialect), address_of(provider, environment)
    own = resolve_headers(provider.headers, environment, where=f"providers.{provider.name}.headers")
    secret = credential(provider, environment)
    demand_key(provider, address, secret)
    fixed = (("User-Agent", "tui-host"), ("Accept-Encoding", "identity"))
    headers = (*request.headers, *fixed, *spoken.headers(secret, _target(provider, address)))
    names = {name.lower() for name in own}  # the provider's own headers stand in for ours
    kept = (pair for pair in headers if pair[0].lower() not in names)
    url = join(address, request.url, spoken.versions)
    return replace(request, url=url, headers=(*kept, *own.items()), secret=secret)


def _target(provider: Provider, address: str) -> Target:
    service = provider.name if provider.name in PRESETS else service_at(address)
    return Target(provider=provider.name, service=service, api_version=provider.api_version or "")
