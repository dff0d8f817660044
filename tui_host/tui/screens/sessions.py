"""Sessions: those of earlier and those that run, searched by words, opened with their wires."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from typing_extensions import override

from tui_host.capture.search import search
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.screens.page import ListView, PageScreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.capture.sessions import SessionInfo
    from tui_host.capture.store import Store
    from tui_host.chat.session import Session
    from tui_host.host.host import Host


def _found(store: Store, words: str) -> list[SessionInfo]:
    return [found.session for found in search(store.sessions, words)]


class SessionsScreen(PageScreen):
    """The list, newest first, and a field that searches titles and messages."""

    HEADING = "Sessions"
    KEYS = "type to search   enter open   up/down move"

    class Chosen(Message):
        """A session is to be shown."""

        def __init__(self, session: Session) -> None:
            super().__init__()
            self.session = session

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host
        self._listed: Sequence[SessionInfo] = ()

    @override
    def body(self) -> list[Widget]:
        return [Input(placeholder="Search titles and messages", id="session-search"), ListView(id="session-list")]

    @override
    async def on_mount(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - Textual awaits either
        super().on_mount()
        self.query_one(Input).focus()
        await self._search("")

    async def on_input_changed(self, event: Input.Changed) -> None:
        """Search for what is typed."""
        await self._search(event.value)

    async def _search(self, words: str) -> None:
        store = self._host.store
        if store is not None:
            if words.strip():
                self._listed = await asyncio.to_thread(_found, store, words)
            else:
                self._listed = await asyncio.to_thread(store.sessions.list)
        view = self.query_one(ListView)
        empty = "No session has this in its title or messages." if words.strip() else "No session yet: ask something."
        view.show([self._line(info) for info in self._listed] or [Content.styled(f"  {empty}", "$text-muted")])
        view.cursor = 0 if self._listed else None

    def _line(self, info: SessionInfo) -> Content:
        here = self._host.sessions.get(info.id)
        asks = " waits for you" if here is not None and here.open_questions() else ""
        stamp = time.strftime("%m-%d %H:%M", time.localtime(info.updated_ns / 1_000_000_000))
        about = f"{info.turns:>3} turns  {info.source}{' live' if info.live else ''}{asks}"
        return Content.assemble(
            Content.styled(f"  {stamp}  ", "$text-muted"),
            Content(line(info.title, 70)),
            Content.styled(f"  {about}  {line(info.model, 40)}", "$text-muted"),
        )

    async def on_input_submitted(self) -> None:
        """Open the current one."""
        await self._open(self.query_one(ListView).cursor)

    async def on_line_view_opened(self, event: ListView.Opened) -> None:
        """Open the one that was clicked or entered."""
        await self._open(event.line)

    async def _open(self, number: int | None) -> None:
        if number is None or not 0 <= number < len(self._listed):
            return
        try:
            session = await asyncio.to_thread(self._host.open_session, self._listed[number].id)
        except TuiHostError as error:
            self.notify(line(str(error), 300), severity="error", markup=False)
            return
        self.post_message(self.Chosen(session))
        self.dismiss()

    def key_down(self) -> None:
        """From the field into the list."""
        self.query_one(ListView).focus()
