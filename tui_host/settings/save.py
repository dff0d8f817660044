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
from tui_host.settings.table_reader import SettingsTable, is_table, shown_path

STATE_FILE = "state.toml"


def save_state(settings: Settings, choices: Mapping[str, object]) -> None:
    """Remember choices for the next start, by field of `SavedChoices`; None forgets a choice. Blocks on the disk."""
    report, path = Report(), settings.config_dir / STATE_FILE
    kept = SettingsTable.open(path, report).data
    report.raise_if_any()
    if not settings.config_dir.exists():
        ensure_private_dir(settings.config_dir)
    write_toml(path, _changed(kept, choices))


def save_switches(settings: Settings, switches: Mapping[str, bool | None]) -> None:
    """Remember whether servers and tools, by `SERVER` or `SERVER.TOOL`, are on; None forgets. Blocks on the disk."""
    for name in switches:
        key = f"servers.{name}.enabled"
        if key in settings.fixed:
            raise SettingsError(f"{key} is set there", str(settings.config_file), "change it in that file")
    save_state(settings, {"switches": dict(switches)})


def write_toml(path: Path, table: Mapping[str, object]) -> None:
    """Write a table to a TOML file, atomically."""
    import tomli_w

    write_private(path, tomli_w.dumps(table).encode("utf-8", "replace"))


def write_private(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace a file atomically: writes a new file in the same folder with the given mode, syncs it, and renames it."""
    import secrets

    target = Path(os.path.realpath(path))  # a symbolic link stays
    new = target.with_name(f".{target.name[:80]}.{secrets.token_hex(6)}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        new.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        remedy = "check the folder's permissions and free space"
        raise SettingsError(f"cannot be written: {error.strerror}", shown_path(path), remedy) from error


def _changed(table: Mapping[str, object], values: Mapping[str, object]) -> dict[str, object]:
    """Return a table with new values; None takes a key out, and a table within changes likewise."""
    changed = {**table, **values}
    for key, value in values.items():
        if is_table(value):
            inner = table.get(key)
            changed[key] = _changed(inner if is_table(inner) else {}, value) or None
    return {key: value for key, value in changed.items() if value is not None}
