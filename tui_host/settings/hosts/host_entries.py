"""Translates the servers in other hosts' configuration files into tables of our own, and says what is lost.

Source: each host's documentation, and for Cline, Cherry Studio, Gemini CLI, Goose and Codex their code, as of autumn 2026.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.hosts.host_servers import servers_in
from tui_host.settings.hosts.jsonc import Array, Node, Object, Scalar, parse
from tui_host.settings.hosts.known_hosts import HOSTS, PASTED, KnownHost
from tui_host.settings.server_entries import read_entry
from tui_host.settings.server_tables import SERVER_NAME, server_from_arguments, server_name
from tui_host.settings.toml_files import is_array, is_table

MOST_SECONDS = 3600
"""A longer time limit is taken for milliseconds."""
_TRANSPORTS = {"": "", "stdio": "stdio", "http": "http", "streamablehttp": "http", "sse": "sse"}
_APPROVALS = ("autoApprove", "alwaysAllow", "trust")
_OFF = (("disabled", True), ("enabled", False), ("isActive", False))
_READ = frozenset(
    (
        *("type", "transport", "transportType", "command", "cmd", "args", "env", "envs", "cwd", "name", "description"),
        *(
            "headers",
            "http_headers",
            "env_http_headers",
            "bearer_token_env_var",
            "env_vars",
            "timeout",
            "tool_timeout_sec",
        ),
        *(*PASTED.urls, *_APPROVALS, *(name for name, _ in _OFF)),
    )
)
_REFERENCE = re.compile(r"\$\{(env:|input:)?([A-Za-z_][\w.-]*)\}|\$\{/\}")
_BARE_REFERENCE = re.compile(r"\$([A-Za-z_]\w*)")
_WRAPPER = re.compile(r"mcp-remote(?:@.*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEntry:
    """A server of another host.

    Attributes:
        name: A valid name made from the host's name for the server.
        place: The keys that lead to the entry in the file.
        table: The table for a file of its own; switched off.
        notes: What the user has to know: what is not imported, secrets that are written out.
        problem: Why the server cannot be imported, empty if it can.
    """

    name: str
    place: tuple[str, ...]
    table: Mapping[str, object]
    notes: tuple[str, ...] = ()
    problem: str = ""


def host_of(path: Path, files: Mapping[Path, KnownHost]) -> tuple[KnownHost, Path | None]:
    """Return the host that a file belongs to, and the project's folder if it is a project's file.

    Args:
        path: An absolute path.
        files: The known hosts' own files.
    """
    if path in files:
        return files[path], None
    for host in HOSTS:
        for name in host.project_files:
            if path.parts[-len(Path(name).parts) :] == Path(name).parts:
                return host, path.parents[len(Path(name).parts) - 1]
    return (replace(PASTED, is_toml=True, servers=(("mcp_servers",),)) if path.suffix == ".toml" else PASTED), None


def read_host_entries(text: str, host: KnownHost, folder: Path | None = None) -> tuple[HostEntry, ...]:
    """Return the servers in the text of a host's file.

    Args:
        text: The file's text.
        host: The host, `PASTED` for text of any host.
        folder: The folder of the project to which the file belongs.

    Raises:
        BrokenJsonError: The text is not JSON.
        SettingsError: The text is not TOML.
    """
    return tuple(_entry(place, value, host, folder) for place, value in _found_in(text, host))


def _found_in(text: str, host: KnownHost) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    if host.is_toml:
        try:
            servers = tomllib.loads(text).get("mcp_servers")
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"not TOML: {error}", host.title, "fix it first; nothing was added") from None
        for name, value in servers.items() if is_table(servers) else ():
            if is_table(value):
                yield ("mcp_servers", name), value
        return
    has_servers = False
    for entry in servers_in(text, host):
        has_servers = True
        outer, inner = _plain(entry.outer), _plain(entry.node)
        if is_table(outer) and is_table(inner):
            own = {name: value for name, value in outer.items() if name != host.inside or entry.outer is entry.node}
            yield entry.place, {**own, **inner}
    if has_servers or host is not PASTED:
        return
    root = _plain(parse(text))  # bare entries: an entry alone, or an object of entries
    ways = {"command", "cmd", *PASTED.urls}
    if is_table(root) and ways & root.keys():
        yield (), root
    elif is_table(root):
        yield from (((name,), value) for name, value in root.items() if is_table(value) and ways & value.keys())


def _plain(node: Node | None) -> object:
    match node:
        case Object():
            return {member.key: _plain(member.value) for member in node.members}
        case Array():
            return [_plain(element) for element in node.elements]
        case Scalar():
            return node.value
        case None:
            return None


def _entry(place: tuple[str, ...], value: Mapping[str, object], host: KnownHost, folder: Path | None) -> HostEntry:
    reading = _Reading(value, host, folder)
    table = reading.table()
    typed = place[-1] if place else _name(table)
    name = typed if SERVER_NAME.fullmatch(typed) else server_name(typed)
    notes = [*reading.notes, *([f"named {typed} there"] if name != typed else [])]
    problem = reading.problem
    if not problem:
        try:
            _, warnings = read_entry(name, table)
            notes += [warning.removeprefix(f"servers.{name}: ") for warning in warnings]
        except SettingsError as error:
            problem = str(error).removeprefix(f"servers.{name}: ")
    return HostEntry(name=name, place=place, table=table, notes=tuple(notes), problem=problem)


def _name(table: Mapping[str, object]) -> str:
    command, args, url = table.get("command"), table.get("args"), table.get("url")
    try:
        if isinstance(command, str):
            return server_from_arguments([command, *(map(str, args) if is_array(args) else ())]).name
        return server_from_arguments(str(url)).name
    except SettingsError:
        return "server"


class _Reading:
    """Reads an entry.

    Attributes:
        notes: What the user has to know.
        problem: Why the server cannot be imported.
    """

    def __init__(self, value: Mapping[str, object], host: KnownHost, folder: Path | None) -> None:
        self._value = value
        self._host = host
        self._folder = folder
        self.notes: list[str] = []
        self.problem = ""

    def table(self) -> dict[str, object]:
        """Return the table, switched off."""
        kind = self._first_text("type", "transport", "transportType")
        transport = _TRANSPORTS.get(re.sub(r"[-_\s]", "", kind.casefold()))
        command = self._first_text("command", "cmd")
        table: dict[str, object] = {}
        if transport is None:
            self.problem = f"its transport {kind} is not supported"
        elif command:
            table = self._program(command)
        elif url := next((name for name in self._host.urls if self._first_text(name)), ""):
            is_sse = transport == "sse" or (not transport and url == "url" and self._host.url_is_sse)
            table = self._remote(url, is_sse=is_sse)
        else:
            self.problem = "it has no command and no URL"
        if seconds := self._seconds():
            table["timeout"] = seconds
        self._tell_left()
        return {**table, "enabled": False}

    def _program(self, command: str) -> dict[str, object]:
        args = [self._filled(str(word)) for word in self._array("args")]
        table: dict[str, object] = {"command": self._filled(command), "args": args}
        env = self._texts("env", bare=self._host.name == "gemini-cli") | self._texts("envs")
        env |= {name: f"${{{name}}}" for name in map(str, self._array("env_vars"))}
        if env:
            table["env"] = env
        if cwd := self._first_text("cwd"):
            table["cwd"] = self._filled(cwd)
        if any(map(_WRAPPER.fullmatch, args)):
            url = next((word for word in args if word.startswith(("http://", "https://"))), "its URL")
            self.notes.append(f"mcp-remote is not needed here: tui-host servers add NAME {url}")
        return table

    def _remote(self, url: str, *, is_sse: bool) -> dict[str, object]:
        table: dict[str, object] = {"url": self._filled(self._first_text(url))}
        if is_sse:
            table["transport"] = "sse"
        headers = self._texts("headers") | self._texts("http_headers")
        headers |= {name: f"${{{variable}}}" for name, variable in self._texts("env_http_headers").items()}
        if variable := self._first_text("bearer_token_env_var"):
            headers["Authorization"] = f"Bearer ${{{variable}}}"
        if headers:
            table["headers"] = headers
        return table

    def _first_text(self, *names: str) -> str:
        values = (self._value.get(name) for name in names)
        return next((value for value in values if isinstance(value, str)), "")

    def _array(self, name: str) -> Sequence[object]:
        value = self._value.get(name)
        return value if is_array(value) else ()

    def _texts(self, name: str, *, bare: bool = False) -> dict[str, str]:
        values = self._value.get(name)
        texts: dict[str, str] = {}
        for key, value in values.items() if is_table(values) else ():
            if value is None:
                self.notes.append(f"{name}.{key} is removed there; here it is simply not passed on")
            else:
                text = str(value).lower() if isinstance(value, bool) else str(value)
                texts[key] = self._filled(_BARE_REFERENCE.sub(r"${\1}", text) if bare else text)
        return texts

    def _filled(self, text: str) -> str:
        """Write the host's references in our form; unknown ones stay."""
        return _REFERENCE.sub(self._reference, text)

    def _reference(self, match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        variable = re.sub(r"\W", "_", name or "")
        if kind == "input:":
            self.notes.append(f"set the environment variable {variable.upper()}, which {self._host.title} asks for")
            return f"${{{variable.upper()}}}"
        known: Mapping[str | None, Callable[[], str]] = {
            None: lambda: "/",
            "pathSeparator": lambda: "/",
            "userHome": lambda: "${HOME}",
            "workspaceFolder": self._workspace,
            "workspaceFolderBasename": lambda: Path(self._workspace()).name,
        }
        return known[name]() if not kind and name in known else f"${{{variable}}}"

    def _workspace(self) -> str:
        if self._folder is None:
            self.notes.append("it depends on the host's open folder: replace ${workspaceFolder} by a path")
            return "${workspaceFolder}"
        return str(self._folder)

    def _seconds(self) -> float:
        for name in ("timeout", "tool_timeout_sec"):
            value = self._value.get(name)
            if isinstance(value, (int, float)) and value > 0:
                is_long = self._host.milliseconds or value > MOST_SECONDS
                if is_long and not self._host.milliseconds:
                    self.notes.append(f"{name} = {value:g} is taken for milliseconds")
                return value / 1000 if is_long else value
        return 0

    def _tell_left(self) -> None:
        value = self._value
        if any(value.get(name) is state for name, state in _OFF):
            self.notes.append("switched off there")
        for name in _APPROVALS:
            listed = value.get(name)
            if listed:
                words = ", ".join(map(str, listed)) if is_array(listed) else "every tool"
                self.notes.append(f"{name} is not imported ({words}): every call is asked about")
        left = [name for name, inner in value.items() if name not in _READ and inner not in (None, [], {}, "")]
        if left:
            self.notes.append(f"not imported: {', '.join(left)}")
