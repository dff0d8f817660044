"""Adds and removes servers in files of their own, `servers.d/NAME.toml`. The user's own file is never changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import Report
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.save import save_switches, write_toml
from tui_host.settings.server_tables import read_server
from tui_host.settings.table_reader import SettingsTable
from tui_host.settings.toml_files import shown_path

if TYPE_CHECKING:
    from tui_host.settings.schema import ServerSpec, Settings

FOLDER = "servers.d"


def read_entry(name: str, table: Mapping[str, object]) -> tuple[ServerSpec, tuple[str, ...]]:
    """Return the server that a table describes, and the warnings about the table; raises a `SettingsError` with all mistakes."""
    report = Report()
    spec = read_server(name, SettingsTable(data=table, file=f"servers.{name}", report=report))
    report.raise_if_any()
    return spec, tuple(report.notices)


def add_entry(settings: Settings, name: str, table: Mapping[str, object]) -> Path:
    """Write a server's own file; a switch remembered for an earlier server of that name is forgotten."""
    read_entry(name, table)
    path = settings.config_dir / FOLDER / f"{name}.toml"
    if name in settings.servers and not settings.default_servers:
        where = settings.servers[name].file
        raise SettingsError(f"there is a server {name} already", where, "choose another name")
    ensure_private_dir(path.parent)
    _forget_switches(settings, name)
    write_toml(path, table)
    return path


def remove_entry(settings: Settings, name: str) -> Path:
    """Delete a server's own file and return its path; a server that is configured elsewhere is a `SettingsError`."""
    path = settings.config_dir / FOLDER / f"{name}.toml"
    file = settings.servers[name].file
    if not file:
        raise SettingsError(f"{name} is a bundled server", "servers remove", f"tui-host servers disable {name}")
    if file != shown_path(path):
        raise SettingsError(f"{name} is configured there", f"{file}: servers.{name}", "remove it from that file")
    try:
        path.unlink()
    except OSError as error:
        raise SettingsError(f"cannot be deleted: {error.strerror}", file, "check its folder") from error
    _forget_switches(settings, name)
    return path


def _forget_switches(settings: Settings, name: str) -> None:
    """Forget the switches of a server and of its tools."""
    switches = {key: None for key in settings.switches if key.partition(".")[0] == name}
    if switches:
        save_switches(settings, switches)
