"""Translates the servers in other hosts' configuration files into tables of our own, and says what is lost.

Source: each host's documentation, and for Cline, Cherry Studio, Gemini CLI, Goose and Codex their code, as of autumn 2026.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.hosts.host_servers import servers_in
from tui_host.settings.hosts.jsonc import parse
from tui_host.settings.hosts.known_hosts import HOSTS, PASTED, KnownHost
from tui_host.settings.schema import SERVER_NAME
from tui_host.settings.server_tables import read_entry, server_from_arguments, server_name
from tui_host.settings.toml_files import is_array, is_table

MOST_SECONDS = 3600
"""A longer time limit is taken for milliseconds."""
_TRANSPORTS = {"": "", "stdio": "stdio", "http": "http", "streamablehttp": "http", "sse": "sse"}
_COMMANDS = ("command", "cmd")
_APPROVALS = ("autoApprove", "alwaysAllow", "trust")
_OFF = (("disabled", True), ("enabled", False), ("isActive", False))
_WORDS_READ = (
    "type transport transportType command cmd args env envs env_vars cwd name description headers http_headers "
    "env_http_headers bearer_token_env_var timeout tool_timeout_sec disabled enabled isActive"
)
_READ = frozenset((*_WORDS_READ.split(), *PASTED.urls, *_APPROVALS))
_REFERENCE = re.compile(r"\$\{(env:|input:)?([A-Za-z_][\w.-]*)\}|\$\{/\}")
_BARE_REFERENCE = re.compile(r"\$([A-Za-z_]\w*)")

_Place = tuple[str, ...]
_Values = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEntry:
    """A server of another host, with our own table for it, in which it is switched off."""

    name: str  # a valid one, made from the host's name for the server
    place: tuple[str, ...]
    table: Mapping[str, object]
    notes: tuple[str, ...] = ()  # what is not imported, and secrets that are written out
    problem: str = ""  # why the server cannot be imported, if it cannot


def host_of(path: Path, files: Mapping[Path, KnownHost]) -> tuple[KnownHost, Path | None]:
    """Return the host that a file belongs to, and the project's folder if it is a project's file.

    The path is absolute; `files` are the known hosts' own files.
    """
    if path in files:
        return files[path], None
    for host in HOSTS:
        for name in host.project_files:
            if path.parts[-len(Path(name).parts) :] == Path(name).parts:
                return host, path.parents[len(Path(name).parts) - 1]
    return replace(PASTED, is_toml=path.suffix == ".toml"), None


def read_host_entries(
    text: str, host: KnownHost, folder: Path | None = None, *, where: str = ""
) -> tuple[HostEntry, ...]:
    """Return the servers in the text of a host's file; `PASTED` stands for any host, `folder` is the project's.

    A text that is neither JSON nor TOML is a `SettingsError`, with `where` as the name of the file.
    """
    found = _in_toml(text, host) if host.is_toml else _in_json(text, host, where)
    return tuple(_entry(place, _Translation(values=values, host=host, folder=folder)) for place, values in found)


def _in_toml(text: str, host: KnownHost) -> Iterator[tuple[_Place, _Values]]:
    try:
        servers = tomllib.loads(text).get("mcp_servers")
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"not TOML: {error}", host.title, "fix it first; nothing was added") from None
    for name, values in servers.items() if is_table(servers) else ():
        if is_table(values):
            yield ("mcp_servers", name), values


def _in_json(text: str, host: KnownHost, where: str) -> Iterator[tuple[_Place, _Values]]:
    entries = servers_in(text, host, where)
    for entry in entries:
        outer, inner = entry.outer.value, entry.node.value
        if is_table(outer) and is_table(inner):
            yield entry.place, {name: value for name, value in outer.items() if name != host.inside} | inner
    root = parse(text, where)
    if entries or host is not PASTED or root is None or not is_table(root.value):
        return
    ways = {*_COMMANDS, *PASTED.urls}  # bare entries: an entry alone, or an object of entries
    if ways & root.value.keys():
        yield (), root.value
    else:
        for name, values in root.value.items():
            if is_table(values) and ways & values.keys():
                yield (name,), values


def _entry(place: _Place, server: _Translation) -> HostEntry:
    table = {**server.table(), "enabled": False}
    name = place[-1] if place else _name_of(table)
    if not re.fullmatch(SERVER_NAME, name):
        server.notes.append(f"named {name} there")
        name = server_name(name)
    try:
        if not server.problem:
            _, warnings = read_entry(name, table)
            server.notes += [warning.removeprefix(f"servers.{name}: ") for warning in warnings]
    except SettingsError as error:
        server.problem = str(error).removeprefix(f"servers.{name}: ")
    return HostEntry(name=name, place=place, table=table, notes=tuple(server.notes), problem=server.problem)


def _name_of(table: _Values) -> str:
    args = table.get("args")
    words = [str(table.get("command")), *(map(str, args) if is_array(args) else ())]
    try:
        return server_from_arguments(words if "command" in table else str(table.get("url"))).name
    except SettingsError:
        return "server"


@dataclass(slots=True, kw_only=True)
class _Translation:
    """A server as its host describes it; `notes` and `problem` are filled in while our own table is made."""

    values: _Values
    host: KnownHost
    folder: Path | None
    notes: list[str] = field(default_factory=list[str])
    problem: str = ""

    def table(self) -> dict[str, object]:
        """Return our own table for the server."""
        kind = self._text("type", "transport", "transportType")
        transport = _TRANSPORTS.get(re.sub(r"[-_\s]", "", kind.casefold()))
        url = next((name for name in self.host.urls if self._text(name)), "")
        table: dict[str, object] = {}
        if transport is None:
            self.problem = f"its transport {kind} is not supported"
        elif self._text(*_COMMANDS):
            table = self._program()
        elif url:
            table = {"url": self._filled(self._text(url)), "headers": self._headers()}
            if transport == "sse" or (not transport and url == "url" and self.host.url_is_sse):
                table["transport"] = "sse"
        else:
            self.problem = "it has no command and no URL"
        seconds = self.values.get("timeout") or self.values.get("tool_timeout_sec")
        if isinstance(seconds, (int, float)) and seconds > 0:
            table["timeout"] = seconds / 1000 if self.host.milliseconds or seconds > MOST_SECONDS else seconds
        self._note_what_is_left()
        return {key: value for key, value in table.items() if value or key == "args"}

    def _program(self) -> dict[str, object]:
        args = [self._filled(str(word)) for word in self._array("args")]
        if any(word.partition("@")[0] == "mcp-remote" for word in args):
            url = next((word for word in args if word.startswith(("http://", "https://"))), "its URL")
            self.notes.append(f"mcp-remote is not needed here: tui-host servers add NAME {url}")
        return {
            "command": self._filled(self._text(*_COMMANDS)),
            "args": args,
            "env": self._texts("env") | self._texts("envs") | {str(v): f"${{{v}}}" for v in self._array("env_vars")},
            "cwd": self._filled(self._text("cwd")),
        }

    def _headers(self) -> dict[str, str]:
        headers = self._texts("headers") | self._texts("http_headers")
        headers |= {name: f"${{{variable}}}" for name, variable in self._texts("env_http_headers").items()}
        if variable := self._text("bearer_token_env_var"):
            headers["Authorization"] = f"Bearer ${{{variable}}}"
        return headers

    def _text(self, *names: str) -> str:
        values = (self.values.get(name) for name in names)
        return next((value for value in values if isinstance(value, str)), "")

    def _array(self, name: str) -> list[object]:
        value = self.values.get(name)
        return value if is_array(value) else []

    def _texts(self, name: str) -> dict[str, str]:
        """Return a table of texts; a number or a flag counts as its text, and null as nothing."""
        values = self.values.get(name)
        texts = values.items() if is_table(values) else ()
        return {
            key: self._filled(value if isinstance(value, str) else json.dumps(value))
            for key, value in texts
            if value is not None
        }

    def _filled(self, text: str) -> str:
        """Write the host's references in our form; unknown ones stay."""
        if self.host.has_bare_references:
            text = _BARE_REFERENCE.sub(r"${\1}", text)
        return _REFERENCE.sub(self._reference, text)

    def _reference(self, match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        if name in {None, "pathSeparator"}:
            return "/"
        variable = re.sub(r"\W", "_", name)
        if kind == "input:":
            variable = variable.upper()
            self.notes.append(f"set the environment variable {variable}, which {self.host.title} asks for")
        elif name == "userHome":
            variable = "HOME"
        elif name in {"workspaceFolder", "workspaceFolderBasename"} and self.folder is not None:
            return str(self.folder) if name == "workspaceFolder" else self.folder.name
        elif name.startswith("workspaceFolder"):
            self.notes.append("it depends on the host's open folder: replace ${workspaceFolder} by a path")
        return f"${{{variable}}}"

    def _note_what_is_left(self) -> None:
        if any(self.values.get(name) is state for name, state in _OFF):
            self.notes.append("switched off there")
        for name in _APPROVALS:
            listed = self.values.get(name)
            if listed:
                words = ", ".join(map(str, listed)) if is_array(listed) else "every tool"
                self.notes.append(f"{name} is not imported ({words}): every call is asked about")
        left = [name for name, value in self.values.items() if name not in _READ and value not in (None, [], {}, "")]
        if left:
            self.notes.append(f"not imported: {', '.join(left)}")
