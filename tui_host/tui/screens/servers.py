"""The servers: each one's state, version, capabilities, tools, frames and standard error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widget import Widget
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.glyphs import Glyphs
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.page import LOW, PageScreen
from tui_host.tui.screens.servers_detail import Frames, Parts, failure_of, notes_of
from tui_host.tui.widgets.choices import Choice, ChoiceList
from tui_host.tui.widgets.details.view import PageLines
from tui_host.tui.widgets.pages.tree import TreePage

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ServerStatus, State

_BESIDE = 76
"""Columns that it takes to have the list beside what is known of the chosen server."""
_WIDE = 110
_PATIENCE = 8.0
"""What is known of a server is made again after so many times what that took the last time."""
_EMPTY = (
    "No servers are configured. Write one into config.toml, as [servers.time] with a command or a url,"
    " or start with just one: tui-host -- COMMAND, tui-host URL."
)


def mark_of(state: State, glyphs: Glyphs) -> str:
    """The mark of a state."""
    full, empty, half = glyphs.state
    return {"ready": full, "connecting": half, "failed": glyphs.failed}.get(state, empty)


_STYLES: dict[State, str] = {"ready": "", "connecting": "secret", "failed": "failed"}


class ServersScreen(PageScreen):
    """The list, and what is known of the chosen server: beside it, or below it where it is narrow.

    Args:
        host: Whose servers.
        beside: What else there is to know of whose they are, put behind the heading.
    """

    HEADING = "Servers"
    PLACE = "Servers"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "reconnect", "Reconnect", show=False),
        Binding("s", "stop", "Stop", show=False),
    ]
    DEFAULT_CSS = """
    ServersScreen {
        & > .page-body { layout: horizontal; }
        & ChoiceList { width: 32; }
        & .-wide ChoiceList { width: 44; }
        & PageLines { width: 1fr; border-left: solid $panel; }
        & .-below { layout: vertical; }
        & .-low ChoiceList { max-height: 50%; }
        & .-below ChoiceList { width: 1fr; height: auto; max-height: 40%; }
        & .-below PageLines { width: 1fr; height: 1fr; border-left: none; border-top: solid $panel; }
        & .-below.-low PageLines { border-top: none; }
    }
    """

    def __init__(self, host: Host, *, beside: str = "") -> None:
        super().__init__()
        self._heading = f"{self.HEADING}{beside}"
        self._host = host
        self._statuses: tuple[ServerStatus, ...] = ()
        self._frames = Frames()
        self._mask = mask_of(host)
        self._parts = Parts(self._mask)
        self._due = 0.0
        self._flipped: dict[str, set[str]] = {}
        self._told: tuple[ServerStatus, int] | None = None
        self._is_up = False

    @override
    def body(self) -> Sequence[Widget]:
        return [Container(ChoiceList(glyphs=self.glyphs, least=14), PageLines(glyphs=self.glyphs), classes="page-body")]

    def on_mount(self) -> None:
        """Look for the first time."""
        self._is_up = True
        self._mask = mask_of(self._host, self.glyphs)
        self._parts = Parts(self._mask)
        self.look()

    @override
    def on_resize(self, event: events.Resize) -> None:
        """Put the list where there is room; the base's own handler is called too."""
        body = self.query_one(".page-body")
        body.set_class(event.size.width < _BESIDE, "-below")
        body.set_class(event.size.width >= _WIDE, "-wide")
        body.set_class(event.size.height < LOW, "-low")

    def look(self) -> None:
        """Take in what is new."""
        if not self._is_up:
            return
        pool, recorder = self._host.pool, self._host.recorder
        statuses = pool.statuses() if pool is not None else ()
        if statuses != self._statuses or not statuses:
            self._statuses = statuses
            empty = _EMPTY.replace("…", self.glyphs.more)
            self.query_one(ChoiceList).show([self._choice(status) for status in statuses], empty=empty)
            states = [status.state for status in statuses]
            counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
            self.say("   ".join((self._heading, *counts)))
        if recorder is not None:
            self._frames.look(recorder)
        self._show()

    def _choice(self, status: ServerStatus) -> Choice:
        count = len(status.tools)
        tools = f"{count:,} tool{'s' if count != 1 else ''}" if status.state == "ready" else ""
        return Choice(
            words=status.name,
            mark=mark_of(status.state, self.glyphs),
            style=_STYLES.get(status.state, "note"),
            mark_style="string" if status.state == "ready" else "",
            right=(status.state, tools),
        )

    @property
    def current(self) -> ServerStatus | None:
        """The chosen server."""
        number = self.query_one(ChoiceList).cursor
        return self._statuses[number] if number is not None and number < len(self._statuses) else None

    def _show(self) -> None:
        """Tell what is known of the chosen server, where it is not told yet; costs a look at two numbers otherwise."""
        status, view = self.current, self.query_one(PageLines)
        if status is None or view.view_width <= 0:
            return
        frames = self._frames.of(status)
        now = status, frames.sent + frames.received
        before = self._told
        is_same = before is not None and before[0].name == status.name
        began = time.perf_counter()
        if before == now or (is_same and began < self._due):
            view.advance()
            return
        self._told = now
        page = TreePage(
            status.name,
            self._parts.of(status, frames),
            flipped=self._flipped.setdefault(status.name, set()),
            failed=failure_of(status, self._mask),
            notes=notes_of(status, self._mask),
        )
        view.show(page, hold=is_same)
        ended = time.perf_counter()
        self._due = ended + _PATIENCE * (ended - began)

    def on_line_view_cursor_moved(self, event: ChoiceList.CursorMoved) -> None:
        """Show the other server."""
        if isinstance(event.view, ChoiceList):
            self._show()

    def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        """Go from the server to what is known of it."""
        if isinstance(event.view, ChoiceList):
            self.query_one(PageLines).focus()

    def action_reconnect(self) -> None:
        """A new connection."""
        status = self.current
        if status is not None and self._host.pool is not None:
            self._host.pool.reconnect(status.name)
            self.notify(f"connecting {line(status.name, 40)}", markup=False, timeout=2)

    def action_stop(self) -> None:
        """End the connection."""
        status = self.current
        if status is not None and self._host.pool is not None:
            self._host.pool.stop(status.name)
