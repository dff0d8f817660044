"""Translates the servers in other hosts' configuration files into tables of our own, and says what is lost.

Source: each host's documentation, and for Cline, Cherry Studio, Gemini CLI, Goose and Codex their code, as of autumn 2026.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui_host.errors import JSON, SettingsError
from tui_host.settings.hosts.host_servers import servers_in
from tui_host.settings.hosts.jsonc import parse
from tui_host.settings.hosts.known_hosts import HOSTS, PASTED, KnownHost
from tui_host.settings.server_entries import read_entry
from tui_host.settings.server_tables import SERVER_NAME, server_from_arguments, server_name
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

    The path is absolute; `files` are the known hosts' own files.
    """
    if path in files:
        return files[path], None
    for host in HOSTS:
        for name in host.project_files:
            if path.parts[-len(Path(name).parts) :] == Path(name).parts:
                return host, path.parents[len(Path(name).parts) - 1]
    return replace(PASTED, is_toml=path.suffix == ".toml"), None


def read_host_entries(text: str, host: KnownHost, folder: Path | None = None) -> tuple[HostEntry, ...]:
    """Return the servers in the text of a host's file; `PASTED` stands for any host, `folder` is the project's.

    Raises:
        BrokenJsonError: The text is not JSON.
        SettingsError: The text is not TOML.
    """
    found = _in_toml(text, host) if host.is_toml else _in_json(text, host)
    return tuple(_entry(place, _HostServer(value=value, host=host, folder=folder)) for place, value in found)


def _in_toml(text: str, host: KnownHost) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    try:
        servers = tomllib.loads(text).get("mcp_servers")
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"not TOML: {error}", host.title, "fix it first; nothing was added") from None
    for name, value in servers.items() if is_table(servers) else ():
        if is_table(value):
            yield ("mcp_servers", name), value


def _in_json(text: str, host: KnownHost) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    entries = servers_in(text, host)
    for entry in entries:
        outer, inner = entry.outer.value, entry.node.value
        if is_table(outer) and is_table(inner):
            yield entry.place, {name: value for name, value in outer.items() if name != host.inside} | inner
    root = parse(text)
    if entries or host is not PASTED or root is None or not is_table(root.value):
        return
    ways = {*_COMMANDS, *PASTED.urls}  # bare entries: an entry alone, or an object of entries
    if ways & root.value.keys():
        yield (), root.value
    else:
        for name, value in root.value.items():
            if is_table(value) and ways & value.keys():
                yield (name,), value


def _entry(place: tuple[str, ...], server: _HostServer) -> HostEntry:
    table = {**server.table(), "enabled": False}
    typed = place[-1] if place else _name_of(table)
    name = typed if SERVER_NAME.fullmatch(typed) else server_name(typed)
    if name != typed:
        server.notes.append(f"named {typed} there")
    try:
        if not server.problem:
            _, warnings = read_entry(name, table)
            server.notes += [warning.removeprefix(f"servers.{name}: ") for warning in warnings]
    except SettingsError as error:
        server.problem = str(error).removeprefix(f"servers.{name}: ")
    return HostEntry(name=name, place=place, table=table, notes=tuple(server.notes), problem=server.problem)


def _name_of(table: Mapping[str, object]) -> str:
    args = table.get("args")
    words = [str(table.get("command")), *(map(str, args) if is_array(args) else ())]
    try:
        return server_from_arguments(words if "command" in table else str(table.get("url"))).name
    except SettingsError:
        return "server"


