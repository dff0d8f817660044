"""What the inspector's views share: lines made of texts with the names of their styles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.widgets.lines.jsonlines import Piece
from tui_host.tui.widgets.lines.view import LineView

_STYLES = (
    *(
        "time",
        "host",
        "llm",
        "mcp",
        "peer",
        "what",
        "words",
        "figure",
        "note",
        "heading",
        "failed",
        "secret",
        "decision",
    ),
    *("mark", "new", "fold", "control", "key", "string", "number", "word"),
)

_OURS = frozenset(("time", "figure", "note", "heading", "secret", "new", "fold"))
"""What stands in these styles are our own words, so their marks may be exchanged."""
_STAND_INS = str.maketrans({"·": "-", "…": "~", "•": "*", "«": '"', "»": '"', "–": "-"})


class PieceView(LineView):
    """A line view that draws pieces; a style name stands for the component class `piece--NAME`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"piece--{name}" for name in _STYLES}
    DEFAULT_CSS = """
    PieceView {
        & > .piece--time, & > .piece--host, & > .piece--figure, & > .piece--note, & > .piece--heading { color: $text-muted; }
        & > .piece--llm { color: $text-primary; }
        & > .piece--mcp { color: $text-secondary; }
        & > .piece--decision, & > .piece--mark, & > .piece--new, & > .piece--fold { color: $text-accent; text-style: bold; }
        & > .piece--what { text-style: bold; }
        & > .piece--failed { color: $text-error; text-style: bold; }
        & > .piece--secret, & > .piece--control { color: $text-warning; }
        & > .piece--key { color: $text-primary; }
        & > .piece--string { color: $text-success; }
        & > .piece--number, & > .piece--word { color: $text-accent; }
    }
    """

    def __init__(
        self,
        *,
        glyphs: Glyphs = UNICODE,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.glyphs = glyphs
        self._piece_styles: dict[str, Style] = {"": Style()}

    def strip_of(self, pieces: Sequence[Piece]) -> Strip:
        """A line of pieces."""
        if self.glyphs is not UNICODE:
            pieces = [(text.translate(_STAND_INS) if name in _OURS else text, name) for text, name in pieces]
        return Strip([Segment(text, self.piece_style(name)) for text, name in pieces])

    def piece_style(self, name: str) -> Style:
        """What a style name stands for in the theme as it is; nothing for a name that has none."""
        style = self._piece_styles.get(name)
        if style is None:
            known = name in _STYLES
            style = self._piece_styles[name] = self.look_of(f"piece--{name}") if known else Style()
        return style

    @override
    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._piece_styles = {"": Style()}
