"""Keys in the system's keyring, under service `tui-host` and the provider's name as user.

Every function blocks, on a bus or on a user who is asked to unlock: call it in a thread. The library is imported on first use.
Keys are never stored in a file instead: a missing keyring counts as an empty one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from tui_host.errors import SettingsError
from tui_host.settings.schema import Provider, Template

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE: Final = "tui-host"

_T = TypeVar("_T")
_NONE = frozenset({"keyring.backends.fail", "keyring.backends.null"})
"""Modules of the stand-ins for a missing keyring."""


def may_have_key(provider: Provider) -> bool:
    """Whether to ask the keyring for a provider's key: the provider names no key and may need one."""
    return (
        provider.api_key is None and not provider.embedded and not (provider.preset and provider.key_variable is None)
    )


def keyring_name() -> str:
    """Return the keyring's name; empty without a keyring, or for one that stores plain text.

    Raises:
        SettingsError: The keyring cannot be loaded.
    """
    backend = _backend()
    return "" if backend is None else backend.name


def stored_key(provider: str) -> str | None:
    """Return a provider's key, None if there is none.

    Raises:
        SettingsError: The keyring is locked, or fails.
    """
    backend = _backend()
    key = None if backend is None else _told(provider, lambda: backend.get_password(SERVICE, provider))
    return key or None


def with_stored_key(provider: Provider) -> Provider:
    """Return the provider with its key from the keyring, or unchanged without one.

    Raises:
        SettingsError: The keyring is locked, or fails.
    """
    key = stored_key(provider.name) if may_have_key(provider) else None
    return provider if key is None else with_key(provider, key)


def with_key(provider: Provider, key: str) -> Provider:
    """Return the provider with a key from the keyring, taken literally."""
    return replace(provider, api_key=Template(text=key, literal=True), in_keyring=True)


def store_key(provider: str, key: str) -> str:
    """Store a provider's key; returns the keyring's name.

    Raises:
        SettingsError: The keyring is missing, locked, or fails. Nothing is stored then.
    """
    backend = _backend()
    if backend is None:
        raise SettingsError(
            "this system has no keyring", f"providers.{provider}", "set an environment variable instead"
        )
    from keyring import set_password

    _told(provider, lambda: set_password(SERVICE, provider, key))
    return backend.name


def forget_key(provider: str) -> bool:
    """Delete a provider's key; False if there was none.

    Raises:
        SettingsError: The keyring is locked, or fails.
    """
    backend = _backend()
    if backend is None or not stored_key(provider):
        return False
    _told(provider, lambda: backend.delete_password(SERVICE, provider))
    return True


def _backend() -> KeyringBackend | None:
    """Return the system's keyring, or the one chosen in the library's own configuration."""
    try:
        from keyring import get_keyring
    except ImportError:
        return None  # installed without it, as a distribution may
    backend = _told("", get_keyring)
    kind = type(backend)
    return None if kind.__module__ in _NONE or "Plaintext" in kind.__name__ else backend


def _told(provider: str, work: Callable[[], _T]) -> _T:
    """Run a backend call and turn any exception into words without the key."""
    try:
        return work()
    except Exception as error:
        where = f"providers.{provider}.api_key" if provider else ""
        words = " ".join(str(error).split())[:200]
        reason = f"{type(error).__name__}: {words}" if words else type(error).__name__
        what = "is locked" if type(error).__name__ == "KeyringLocked" else "cannot be asked"
        raise SettingsError(
            f"the system's keyring {what} ({reason})", where, "unlock it, or set the environment variable instead"
        ) from error