@dataclass(slots=True, kw_only=True)
class _HostServer:
    """A server as its host describes it.

    Attributes:
        notes: What the user has to know, collected while the table is made.
        problem: Why the server cannot be imported.
    """

    value: Mapping[str, object]
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
            table = self._remote(url)
            if transport == "sse" or (not transport and url == "url" and self.host.url_is_sse):
                table["transport"] = "sse"
        else:
            self.problem = "it has no command and no URL"
        if seconds := self._seconds():
            table["timeout"] = seconds
        self._note_what_is_left()
        return {key: value for key, value in table.items() if value or key == "args"}

    def _program(self) -> dict[str, object]:
        args = [self._filled(str(word)) for word in self._array("args")]
        variables = {name: f"${{{name}}}" for name in map(str, self._array("env_vars"))}
        table: dict[str, object] = {
            "command": self._filled(self._text(*_COMMANDS)),
            "args": args,
            "env": self._texts("env") | self._texts("envs") | variables,
            "cwd": self._filled(self._text("cwd")),
        }
        if any(map(_WRAPPER.fullmatch, args)):
            url = next((word for word in args if word.startswith(("http://", "https://"))), "its URL")
            self.notes.append(f"mcp-remote is not needed here: tui-host servers add NAME {url}")
        return table

    def _remote(self, url: str) -> dict[str, object]:
        headers = self._texts("headers") | self._texts("http_headers")
        headers |= {name: f"${{{variable}}}" for name, variable in self._texts("env_http_headers").items()}
        if variable := self._text("bearer_token_env_var"):
            headers["Authorization"] = f"Bearer ${{{variable}}}"
        return {"url": self._filled(self._text(url)), "headers": headers}

    def _text(self, *names: str) -> str:
        values = (self.value.get(name) for name in names)
        return next((value for value in values if isinstance(value, str)), "")

    def _array(self, name: str) -> list[object]:
        value = self.value.get(name)
        return value if is_array(value) else []

    def _texts(self, name: str) -> dict[str, str]:
        values = self.value.get(name)
        texts: dict[str, str] = {}
        for key, value in values.items() if is_table(values) else ():
            if value is None:
                self.notes.append(f"{name}.{key} is removed there; here it is simply not passed on")
            else:
                texts[key] = self._filled(str(value).lower() if isinstance(value, bool) else str(value))
        return texts

    def _filled(self, text: str) -> str:
        """Write the host's references in our form; unknown ones stay."""
        if self.host.has_bare_references:
            text = _BARE_REFERENCE.sub(r"${\1}", text)
        return _REFERENCE.sub(self._reference, text)

    def _reference(self, match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        variable = re.sub(r"\W", "_", name or "")
        if kind == "input:":
            self.notes.append(f"set the environment variable {variable.upper()}, which {self.host.title} asks for")
            return f"${{{variable.upper()}}}"
        if kind == "env:":
            return f"${{{variable}}}"
        if name in {None, "pathSeparator"}:
            return "/"
        if name == "userHome":
            return "${HOME}"
        if name not in {"workspaceFolder", "workspaceFolderBasename"}:
            return f"${{{variable}}}"
        if self.folder is None:
            self.notes.append("it depends on the host's open folder: replace ${workspaceFolder} by a path")
            return f"${{{name}}}"
        return str(self.folder) if name == "workspaceFolder" else self.folder.name

    def _seconds(self) -> float:
        for name in ("timeout", "tool_timeout_sec"):
            value = self.value.get(name)
            if isinstance(value, (int, float)) and value > 0:
                if self.host.milliseconds:
                    return value / 1000
                if value <= MOST_SECONDS:
                    return value
                self.notes.append(f"{name} = {value:g} is taken for milliseconds")
                return value / 1000
        return 0

    def _note_what_is_left(self) -> None:
        if any(self.value.get(name) is state for name, state in _OFF):
            self.notes.append("switched off there")
        for name in _APPROVALS:
            listed = self.value.get(name)
            if listed:
                words = ", ".join(map(str, listed)) if is_array(listed) else "every tool"
                self.notes.append(f"{name} is not imported ({words}): every call is asked about")
        empty: tuple[JSON, ...] = (None, [], {}, "")
        left = [name for name, value in self.value.items() if name not in _READ and value not in empty]
        if left:
            self.notes.append(f"not imported: {', '.join(left)}")
