"""Decide which tool a host's name for a tool means. Hosts join, clean and shorten the names of servers and tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from os.path import commonprefix
from typing import TypeAlias

from tui_host.errors import JSON
from tui_host.infer.call_values import READING, Call, canonical, canonical_text

Tool: TypeAlias = tuple[str, str]
"""Server and own name of a tool."""
_HUB = "invoke"  # the end of the name of a hub's tool, whose arguments hold the actual call
_NO_WORD = re.compile(r"[\W_]+")
_KEY = r"(?=[a-z]*\d)[0-9a-f]{6,}"  # a digest that hosts put in place of what they cut, or of a server's name
_NO_SERVER = re.compile(rf"[0-9a-z]*0mcp0|mcp|server|claudeai|plugin|(?:(?<=_)|^){_KEY}(?=_|$)|_")
"""What identifies no server."""
_SERVER = 7  # how many characters of a server's name hosts keep at least
_LIMIT = 40  # the length from which a name may have been shortened
_ALIKE = 12  # how many characters a shortened name shares with the full name at the beginning
_READING = re.compile(r"access_mcp_resource|read_?(?:mcp_?)?resource(?:_?tool)?\Z", re.IGNORECASE)
_WHERE = ("server_name", "server", "serverName", "extension_name")


def meant(asked: Call) -> tuple[str, str | None]:
    """Return name and arguments of the tool meant by a call, also through a hub's `invoke` or a tool that reads resources."""
    arguments, reads = canonical_text(asked.arguments), _READING.search(asked.name)
    if arguments is None or not (asked.name.endswith(_HUB) or reads):
        return asked.name, arguments
    value: JSON = json.loads(arguments)
    if isinstance(value, dict) and value.keys() == {"name", "params"} and isinstance(name := value["name"], str):
        return name, canonical(value["params"])
    if isinstance(value, dict) and reads and isinstance(uri := value.get("uri"), str):
        server = next((named for key in _WHERE if isinstance(named := value.get(key), str)), "")
        return f"{server or asked.name[: reads.start()].strip('_')}__{READING}", canonical({"uri": uri})
    return asked.name, arguments


def tools_named(name: str, tools: Iterable[Tool], offered: Sequence[str] = ()) -> frozenset[Tool]:
    """Return the tools that a model's name for one may stand for: the longest tool name in it counts, and then the longest server name."""
    rests = {tool: rest for tool in tools if (rest := _rest(name, tool[1])) is not None}
    if not rests:
        # Those whose full names are most like a name that was cut.
        squeezed, alike = _squeezed(name).removeprefix("mcp"), dict[Tool, int]()
        for tool in tools if len(name) >= _LIMIT else ():
            for whole in (_squeezed("".join(tool)), _squeezed(tool[0][:_SERVER] + tool[1])):
                # How many characters are the same at the beginning and the end.
                pairs = ((squeezed, whole), (squeezed[::-1], whole[::-1]))
                front, back = (len(commonprefix(pair)) for pair in pairs)  # noqa: RUF071 - these are no paths
                length = front + back * (back >= _ALIKE)
                alike[tool] = max(alike.get(tool, 0), length * (front >= _ALIKE))
        most = max(alike.values(), default=0)
        return frozenset(tool for tool, length in alike.items() if length == most >= _ALIKE)
    longest = max(len(_squeezed(tool)) for _, tool in rests)
    shared = {tool: _shared(tool[0], rest) for tool, rest in rests.items() if len(_squeezed(tool[1])) == longest}
    most = max(shared.values())
    if most:
        return frozenset(tool for tool, length in shared.items() if length == most)
    # A host may call a server by another name than the tap does, if it calls no other by the tap's.
    is_renamed = name in offered
    return frozenset(
        tool
        for tool in shared
        if not _NO_SERVER.sub("", rests[tool])
        or (is_renamed and not any(names_server(offer, *tool) for offer in offered))
    )


def names_server(name: str, server: str, tool: str) -> bool:
    """Return whether a name states the server of a tool."""
    rest = _rest(name, tool)
    return rest is not None and _shared(server, rest) > 0


def _rest(name: str, tool: str) -> str | None:
    """Return what stands in a name beside the tool's own name; None if the tool's name does not begin or end it."""
    own, whole = (_NO_WORD.sub("_", text).strip("_").lower() for text in (tool, name))
    if not own:
        return None
    if own in whole:
        parts = re.fullmatch(rf"((?:.*(?:_|0mcp0))?){re.escape(own)}(?:_{_KEY})?|{re.escape(own)}(_.*)", whole)
        if parts is not None:
            return parts[1] or parts[2] or ""
    before, joint, last = name.rpartition("__")
    return before if joint and _squeezed(last) == _squeezed(tool) else None


def _shared(server: str, rest: str) -> int:
    """Return how many characters of a server's name, whole or cut, stand in the rest of a name."""
    own, there = _squeezed(server), _squeezed(rest)
    if own and own in there:
        return len(own)
    return _SERVER if len(own) > _SERVER and own[:_SERVER] in there else 0


def _squeezed(name: str) -> str:
    return _NO_WORD.sub("", name).lower()
