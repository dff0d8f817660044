"""Read which tools a request offers to its model, and resolve the names in the model's answers."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from tui_host.infer.tapped_frames import TappedFrames
from tui_host.infer.tool_aliases import names_another, names_server, tools_named


class Offers:
    """The tools that a request offers, through the vendor's API or in text, by their names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._named: dict[tuple[str, str, str], bool] = {}

    def means(self, name: str, server: str, tool: str) -> bool:
        """Return whether a name may stand for a server's tool, and not for a namesake on another server.

        A host may call a server by a name of its own: a name that states another server stands for this one's tool only if the
        request offers the name, and no offered name states this server.
        """
        key = name, server, tool
        if key not in self._named:
            self._named[key] = not names_another(*key) or (
                name in self._names and not any(names_server(offered, server, tool) for offered in self._names)
            )
        return self._named[key]


class ToolNames:
    """Resolves tool names with the tools that servers have listed so far.

    Args:
        captures: The captures of model traffic.
        frames: The servers' side.
    """

    def __init__(self, captures: AbstractSet[str], frames: TappedFrames) -> None:
        self._captures = captures
        self._frames = frames
        self._named: tuple[int, dict[str, frozenset[tuple[str, str]]]] = (0, {})

    def means(self, offers: Offers, name: str, server: str, tool: str) -> bool:
        """Return whether a name in an answer may stand for a server's tool."""
        return bool(tools_named(name, [(server, tool)])) and self._is_of(offers, name, server, tool)

    def tools_named(self, name: str, offers: Offers) -> frozenset[tuple[str, str]]:
        """Return server and name of the listed tools that a name in an answer may stand for."""
        tools = self._frames.tools
        if self._named[0] != len(tools):
            self._named = len(tools), {}
        named = self._named[1]
        if name not in named:
            named[name] = tools_named(name, tools)
        return frozenset((server, tool) for server, tool in named[name] if self._is_of(offers, name, server, tool))

    def _is_of(self, offers: Offers, name: str, server: str, tool: str) -> bool:
        """Return whether a name means this server; any where the server has none, as in a file or a tap of several peers."""
        is_unnamed = not self._captures.isdisjoint(self._frames.captures.get(server, ()))
        return is_unnamed or offers.means(name, server, tool)
