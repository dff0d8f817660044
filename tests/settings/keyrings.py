"""Keyrings as a system may have them, named to the library by `PYTHON_KEYRING_BACKEND`: one that works, one that is locked."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked
from typing_extensions import override

WORKS = f"{__name__}.Kept"
LOCKED = f"{__name__}.Locked"
FILE = "KEYRING_OF_TESTS"
"""The variable that names the file in which the one that works has its keys, for the time of a test."""


class Kept(KeyringBackend):
    priority = 1  # pyright: ignore[reportAssignmentType] - the library's own way

    @override
    def get_password(self, service: str, username: str) -> str | None:
        return self._all().get(f"{service} {username}")

    @override
    def set_password(self, service: str, username: str, password: str) -> None:
        self._put(self._all() | {f"{service} {username}": password})

    @override
    def delete_password(self, service: str, username: str) -> None:
        kept = self._all()
        del kept[f"{service} {username}"]
        self._put(kept)

    def _all(self) -> dict[str, str]:
        file = Path(os.environ[FILE])
        found: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
        return found

    def _put(self, kept: dict[str, str]) -> None:
        Path(os.environ[FILE]).write_text(json.dumps(kept))


class PlaintextKeyring(Kept):
    """Writes keys to a file in clear, and says so by its name, as the one of `keyrings.alt` does."""


class Locked(Kept):
    @override
    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("Failed to unlock the collection!")

    @override
    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked("Failed to unlock the collection!")
