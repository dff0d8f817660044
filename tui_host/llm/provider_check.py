"""Checks what a provider needs before it is asked: its address, its key, and values of the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tui_host.errors import JSON, SettingsError
from tui_host.settings.environment_references import (
    SET_VARIABLE,
    Secret,
    credential,
    resolve,
    resolve_headers,
)
from tui_host.settings.mistakes import Report
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Provider, Template
from tui_host.settings.urls import check_url, is_loopback, parts_of

_CREDENTIALS = frozenset(("authorization", "api-key", "x-api-key", "x-goog-api-key"))


def resolve_options(options: Options, environment: Mapping[str, str], *, where: str) -> Options:
    """Fill in the references in the `extra_body` of model options; raises as `resolve` does."""

    def filled(value: JSON, place: str) -> JSON:
        if isinstance(value, str):
            return resolve(Template(text=value), environment, where=place).text
        if isinstance(value, Mapping):
            return {key: filled(item, f"{place}.{key}") for key, item in value.items()}
        if isinstance(value, Sequence):
            return [filled(item, place) for item in value]
        return value

    body = {name: filled(value, f"{where}.extra_body.{name}") for name, value in options.extra_body.items()}
    return replace(options, extra_body=body)


def address_of(provider: Provider, environment: Mapping[str, str]) -> str:
    """Return a provider's base URL, filled in; a `SettingsError` if a variable is not set, or the URL is unsafe for a key."""
    where = f"providers.{provider.name}.base_url"
    address = resolve(provider.base_url, environment, where=where).text.strip()
    check_url(address, allow_http=provider.allow_http, where=where)
    return address


def demand_key(provider: Provider, address: str, secret: Secret | None) -> None:
    """Raise a `SettingsError` for a preset without a key, unless it runs on this machine or a header holds a key."""
    variable, names = provider.key_variable, map(str.lower, provider.headers)
    is_served_without = secret is not None or not _CREDENTIALS.isdisjoint(names)
    if variable is not None and not is_served_without and not is_loopback(parts_of(address).hostname or ""):
        remedy = f"{SET_VARIABLE.format(variable)}, or choose a model with /model, which asks for the key"
        raise SettingsError(f"{variable} is not set", f"providers.{provider.name}", remedy)


def lacks_key(provider: Provider, environment: Mapping[str, str]) -> bool:
    """Whether the provider could be asked if it had a key."""
    is_otherwise_right = False
    try:
        address, secret = address_of(provider, environment), credential(provider, environment)
        is_otherwise_right = True
        demand_key(provider, address, secret)
    except SettingsError:
        return is_otherwise_right
    return False


def check_provider(provider: Provider, environment: Mapping[str, str], *, chosen: str = "") -> None:
    """Raise a `SettingsError` with all faults of a provider; those of a preset, without a file, stand where it was `chosen`."""
    if provider.embedded:
        return
    where, report = f"providers.{provider.name}", Report()
    with report.collecting():
        resolve_headers(provider.headers, environment, where=f"{where}.headers")
    with report.collecting():
        resolve_options(provider.options, environment, where=where)
    address, secret = "", None
    with report.collecting():
        address = address_of(provider, environment)
    with report.collecting():
        secret = credential(provider, environment)
        demand_key(provider, address, secret)
    for mistake in report.mistakes:
        mistake.where = ": ".join(filter(None, (provider.file or chosen, mistake.where)))
    report.raise_if_any()
