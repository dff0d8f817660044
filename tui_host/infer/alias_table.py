"""Resolve the tool names in a model's answers, by what servers list and what requests offer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tui_host.infer.asking.conversations import Talks
from tui_host.infer.asking.model_exchange import Asking
from tui_host.infer.tapped_frames import Frames
from tui_host.infer.tool_aliases import tools_named

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Naming:
    """Resolves tool names with the tools that servers have listed so far.

    Args:
        talks: The conversations.
        frames: The servers' side.
    """

    def __init__(self, talks: Talks, frames: Frames) -> None:
        self._talks = talks
        self._frames = frames
        self._named: tuple[int, dict[str, frozenset[tuple[str, str]]]] = (0, {})

    def means(self, asking: Asking, name: str, server: str, tool: str) -> bool:
        """Return whether a name in an answer may stand for a server's tool."""
        return asking.offers.means(name, server, tool, self._listed(server))

    def may_ask_for(self, asking: Asking, server: str, tool: str) -> bool:
        """Return whether a request offers a server's tool to the model."""
        return asking.offers.may_ask_for(server, tool, self._listed(server))

    def tools_named(self, name: str, asking: Asking) -> frozenset[tuple[str, str]]:
        """Return server and name of the listed tools that a name in an answer may stand for."""
        tools = self._frames.tools
        if self._named[0] != len(tools):
            self._named = len(tools), {}
        named = self._named[1]
        if name not in named:
            named[name] = tools_named(name, tools)
        return frozenset((server, tool) for server, tool in named[name] if self.means(asking, name, server, tool))

    def _listed(self, server: str) -> Mapping[str, str] | None:
        """Return a server's tool list; None where the server has no name, as in a file or a tap of several peers."""
        if not self._talks.captures.isdisjoint(self._frames.captures.get(server, ())):
            return None
        return self._frames.listed.get(server, _NOTHING)
