"""The tool protocols by name. A new protocol needs a module and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tui_host.errors import SettingsError
from tui_host.llm.protocols.cherry import Cherry
from tui_host.llm.protocols.cline import Cline
from tui_host.llm.protocols.hermes import Hermes
from tui_host.llm.protocols.json_calls import FunctionCalls, JsonCalls
from tui_host.llm.protocols.react import React
from tui_host.llm.protocols.tool_protocol import ToolProtocol

PROTOCOLS: Mapping[str, Callable[[str], ToolProtocol]] = MappingProxyType(
    {made.name: made for made in (ToolProtocol, Cline, Cherry, JsonCalls, FunctionCalls, React, Hermes)}
)
"""The constructors, called with the prompt's template."""


def protocol(name: str, template: str = "") -> ToolProtocol:
    """Return the tool protocol with a name in the configuration, and its prompt."""
    make = PROTOCOLS.get(name)
    if make is None:
        raise SettingsError(f"no tool protocol {name!r}", "protocol", f"one of: {', '.join(PROTOCOLS)}")
    return make(template)
