"""The tool protocols, by name. Adding one is one module and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tui_host.errors import SettingsError
from tui_host.llm.protocols.native import Native
from tui_host.llm.protocols.protocol import ToolProtocol

PROTOCOLS: Mapping[str, ToolProtocol] = MappingProxyType(
    {
        "native": Native(),
    }
)


def protocol(name: str) -> ToolProtocol:
    """The tool protocol of that name.

    Raises:
        SettingsError: There is none.
    """
    found = PROTOCOLS.get(name)
    if found is None:
        raise SettingsError(f"no tool protocol {name!r}", "protocol", f"one of: {', '.join(PROTOCOLS)}")
    return found
