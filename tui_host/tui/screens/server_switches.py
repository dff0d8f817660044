"""Switches of servers, tools and instructions, and what they mean for the next request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_host.chat.active_profile import offers
from tui_host.llm.outline import estimate_tokens
from tui_host.settings.save import save_switches
from tui_host.tui.screens.server_catalog import ServerChoices
from tui_host.tui.screens.servers_detail import tokens_of

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ServerStatus, Tool
    from tui_host.servers.pool import Pool

_ON = frozenset({"ready", "connecting", "lost"})
_PLACE = "{server_instructions}"


class ServerSwitches:
    """Switches servers and tools on and off, for this session of the program or for good.

    Args:
        host: The host whose servers are switched.
        session: The session whose next request is described.
    """

    def __init__(self, host: Host, session: Session) -> None:
        self._host = host
        self._session = session
        self._counted: tuple[Sequence[Tool], int] = (), 0

    @property
    def coming(self) -> str:
        """What the next request offers, in words; changes at once with every switch."""
        pool = self._host.pool
        if pool is None:
            return ""
        profile = self._host.settings.profiles.get(self._session.profile)
        tools = [tool for tool in pool.tools() if tool.resources is None and offers(profile, tool.server, tool.name)]
        if self._counted[0] != tools:  # asked at the screen's rate; equal lists are compared by identity
            self._counted = tools, sum(map(tokens_of, tools))
        tokens = self._counted[1]
        behind = " behind the hub" if self._session.protocol.partition("+")[0] == "hub" else ""
        told = [text for name, text in pool.instructions() if offers(profile, name)] if self._has_place else []
        tokens += sum(_tokens(text) for text in told)
        more = f" and the instructions of {len(told)} server{'s' * (len(told) > 1)}" if told else ""
        return f"{len(tools):,} tool{'s' * (len(tools) != 1)}{behind}{more}, ~{tokens:,} tok"

    @property
    def _has_place(self) -> bool:
        """Whether the session's requests have a place for instructions of servers."""
        if self._session.protocol in {"native", "hub"}:
            return True
        profile = self._host.settings.profiles.get(self._session.profile)
        return profile is not None and profile.system is not None and _PLACE in profile.system.text

    def chosen(self, status: ServerStatus, wanted: str) -> ServerChoices:
        """Return what was chosen for a server, for its details."""
        pool = self._host.pool
        if pool is None:
            return ServerChoices(wanted=wanted)
        cost = f"~{_tokens(status.instructions):,} tok"
        words = f"not sent, {cost}; i sends them"
        if pool.server(status.name).is_instructing:
            words = (
                f"sent, {cost} in each request" if self._has_place else f"sent only by a system prompt with {_PLACE}"
            )
        return ServerChoices(off=pool.server(status.name).tools_off, instructions=words, wanted=wanted)

    def switch_server(self, pool: Pool, status: ServerStatus, *, for_good: bool) -> str:
        """Switch a server on or off; returns what was done, in words.

        Raises:
            SettingsError: It cannot be done for good: the configuration file says otherwise, or the choice cannot be written.
        """
        is_on = status.state not in _ON
        if for_good:
            save_switches(self._host.settings, {status.name: is_on})
        server = pool.server(status.name)
        (server.reconnect if is_on else server.stop)()
        return f"{status.name} is {_words(is_on=is_on, for_good=for_good)}"

    def switch_tool(self, pool: Pool, server: str, tool: str, *, for_good: bool) -> str:
        """Switch a tool on or off; returns what was done, in words.

        Raises:
            SettingsError: It was done, but cannot be remembered.
        """
        is_on = tool in pool.server(server).tools_off
        pool.server(server).switch_tool(tool, is_on=is_on)
        if for_good:
            save_switches(self._host.settings, {f"{server}.{tool}": None if is_on else False})
        return f"{server}.{tool} is {_words(is_on=is_on, for_good=for_good)}; next request: {self.coming}"

    def switch_instructions(self, pool: Pool, status: ServerStatus) -> str:
        """Switch a server's instructions on or off; returns what was done, in words."""
        if not status.instructions:
            return f"{status.name} has no instructions"
        is_on = not pool.server(status.name).is_instructing
        pool.server(status.name).switch_instructions(is_on=is_on)
        sent = "are sent from the next turn on" if is_on else "are no longer sent"
        return f"the instructions of {status.name} {sent}; next request: {self.coming}"


def _words(*, is_on: bool, for_good: bool) -> str:
    return f"{'on' if is_on else 'off'} {'for good' if for_good else 'until tui-host ends'}"


def _tokens(text: str) -> int:
    return estimate_tokens(text.encode("utf-8", "replace")) if text else 0
