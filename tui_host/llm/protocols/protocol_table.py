"""The tool protocols by name. A new protocol needs a module and a line here."""

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
"""The constructors, called with the prompt's template."""


def protocol(name: str, template: str = "") -> ToolProtocol:
    """Return the tool protocol with a name.

    Args:
        name: As in the configuration.
        template: The protocol's prompt (`settings.templates`).

    Raises:
        SettingsError: There is none.
    """
    make = PROTOCOLS.get(name)
    if make is None:
        raise SettingsError(f"no tool protocol {name!r}", "protocol", f"one of: {', '.join(PROTOCOLS)}")
    return make(template)
