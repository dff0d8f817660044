"""Finds the servers in a host's configuration file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tui_host.settings.hosts.jsonc import Array, Node, Object, Scalar, parse
from tui_host.settings.hosts.known_hosts import ANY, KnownHost


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A server entry in a host's configuration file.

    Attributes:
        place: The keys that lead to the entry.
        node: The object that holds the server's command or URL.
        url: The URL of a remote server, else empty.
        outer: The whole entry; `node` itself, or the object around `node`.
    """

    place: tuple[str, ...]
    node: Object
    url: str
    outer: Object

    @property
    def name(self) -> str:
        """The host's name for the server."""
        return self.place[-1]

    @property
    def words(self) -> tuple[str, ...] | None:
        """The command and its arguments; None without a command, or if the arguments are not a list of strings."""
        command = self.node.member("command")
        if command is None or not isinstance(command.value, Scalar) or not isinstance(command.value.value, str):
            return None
        arguments = self.node.member("args")
        if arguments is None or is_null(arguments.value):
            return (command.value.value,)
        if not isinstance(arguments.value, Array):
            return None
        words = [
            element.value
            for element in arguments.value.elements
            if isinstance(element, Scalar) and isinstance(element.value, str)
        ]
        return (command.value.value, *words) if len(words) == len(arguments.value.elements) else None

    @property
    def no_arguments(self) -> str:
        """How the file writes an empty argument list (`null` or `[]`); empty if it has no `args`, or arguments."""
        arguments = self.node.member("args")
        if arguments is None or not (is_null(arguments.value) or isinstance(arguments.value, Array)):
            return ""
        return "null" if not isinstance(arguments.value, Array) else "" if arguments.value.elements else "[]"


def is_null(node: Node) -> bool:
    """Whether a node is JSON's `null`."""
    return isinstance(node, Scalar) and node.value is None


def servers_in(text: str, host: KnownHost) -> tuple[Entry, ...]:
    """Return all server entries in the text of a host's file.

    Raises:
        BrokenJsonError: The text is not JSON.
    """
    return tuple(_entries(parse(text), host))


def _entries(root: Node | None, host: KnownHost) -> Iterator[Entry]:
    for keys in host.servers:
        for place, servers in _below(root, keys, ()):
            for name in dict.fromkeys(member.key for member in servers.members):
                member = servers.member(name)
                if member is not None and isinstance(member.value, Object):
                    yield _entry((*place, name), member.value, host)


def _entry(place: tuple[str, ...], node: Object, host: KnownHost) -> Entry:
    outer = node
    inner = node.member(host.inside) if host.inside else None
    if inner is not None and isinstance(inner.value, Object):
        node = inner.value
    url_members = (node.member(key) for key in host.urls)
    values = (member.value.value for member in url_members if member is not None and isinstance(member.value, Scalar))
    url = next((value for value in values if isinstance(value, str)), "")
    return Entry(place=place, node=node, url="" if node.member("command") else url, outer=outer)


def _below(
    node: Node | None, keys: tuple[str, ...], place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Object]]:
    if not isinstance(node, Object):
        return
    if not keys:
        yield place, node
        return
    for key in dict.fromkeys(member.key for member in node.members) if keys[0] == ANY else keys[:1]:
        member = node.member(key)
        if member is not None:
            yield from _below(member.value, keys[1:], (*place, key))
