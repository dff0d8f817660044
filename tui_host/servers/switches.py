"""What is switched on: single tools, and the instructions of servers. Servers themselves are started and stopped by the pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.settings.schema import ServerSpec


class Switches:
    """The switches of this process. Tools are on and instructions are off unless chosen otherwise."""

    def __init__(self, specs: Iterable[ServerSpec], changed: Callable[[], None]) -> None:
        self._changed = changed
        self._off: set[str] = set()
        self._instructing = {spec.name for spec in specs if spec.instructions}

    def apply(self, chosen: Mapping[str, bool]) -> None:
        """Apply remembered switches by `SERVER.TOOL`; those of servers are already in the servers' settings."""
        self._off = {name for name, is_on in chosen.items() if "." in name and not is_on}
        self._changed()

    def is_on(self, server: str, tool: str) -> bool:
        """Whether a tool may be offered."""
        return f"{server}.{tool}" not in self._off

    def off(self, server: str) -> frozenset[str]:
        """Return the names of a server's tools that are switched off."""
        start = f"{server}."
        return frozenset(name.removeprefix(start) for name in self._off if name.startswith(start))

    def switch_tool(self, server: str, tool: str, *, is_on: bool) -> None:
        """Offer a tool to models, or no longer, from the next request on."""
        (self._off.discard if is_on else self._off.add)(f"{server}.{tool}")
        self._changed()

    def is_instructing(self, server: str) -> bool:
        """Whether a server's instructions go to the model."""
        return server in self._instructing

    def switch_instructions(self, server: str, *, is_on: bool) -> None:
        """Send a server's instructions to models, or no longer, from the next turn on."""
        (self._instructing.add if is_on else self._instructing.discard)(server)
        self._changed()
