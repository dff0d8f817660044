"""The servers: state, version, capabilities, tools, frames and standard error; for a tapped session, the tapped servers first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widget import Widget
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.glyphs import Glyphs
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.page_screen import LOW, PageScreen
from tui_host.tui.screens.servers_detail import (
    READ_ONLY,
    Frames,
    Parts,
    failure_of,
    flow_of,
    notes_of,
    state_of,
    told_entries,
    told_notes,
)
from tui_host.tui.widgets.choices import Choice, ChoiceList
from tui_host.tui.widgets.details.detail_view import PageLines
from tui_host.tui.widgets.pages.tree_page import TreePage

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ServerStatus, State
    from tui_host.tui.sources.tapped_servers import TappedServer, TappedServers

OWN = "your own"
"""The heading above them, where those of another host stand there too."""
NONE_TOLD = "none recorded"
_STYLES: dict[State, str] = {"ready": "", "connecting": "secret", "failed": "failed"}
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


@dataclass(frozen=True, slots=True)
class _Listed:
    """A line of the list.

    Attributes:
        status: The server; None for a heading.
        tapped: The server as another host's frames tell of it; None for one's own.
        words: What a heading says.
    """

    status: ServerStatus | None
    tapped: TappedServer | None = None
    words: str = ""


class ServersScreen(PageScreen):
    """The list, and details of the chosen server beside or below the list.

    Args:
        host: Whose servers.
        told: Those of the session on screen, if it is from elsewhere.
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

    def __init__(self, host: Host, told: TappedServers | None = None) -> None:
        super().__init__()
        self._host = host
        self._servers = told
        self._listed: Sequence[_Listed] | None = None
        self._frames = Frames()
        self._mask = mask_of(host)
        self._parts = Parts(self._mask)
        self._due = 0.0
        self._flipped: dict[tuple[bool, str], set[str]] = {}
        self._told: tuple[_Listed, int] | None = None
        self._put: int | None = None  # the line that was chosen here, and by nobody
        self._is_chosen = False
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
        """Put the list beside or above the details. Textual also calls the base class's handler."""
        body = self.query_one(".page-body")
        body.set_class(event.size.width < _BESIDE, "-below")
        body.set_class(event.size.width >= _WIDE, "-wide")
        body.set_class(event.size.height < LOW, "-low")

    def look(self) -> None:
        """Show the news."""
        if not self._is_up:
            return
        recorder = self._host.recorder
        listed = self._lines()
        if listed != self._listed:
            choices, current = self.query_one(ChoiceList), self._current(listed)
            self._listed = listed
            empty = _EMPTY.replace("…", self.glyphs.more)
            choices.show([self._choice(entry) for entry in listed], empty=empty, current=current)
            self._put = choices.cursor
            states = [entry.status.state for entry in listed if entry.status is not None and entry.tapped is None]
            counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
            tapped = sum(entry.tapped is not None for entry in listed)
            if self._servers is not None and tapped:
                counts = [f"{tapped:,} {self._servers.whose}", *([f"{OWN}: {', '.join(counts)}"] if counts else ())]
            self.say("   ".join((self.HEADING, *counts)))
        if recorder is not None:
            self._frames.look(recorder)
        self._show()

    def _lines(self) -> Sequence[_Listed]:
        """Return the servers of the session on screen, then the person's own, with headings if both exist."""
        pool, servers = self._host.pool, self._servers
        own = [_Listed(status) for status in (pool.statuses() if pool is not None else ())]
        if servers is None:
            return own
        servers.look()
        tapped = [_Listed(server.status, server) for server in servers.servers] or [_Listed(None, words=NONE_TOLD)]
        return [_Listed(None, words=servers.whose), *tapped, *([_Listed(None, words=OWN)] if own else ()), *own]

    def _current(self, listed: Sequence[_Listed]) -> int | None:
        """The line to go to, as lines may come above: the first until a person has chosen, then the chosen server's; None to stay."""
        cursor, chosen = self.query_one(ChoiceList).cursor, self._chosen
        self._is_chosen |= cursor != self._put
        wanted = None if chosen is None or not self._is_chosen else _key(chosen)
        able = [number for number, entry in enumerate(listed) if entry.status is not None]
        line = next((number for number in able if wanted in {None, _key(listed[number])}), None)
        return None if line == cursor else line

    def _choice(self, listed: _Listed) -> Choice:
        status = listed.status
        if status is None:
            return Choice(words=listed.words, heading=True)
        count = len(status.tools)
        is_known = status.state == "ready" or (listed.tapped is not None and count)
        tools = f"{count:,} tool{'s' if count != 1 else ''}" if is_known else ""
        return Choice(
            words=status.name,
            mark=mark_of(status.state, self.glyphs),
            style=_STYLES.get(status.state, "note"),
            mark_style="string" if status.state == "ready" else "",
            right=(status.state if listed.tapped is None else state_of(listed.tapped), tools),
        )

    @property
    def current(self) -> ServerStatus | None:
        """The chosen server."""
        return None if self._chosen is None else self._chosen.status

    @property
    def _chosen(self) -> _Listed | None:
        number, listed = self.query_one(ChoiceList).cursor, self._listed or ()
        return listed[number] if number is not None and number < len(listed) else None

    def _show(self) -> None:
        """Show the details of the chosen server if anything changed; otherwise compares two numbers."""
        chosen, view = self._chosen, self.query_one(PageLines)
        if chosen is None or chosen.status is None or view.view_width <= 0:
            return
        frames = self._frames.of(chosen.status)
        now = chosen, frames.sent + frames.received
        before = self._told
        is_same = before is not None and _key(before[0]) == _key(chosen)
        began = time.perf_counter()
        if before == now or (is_same and began < self._due):
            view.advance()
            return
        self._told = now
        view.show(self._page(chosen, chosen.status), hold=is_same)
        ended = time.perf_counter()
        self._due = ended + _PATIENCE * (ended - began)

    def _page(self, chosen: _Listed, status: ServerStatus) -> TreePage:
        flipped = self._flipped.setdefault(_key(chosen), set())
        if chosen.tapped is None or self._servers is None:
            entries = self._parts.of(status, self._frames.of(status))
            failed, notes = failure_of(status, self._mask), notes_of(status, self._mask)
        else:
            entries = told_entries(chosen.tapped, flow_of(chosen.tapped, self._servers), self._parts, self._mask)
            failed, notes = "", told_notes(chosen.tapped, self._servers.whose, self._mask)
        return TreePage(status.name, entries, flipped=flipped, failed=failed, notes=notes)

    def on_line_view_cursor_moved(self, event: ChoiceList.CursorMoved) -> None:
        """Show the chosen server."""
        if isinstance(event.view, ChoiceList):
            self._is_chosen = True
            self._show()

    def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        """Move the focus to the details."""
        if isinstance(event.view, ChoiceList):
            self._is_chosen = True
            self.query_one(PageLines).focus()

    def action_reconnect(self) -> None:
        """A new connection."""
        name = self._own()
        if name and self._host.pool is not None:
            self._host.pool.reconnect(name)
            self.notify(f"connecting {line(name, 40)}", markup=False, timeout=2)

    def action_stop(self) -> None:
        """End the connection."""
        name = self._own()
        if name and self._host.pool is not None:
            self._host.pool.stop(name)

    def _own(self) -> str:
        """Return the chosen server's name; for a tapped server, say that nothing can be done and return an empty string."""
        chosen, self._is_chosen = self._chosen, True
        if chosen is not None and chosen.tapped is not None:
            self.notify(READ_ONLY, markup=False, timeout=4)
        return chosen.status.name if chosen is not None and chosen.status is not None and chosen.tapped is None else ""


def _key(listed: _Listed) -> tuple[bool, str]:
    return listed.tapped is not None, "" if listed.status is None else listed.status.name
