"""A widget's inks: its component classes as styles for text, in the colours of the present theme."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget

from tui_host.tui.glyphs import Glyphs
from tui_host.tui.markdown.markdown_styles import FILLED, NAMES, Inks


def inks_of(widget: Widget, glyphs: Glyphs, known: Inks | None = None) -> Inks:
    """The inks of a widget whose style sheet has `inks.CSS`; the very same object while nothing about them changed."""
    styles = {name: _ink(widget, name) for name in NAMES}
    if known is not None and known.styles == styles and known.glyphs == glyphs:
        return known
    return Inks(styles, glyphs)


def _ink(widget: Widget, name: str) -> Style:
    """A component's style whole, since a partial one has no automatic colours; without a background that is not its own."""
    style = widget.get_component_rich_style(f"ink--{name}")
    return Style(
        color=style.color,
        bgcolor=style.bgcolor if name in FILLED else None,
        bold=style.bold,
        dim=style.dim,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
        reverse=style.reverse,
    )
