"""The tools that a request offered, and how the brain finds the one that it needs."""

from __future__ import annotations

import difflib
import re
from collections import Counter

from tui_host.demo.model.conversation import Tool

_HOSTS_OWN = "mcp__"
"""What other hosts put before the server's name."""
_HOSTS_OWN_IN_ONE = "mcp_"
"""What some put there, with one line more between server and tool: where the one ends and the other begins cannot be told."""


class Toolbox:
    """The offered tools. Their names are looked up, and taken apart only to guess what a tool is for."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self.tools = tools

    def ending(self, *names: str, prefer: str = "") -> Tool | None:
        """The tool whose own name is the first of these that anyone offers; the server `prefer` goes first."""
        for name in names:
            found = [tool for tool in self.tools if own_name(tool.name).casefold() == name]
            if found:
                return next((tool for tool in found if server_name(tool.name) == prefer), found[0])
        behind_one = [tool for tool in self.tools if tool.name.startswith(_HOSTS_OWN_IN_ONE)]
        return next((tool for name in names for tool in behind_one if tool.name.endswith(f"_{name}")), None)

    def named(self, asked: str) -> Tool | None:
        """The tool that a person calls `SERVER.TOOL`, split at the first dot, or by its bare or full name."""
        server, dot, own = asked.partition(".")
        wanted = [f"{server}__{own}", _clean(f"{server}__{own}")] if dot else [asked, _clean(asked)]
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
        found = [tool for tool in self.tools if tool.name.endswith((f"__{own}", f"__{_clean(own)}"))]
        if not server:
            return found[0] if found else None
        close = difflib.get_close_matches(_clean(server), [server_name(tool.name) for tool in found], n=1)
        return next((tool for tool in found if server_name(tool.name) in close), None)

    def close_to(self, asked: str) -> list[str]:
        """Names that a person may have meant, as they are offered."""
        names = {tool.name.replace("__", ".", 1): tool.name for tool in self.tools}
        own = asked.rpartition(".")[2]
        ends = [name for name in names.values() if own_name(name) == own]
        close = difflib.get_close_matches(asked[:100], list(names), n=5, cutoff=0.4)
        return list(dict.fromkeys([*ends, *(names[name] for name in close)]))

    def by_server(self) -> dict[str, int]:
        """How many tools each server offers, in the order of the request."""
        return dict(Counter(server_name(tool.name) or "?" for tool in self.tools if not tool.is_of_host))


def own_name(name: str) -> str:
    """What stands behind the server in a tool's name, as far as one can tell."""
    bare = name.removeprefix(_HOSTS_OWN)
    return bare.partition("__")[2] or bare


def server_name(name: str) -> str:
    """The server in a tool's name, empty if none can be told."""
    server, marker, _ = name.removeprefix(_HOSTS_OWN).partition("__")
    return server if marker else ""


def parameter(tool: Tool, *names: str) -> str:
    """The tool's parameter for a value: one of these names, else its first required one, else the first name."""
    for name in names:
        if name in tool.types:
            return name
    return tool.required[0] if tool.required else names[0]


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
