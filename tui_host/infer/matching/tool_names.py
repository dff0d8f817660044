"""Decide which tool a host's name for a tool means. Hosts join, clean and shorten the names of servers and tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from tui_host.errors import JSON
from tui_host.infer.call_values import READING, Call, canonical, canonical_text

HUB = "invoke"
"""The end of the name of a hub's tool, whose arguments hold the actual call."""
_NO_WORD = re.compile(r"[\W_]+")
_SERVER = 7
"""How many characters of a server's name hosts keep at least."""
_LIMIT = 40
"""The length from which a name may have been shortened."""
_ALIKE = 12
"""How many characters a shortened name shares with the full name at the beginning."""
_KEY = re.compile(r"(?=[a-z]*\d)[0-9a-f]{6,}")
"""A digest that hosts put in place of what they cut, or of a server's name."""
_NO_SERVER = re.compile(r"[0-9a-z]*0mcp0|mcp|server|claudeai|plugin")
"""What identifies no server."""
_READING = re.compile(r"access_mcp_resource|read_?(?:mcp_?)?resource(?:_?tool)?\Z", re.IGNORECASE)
_WHERE = ("server_name", "server", "serverName", "extension_name")


def meant(asked: Call) -> tuple[str, str | None]:
    """Return name and arguments of the tool meant by a call, also through a hub's `invoke` or a tool that reads resources."""
    arguments = canonical_text(asked.arguments)
    reads = _READING.search(asked.name)
    if arguments is None or not (asked.name.endswith(HUB) or reads):
        return asked.name, arguments
    value: JSON = json.loads(arguments)
    if not isinstance(value, dict):
        return asked.name, arguments
    if value.keys() == {"name", "params"} and isinstance(name := value["name"], str):
        return name, canonical(value["params"])
    if reads and isinstance(uri := value.get("uri"), str):
        server = next((named for key in _WHERE if isinstance(named := value.get(key), str)), "")
        return f"{server or asked.name[: reads.start()].strip('_')}__{READING}", canonical({"uri": uri})
    return asked.name, arguments


def tools_named(name: str, tools: Iterable[tuple[str, str]], offered: Sequence[str] = ()) -> frozenset[tuple[str, str]]:
    """Return the tools that a name may stand for: the longest tool name in it counts, and then the longest server name.

    Args:
        name: The name that the model uses.
        tools: Server and own name of all known tools.
        offered: All names that the request offers.
    """
    rests = {tool: rest for tool in tools if (rest := _rest(name, tool[1])) is not None}
    if not rests:
        return _shortened(name, tools)
    longest = max(len(_squeezed(tool)) for _, tool in rests)
    rests = {tool: rest for tool, rest in rests.items() if len(_squeezed(tool[1])) == longest}
    named = {tool: _shared(tool[0], rest) for tool, rest in rests.items()}
    most = max(named.values())
    if most:
        return frozenset(tool for tool, length in named.items() if length == most)
    return frozenset(tool for tool, rest in rests.items() if not _stated(rest) or _is_renamed(name, tool, offered))


def _is_renamed(name: str, tool: tuple[str, str], offered: Sequence[str]) -> bool:
    """Return whether a host may call a tool's server by another name than the tap does: it calls no other by the tap's."""
    return name in offered and not any(names_server(offer, *tool) for offer in offered)


def names_server(name: str, server: str, tool: str) -> bool:
    """Return whether a name states the server of a tool."""
    rest = _rest(name, tool)
    return rest is not None and _shared(server, rest) > 0


def _rest(name: str, tool: str) -> str | None:
    """Return what stands in a name beside the tool's own name; None if the tool's name does not begin or end it."""
    own = _cleaned(tool)
    whole = _cleaned(name)
    if not own:
        return None
    if whole == own:
        return ""
    if whole.endswith(f"_{own}") or (whole.endswith(own) and "0mcp0" in name):
        return whole.removesuffix(own)
    if whole.startswith(f"{own}_"):
        return whole.removeprefix(own)
    head, _, key = whole.rpartition("_")
    if _KEY.fullmatch(key) and head.endswith(f"_{own}"):
        return head.removesuffix(own)
    before, joint, last = name.rpartition("__")
    return before if joint and _squeezed(last) == _squeezed(tool) else None


def _shortened(name: str, tools: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return the tools whose full names are most like a name that was cut."""
    if len(name) < _LIMIT:
        return frozenset()
    shared = {tool: _likeness(_squeezed(name).removeprefix("mcp"), *tool) for tool in tools}
    most = max(shared.values(), default=0)
    return frozenset(tool for tool, length in shared.items() if length == most >= _ALIKE)


def _likeness(squeezed: str, server: str, tool: str) -> int:
    """Return how many characters a name that was cut shares with a tool's full name at its beginning and end."""
    lengths = [0]
    for whole in (_squeezed(server + tool), _squeezed(server[:_SERVER] + tool)):
        front, back = _common(squeezed, whole), _common(squeezed[::-1], whole[::-1])
        if front >= _ALIKE:
            lengths.append(front + (back if back >= _ALIKE else 0))
    return max(lengths)


def _shared(server: str, rest: str) -> int:
    """Return how many characters of a server's name, whole or cut, stand in the rest of a name."""
    own, there = _squeezed(server), _squeezed(rest)
    if own and own in there:
        return len(own)
    return _SERVER if len(own) > _SERVER and own[:_SERVER] in there else 0


def _stated(rest: str) -> str:
    """Return the server that the rest of a name states; empty if none."""
    return _NO_SERVER.sub("", "".join(word for word in rest.split("_") if not _KEY.fullmatch(word)))


def _common(first: str, second: str) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, pair in pairs if pair[0] != pair[1]), min(len(first), len(second)))


def _cleaned(name: str) -> str:
    return _NO_WORD.sub("_", name).strip("_").lower()


def _squeezed(name: str) -> str:
    return _NO_WORD.sub("", name).lower()
