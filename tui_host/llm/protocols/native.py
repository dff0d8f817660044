"""`native`: the dialect's own function calling. Adds nothing to the prompt."""

from __future__ import annotations

from tui_host.llm.protocols.tool_protocol import ToolProtocol


class Native(ToolProtocol):
    """Calls and results go to the dialect unchanged."""

    name: str = "native"
