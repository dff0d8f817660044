"""Sessions: those of earlier and those that run, searched by words, opened with their wires."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.message import Message

from tui_host.capture.store.search import Found, search
from tui_host.capture.visible import line
from tui_host.errors import StoreError, TuiHostError
from tui_host.infer.taps.stories import Known, TapStory, all_listed
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.page_screen import ChoiceScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.capture.session_summary import SessionInfo
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


DESCRIBED = 30
"""Taps, the latest first, that are looked into for what they are before the list is shown, and again."""
LOOK_AGAIN_SECONDS = 1.0
"""How often what other processes do is listed anew, while the list is open."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of the list.

    Attributes:
        found: The session; of a story that several taps tell, the first of them.
        story: That story; None for other sessions.
    """

    found: Found
    story: TapStory | None = None

    @property
    def id(self) -> str:
        """Names the line."""
        return self.found.session.id

    @property
    def taps(self) -> Sequence[SessionInfo]:
        """The taps' sessions."""
        return () if self.story is None else self.story.taps

    @property
    def shown(self) -> tuple[object, ...]:
        """What of it is worth a new look at the list."""
        return self.id, self.title, _moment(self.updated_ns), self.story is not None and self.story.each

    @property
    def updated_ns(self) -> int:
        """When something last happened."""
        return self.found.session.updated_ns if self.story is None else self.story.updated_ns

    @property
    def title(self) -> str:
        """The session's; of taps whose they are, and what they stand before."""
        return self.found.session.title if self.story is None else self.story.title


def _moment(time_ns: int) -> str:
    """Date and time, without the year while it lasts."""
    then, now = time.localtime(time_ns / 1_000_000_000), time.localtime()
    return time.strftime("%m-%d %H:%M" if then.tm_year == now.tm_year else "%Y-%m-%d %H:%M", then)


def _listed(store: Store, words: str, known: Known) -> tuple[list[Listed], bool]:
    """What is listed, and whether all taps have been looked into by now. Blocks.

    Args:
        store: Where.
        words: What is searched for, empty for all.
        known: What is known of taps, added to.
    """
    lines, is_described = all_listed(store, known, DESCRIBED)
    if not words:
        return [_line(each) for each in lines], is_described
    found = {each.session.id: each for each in search(store.sessions, words)}
    wanted = words.casefold().split()
    shown: list[Listed] = []
    for each in lines:
        if not isinstance(each, TapStory):
            if each.id in found:
                shown.append(Listed(found[each.id]))
        elif any(tap.id in found for tap in each.taps) or all(word in each.title.casefold() for word in wanted):
            shown.append(_line(each))
    return shown, is_described


