"""Translates the servers in other hosts' configuration files into tables of our own, and says what is lost."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tui_host.errors import JSON, SettingsError
from tui_host.settings.hosts.jsonc import PlacedValue, parse
from tui_host.settings.hosts.known_hosts import ANY, HOSTS, PASTED, KnownHost
from tui_host.settings.schema import SERVER_NAME
from tui_host.settings.table_reader import is_array, is_table
from tui_host.settings.tables import read_entry, server_name

URLS = ("httpUrl", "serverUrl", "url", "baseUrl", "uri")
"""Members that hold a server's URL; the first counts."""
INSIDE = "transport"
"""A member of a server that may be an object, with the command or URL in it."""

Place = tuple[str, ...]
"""The keys that lead to a server; the last is the host's name for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """A server entry in a host's configuration file."""

    place: Place
    node: PlacedValue  # what holds the server's command or URL: the whole entry, or an object inside it
    url: str

    @property
    def words(self) -> tuple[str, ...] | None:
        """The command and its arguments; None without a command, or if the arguments are not a list of strings."""
        command, arguments = self.node.members.get("command"), self.node.members.get("args")
        if command is None or not (arguments is None or arguments.value is None or isinstance(arguments.value, list)):
            return None
        nodes = [command, *([] if arguments is None else arguments.elements)]
        words = [node.value for node in nodes if isinstance(node.value, str)]
        return tuple(words) if len(words) == len(nodes) else None


def servers_in(text: str, host: KnownHost, where: str) -> tuple[ServerEntry, ...]:
    """Return all server entries in the text of a host's file; `where` names the file if its text is not JSON."""
    root = parse(text, where)
    entries: list[ServerEntry] = []
    for place, _ in tables_in(root.value, host):
        node = root
        for key in place:
            node = node.members[key]
        inner = node.members.get(INSIDE)
        if inner is not None and is_table(inner.value):
            node = inner
        urls = [node.members[key].value for key in URLS if key in node.members and "command" not in node.members]
        url = next((url for url in urls if isinstance(url, str)), "")
        entries.append(ServerEntry(place=place, node=node, url=url))
    return tuple(entries)


def tables_in(root: object, host: KnownHost) -> Iterator[tuple[Place, Mapping[str, object]]]:
    """Yield place and members of each server in the value of a host's file."""
    ways = {"command", *URLS}
    for keys in dict.fromkeys(host.servers):
        for place, servers in _below(root, keys, ()):
            for name, server in servers.items():
                if is_table(server) and (keys or ways & server.keys()):  # at the top, other things stand too
                    yield (*place, name), server


def _below(value: object, keys: Place, place: Place) -> Iterator[tuple[Place, Mapping[str, object]]]:
    """Yield the objects that keys lead to, each with its place."""
    if not is_table(value):
        return
    if not keys:
        yield place, value
        return
    for key in value if keys[0] == ANY else keys[:1]:
        yield from _below(value.get(key), keys[1:], (*place, key))


MOST_SECONDS = 3600
"""A longer time limit is taken for milliseconds, in which Gemini CLI counts."""
_OTHER_NAMES = {
    "http_headers": "headers",
    "tool_timeout_sec": "timeout",
    "transport": "type",
    "transportType": "type",
}
_OURS = ("command", "args", "cwd", "url", "headers", "transport", "timeout", "env")
_CODEX = ("env_vars", "env_http_headers", "bearer_token_env_var")
_WITHOUT_LOSS = ("type", "name", "description", "disabled", "enabled", "isActive")  # what is imported is always off
_READ = frozenset((*_OURS, *_CODEX, *_WITHOUT_LOSS, *URLS))
_REFERENCE = re.compile(r"\$\{(env:|input:)?([A-Za-z_][\w.-]*)\}")
_BARE_REFERENCE = re.compile(r"\$([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEntry:
    """A server of another host, with our own table for it, in which it is switched off."""

    name: str  # a valid one, made from the host's name for the server
    place: tuple[str, ...]
    table: Mapping[str, object]
    notes: tuple[str, ...] = ()  # what is not imported, and secrets that are written out
    problem: str = ""  # why the server cannot be imported, if it cannot


def host_of(path: Path, files: Mapping[Path, KnownHost]) -> KnownHost:
    """Return the host that a file belongs to; `files` are the known hosts' own files."""
    projects = (host for host in HOSTS if host.project_file and path.match(host.project_file))
    return files.get(path) or next(projects, replace(PASTED, is_toml=path.suffix == ".toml"))


def value_in(text: str, where: str, *, is_toml: bool = False) -> JSON:
    """Return what the text of a host's file says, which `where` names in a `SettingsError`; a date in TOML becomes text."""
    if not is_toml:
        return parse(text, where).value
    try:
        return json.loads(json.dumps(tomllib.loads(text), default=str))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"not TOML: {error}", where, "fix it first; nothing was written") from None


