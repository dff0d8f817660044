"""Foreign text on its way into a widget: made visible, and never read as markup."""

from __future__ import annotations

from textual.content import Content

from tui_host.capture.visible import line, visible


def shown(text: str) -> Content:
    """Text of a server, model, file or person for a widget that takes `Content`; newlines stay."""
    return Content(visible(text))


def shown_line(text: str, limit: int = 4000) -> Content:
    """The same on one line of at most `limit` characters."""
    return Content(line(text, limit))
