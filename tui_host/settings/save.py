"""Saves files atomically with mode 0600, beside the user's own configuration and never in it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import Report
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.schema import Settings
from tui_host.settings.toml_files import read_document, shown_path

STATE_FILE = "state.toml"
STATE_KEYS = ("model", "protocol", "profile", "theme")
"""Remembered choices, applied where `config.toml` is silent."""


def save_state(settings: Settings, choices: Mapping[str, str | None]) -> None:
    """Remember choices for the next start; None forgets a choice. Blocks on the disk.

    If two processes save at once, the later one wins and may undo the other's change.

    Args:
        settings: Names the folder.
        choices: By key from `STATE_KEYS`, in the form of `config.toml`, such as `deepseek/deepseek-chat`.

    Raises:
        SettingsError: The folder or file cannot be written, or the existing file cannot be read.
    """
    for key in choices:
        if key not in STATE_KEYS:
            raise ValueError(f"{key} is not remembered")
    path = settings.config_dir / STATE_FILE
    report = Report()
    state = read_document(path, report, needed=False) or {}
    report.raise_if_any()
    for key, value in choices.items():
        state.pop(key, None)
        if value is not None:
            state[key] = value
    if not settings.config_dir.exists():
        ensure_private_dir(settings.config_dir)
    write_toml(path, state)


def write_toml(path: Path, table: Mapping[str, object]) -> None:
    """Write a table as a TOML file, atomically.

    Raises:
        SettingsError: The file cannot be written, or a text is not valid Unicode.
    """
    import tomli_w

    try:
        data = tomli_w.dumps(table).encode("utf-8")
    except UnicodeEncodeError:
        raise SettingsError("text that is not valid Unicode cannot be saved", shown_path(path)) from None
    write_private(path, data)


def write_private(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace a file atomically: write a new file beside it with the mode, sync, and rename.

    A symbolic link stays, and its target is replaced.

    Raises:
        SettingsError: The folder cannot be written.
    """
    import secrets

    target = Path(os.path.realpath(path))
    new = target.with_name(f".{target.name[:80]}.{secrets.token_hex(6)}.new")
    try:
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
                os.fchmod(descriptor, mode)
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            new.replace(target)
            _sync_folder(target.parent)
        finally:
            with contextlib.suppress(FileNotFoundError):
                new.unlink()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SettingsError(
            f"cannot be written: {reason}", shown_path(path), "check the folder's permissions and free space"
        ) from error


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