def read_host_entries(text: str, host: KnownHost, *, where: str = "") -> tuple[HostEntry, ...]:
    """Return the servers in the text of a host's file, which `where` names in a `SettingsError`."""
    root = value_in(text, where, is_toml=host.is_toml)
    return tuple(_entry(place, values, host) for place, values in tables_in(root, host))


def _entry(place: Place, values: Mapping[str, object], host: KnownHost) -> HostEntry:
    """Make our own table of a server as its host describes it, and note what is lost."""
    name, problem, notes = place[-1], "", list[str]()
    inner = values.get(INSIDE)
    if is_table(inner):
        values = {key: value for key, value in values.items() if key != INSIDE} | inner
    given = {_OTHER_NAMES.get(key, key): value for key, value in values.items() if value not in (None, [], {})}
    if left := [key for key in given if key not in _READ]:
        notes.append(f"not imported: {', '.join(left)}")
    tables = {key: value for key, value in given.items() if is_table(value)}
    if "command" in given:
        table = {key: given.get(key) for key in ("command", "args", "cwd")}
        names = given.get("env_vars")
        passed = {str(variable): f"${{{variable}}}" for variable in names} if is_array(names) else {}
        table["env"] = tables.get("env", {}) | passed
    else:
        url = next((key for key in URLS if key in given), "url")
        variables = tables.get("env_http_headers", {})
        headers = tables.get("headers", {}) | {key: f"${{{held}}}" for key, held in variables.items()}
        if variable := given.get("bearer_token_env_var"):
            headers["Authorization"] = f"Bearer ${{{variable}}}"
        table = {"url": given.get(url), "headers": headers}
        kind = given.get("type", "sse" if url == "url" and host.url_is_sse else "http")
        if kind == "sse":
            table["transport"] = "sse"
    seconds = given.get("timeout")
    if isinstance(seconds, (int, float)):
        table["timeout"] = seconds / 1000 if seconds > MOST_SECONDS else seconds

    def reference(match: re.Match[str]) -> str:
        """Write a host's reference in our form; an unknown one stays."""
        kind, held = match[1], match[2]
        variable = re.sub(r"\W", "_", held)
        if kind == "input:":
            variable = variable.upper()
            notes.append(f"set the environment variable {variable}, which {host.title} asks for")
        elif held == "userHome":
            variable = "HOME"
        elif held.startswith("workspaceFolder"):
            notes.append("it depends on the host's open folder: replace ${workspaceFolder} by a path")
        return f"${{{variable}}}"

    text = json.dumps({key: value for key, value in table.items() if value}, ensure_ascii=False)
    text = _BARE_REFERENCE.sub(r"${\1}", text) if host.has_bare_references else text
    table = {**json.loads(_REFERENCE.sub(reference, text)), "enabled": False}
    if not re.fullmatch(SERVER_NAME, name):
        notes.append(f"named {name} there")
        name = server_name(name)
    try:
        _, warnings = read_entry(name, table)
        notes += [warning.removeprefix(f"servers.{name}: ") for warning in warnings]
    except SettingsError as error:
        problem = str(error).removeprefix(f"servers.{name}: ")
    return HostEntry(name=name, place=place, table=table, notes=tuple(notes), problem=problem)
