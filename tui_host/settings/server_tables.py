"""Reads servers from the configuration and from the command line, and adds and removes those in files of their own.

Such a file is `servers.d/NAME.toml`; the user's own file is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from tui_host.errors import SettingsError
from tui_host.settings.mistakes import Report, shown
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.provider_tables import check_address, check_headers, notice_secret
from tui_host.settings.save import save_switches, write_toml
from tui_host.settings.schema import ServerSpec, Settings, Template
from tui_host.settings.table_reader import SettingsTable
from tui_host.settings.toml_files import shown_path
from tui_host.settings.urls import check_url, split

FOLDER = "servers.d"
SERVER_NAME = re.compile(r"(?!.*__)[\w-]{1,40}")
_WAYS = ("command", "url", "bundled")
_NEEDS = {
    "command": ("args", "cwd"),
    "url": ("headers", "allow_http", "client_id", "client_secret", "client_metadata_url", "redirect_port"),
}
# Programs that start another program, whose name is an argument.
_LAUNCHERS = frozenset(["uvx", "npx", "bunx", "pipx", "uv", "npm", "bun", "deno", "node", "python", "run", "exec"])
_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def read_server(name: str, table: SettingsTable) -> ServerSpec:
    """Read a server's table; mistakes go to the table's report."""
    if not SERVER_NAME.fullmatch(name):
        remedy = "use 1 to 40 letters of any script, digits, - and _, without __"
        table.mistake("", f'"{shown(name)}" is not a valid server name', remedy)
    spec = table.read(ServerSpec(name=name, file=table.file, transport="http" if "url" in table else "stdio"))
    _check_ways(table, spec)
    if spec.url is not None:
        check_address(table, "url", spec.url, allow_http=spec.allow_http)
    check_headers(table, spec.headers)
    for root in spec.roots:
        if not root.startswith(("/", "~/")):
            table.mistake("roots", f'found "{shown(root)}", which is not a full path', "write it from / or ~/ on")
    for variable, template in spec.env.items():
        if not variable or "=" in variable or "\0" in variable:
            table.inner("env").mistake(variable, "not a valid variable name", "use letters, digits and _")
        elif _SECRET_VARIABLE.search(variable) and "${" not in template.text:
            notice_secret(table.inner("env"), variable, template, shown(variable))
    if spec.client_metadata_url and not spec.client_metadata_url.startswith("https://"):
        what = f'found "{shown(spec.client_metadata_url)}"'
        table.mistake("client_metadata_url", what, "write an https address with a path")
    if spec.client_secret is not None:
        if spec.client_id is None:
            table.mistake("client_secret", "there is no client_id", "write the id that the secret belongs to")
        if "${" not in spec.client_secret.text:
            notice_secret(table, "client_secret", spec.client_secret)
    if spec.command is not None:
        _check_command(table, spec, spec.command.text)
    return spec


def server_from_arguments(url_or_command: Sequence[str] | str) -> ServerSpec:
    """Return the server of `tui-host URL` or `tui-host -- COMMAND…`, under a name made from the URL or the command.

    Both are used literally, without references or a shell. Plain http is permitted: whoever types a URL sees its scheme.
    """
    if isinstance(url_or_command, str):
        check_url(url_or_command, allow_http=True, where="URL")
        parts = split(url_or_command)
        port = f"-{parts.port}" if parts.port is not None else ""
        return ServerSpec(
            name=server_name(f"{parts.hostname}{port}"),
            transport="sse" if parts.path.rstrip("/").endswith("/sse") else "http",
            url=Template(text=url_or_command, literal=True),
            allow_http=True,
        )
    command, *args = url_or_command or ("",)
    if not command:
        raise SettingsError("no program given", "COMMAND", "write tui-host -- PROGRAM ARGUMENTS")
    if any("\0" in word for word in url_or_command):
        raise SettingsError("a NUL character in an argument", "COMMAND", "remove it")
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
        stem = re.sub(r"(?<=.)@[^@]*$", "", PurePath(word).name)
        stem = re.sub(r"\.(?:py|js|mjs|cjs|ts|sh|exe)$", "", stem)
        if stem and not word.startswith("-") and re.sub(r"[\d.]+$", "", stem) not in _LAUNCHERS:
            return stem
    return PurePath(words[0]).name


def _check_ways(table: SettingsTable, spec: ServerSpec) -> None:
    """Check that one key says how to reach the server, and that the other keys fit it."""
    ways = [key for key in _WAYS if key in table]
    if not ways:
        table.mistake("", "no command, url or bundled", "set one of them to say how to reach the server")
        return
    for key in ways[1:]:
        table.mistake(key, f"conflicts with {ways[0]}", f"remove one: a server has {' or '.join(ways)}")
    for way, keys in _NEEDS.items():
        for key in keys:
            if key in table and way not in ways:
                table.mistake(key, f"is only valid with {way}", "remove it")
    if "env" in table and "url" in table:
        table.mistake("env", "is only valid for a started process, not with url", "remove it")
    fitting = ("http", "sse") if "url" in table else ("stdio",)
    if spec.bundled == "weather":
        fitting = ("stdio", "http")
    if spec.transport not in fitting:
        what = f'found "{spec.transport}", which {ways[0]} does not support'
        table.mistake("transport", what, f"write {' or '.join(fitting)}")


def _check_command(table: SettingsTable, spec: ServerSpec, text: str) -> None:
    """Warn of a command that will not be found as it stands, and of credentials in its arguments.

    Nothing is refused: a command may be right on the machine that runs it.
    """
    if not text.strip():
        table.mistake("command", "empty", "write the program's name")
    elif text.startswith("~"):
        table.notice("command", "~ is not expanded here; write ${HOME}")
    elif "/" in text and not text.startswith(("/", "${")) and spec.cwd is None:
        reason = "a relative path depends on the folder tui-host is started in"
        table.notice("command", f"{reason}; write the full path")
    elif " " in text.strip() and not spec.args and "/" not in text.partition(" ")[0]:
        table.notice("command", "the whole text is taken as the program's name; put arguments into args")
    if not spec.args:
        return
    from tui_host.settings.credential_places import in_words  # imported late: not needed before the first frame

    for name, _ in in_words(argument.text for argument in spec.args):
        remedy = 'write "${NAME}" for it and set that variable instead'
        table.notice("args", f"the file contains a credential itself ({shown(name)}); {remedy}")


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
