"""Saves files atomically with mode 0600, in the folder of the user's own configuration file but never to that file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import Report
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.schema import Settings
from tui_host.settings.table_reader import is_table
from tui_host.settings.toml_files import read_document, shown_path

STATE_FILE = "state.toml"
STATE_KEYS = ("model", "protocol", "profile", "theme")
"""Choices that the app remembers; each applies only if `config.toml` does not set it."""
SWITCHES = "switches"
"""Table in the state file: whether a server (key `SERVER`) or a tool (key `SERVER.TOOL`) is switched on."""


def save_state(settings: Settings, choices: Mapping[str, str | None]) -> None:
    """Remember choices for the next start; the value None forgets a choice. Blocks on the disk.

    If two processes save at once, the later one wins and may undo the other's change.

    Args:
        settings: Provides the folder to write to.
        choices: New values by key from `STATE_KEYS`, written as in `config.toml`, such as `deepseek/deepseek-chat`.

    Raises:
        SettingsError: The folder or file cannot be written, or the existing file cannot be read.
    """
    for key in choices:
        if key not in STATE_KEYS:
            raise ValueError(f"{key} is not remembered")
    state = _read_state(settings)
    _change(state, choices)
    _write_state(settings, state)


def save_switches(settings: Settings, switches: Mapping[str, bool | None]) -> None:
    """Remember whether servers and tools are switched on; the value None forgets a switch. Blocks on the disk.

    Args:
        settings: Provides the folder to write to.
        switches: New values by `SERVER` or `SERVER.TOOL`.

    Raises:
        SettingsError: The configuration file itself sets `enabled` of a server, or the file cannot be written.
    """
    for name in switches:
        key = f"servers.{name}.enabled"
        if key in settings.fixed:
            raise SettingsError(f"{key} is set there", str(settings.config_file), "change it in that file")
    state = _read_state(settings)
    table = state.get(SWITCHES)
    kept = {str(name): value for name, value in table.items()} if is_table(table) else {}
    _change(kept, switches)
    _change(state, {SWITCHES: kept or None})
    _write_state(settings, state)


def _change(table: dict[str, object], values: Mapping[str, object]) -> None:
    for key, value in values.items():
        table.pop(key, None)
        if value is not None:
            table[key] = value


def _read_state(settings: Settings) -> dict[str, object]:
    report = Report()
    state = read_document(settings.config_dir / STATE_FILE, report, needed=False) or {}
    report.raise_if_any()
    return state


def _write_state(settings: Settings, state: Mapping[str, object]) -> None:
    if not settings.config_dir.exists():
        ensure_private_dir(settings.config_dir)
    write_toml(settings.config_dir / STATE_FILE, state)


def write_toml(path: Path, table: Mapping[str, object]) -> None:
    """Write a table to a TOML file, atomically.

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
    """Replace a file atomically: writes a new file in the same folder with the given mode, syncs it, and renames it.

    If the path is a symbolic link, the link stays and its target is replaced.

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
    """Sync a folder to the disk, so that a new name in the folder survives a crash."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
