"""Secrets in the system's keyring. All of it blocks, and raises a `SettingsError` if the keyring is locked or fails."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tui_host.errors import SettingsError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE: Final = "tui-host"
# Modules of the library's stand-ins for a missing keyring.
_NONE = frozenset({"keyring.backends.fail", "keyring.backends.null"})


def keyring_name() -> str:
    """Return the keyring's name; empty if there is no keyring, or if it stores plain text."""
    backend = _backend()
    return "" if backend is None else backend.name


def stored(user: str, where: str = "") -> str | None:
    """Return what the keyring holds under a name, None if it holds nothing; `where` is the place to name in an error."""
    backend = _backend()
    with _asking(where):
        return None if backend is None else backend.get_password(SERVICE, user) or None


def store(user: str, secret: str | None, where: str = "") -> bool:
    """Store a secret under a name, or delete what is there for None; returns False without a keyring."""
    backend = _backend()
    if backend is None:
        return False
    from keyring import set_password  # typed, as the backend's is not

    with _asking(where):
        if secret is not None:
            set_password(SERVICE, user, secret)
        elif backend.get_password(SERVICE, user) is not None:
            backend.delete_password(SERVICE, user)
    return True


def _backend() -> KeyringBackend | None:
    try:
        from keyring import get_keyring  # late: it is slow to import, and needed by few
    except ImportError:
        return None  # the library is missing, as a distribution may decide
    with _asking(""):
        backend = get_keyring()
        kind = type(backend)
        return None if kind.__module__ in _NONE or "Plaintext" in kind.__name__ else backend


@contextmanager
def _asking(where: str) -> Generator[None]:
    try:
        yield
    except Exception as error:  # any of a backend's own; none of its words holds the key
        name, words = type(error).__name__, " ".join(str(error).split())[:200]
        what = "is locked" if name == "KeyringLocked" else "cannot be asked"
        reason = f"{name}: {words}" if words else name
        remedy = "unlock it, or set the environment variable instead"
        raise SettingsError(f"the system's keyring {what} ({reason})", where, remedy) from error
