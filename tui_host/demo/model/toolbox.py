"""Finds the tool for a rule among the offered tools."""

from __future__ import annotations

import difflib
import re
from collections import Counter

from tui_host.demo.model.request_content import Tool

_HOSTS_OWN = "mcp__"
"""The prefix of other hosts before the server's name."""
_JOINED = "__"
"""What separates the server's name from the tool's. Other hosts use a character that tools' names contain too."""
_OTHER_SERVER = 2
"""The grade of a tool whose name does not contain the server's."""


class Toolbox:
    """The offered tools. Names are looked up, and split only to guess a tool's purpose."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self.tools = tools

    def ending(self, *names: str, prefer: str = "") -> Tool | None:
        """Return the first offered tool among these names, preferably of the server `prefer`."""
        return next((graded[0][1] for name in names if (graded := self._graded(name, prefer))), None)

    def _graded(self, own: str, server: str) -> list[tuple[int, Tool]]:
        """Return the tools with this own name, each with a grade, best first.

        The grade is 0 if the part before the name is the server's, 1 if that part contains the server's name.
        """
        wanted, host = _words(own), _words(server)
        graded: list[tuple[int, Tool]] = []
        for tool in self.tools:
            words = _words(tool.name)
            before = words[: len(words) - len(wanted)]
            is_behind_server = bool(host) and before[-len(host) :] == host
            if words[len(before) :] != wanted or not (is_behind_server or _can_be_own(tool.name, wanted)):
                continue
            places = range(len(before) - len(host) + 1)
            has_host = bool(host) and any(before[place : place + len(host)] == host for place in places)
            graded.append((0 if before == host else 1 if has_host else _OTHER_SERVER, tool))
        return sorted(graded, key=lambda pair: pair[0])

    def named(self, asked: str) -> Tool | None:
        """Return the tool that a user names as `SERVER.TOOL`, by its own name, or by its full name."""
        server, dot, own = asked.partition(".")
        joined = f"{server}{_JOINED}{own}" if dot else asked
        for name in (joined, _clean(joined), asked):
            for tool in self.tools:
                if tool.name == name:
                    return tool
        return self._shortened(_clean(joined)) or self._by_own_name(own or asked, server if dot else "")

    def _shortened(self, wanted: str) -> Tool | None:
        # A full name that was too long or already used ends in a hash: compare its beginning.
        for tool in self.tools:
            cut = re.fullmatch(r"(.+__.+)_[0-9a-f]{6,}", tool.name)
            if cut and wanted.startswith(cut[1]):
                return tool
        return None

    def _by_own_name(self, own: str, server: str) -> Tool | None:
        graded = self._graded(own, server)
        is_servers = bool(graded) and (not server or graded[0][0] < _OTHER_SERVER)
        return graded[0][1] if is_servers else None

    def close_to(self, asked: str) -> list[str]:
        """Return names of offered tools that are similar to a name."""
        names = {tool.name.replace("__", ".", 1): tool.name for tool in self.tools}
        own = asked.rpartition(".")[2]
        ends = [name for name in names.values() if own_name(name) == own]
        close = difflib.get_close_matches(asked[:100], list(names), n=5, cutoff=0.4)
        return list(dict.fromkeys([*ends, *(names[name] for name in close)]))

    def by_server(self) -> dict[str, int]:
        """Count the tools of each server, in the order of the request."""
        return dict(Counter(server_name(tool.name) or "?" for tool in self.tools if not tool.is_of_host))


def _can_be_own(name: str, wanted: list[str]) -> bool:
    """Return whether words at the end of a name may be the tool's own name: after `__` if there is one, else anywhere."""
    parts = name.removeprefix(_HOSTS_OWN).split(_JOINED)
    places = range(1, len(parts))
    return len(parts) == 1 or any(_words(_JOINED.join(parts[place:])) == wanted for place in places)


def _words(name: str) -> list[str]:
    """Split a name into words, without another host's prefix."""
    words = [word.casefold() for word in re.split(r"[\W_]+", name) if word]
    return words[1:] if words[:1] == [_HOSTS_OWN.strip("_")] and len(words) > 1 else words


def own_name(name: str) -> str:
    """Return the part of a tool's name after the server's name."""
    bare = name.removeprefix(_HOSTS_OWN)
    return bare.partition("__")[2] or bare


def server_name(name: str) -> str:
    """Return the server's part of a tool's name, empty if unknown."""
    server, marker, _ = name.removeprefix(_HOSTS_OWN).partition("__")
    return server if marker else ""


def parameter(tool: Tool, *names: str) -> str:
    """Choose a tool's parameter for a value: a given name, else the first required one, else the first given name."""
    for name in names:
        if name in tool.types:
            return name
    return tool.required[0] if tool.required else names[0]


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
