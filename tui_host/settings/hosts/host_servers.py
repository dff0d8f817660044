"""Finds the servers in a host's configuration file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tui_host.settings.hosts.jsonc import PlacedValue, parse
from tui_host.settings.hosts.known_hosts import ANY, KnownHost
from tui_host.settings.table_reader import is_table

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
    return tuple(_entry(place, root) for place, _ in tables_in(root.value, host))


def _entry(place: Place, node: PlacedValue) -> ServerEntry:
    for key in place:
        node = node.members[key]
    inner = node.members.get(INSIDE)
    if inner is not None and is_table(inner.value):
        node = inner
    urls = [node.members[key].value for key in URLS if key in node.members and "command" not in node.members]
    return ServerEntry(place=place, node=node, url=next((url for url in urls if isinstance(url, str)), ""))


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
