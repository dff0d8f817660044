"""The list of sessions: search, preview, open, join, part and delete."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.ladder.row_filter import read_filter
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.search import Found
from tui_host.capture.visible import line
from tui_host.errors import StoreError, TuiHostError
from tui_host.infer.stories import Stories, TapStory
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.page_screen import ChoiceScreen
from tui_host.tui.screens.session_lines import Listed, listed_sessions, records_of
from tui_host.tui.screens.session_preview import counted, moment, preview_lines
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.widget import Widget

    from tui_host.capture.session_summary import SessionInfo
    from tui_host.chat.session import Session
    from tui_host.host.host import Host


LOOK_AGAIN_SECONDS = 1.0
"""Seconds between updates of the list while other processes change sessions."""
PREVIEW_SECONDS = 0.05
"""Seconds that the cursor stays on a line before the session's preview is read."""
RECORDS_SECONDS = 0.2
"""Seconds after the last letter before records are searched."""
HELD_SECONDS = 0.2
"""A key repeated within so many seconds is being held down, and does not count as a confirmation."""


def _is_linkable(line: Listed) -> bool:
    return line.story is not None and not line.whole and not line.found.session.imported


class SearchField(Input):
    """The field of the screen. It gets every key except `delete`; any of them cancels a deletion."""

    @override
    async def on_event(self, event: events.Event) -> None:
        screen = self.screen
        if (
            isinstance(event, events.Key)
            and isinstance(screen, SessionsScreen)
            and screen.keep()
            and event.key == "escape"
        ):
            return
        await super().on_event(event)


