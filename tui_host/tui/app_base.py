"""How the app is drawn on every screen: its marks, its theme, and what may go to the terminal at all."""

from __future__ import annotations

import locale
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.filter import LineFilter
from textual.screen import Screen
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui import textual_private
from tui_host.tui.exit_filter import Clean
from tui_host.tui.glyphs import ASCII, UNICODE, Glyphs
from tui_host.tui.last_resort import LastResort

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.theme import Theme

    from tui_host.host.host import Host

THEME = "textual-dark"


class Drawn(LastResort):
    """An app in the person's theme, with the marks that the terminal can draw."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        chosen = host.settings.ui.ascii
        wide = locale.getlocale()[1] not in {"UTF-8", "utf-8", "UTF8", None}
        self._glyphs = ASCII if chosen or (chosen is None and wide) else UNICODE
        self._clean = Clean()
        self._skipped = False
        self._has_chosen_theme = False

    @property
    def glyphs(self) -> Glyphs:
        """The marks to draw with."""
        return self._glyphs

    def dress(self) -> None:
        """Put on the theme, and remember another one that is chosen."""
        self.theme = self.host.settings.ui.theme or THEME
        self.theme_changed_signal.subscribe(self, self._remember_theme)
        self.set_class(self._glyphs is ASCII, "-ascii")

    def _remember_theme(self, theme: Theme) -> None:
        """A theme that was chosen is there at the next start too, unless `config.toml` names one."""
        if theme.name == (self.host.settings.ui.theme or THEME) and not self._has_chosen_theme:
            return
        self._has_chosen_theme = True
        from tui_host.settings.save import save_state

        try:
            save_state(self.host.settings, {"theme": theme.name})
        except TuiHostError as error:
            words = f"taken until the program ends, but not remembered: {error}"
            self.notify(line(words, 300), severity="warning", markup=False)

    @override
    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's own filters, and after them what lets nothing act on the terminal, in one."""
        others = tuple(super().get_line_filters())
        if others != self._clean.others:
            self._clean = Clean(others)
        return [self._clean]

    @override
    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Skip a frame while the terminal does not read; draw all once it does. A full queue would block the loop."""
        if textual_private.writes_waiting(self) >= textual_private.MOST_WAITING:
            self._skipped = True
            return
        if self._skipped:
            self._skipped = False
            self.call_later(self.screen.refresh, layout=True)
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType] - Textual leaves its screen open
