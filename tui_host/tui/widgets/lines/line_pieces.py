"""Line views that draw pieces: texts with style names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.widgets.lines.json_lines import Piece
from tui_host.tui.widgets.lines.line_view import LineView

_LOOKS = {
    **dict.fromkeys(("time", "host", "figure", "note", "heading"), "muted"),
    **dict.fromkeys(("llm", "key"), "primary"),
    "mcp": "secondary",
    **dict.fromkeys(("decision", "mark", "new", "fold"), "marked"),
    "what": "strong",
    "failed": "error",
    **dict.fromkeys(("secret", "control", "nowhere"), "warning"),
    "string": "success",
    **dict.fromkeys(("number", "word"), "accent"),
}
"""How styles look that are not plain. A look costs whenever a view is styled, so styles that look alike share one."""


class PieceView(LineView):
    """Draws pieces; a style name stands for a component class `piece--LOOK`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"piece--{look}" for look in _LOOKS.values()}
    DEFAULT_CSS = """
    PieceView {
        & > .piece--muted { color: $text-muted; }
        & > .piece--primary { color: $text-primary; }
        & > .piece--secondary { color: $text-secondary; }
        & > .piece--marked { color: $text-accent; text-style: bold; }
        & > .piece--strong { text-style: bold; }
        & > .piece--error { color: $text-error; text-style: bold; }
        & > .piece--warning { color: $text-warning; }
        & > .piece--success { color: $text-success; }
        & > .piece--accent { color: $text-accent; }
    }
    """

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._piece_styles: dict[str, Style] = {"": Style()}

    def strip_of(self, pieces: Sequence[Piece]) -> Strip:
        """A line of pieces."""
        return Strip([Segment(text, self.piece_style(name)) for text, name in pieces])

    def piece_style(self, name: str) -> Style:
        """Return the style for a style name; a plain style for unknown names."""
        style = self._piece_styles.get(name)
        if style is None:
            look = _LOOKS.get(name)
            style = self._piece_styles[name] = self.look_of(f"piece--{look}") if look is not None else Style()
        return style

    @override
    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._piece_styles = {"": Style()}
