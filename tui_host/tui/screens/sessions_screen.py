"""The list of sessions: search, open, join and part."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_host.capture.store.search import Found, search
from tui_host.capture.visible import line
from tui_host.errors import StoreError, TuiHostError
from tui_host.infer.stories import Stories, TapStory
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
    """An app with a session on screen."""

    @property
    def session(self) -> Session:
        """The session on screen."""
        ...


DESCRIBED = 30
"""Taps, the latest first, that are looked into for what they are before the list is shown, and again."""
LOOK_AGAIN_SECONDS = 1.0
"""How often what other processes do is listed anew, while the list is open."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of the list.

    Attributes:
        found: The session; or the story, or the tap, as a session.
        story: The story, or the tap by itself; None for other sessions.
        whole: For a tap that stands below its story the id of that story.
    """

    found: Found
    story: TapStory | None = None
    whole: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Names the line: a shared server stands below several stories."""
        return self.found.session.id, self.whole

    @property
    def shown(self) -> tuple[object, ...]:
        """The values that make the list redraw."""
        session = self.found.session
        return self.key, session.title, session.live, _moment(session.updated_ns)


def _moment(time_ns: int) -> str:
    """Return date and time; without the year in the present year."""
    then, now = time.localtime(time_ns / 1_000_000_000), time.localtime()
    return time.strftime("%m-%d %H:%M" if then.tm_year == now.tm_year else "%Y-%m-%d %H:%M", then)


def _listed(store: Store, stories: Stories, words: str) -> tuple[list[Listed], bool]:
    """Give the lines of the list, and whether the facts of all taps are known by now. Blocks.

    Args:
        store: Where the sessions are.
        stories: The stories of that store.
        words: What is searched for, empty for all.
    """
    sessions, is_described = stories.listed(DESCRIBED)
    matches = {match.session.id: match for match in search(store.sessions, words)} if words else {}
    wanted = words.casefold().split()
    lines: list[Listed] = []
    for session in sessions:
        if isinstance(session, TapStory):
            has_words = all(word in session.title.casefold() for word in wanted)
            if has_words or any(tap.id in matches for tap in session.taps):
                lines.append(Listed(Found(session=session.info), session))
                lines += [Listed(Found(session=half.info), half, session.id) for half in session.halves]
        elif not words:
            lines.append(Listed(Found(session=session)))
        elif session.id in matches:
            lines.append(Listed(matches[session.id]))
    return lines, is_described


def _is_linkable(line: Listed) -> bool:
    """Whether a line is a story recorded here."""
    return line.story is not None and not line.whole and not line.found.session.imported


