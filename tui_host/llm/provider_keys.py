"""Providers' keys in the system's keyring. All of it blocks, and raises a `SettingsError` if the keyring is locked or fails."""

from __future__ import annotations

from dataclasses import replace

from tui_host.errors import SettingsError
from tui_host.settings.schema import Provider, Template
from tui_host.settings.system_keyring import keyring_name, store, stored


def may_have_key(provider: Provider) -> bool:
    """Whether to look in the keyring for a provider's key: the configuration has no key, and the provider may need one."""
    is_local_preset = provider.preset and provider.key_variable is None
    return provider.api_key is None and not provider.embedded and not is_local_preset


def stored_key(provider: str) -> str | None:
    """Return a provider's key from the keyring, None if it has none."""
    return stored(provider, f"providers.{provider}.api_key")


def with_stored_key(provider: Provider) -> Provider:
    """Return the provider with its key from the keyring; unchanged if the keyring has none."""
    key = stored_key(provider.name) if may_have_key(provider) else None
    return provider if key is None else with_key(provider, key)


def with_key(provider: Provider, key: str) -> Provider:
    """Return the provider with a key from the keyring, used literally."""
    return replace(provider, api_key=Template(text=key, literal=True), in_keyring=True)


def store_key(provider: str, key: str) -> str:
    """Store a provider's key in the keyring; returns the keyring's name. A missing keyring is an error."""
    if not store(provider, key, f"providers.{provider}.api_key"):
        remedy = "set an environment variable instead"
        raise SettingsError("this system has no keyring", f"providers.{provider}", remedy)
    return keyring_name()


def forget_key(provider: str) -> bool:
    """Delete a provider's key from the keyring; returns False if the keyring had none."""
    return bool(stored_key(provider)) and store(provider, None, f"providers.{provider}.api_key")
