"""The screen with the lines of a server's log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.containers import Container
from textual.widget import Widget
from typing_extensions import override

from tui_host.answers.sheet import SheetLine, Style
from tui_host.capture.visible import line
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.details.detail_view import PageLines
from tui_host.tui.widgets.pages.tree_page import TreePage

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.servers.catalog import LogLine, ServerStatus

_SEVERE = frozenset({"error", "critical", "alert", "emergency"})
_STYLES: Mapping[str, Style] = {"debug": "note", "warning": "secret", **dict.fromkeys(_SEVERE, "failed")}


class LogScreen(PageScreen):
    """A server's log. The level to ask for is `log_level` of its entry.

    Args:
        host: The host.
        server: The server's name.
    """

    HEADING = "Log"
    PLACE = "Log"
    AUTO_FOCUS = "PageLines"

    def __init__(self, host: Host, server: str) -> None:
        super().__init__()
        self._host = host
        self._server = server
        self._shown: tuple[LogLine, ...] | None = None
        self._flipped: set[str] = set()

    @override
    def body(self) -> Sequence[Widget]:
        return [Container(PageLines(glyphs=self.glyphs), classes="page-body")]

    def on_mount(self) -> None:
        """Show the lines."""
        self.look()

    @property
    def _status(self) -> ServerStatus | None:
        return None if self._host.pool is None else self._host.pool.status_of(self._server)

    def look(self) -> None:
        """Show new lines, the newest first."""
        status, view = self._status, self.query_one(PageLines)
        if status is None or view.view_width <= 0 or status.log is self._shown:
            view.advance()
            return
        self._shown = status.log
        counts = ", ".join(f"{count:,} {level}" for level, count in status.log_counts)
        self.say(f"Log of {line(self._server, 40)}   {counts or 'no message yet'}")
        mask = mask_of(self._host, self.glyphs)
        entries = [
            SheetLine(
                key=f"{entry.mono_ns} {number}",
                label=mask(f"{entry.level:<9} {f'{entry.logger}: ' if entry.logger else ''}{entry.text}"),
                style=_STYLES.get(entry.level, ""),
                is_wrapped=True,
            )
            for number, entry in enumerate(reversed(status.log))
        ]
        empty = "The server has sent no log message. log_level in its entry asks for a level."
        view.show(TreePage("log", entries, flipped=self._flipped, empty=empty), hold=True)
