"""Sessions: those of earlier and those that run, searched by words, opened with their wires."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.message import Message

from tui_host.capture.store.search import Found, search
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.page import ChoiceScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.capture.store.sessions import SessionInfo
    from tui_host.capture.store.store import Store
    from tui_host.chat.session import Session
    from tui_host.host.host import Host


@runtime_checkable
class Showing(Protocol):
    """An app that shows a session."""

    @property
    def session(self) -> Session:
        """That session."""
        ...


def _found(store: Store, words: str) -> list[Found]:
    if words:
        return list(search(store.sessions, words))
    return [Found(session=info) for info in store.sessions.list()]


class SessionsScreen(ChoiceScreen):
    """The list, newest first, and a field that searches titles and messages."""

    HEADING = "Sessions"
    PLACE = "Sessions"
    PLACEHOLDER = "search titles and messages"

    class Chosen(Message):
        """A session is to be shown."""

        def __init__(self, session: Session) -> None:
            super().__init__()
            self.session = session

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host
        self._listed: Sequence[Found] = ()
        self._asked = 0
        self._is_behind = False
        self._states: list[tuple[str, bool, int]] = []

    async def on_mount(self) -> None:
        """List all."""
        await self._search()

    def look(self) -> None:
        """List all once the host has opened what is kept; say so when a session here begins to wait, or ends its turn."""
        if self._is_behind and self._host.recorder is not None:
            self._is_behind = False
            self.call_later(self._search)
        elif self._listed and self._present_states() != self._states:
            self._show()

    async def on_input_changed(self) -> None:
        """Search for what is typed."""
        await self._search()

    async def _search(self) -> None:
        words, store = self.typed, self._host.store
        self._asked += 1
        asked = self._asked
        if store is not None:
            try:
                listed = await asyncio.to_thread(_found, store, words)
            except TuiHostError as error:
                self.notify(line(str(error), 300), severity="error", markup=False)
                return
            if asked != self._asked:
                return  # more was typed meanwhile
            self._listed = listed
        self._is_behind = self._host.recorder is None
        if self._is_behind:
            empty = "The sessions are being opened."
        elif store is None:
            empty = "Nothing is kept here, so there is no earlier session."
        elif words:
            empty = "No session has all of these words in its title or messages. Fewer words find more."
        else:
            empty = "No session yet. Escape goes back to the prompt: ask something, and it is kept from its first word."
        self._show(empty=empty, current=0)
        count = len(self._listed)
        self.say(f"Sessions   {count:,}{' found' if words else ''}" if count else self.HEADING)

    def _show(self, *, empty: str = "", current: int | None = None) -> None:
        self._states = self._present_states()
        self.choices.show([self._choice(found) for found in self._listed], empty=empty, current=current)

    def _present_states(self) -> list[tuple[str, bool, int]]:
        """What can change of the sessions of this process while they are listed."""
        return [(each.id, each.busy, len(each.open_questions())) for each in self._host.sessions.values()]

    def _choice(self, found: Found) -> Choice:
        info = found.session
        here = self._host.sessions.get(info.id)
        moment = time.localtime(info.updated_ns / 1_000_000_000)
        turns = f"{info.turns:,} turn{'s' if info.turns != 1 else ' '}"
        return Choice(
            words=mask_of(self._host, self.glyphs).marks(info.title) or "untitled",
            before=f"{time.strftime('%Y-%m-%d %H:%M', moment)}  ",
            note=found.excerpt,
            right=(self._state(info, here), turns, line(info.model, 30), info.source),
        )

    def _state(self, info: SessionInfo, here: Session | None) -> str:
        if here is None:
            return "open elsewhere" if info.live else ""
        if here.open_questions():
            return "waits for you"
        if here.busy:
            return "at work"
        app: object = self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - Textual leaves it open
        return "on screen" if isinstance(app, Showing) and app.session is here else ""

    async def on_input_submitted(self) -> None:
        """Open the current one."""
        await self._open(self.choices.cursor)

    async def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        """Open the one that was clicked."""
        await self._open(event.line)

    async def _open(self, number: int | None) -> None:
        if number is None or not 0 <= number < len(self._listed):
            return
        try:
            session = await asyncio.to_thread(self._host.open_session, self._listed[number].session.id)
        except TuiHostError as error:
            self.notify(line(str(error), 300), severity="error", markup=False)
            return
        self.post_message(self.Chosen(session))
        self.dismiss()
