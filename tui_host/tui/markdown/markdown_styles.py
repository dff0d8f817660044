"""Text styles by name. Colours come from the theme through component classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.style import Style
from textual.widget import Widget

NAMES = (
    "dim", "accent", "heading", "code", "address", "quote", "rule", "fence", "label",
    "keyword", "name", "string", "number", "comment", "operator", "wrong",
)  # fmt: skip
"""Styles that have a colour of their own. Strong, emphasised and struck text differ only in attributes."""

COMPONENTS = {f"ink--{name}" for name in NAMES}

CSS = """
        & > .ink--dim { color: $text-muted; }
        & > .ink--accent { color: $text-primary; }
        & > .ink--heading { color: $text-primary; text-style: bold; }
        & > .ink--code { color: $foreground; background: $foreground 12%; }
        & > .ink--address { color: $text-muted; text-style: underline; }
        & > .ink--quote { color: $text-muted; }
        & > .ink--rule { color: $foreground 40%; }
        & > .ink--fence { color: $foreground; background: $foreground 5%; }
        & > .ink--label { color: $text-muted; background: $foreground 5%; text-style: italic; }
        & > .ink--keyword { color: $text-accent; text-style: bold; }
        & > .ink--name { color: $text-primary; }
        & > .ink--string { color: $text-success; }
        & > .ink--number { color: $text-warning; }
        & > .ink--comment { color: $text-muted; text-style: italic; }
        & > .ink--operator { color: $text-secondary; }
        & > .ink--wrong { color: $text-error; text-style: bold; }
"""
"""CSS rules for a widget's own style sheet; put them inside the widget's block."""

FILLED = {"code", "fence", "label"}
"""Styles that have a background of their own."""


@dataclass(frozen=True, slots=True)
class Inks:
    """Styles by name. Without styles, everything is drawn plain."""

    styles: Mapping[str, Style] = field(default_factory=dict[str, Style])

    def __getitem__(self, name: str) -> Style:
        return self.styles.get(name, Style.null())


STRONG = Style(bold=True)
EMPHASIS = Style(italic=True)
STRUCK = Style(strike=True)
UNDERLINED = Style(underline=True)


def inks_of(widget: Widget, known: Inks | None = None) -> Inks:
    """Return the inks of a widget with `CSS` in its style sheet; `known` itself if nothing changed."""
    styles = {name: _ink(widget, name) for name in NAMES}
    if known is not None and known.styles == styles:
        return known
    return Inks(styles)


def _ink(widget: Widget, name: str) -> Style:
    """Return a component's whole style, since partial styles lack automatic colours; with a background only if filled."""
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
