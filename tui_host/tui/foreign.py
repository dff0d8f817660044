"""Foreign text on its way into a widget: made visible, and never read as markup."""

from __future__ import annotations

import re

from textual.content import Content

from tui_host.capture.visible import line, visible


def shown(text: str) -> Content:
    """Text of a server, model, file or person for a widget that takes `Content`; newlines stay."""
    return Content(visible(text))


def shown_line(text: str, limit: int = 4000) -> Content:
    """The same on one line of at most `limit` characters."""
    return Content(line(text, limit))


_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def tool_name(server: str, tool: str) -> str:
    """`server.tool`; a name outside the specification's own form is quoted and escaped, so that no letter looks like another.

    Source: MCP, Tools, tool names; threats.md, APR-06.
    """
    shown = tool if _NAME.fullmatch(tool) else ascii(tool)
    return f"{server}.{shown}" if server else shown
