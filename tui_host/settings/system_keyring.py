"""Keys and logins in the system's keyring. All of it blocks, and raises a `SettingsError` if the keyring is locked or fails."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tui_host.errors import JSON, SettingsError
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.save import write_private
from tui_host.settings.schema import Provider, Template
from tui_host.settings.table_reader import shown_path

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE: Final = "tui-host"
FILE = "logins.json"  # lists all logins, and holds those that are in no keyring
IN_KEYRING = "keyring"
# Modules of the library's stand-ins for a missing keyring.
_NONE = frozenset({"keyring.backends.fail", "keyring.backends.null"})


def may_have_key(provider: Provider) -> bool:
    """Whether to look in the keyring for a provider's key: the configuration has no key, and the provider may need one."""
    is_local_preset = provider.preset and provider.key_variable is None
    return provider.api_key is None and not provider.embedded and not is_local_preset


def keyring_name() -> str:
    """Return the keyring's name; empty if there is no keyring, or if it stores plain text."""
    backend = _backend()
    return "" if backend is None else backend.name


def stored_key(provider: str) -> str | None:
    """Return a provider's key from the keyring, None if it has none."""
    return _stored(provider, f"providers.{provider}.api_key")


def with_stored_key(provider: Provider) -> Provider:
    """Return the provider with its key from the keyring; unchanged if the keyring has none."""
    key = stored_key(provider.name) if may_have_key(provider) else None
    return provider if key is None else with_key(provider, key)


def with_key(provider: Provider, key: str) -> Provider:
    """Return the provider with a key from the keyring, used literally."""
    return replace(provider, api_key=Template(text=key, literal=True), in_keyring=True)


def store_key(provider: str, key: str) -> str:
    """Store a provider's key in the keyring; returns the keyring's name. A missing keyring is an error."""
    if not _store(provider, key, f"providers.{provider}.api_key"):
        remedy = "set an environment variable instead"
        raise SettingsError("this system has no keyring", f"providers.{provider}", remedy)
    return keyring_name()


def forget_key(provider: str) -> bool:
    """Delete a provider's key from the keyring; returns False if the keyring had none."""
    return bool(stored_key(provider)) and _store(provider, None, f"providers.{provider}.api_key")


def _stored(user: str, where: str = "") -> str | None:
    backend = _backend()
    with _asking(where):
        return None if backend is None else backend.get_password(SERVICE, user) or None


def _store(user: str, secret: str | None, where: str = "") -> bool:
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


class LoginStore:
    """Keeps logins for the next start in a folder, or without one as long as the program runs. Blocks."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = None if folder is None else folder / FILE
        self._passing: Mapping[str, JSON] = {}

    def load(self, url: str) -> Mapping[str, JSON]:
        """Return the login at a server, empty if there is none."""
        login = self._read().get(url)  # the keyring, which may have to be unlocked, is asked for a known login alone
        if login == IN_KEYRING:
            return _parsed(_stored(f"login {url}") or "{}", "the keyring")
        return login if isinstance(login, Mapping) else {}

    def save(self, url: str, login: Mapping[str, JSON]) -> str:
        """Keep the login at a server; returns what the user is to be told of the place, often nothing."""
        in_keyring = self._path is not None and _store(f"login {url}", json.dumps(login))
        self._write({**self._read(), url: IN_KEYRING if in_keyring else login})
        if in_keyring or self._path is None:
            return ""
        return f"the login is kept in {shown_path(self._path)} (mode 0600), since this system has no keyring"

    def forget(self, url: str) -> bool:
        """Forget the login at a server; returns False if there was none."""
        logins = dict(self._read())
        login = logins.pop(url, None)
        if login == IN_KEYRING:
            _store(f"login {url}", None)
        if login is not None:
            self._write(logins)
        return login is not None

    def lock_file(self, url: str) -> Path | None:
        """Return the file that a process locks while it renews a login; None where no other process has it."""
        name = hashlib.sha256(url.encode()).hexdigest()[:16]
        return None if self._path is None else self._path.with_name(f"{FILE}.{name}.lock")

    def _read(self) -> Mapping[str, JSON]:
        if self._path is None:
            return self._passing
        where = shown_path(self._path)
        try:
            return _parsed(self._path.read_bytes(), where)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SettingsError(f"cannot be read: {error}", where, "correct or delete it") from error

    def _write(self, logins: Mapping[str, JSON]) -> None:
        if self._path is None:
            self._passing = logins
            return
        ensure_private_dir(self._path.parent)
        write_private(self._path, json.dumps(logins, indent=1).encode())


def _parsed(text: str | bytes, where: str) -> Mapping[str, JSON]:
    try:
        value: JSON = json.loads(text)
    except ValueError as error:
        raise SettingsError("the kept login is not JSON", where, "log in again") from error
    return value if isinstance(value, dict) else {}