class SessionsScreen(ChoiceScreen):
    """The list, newest first, and a field to search titles and messages."""

    HEADING = "Sessions"
    PLACE = "Sessions"
    PLACEHOLDER = "search titles and messages"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+l", "link", show=False)]

    @dataclass
    class Chosen(Message):
        """A session is to be shown."""

        session: Session

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host
        self._listed: Sequence[Listed] = ()
        self._stories: Stories | None = None
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
        """List the sessions once the host is open, and redraw when a session begins to wait or ends its turn."""
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
        """Search for the typed words."""
        await self._search()

    async def _search(self, *, again: bool = False, current: tuple[str, str] = ("", "")) -> None:
        """List the matches of the typed words. With `again` the cursor stays on its line, or goes to `current`."""
        words, store = self.typed, self._host.store
        self._asked += 1
        asked = self._asked
        if store is not None:
            try:
                async with self._looking:  # what is known of taps is found out by one at a time
                    if asked != self._asked:
                        return
                    stories = self._stories_of(store)
                    listed, self._is_described = await asyncio.to_thread(_listed, store, stories, words)
            except TuiHostError as error:
                self.notify(line(str(error), 300), severity="error", markup=False)
                return
            if asked != self._asked:
                return  # more was typed meanwhile
            if again and [line.shown for line in listed] == [line.shown for line in self._listed]:
                return
            if not any(current) and (chosen := self._current) is not None:
                current = chosen.key
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
        at = next((number for number, line in enumerate(self._listed) if again and line.key == current), 0)
        self._show(empty=empty, current=at)
        count = sum(not line.whole for line in self._listed)
        self.say(f"Sessions   {count:,}{' found' if words else ''}" if count else self.HEADING)

    def _show(self, *, empty: str = "", current: int | None = None) -> None:
        self._states = self._present_states()
        moments = [_moment(line.found.session.updated_ns) for line in self._listed]
        width = max(map(len, moments), default=0)
        lines = [
            self._choice(line, f"{'' if line.whole else moment:>{width}}  {'  ' if line.whole else ''}")
            for line, moment in zip(self._listed, moments, strict=True)
        ]
        self.choices.show(lines, empty=empty, current=current)
        self._say_link()

    def _present_states(self) -> list[tuple[str, bool, int]]:
        return [(session.id, session.busy, len(session.open_questions())) for session in self._host.sessions.values()]

    def _choice(self, listed: Listed, moment: str) -> Choice:
        info, story = listed.found.session, listed.story
        here = self._host.sessions.get(info.id)
        title = story.label if story is not None and listed.whole else info.title
        return Choice(
            words=mask_of(self._host, self.glyphs).marks(line(title, 200)) or "untitled",
            before=moment,
            note=listed.found.excerpt,
            right=(
                "" if listed.whole else info.listed_source,
                self._state(info, here) if story is None else "live" if story.live else "",
                ("" if listed.whole else story.size)
                if story is not None
                else f"{info.turns:,} turn{'s' if info.turns != 1 else ''}",
                line(info.model, 40),
                info.protocol,
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
        """Explain `ctrl+l` for the current line."""
        event.stop()
        self._say_link()

    @property
    def _current(self) -> Listed | None:
        """The line with the cursor."""
        at = self.choices.cursor
        return self._listed[at] if at is not None and at < len(self._listed) else None

    def _story_above(self) -> TapStory | None:
        """The next story above the current line; imported stories do not count."""
        above = self._listed[: self.choices.cursor or 0]
        return next((line.story for line in reversed(above) if line.story is not None and _is_linkable(line)), None)

    def _say_link(self) -> None:
        current = self._current
        if current is None or current.story is None or current.found.session.imported:
            words = ""
        elif current.whole:
            words = "ctrl+l parts this tap from its story; enter shows this tap alone."
        elif self._story_above() is None:
            words = ""
        else:
            words = "ctrl+l joins this story to the one above."
        self.note(words)

    async def action_link(self) -> None:
        """Part the current tap from the story, or join the current story to the story above."""
        current, above, store = self._current, self._story_above(), self._host.store
        if current is None or store is None:
            return
        if not (current.whole or _is_linkable(current)):
            self.notify("Only what a tap recorded here can be joined.", severity="warning", markup=False)
            return
        if not current.whole and above is None:
            self.notify("There is no story of a tap above this one.", severity="warning", markup=False)
            return
        try:
            async with self._looking:
                stories, name = self._stories_of(store), current.found.session.id
                if current.whole:
                    story = await asyncio.to_thread(stories.part, name, current.whole)
                else:
                    story = await asyncio.to_thread(stories.join, name, above.id if above is not None else "")
        except TuiHostError as error:
            self.notify(line(str(error), 300), severity="error", markup=False)
            return
        await self._search(again=True, current=(story.id, ""))

    def _stories_of(self, store: Store) -> Stories:
        """The stories of a store, with the facts read before."""
        if self._stories is None or self._stories.store is not store:
            self._stories = Stories(store)
        return self._stories

    async def on_input_submitted(self) -> None:
        """Open the current session."""
        await self._open(self.choices.cursor)

    async def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        """Open the clicked session."""
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
