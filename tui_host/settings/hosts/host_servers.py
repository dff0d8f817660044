"""Finds the servers in a host's configuration file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tui_host.settings.hosts.jsonc import PlacedValue, parse
from tui_host.settings.hosts.known_hosts import ANY, KnownHost


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """A server entry in a host's configuration file."""

    place: tuple[str, ...]  # the keys that lead to it; the last is the host's name for the server
    node: PlacedValue  # what holds the server's command or URL: the whole entry, or an object inside it
    url: str
    outer: PlacedValue  # the whole entry

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
    return tuple(
        _entry((*place, name), node, host)
        for keys in host.servers
        for place, servers in _below(root, keys, ())
        for name, node in servers.members.items()
        if isinstance(node.value, dict)
    )


def _entry(place: tuple[str, ...], outer: PlacedValue, host: KnownHost) -> ServerEntry:
    inner = outer.members.get(host.inside)
    node = inner if inner is not None and isinstance(inner.value, dict) else outer
    urls = (node.members[key].value for key in host.urls if key in node.members)
    url = next((url for url in urls if isinstance(url, str)), "")
    return ServerEntry(place=place, node=node, url="" if "command" in node.members else url, outer=outer)


def _below(
    node: PlacedValue | None, keys: tuple[str, ...], place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], PlacedValue]]:
    """Yield the objects that keys lead to, each with its place."""
    if node is None or not isinstance(node.value, dict):
        return
    if not keys:
        yield place, node
        return
    for key in node.members if keys[0] == ANY else keys[:1]:
        yield from _below(node.members.get(key), keys[1:], (*place, key))