def _line(each: SessionInfo | TapStory) -> Listed:
    return Listed(Found(session=each.taps[0]), each) if isinstance(each, TapStory) else Listed(Found(session=each))


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
        self._listed: Sequence[Listed] = ()
        self._known: Known = {}
        self._looking = asyncio.Lock()
        self._version = 0
        self._listed_at = 0.0
        self._asked = 0
        self._is_behind = False
        self._is_described = True
        self._states: list[tuple[str, bool, int]] = []

    def on_mount(self) -> None:
        """List all, once the field has the focus: reading may take a while."""
        self._show(empty="Reading the sessions …")
        self.call_later(self._search)

    def look(self) -> None:
        """List all once the host has opened what is kept; say so when a session here begins to wait, or ends its turn."""
        if self._is_behind and self._host.recorder is not None:
            self._is_behind = False
            self.call_later(self._search)
        elif not self._is_described or self._has_more_been_done():
            self._is_described = True  # until it is known how many are left
            self.call_later(self._search, again=True)
        elif self._listed and self._present_states() != self._states:
            self._show()

    def _has_more_been_done(self) -> bool:
        """Whether something was written since the list was made: taps are processes of their own."""
        store = self._host.store
        if store is None or time.monotonic() - self._listed_at < LOOK_AGAIN_SECONDS:
            return False
        self._listed_at = time.monotonic()
        try:
            version, self._version = self._version, store.data_version()
        except StoreError:
            return False  # told by whoever wants more of it
        return version != self._version

    async def on_input_changed(self) -> None:
        """Search for what is typed."""
        await self._search()

    async def _search(self, *, again: bool = False) -> None:
        words, store = self.typed, self._host.store
        self._asked += 1
        asked, current = self._asked, ""
        if store is not None:
            try:
                async with self._looking:  # what is known of taps is found out by one at a time
                    if asked != self._asked:
                        return
                    listed, self._is_described = await asyncio.to_thread(_listed, store, words, self._known)
            except TuiHostError as error:
                self.notify(line(str(error), 300), severity="error", markup=False)
                return
            if asked != self._asked:
                return  # more was typed meanwhile
            if again and [each.shown for each in listed] == [each.shown for each in self._listed]:
                return
            at = self.choices.cursor if again else 0
            current = self._listed[at].id if at is not None and at < len(self._listed) else ""
            self._listed = listed
        self._is_behind = self._host.recorder is None
        if self._is_behind:
            empty = "Opening the sessions."
        elif store is None:
            empty = "Sessions are not saved here, so there are no earlier ones."
        elif words:
            empty = (
                "No title or message has all of these words; try fewer."
                " For tapped sessions only the title is searched: open one, and search its rows with /."
            )
        else:
            empty = (
                "No sessions yet. Press escape and ask something: it is saved from the first word."
                " Sessions of other hosts, recorded by «tui-host tap», are listed here too."
            )
        at = next((number for number, each in enumerate(self._listed) if again and each.id == current), 0)
        self._show(empty=empty, current=at)
        count = len(self._listed)
        self.say(f"Sessions   {count:,}{' found' if words else ''}" if count else self.HEADING)

    def _show(self, *, empty: str = "", current: int | None = None) -> None:
        self._states = self._present_states()
        moments = [_moment(each.updated_ns) for each in self._listed]
        width = max(map(len, moments), default=0)
        lines = [self._choice(each, f"{moment:>{width}}  ") for each, moment in zip(self._listed, moments, strict=True)]
        self.choices.show(lines, empty=empty, current=current)
        self._say_taps()

    def _present_states(self) -> list[tuple[str, bool, int]]:
        """What can change of the sessions of this process while they are listed."""
        return [(each.id, each.busy, len(each.open_questions())) for each in self._host.sessions.values()]

    def _choice(self, listed: Listed, moment: str) -> Choice:
        info = listed.found.session
        here = self._host.sessions.get(info.id)
        story = listed.story
        model, protocol = (info.model, info.protocol) if story is None else (story.model, story.protocol)
        return Choice(
            words=mask_of(self._host, self.glyphs).marks(line(listed.title, 200)) or "untitled",
            before=moment,
            note=listed.found.excerpt,
            right=(
                info.listed_source,
                self._state(info, here) if story is None else "live" if story.live else "",
                f"{info.turns:,} turn{'s' if info.turns != 1 else ''}" if story is None else story.size,
                line(model or info.model, 40),
                protocol or info.protocol,
            ),
        )

    def _state(self, info: SessionInfo, here: Session | None) -> str:
        if here is None:
            return "open elsewhere" if info.live else ""
        if here.open_questions():
            return "waiting for you"
        if here.busy:
            return "running"
        app: object = self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - Textual leaves it open
        return "on screen" if isinstance(app, Showing) and app.session is here else ""

    def on_line_view_cursor_moved(self, event: ChoiceList.CursorMoved) -> None:
        """Name the taps of the current story."""
        event.stop()
        self._say_taps()

    def _say_taps(self) -> None:
        at = self.choices.cursor
        story = self._listed[at].story if at is not None and at < len(self._listed) else None
        taps = story.each if story is not None and len(story.taps) > 1 else ()
        mark = f" {self.glyphs.dot} "
        self.note(line(mark.join(taps), 600))

    async def on_input_submitted(self) -> None:
        """Open the current one."""
        await self._open(self.choices.cursor)

    async def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        """Open the one that was clicked."""
        await self._open(event.line)

    def _session_of(self, info: SessionInfo) -> Session:
        """The session of a line. Blocks on the disk."""
        store = self._host.store
        if not info.is_foreign or store is None:
            return self._host.sessions.open(info.id)
        return self._host.sessions.foreign(info, store.sessions.item_texts(info.id) if info.imported else ())

    async def _open(self, number: int | None) -> None:
        if number is None or not 0 <= number < len(self._listed):
            return
        info = self._listed[number].found.session
        try:
            session = await asyncio.to_thread(self._session_of, info)
        except TuiHostError as error:
            self.notify(line(str(error), 300), severity="error", markup=False)
            return
        if self.is_on_top:  # else the person has gone on meanwhile
            self.post_message(self.Chosen(session))
            self.action_leave()
