"""Reads servers from the command line, and adds and removes those in files of their own, `servers.d/NAME.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import Report
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.save import save_switches, write_toml
from tui_host.settings.schema import ServerSpec, Settings, Template
from tui_host.settings.table_reader import SettingsTable, shown_path
from tui_host.settings.tables import read_server
from tui_host.settings.urls import check_url, split

FOLDER = "servers.d"
# Programs that start another program, whose name is an argument.
_LAUNCHERS = frozenset(["uvx", "npx", "bunx", "pipx", "uv", "npm", "bun", "deno", "node", "python", "run", "exec"])


def server_from_arguments(url_or_command: Sequence[str] | str) -> ServerSpec:
    """Return the server of `tui-host URL` or `tui-host -- COMMAND…`, used literally, under a name made from it."""
    if isinstance(url_or_command, str):
        check_url(url_or_command, allow_http=True, where="URL")
        parts = split(url_or_command)
        port = f"-{parts.port}" if parts.port is not None else ""
        return ServerSpec(
            name=server_name(f"{parts.hostname}{port}"),
            transport="sse" if parts.path.rstrip("/").endswith("/sse") else "http",
            url=Template(text=url_or_command, literal=True),
            allow_http=True,  # whoever types a URL sees its scheme
        )
    command, *args = url_or_command or ("",)
    if not command:
        raise SettingsError("no program given", "COMMAND", "write tui-host -- PROGRAM ARGUMENTS")
    return ServerSpec(
        name=server_name(_program(url_or_command)),
        command=Template(text=command, literal=True),
        args=tuple(Template(text=argument, literal=True) for argument in args),
    )


def server_name(text: str) -> str:
    """Return a valid server name made from a text; `server` if no valid character remains."""
    name = re.sub(r"[^\w]+", "-", text)
    return re.sub(r"_{2,}", "_", name)[:40].strip("-_") or "server"


def _program(words: Sequence[str]) -> str:
    """Return the word of a command that best names the server: the program, or what a launcher such as `npx` starts."""
    for word in words:
        stem = re.sub(r"(?<=.)@[^@]*$|\.(?:py|js|mjs|cjs|ts|sh|exe)$", "", PurePath(word).name)
        if stem and not word.startswith("-") and re.sub(r"[\d.]+$", "", stem) not in _LAUNCHERS:
            return stem
    return PurePath(words[0]).name


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
