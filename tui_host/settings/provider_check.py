"""Checks whether a provider can be asked as configured, before anything is started or sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from tui_host.errors import SettingsError
from tui_host.settings.environment_references import Secret, credential, resolve, resolve_headers, resolve_json
from tui_host.settings.mistakes import Report
from tui_host.settings.schema import Provider
from tui_host.settings.urls import check_url, is_loopback

_CREDENTIALS = frozenset(("authorization", "api-key", "x-api-key", "x-goog-api-key"))


def address_of(provider: Provider, environment: Mapping[str, str]) -> str:
    """Return a provider's base URL, references filled in.

    Raises:
        SettingsError: A variable is not set, or credentials must not travel to the URL.
    """
    where = f"providers.{provider.name}.base_url"
    address = resolve(provider.base_url, environment, where=where).text.strip()
    check_url(address, allow_http=provider.allow_http, where=where)
    return address


def demand_key(provider: Provider, address: str, headers: Mapping[str, str], secret: Secret | None) -> None:
    """Refuse to ask a preset's provider without a key, except on this machine or with a key in a header.

    Raises:
        SettingsError: The preset's variable is not set.
    """
    has_own = any(name.lower() in _CREDENTIALS for name in headers)
    if secret is None and provider.key_variable is not None and not has_own and not is_loopback(_host(address)):
        raise SettingsError(
            f"{provider.key_variable} is not set",
            f"providers.{provider.name}",
            f"set the environment variable {provider.key_variable} and start again, or choose a model with f4, which asks for the key",
        )


def lacks_key(provider: Provider, environment: Mapping[str, str]) -> bool:
    """Whether only a key is missing to ask the provider."""
    try:
        address, secret = address_of(provider, environment), credential(provider, environment)
    except SettingsError:
        return False
    try:
        demand_key(provider, address, dict.fromkeys(provider.headers, ""), secret)
    except SettingsError:
        return True
    return False


def check_provider(provider: Provider, environment: Mapping[str, str], *, chosen: str = "") -> None:
    """Check everything that a request to a provider takes from the configuration and the environment.

    Args:
        provider: The provider.
        environment: The snapshot in the settings.
        chosen: Where the configuration chooses the provider: the place to report faults of a preset, which has no file.

    Raises:
        SettingsError: The first mistake, with all others in `more`; each names file, key and remedy.
    """
    if provider.embedded:
        return
    report = Report()
    key = f"providers.{provider.name}"

    def look(work: Callable[[], object]) -> bool:
        try:
            work()
        except SettingsError as error:
            place = ": ".join(filter(None, (str(provider.file or chosen), error.where)))
            report.mistake(error.what, place, error.remedy)
            return False
        return True

    has_address = look(lambda: address_of(provider, environment))
    has_key = look(lambda: credential(provider, environment))
    for name, template in provider.headers.items():
        look(
            lambda name=name, template=template: resolve_headers({name: template}, environment, where=f"{key}.headers")
        )
    for name, value in provider.options.extra_body.items():
        look(lambda name=name, value=value: resolve_json(value, environment, where=f"{key}.extra_body.{name}"))
    if has_address and has_key:
        address, secret = address_of(provider, environment), credential(provider, environment)
        look(lambda: demand_key(provider, address, dict.fromkeys(provider.headers, ""), secret))
    report.raise_if_any()


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""
