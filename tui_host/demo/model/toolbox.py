"""Finds the tool for a rule among the offered tools."""

from __future__ import annotations

import difflib
import re
from collections import Counter

from tui_host.demo.model.request_content import Tool

_HOSTS_OWN = "mcp__"
"""The prefix of other hosts before the server's name."""
_JOINED = "__"
"""What tells where the server's name ends. Others join the two with a sign that stands in a tool's own name as well."""
_ANOTHER = 2
"""How strange a server is that is not named at all."""


class Toolbox:
    """The offered tools. Names are looked up, and parsed only to guess a tool's purpose."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self.tools = tools

    def ending(self, *names: str, prefer: str = "") -> Tool | None:
        """Return the first offered tool among these names, preferably of the server `prefer`."""
        for name in names:
            if candidates := self._own(name, prefer):
                return min(candidates, key=lambda each: _strangeness(each[0], prefer))[1]
        return None

    def _own(self, own: str, server: str) -> list[tuple[str, Tool]]:
        """Return the tools with this name of their own, each with the host's prefix."""
        prefixed = ((_before(tool.name, own, server), tool) for tool in self.tools)
        return [(host, tool) for host, tool in prefixed if host is not None]

    def named(self, asked: str) -> Tool | None:
        """Return the tool for a person's `SERVER.TOOL`, bare name, or full name."""
        server, dot, own = asked.partition(".")
        joined = f"{server}{_JOINED}{own}" if dot else asked
        wanted = [joined, _clean(joined), asked]
        for name in wanted:
            for tool in self.tools:
                if tool.name == name:
                    return tool
        return self._shortened(wanted[1]) or self._by_own_name(own or asked, server if dot else "")

    def _shortened(self, wanted: str) -> Tool | None:
        # A name that was too long or taken ends in a hash: what stands before it begins the full name.
        for tool in self.tools:
            cut = re.fullmatch(r"(.+__.+)_[0-9a-f]{6,}", tool.name)
            if cut and wanted.startswith(cut[1]):
                return tool
        return None

    def _by_own_name(self, own: str, server: str) -> Tool | None:
        candidates = self._own(own, server) or self._own(_clean(own), server)
        if not server or not candidates:
            return candidates[0][1] if candidates else None
        host, tool = min(candidates, key=lambda each: _strangeness(each[0], server))
        if _strangeness(host, server) < _ANOTHER:
            return tool
        hosts = {"_".join(_words(host)): tool for host, tool in reversed(candidates)}
        return next((hosts[close] for close in difflib.get_close_matches(_clean(server), list(hosts), n=1)), None)

    def close_to(self, asked: str) -> list[str]:
        """Return similar names of offered tools."""
        names = {tool.name.replace("__", ".", 1): tool.name for tool in self.tools}
        own = asked.rpartition(".")[2]
        ends = [name for name in names.values() if own_name(name) == own]
        close = difflib.get_close_matches(asked[:100], list(names), n=5, cutoff=0.4)
        return list(dict.fromkeys([*ends, *(names[name] for name in close)]))

    def by_server(self) -> dict[str, int]:
        """How many tools each server offers, in the order of the request."""
        return dict(Counter(server_name(tool.name) or "?" for tool in self.tools if not tool.is_of_host))


def _before(name: str, own: str, server: str) -> str | None:
    """Return the host's prefix before a tool's own name. None if the own name differs.

    It ends with a sign: inside a word no name begins. Where two lines tell where the server's name ends, the own one begins behind them,
    and nowhere else but behind the server that is known.
    """
    host = name[: max(0, len(name) - len(own))]
    if name[len(host) :].casefold() != own.casefold() or host[-1:].isalnum():
        return None
    is_told = not host or host.endswith(_JOINED) or _JOINED not in host.removeprefix(_HOSTS_OWN)
    return host if is_told or (server and _words(host)[-len(_words(server)) :] == _words(server)) else None


def _strangeness(host: str, server: str) -> int:
    """Grade a prefix: 0 if it names the server, 1 if it contains the server's name, else 2."""
    words, wanted = _words(host), _words(server)
    if words == wanted:
        return 0
    places = range(len(words) - len(wanted) + 1)
    return 1 if wanted and any(words[place : place + len(wanted)] == wanted for place in places) else _ANOTHER


def _words(name: str) -> list[str]:
    """Split a server's name into words, without another host's prefix."""
    words = [word.casefold() for word in re.split(r"[\W_]+", name) if word]
    return words[1:] if words[:1] == [_HOSTS_OWN.strip("_")] and len(words) > 1 else words


def own_name(name: str) -> str:
    """Return the part of a tool's name after the server's."""
    bare = name.removeprefix(_HOSTS_OWN)
    return bare.partition("__")[2] or bare


def server_name(name: str) -> str:
    """The server in a tool's name, empty if none can be told."""
    server, marker, _ = name.removeprefix(_HOSTS_OWN).partition("__")
    return server if marker else ""


def parameter(tool: Tool, *names: str) -> str:
    """Choose the tool's parameter for a value: a given name, else the first required parameter, else the first name."""
    for name in names:
        if name in tool.types:
            return name
    return tool.required[0] if tool.required else names[0]


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