class SessionsScreen(ChoiceScreen):
    """The list, newest first, and a field to search titles, messages and records."""

    HEADING = "Sessions"
    PLACE = "Sessions"
    PLACEHOLDER = "search titles, messages and records: words, or a filter as in the inspector"
    FIELD = SearchField
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+l", "link", show=False),
        Binding("ctrl+s", "export", show=False),
        Binding("delete", "delete", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    SessionsScreen {
        &.-few > #session-preview { display: none; }
        &.-unknown > #session-preview { display: none; }
        & > #session-preview {
            height: auto; max-height: 30%; padding: 0 1; border-top: solid $panel; text-wrap: nowrap; text-overflow: ellipsis;
        }
    }
    """

    @dataclass
    class Chosen(Message):
        """Posted when the user has chosen a session to show."""

        session: Session

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host
        self._listed: Sequence[Listed] = ()
        self._looking = asyncio.Lock()
        self._version = 0
        self._listed_at = 0.0
        self._asked = 0
        self._is_behind = False
        self._states: list[tuple[str, bool, int]] = []
        self._in_records: tuple[str, dict[str, Found]] = ("", {})  # the words, and the sessions so far
        self._progress = ""
        self._doomed: tuple[str, str] | None = None  # the line that another `delete` removes
        self._delete_pressed_at = 0.0

    @override
    def body(self) -> Sequence[Widget]:
        *above, note = super().body()
        return [*above, Static(id="session-preview", markup=False), note]

    def on_mount(self) -> None:
        """List all, once the field has the focus: reading may take a while."""
        self._show(empty="Reading the sessions …")
        self.call_later(self._search)

    def look(self) -> None:
        """List the sessions once the host is open, and redraw when a session begins to wait or ends its turn."""
        if self._is_behind and self._host.recorder is not None:
            self._is_behind = False
            self.call_later(self._search)
        elif self._has_more_been_done():
            self.call_later(self._search, again=True)
        elif self._listed and self._present_states() != self._states:
            self._show()

    def _has_more_been_done(self) -> bool:
        """Whether the store has changed since the list was made: taps are separate processes."""
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
        """Search for the typed words: titles and messages at once, then records."""
        self._in_records, self._progress = (self.typed, {}), ""
        await self._search()
        self.start(self._search_records(self.typed), exclusive=True, group="records")

    async def _search_records(self, words: str) -> None:
        """Search the records of one session after the other, the last changed first, and list those that match."""
        store = self._host.store
        if store is None or not words:
            return
        await asyncio.sleep(RECORDS_SECONDS)
        records = records_of(store, words, lambda: self._in_records[0] == words)
        sessions: Sequence[SessionInfo] = ()
        try:
            sessions = await asyncio.to_thread(store.sessions.list)
            for session in sessions:
                match = await asyncio.to_thread(records.in_session, session)
                if self.typed != words:
                    return
                self._progress = f"records of {records.looked:,} of {len(sessions):,} searched"
                if match is not None:
                    self._in_records[1][session.id] = match
                    await self._search(again=True)
                self._head()
                if records.is_over:
                    break
        except TuiHostError as error:
            self.notify(line(str(error), 300), severity="error", markup=False)
        if records.looked == len(sessions):
            self._progress = ""
        self._head()

    def on_unmount(self) -> None:
        self._in_records = "", {}

    def _head(self) -> None:
        """Say how many lines there are, and how far records were searched."""
        count = sum(not line.whole for line in self._listed)
        counted = f"{count:,}{' found' * bool(self.typed)}" if count else ""
        self.say("   ".join(filter(None, (self.HEADING, counted, self._progress))))

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
                    stories = Stories(store)
                    listed = await asyncio.to_thread(listed_sessions, store, stories, words, self._in_records[1])
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
                "; ".join(read_filter(words).hints)
                or "No title, message or body has all of these words, and no row matches; try fewer."
            )
        else:
            empty = (
                "No sessions yet. Press escape and ask something: it is saved from the first word."
                " Sessions of other hosts, recorded by «tui-host tap», are listed here too."
            )
        former = self.choices.cursor or 0 if again else 0
        at = next((number for number, line in enumerate(self._listed) if again and line.key == current), former)
        self._show(empty=empty, current=at)
        self._head()

    def _show(self, *, empty: str = "", current: int | None = None) -> None:
        self._states = self._present_states()
        moments = [moment(line.found.session.updated_ns) for line in self._listed]
        width = max(map(len, moments), default=0)
        lines = [
            self._choice(line, f"{'' if line.whole else moment:>{width}}  {'  ' if line.whole else ''}")
            for line, moment in zip(self._listed, moments, strict=True)
        ]
        self.choices.show(lines, empty=empty, current=current)
        self._show_current()

    def _present_states(self) -> list[tuple[str, bool, int]]:
        return [(session.id, session.busy, len(session.open_questions())) for session in self._host.sessions.values()]

    def _choice(self, listed: Listed, moment: str) -> Choice:
        info, story = listed.found.session, listed.story
        here = self._host.sessions.get(info.id)
        state, size = self._state(info, here), counted(info.turns, "turn")
        if story is not None:
            state, size = "live" * story.live, "" if listed.whole else story.size
        return Choice(
            words=self._title(listed),
            before=moment,
            note=f"{counted(listed.found.rows, 'row')}: {listed.found.excerpt}"
            if listed.found.rows
            else listed.found.excerpt,
            right=(
                "" if listed.whole else info.listed_source,
                state,
                size,
                line(info.asked[0], 40),
                info.asked[1],
            ),
        )

    def _title(self, listed: Listed) -> str:
        story, title = listed.story, listed.found.session.title
        words = story.label if story is not None and listed.whole else title
        return mask_of(self._host).marks(line(words, 200)) or "untitled"

    def _state(self, info: SessionInfo, here: Session | None) -> str:
        if here is None:
            return "open elsewhere" if info.live else ""
        if here.open_questions():
            return "waiting for you"
        if here.busy:
            return "running"
        return "on screen" if info.id == self._on_screen else ""

    @property
    def _on_screen(self) -> str:
        session: Session | None = getattr(self.app, "session", None)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - Textual leaves it open
        return "" if session is None else session.id

    def on_line_view_cursor_moved(self, event: ChoiceList.CursorMoved) -> None:
        event.stop()
        self._show_current()

    def _show_current(self) -> None:
        """Show what `delete` and `ctrl+l` do on the current line, and a preview of its session."""
        current = self._current
        if current is None or current.key != self._doomed:
            self._doomed = None
        if current is not None and self._doomed:
            question = f"delete again: remove «{line(self._title(current), 80)}» for good. Any other key keeps it."
            self.query_one("#choice-note", Static).update(Content.styled(question, "bold $text-warning"))
        else:
            self.note(self._link_words())
        self.start(self._preview(), exclusive=True, group="preview")

    async def _preview(self) -> None:
        await asyncio.sleep(PREVIEW_SECONDS)
        current, store = self._current, self._host.store
        lines: Sequence[str] = ()
        if current is not None and store is not None:
            info, mask = current.found.session, mask_of(self._host)
            try:
                lines = await asyncio.to_thread(preview_lines, store, info, current.story, mask)
            except StoreError as error:
                lines = [line(str(error), 300)]
        self.set_class(not lines, "-unknown")
        self.query_one("#session-preview", Static).update(Content("\n".join(lines)))

    @property
    def _current(self) -> Listed | None:
        at = self.choices.cursor
        return self._listed[at] if at is not None and at < len(self._listed) else None

    def _story_above(self) -> TapStory | None:
        """The next story above the current line; imported stories do not count."""
        above = self._listed[: self.choices.cursor or 0]
        return next((line.story for line in reversed(above) if line.story is not None and _is_linkable(line)), None)

    def _link_words(self) -> str:
        current = self._current
        if current is None or current.story is None or current.found.session.imported:
            return ""
        if current.whole:
            return "ctrl+l parts this tap from its story; enter shows this tap alone."
        return "ctrl+l joins this story to the one above." if self._story_above() is not None else ""

    async def action_link(self) -> None:
        current, above, store = self._current, self._story_above(), self._host.store
        if current is None or store is None:
            return
        if not (current.whole or _is_linkable(current)):
            self.notify("Only what a tap recorded here can be joined.", severity="warning", markup=False)
            return
        if not current.whole and above is None:
            self.notify("There is no story of a tap above this one.", severity="warning", markup=False)
            return
        with self.telling():
            async with self._looking:
                stories, name = Stories(store), current.found.session.id
                if current.whole:
                    story = await asyncio.to_thread(stories.part, name, current.whole)
                else:
                    story = await asyncio.to_thread(stories.join, name, above.id if above is not None else "")
            await self._search(again=True, current=(story.id, ""))

    def action_export(self) -> None:
        if (current := self._current) is not None:
            from tui_host.tui.screens.export_screen import ExportPart, ask_for_export

            ask_for_export(self, self._host, current.found.session.id, (ExportPart(),))

    def keep(self) -> bool:
        """Cancel the deletion that waits for a second press; returns whether there was one."""
        was_doomed, self._doomed = self._doomed is not None, None
        if was_doomed:
            self._show_current()
        return was_doomed

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave `delete` to the field while there is text behind its caret."""
        field = self.query_one(Input)
        return action != "delete" or field.cursor_position >= len(field.value)

    def action_delete(self) -> None:
        """Ask before removing the current session; pressed again, removes it."""
        now, current = time.monotonic(), self._current
        is_held = now - self._delete_pressed_at < HELD_SECONDS
        self._delete_pressed_at = now
        if current is None or is_held:
            return
        if reason := self._reason_to_keep(current):
            self.notify(reason, severity="warning", markup=False)
        elif self._doomed == current.key:
            self.start(self._delete(current), group="delete")
        else:
            self._doomed = current.key
            self._show_current()

    def _reason_to_keep(self, listed: Listed) -> str:
        """Say why a session cannot be removed now; empty if it can be."""
        info, story = listed.found.session, listed.story
        here = self._host.sessions.get(info.id)
        taps = [tap.id for tap in story.taps] if story is not None else []
        if self._on_screen in {info.id, listed.whole, *taps}:
            return "This session is on the screen. Show another one first, then delete it here."
        if here is not None and (here.busy or here.open_questions()):
            return "A turn of this session is running. Delete the session when the turn has ended."
        if here is None and info.live:
            return "Another process is writing this session. End it there first."
        return ""

    async def _delete(self, listed: Listed) -> None:
        """Remove a session, or all taps of a story, from the disk."""
        store, info, story = self._host.store, listed.found.session, listed.story
        here = self._host.sessions.get(info.id)
        self._doomed = None
        if store is None or (here is not None and not self._host.sessions.leave(here)):
            self.notify("This session is not saved whole yet. Delete it later.", severity="warning", markup=False)
            return
        with self.telling():
            for name in [tap.id for tap in story.taps] if story is not None else [info.id]:
                await asyncio.to_thread(delete_session, store, name)
            self.notify(f"removed «{line(self._title(listed), 80)}»", markup=False)
        await self._search(again=True)

    async def on_input_submitted(self) -> None:
        await self._open(self.choices.cursor)

    async def on_line_view_opened(self, event: ChoiceList.Opened) -> None:
        await self._open(event.line)

    def _session_of(self, info: SessionInfo) -> Session:
        if info.is_foreign:
            return self._host.sessions.foreign(info)
        return self._host.sessions.open(info.id)

    async def _open(self, number: int | None) -> None:
        if number is None or not 0 <= number < len(self._listed):
            return
        info = self._listed[number].found.session
        with self.telling():
            session = await asyncio.to_thread(self._session_of, info)
            if self.is_on_top:  # else the person has gone on meanwhile
                self.post_message(self.Chosen(session))
                self.action_leave()
