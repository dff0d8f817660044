"""The tool protocols, by name. Adding one is one module and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tui_host.errors import SettingsError
from tui_host.llm.protocols.cherry import Cherry
from tui_host.llm.protocols.cline import Cline
from tui_host.llm.protocols.hermes import Hermes
from tui_host.llm.protocols.json_calls import FunctionCalls, JsonCalls
from tui_host.llm.protocols.native import Native
from tui_host.llm.protocols.react import React
from tui_host.llm.protocols.tool_protocol import ToolProtocol

PROTOCOLS: Mapping[str, Callable[[str], ToolProtocol]] = MappingProxyType(
    {
        "native": Native,
        "cline": Cline,
        "cherry": Cherry,
        "json": JsonCalls,
        "function": FunctionCalls,
        "react": React,
        "hermes": Hermes,
    }
)
"""What makes each out of its prompt's template."""


def protocol(name: str, template: str = "") -> ToolProtocol:
    """The tool protocol of that name.

    Args:
        name: As in the configuration.
        template: Its prompt (`settings.templates`).

    Raises:
        SettingsError: There is none.
    """
    found = PROTOCOLS.get(name)
    if found is None:
        raise SettingsError(f"no tool protocol {name!r}", "protocol", f"one of: {', '.join(PROTOCOLS)}")
    return found(template)
