"""Keeps logins at servers: in the system's keyring, or in a file of the data folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui_host.errors import JSON, SettingsError
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.save import write_private
from tui_host.settings.system_keyring import store, stored
from tui_host.settings.table_reader import shown_path

FILE = "logins.json"  # lists all logins, and holds those that are in no keyring
IN_KEYRING = "keyring"


@dataclass(slots=True, eq=False)
class LoginStore:
    """Keeps logins for the next start in a folder, or without one as long as the program runs. Blocks."""

    folder: Path | None = None
    _passing: Mapping[str, JSON] = field(default_factory=dict[str, JSON])

    def load(self, url: str) -> Mapping[str, JSON]:
        """Return the login at a server, empty if there is none."""
        login = self._read().get(url)  # the keyring, which may have to be unlocked, is asked for a known login alone
        if login == IN_KEYRING:
            return _parsed(stored(f"login {url}") or "{}", "the keyring")
        return login if isinstance(login, Mapping) else {}

    def save(self, url: str, login: Mapping[str, JSON]) -> str:
        """Keep the login at a server; returns what the user is to be told of the place, often nothing."""
        in_keyring = self.folder is not None and store(f"login {url}", json.dumps(login))
        self._write({**self._read(), url: IN_KEYRING if in_keyring else login})
        if in_keyring or self.folder is None:
            return ""
        return f"the login is kept in {shown_path(self.folder / FILE)} (mode 0600), since this system has no keyring"

    def forget(self, url: str) -> bool:
        """Forget the login at a server; returns False if there was none."""
        logins = dict(self._read())
        login = logins.pop(url, None)
        if login == IN_KEYRING:
            store(f"login {url}", None)
        if login is not None:
            self._write(logins)
        return login is not None

    def _read(self) -> Mapping[str, JSON]:
        if self.folder is None:
            return self._passing
        where = shown_path(self.folder / FILE)
        try:
            return _parsed((self.folder / FILE).read_bytes(), where)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SettingsError(f"cannot be read: {error}", where, "correct or delete it") from error

    def _write(self, logins: Mapping[str, JSON]) -> None:
        if self.folder is None:
            self._passing = logins
            return
        ensure_private_dir(self.folder)
        write_private(self.folder / FILE, json.dumps(logins, indent=1).encode())


def _parsed(text: str | bytes, where: str) -> Mapping[str, JSON]:
    try:
        value: JSON = json.loads(text)
    except ValueError as error:
        raise SettingsError("the kept login is not JSON", where, "log in again") from error
    return value if isinstance(value, dict) else {}
