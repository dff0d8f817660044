"""Keys in the system's keyring: service `tui-host`, user name = the provider's name. Source: DESIGN, Contract; SEC-10.

Everything here blocks, on a bus or on a person who is asked to unlock: call it in a thread. The library is imported with the first
use. Nothing is ever kept in a file instead: where there is no keyring, it is as if there were no key in it.
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
"""The modules of what stands in where a system has no keyring."""


def may_have_key(provider: Provider) -> bool:
    """Whether the keyring is asked for a provider's key: it names none itself, and may need one."""
    return (
        provider.api_key is None and not provider.embedded and not (provider.preset and provider.key_variable is None)
    )


def keyring_name() -> str:
    """What the system's keyring is called; empty where there is none, or one that writes keys in clear.

    Raises:
        SettingsError: It cannot be loaded.
    """
    backend = _backend()
    return "" if backend is None else backend.name


def stored_key(provider: str) -> str | None:
    """A provider's key; None where the keyring has none, or there is no keyring.

    Raises:
        SettingsError: The keyring is locked, or fails.
    """
    backend = _backend()
    found = None if backend is None else _told(provider, lambda: backend.get_password(SERVICE, provider))
    return found or None


def with_stored_key(provider: Provider) -> Provider:
    """The provider with the key that the keyring has for it as its `api_key`; the same one where it has none.

    Raises:
        SettingsError: The keyring is locked, or fails.
    """
    key = stored_key(provider.name) if may_have_key(provider) else None
    return provider if key is None else with_key(provider, key)


def with_key(provider: Provider, key: str) -> Provider:
    """The provider with a key of the keyring as its `api_key`: taken as it stands, whatever is in it."""
    return replace(provider, api_key=Template(text=key, literal=True), in_keyring=True)


def store_key(provider: str, key: str) -> str:
    """Put a provider's key into the keyring; returns what the keyring is called.

    Raises:
        SettingsError: There is none, it is locked, or it fails. Then nothing is kept anywhere.
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
    """Take a provider's key out of the keyring; False if it had none.

    Raises:
        SettingsError: The keyring is locked, or fails.
    """
    backend = _backend()
    if backend is None or not stored_key(provider):
        return False
    _told(provider, lambda: backend.delete_password(SERVICE, provider))
    return True


def _backend() -> KeyringBackend | None:
    """The keyring that a system has, or that a person has chosen by the library's own configuration."""
    try:
        from keyring import get_keyring
    except ImportError:
        return None  # installed without it, as a distribution may
    backend = _told("", get_keyring)
    kind = type(backend)
    return None if kind.__module__ in _NONE or "Plaintext" in kind.__name__ else backend


def _told(provider: str, work: Callable[[], _T]) -> _T:
    """What a backend gives; whatever it raises becomes words, without a value."""
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
