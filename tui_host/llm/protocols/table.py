"""The tool protocols by name. A new protocol needs a module and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from tui_host.errors import SettingsError
from tui_host.llm.protocols.cherry import Cherry
from tui_host.llm.protocols.cline import Cline
from tui_host.llm.protocols.hermes import Hermes
from tui_host.llm.protocols.json_calls import FunctionCalls, JsonCalls
from tui_host.llm.protocols.react import React
from tui_host.llm.protocols.text_protocol import TOOLS
from tui_host.llm.protocols.tool_protocol import ToolProtocol
from tui_host.settings.paths import shipped

PROTOCOLS: Mapping[str, Callable[[str], ToolProtocol]] = MappingProxyType(
    {made.name: made for made in (ToolProtocol, Cline, Cherry, JsonCalls, FunctionCalls, React, Hermes)}
)
"""The constructors, called with the prompt's template."""
FOLDER = "protocols"


def protocol(name: str, template: str = "") -> ToolProtocol:
    """Return the tool protocol with a name in the configuration, and its prompt."""
    make = PROTOCOLS.get(name)
    if make is None:
        raise SettingsError(f"no tool protocol {name!r}", "protocol", f"one of: {', '.join(PROTOCOLS)}")
    return make(template)


def template_of(name: str, config_dir: Path) -> str:
    """Return a tool protocol's prompt, read from the files now; empty if the tool protocol has no prompt."""
    own = config_dir / FOLDER / f"{name}.md"
    try:
        template = own.read_text("utf-8-sig")
    except FileNotFoundError:
        standard = shipped(f"{FOLDER}/{name}.md")
        return standard.read_text("utf-8") if standard.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot be read: {error}", str(own), "fix or remove it") from error
    if TOOLS not in template:
        what = f"{TOOLS} is missing, so the model would not learn of any tool"
        raise SettingsError(what, str(own), f"write {TOOLS} in the place of the list of tools")
    return template
