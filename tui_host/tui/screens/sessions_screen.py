"""The list of sessions: search, preview, open, export, join, part and delete; and the oldest turns of a session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input
from typing_extensions import override

from tui_host.capture.ladder.row_filter import read_filter
from tui_host.capture.short_units import counted, local_minute, short_size
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.search import Found, RecordSearch, search_chats
from tui_host.capture.visible import line
from tui_host.chat.conversation import SAID, UserItem, item_from_text
from tui_host.chat.session import oldest_turns, omit_turns
from tui_host.errors import StoreError
from tui_host.infer.stories import Stories, TapStory
from tui_host.llm.outline import size_words
from tui_host.tui.keys import bound, key_of
from tui_host.tui.screens.page_screen import Browse, PickScreen
from tui_host.tui.widgets.choices import Choice
from tui_host.tui.widgets.pages.text_page import TextPage

if TYPE_CHECKING:
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.capture.store.store import Store
    from tui_host.tui.screens.main_screen import MainScreen

LOOK_AGAIN_SECONDS = 1.0  # between updates of the list while other processes change sessions
PREVIEW_SECONDS = 0.05  # that the cursor stays on a line before the session's preview is read
RECORDS_SECONDS = 0.2  # after the last letter, before records are searched
_PROMPTS = 30
_NO_SESSIONS = (
    "No sessions yet. Press escape and ask something: it is saved from the first word."
    " Sessions of other hosts, recorded by «tui-host tap», are listed here too."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A line of the list."""

    info: SessionInfo  # of a session, a story, or a tap that stands below its story
    found: Found | None = None  # what matched
    whole: str = ""  # for a tap that stands below its story the id of that story


def ids_of(info: SessionInfo) -> list[str]:
    """Return the sessions that a line stands for."""
    return [tap.id for tap in info.taps] if isinstance(info, TapStory) else [info.id]


def lines_of(sessions: Sequence[SessionInfo], words: str, matches: Mapping[str, Found]) -> Iterator[Listed]:
    """Yield the lines; those that only records match stand last: a word of a tool's definition is in every request."""
    texts = [text.casefold() for text in read_filter(words).whole_texts]
    last: list[Listed] = []
    for info in sessions:
        match = next((matches[own] for own in ids_of(info) if own in matches), None)
        halves = info.halves if isinstance(info, TapStory) else ()
        lines = [Listed(info=info, found=match), *(Listed(info=half, whole=info.id) for half in halves)]
        is_titled = isinstance(info, TapStory) and texts and all(text in info.title.casefold() for text in texts)
        if not words or is_titled or (match is not None and match.where != "records"):
            yield from lines
        elif match is not None:
            last += lines
    yield from last


class SessionsScreen(Browse):
    """The list, newest first, a field to search titles, messages and records, and a preview below."""

    HEADING = "Sessions"
    FILTER = "search titles, messages and records: words, or a filter as in the inspector"
    FILTER_FIRST = True
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-below")]  # noqa: RUF012 - titles need the whole width
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "open", tooltip="open the session, chat and inspector"),
        Binding("tab", "app.focus_next", tooltip="go to the preview to scroll it, and back"),
        bound("export_session", "export", "export", tooltip="export the session to a file, in one of several formats"),
        bound("join_tap", "link", "join, part", tooltip="join a tap to the story above, or part it from its story"),
        bound("remove", "delete", "remove", display="delete, twice", priority=True, tooltip="remove it for good"),
    ]
    DEFAULT_CSS = """
    SessionsScreen.-below #list { height: 2fr; max-height: 100%; }
    SessionsScreen.-few .browse-sheet, SessionsScreen.-low .browse-sheet { display: none; }
    """

    def __init__(self, main: MainScreen) -> None:
        super().__init__()
        self._main, self._host = main, main.host
        self._sessions: Sequence[SessionInfo] | None = None  # all, and stories, the last changed first; None: not read
        self._words = ""  # what was searched, in titles and messages at once, in records one session after the other
        self._matches: Mapping[str, Found] = {}
        self._progress = ""
        self._lines: Mapping[str, Listed] = {}
        self._looking = asyncio.Lock()  # what is known of taps is found out by one at a time
        self._version = -1
        self._read_at = 0.0

    @override
    def look(self) -> None:
        """List the sessions once the host is open, and again when the store has changed: taps are separate processes."""
        store, now = self._host.store, time.monotonic()
        if store is not None and now - self._read_at >= LOOK_AGAIN_SECONDS:
            self._read_at = now
            with suppress(StoreError):  # told by whoever wants more of it
                version, self._version = self._version, store.data_version()
                if version != self._version:
                    self.start(self._read(self._words))
        here = [(session.id, session.busy, len(session.open_questions())) for session in self._host.sessions.values()]
        state = self._sessions, self._words, self._matches, self._progress
        self.revision = *state, here, self._host.recorder is None
        super().look()

    @override
    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._progress = ""
        self.ask_again()
        self.start(partial(self._search, self.typed), exclusive=True, group="records")

    async def _read(self, words: str) -> None:
        store = self._host.store
        if store is None:
            return
        with self.telling():
            async with self._looking:
                found = await asyncio.to_thread(lambda: [*search_chats(store, words)] if words else [])
                sessions = await asyncio.to_thread(Stories(store).listed)
            if words == self.typed:
                kept = self._matches if words == self._words else dict[str, Found]()
                self._matches = {**kept, **{match.session.id: match for match in found}}
                self._sessions, self._words = sessions, words

    async def _search(self, words: str) -> None:
        """Search the words everywhere: at last in the records of one session after the other, the last changed first."""
        from tui_host.llm.exchange_summary import answer_text
        from tui_host.llm.outline import estimate_tokens

        await self._read(words)
        store = self._host.store
        if store is None or not words:
            return
        await asyncio.sleep(RECORDS_SECONDS)
        reading, goes_on = read_filter(words), lambda: self.is_running and self.typed == words
        records = RecordSearch(store, reading, answer=answer_text, estimate=estimate_tokens, goes_on=goes_on)
        with self.telling():
            sessions = await asyncio.to_thread(store.sessions.list)
            for session in sessions:
                match = await asyncio.to_thread(records.in_session, session)
                if match is not None:
                    self._matches = {session.id: match, **self._matches}
                self._progress = f"records of {records.looked:,} of {len(sessions):,} searched"
                if records.bytes_left <= 0:
                    return
        self._progress = ""

    @override
    def items(self) -> Mapping[str, Choice]:
        lines = {line.info.id: line for line in lines_of(self._sessions or (), self._words, self._matches)}
        self._lines = lines
        if self._host.recorder is None or (self._host.store is not None and self._sessions is None):
            self.empty = "Reading the sessions …"
        elif self._host.store is None:
            self.empty = "Sessions are not saved here, so there are no earlier ones."
        elif self._words:
            hints = "; ".join(read_filter(self._words).hints)
            self.empty = hints or "No title, message or body has all of these words, and no row matches; try fewer."
        else:
            self.empty = _NO_SESSIONS
        count = sum(not listed.whole for listed in lines.values())
        found = f"{count:,}{' found' * bool(self._words)}" if count else ""
        self.note("   ".join(filter(None, (self.HEADING, found, self._progress))), place="#page-heading")
        choices: dict[str, Choice] = {}
        for key, listed in lines.items():
            info, match, is_half = listed.info, listed.found, bool(listed.whole)
            here, shown = self._host.sessions.get(info.id), self._main.submissions.shown
            size, state = counted(info.turns, "turn"), "on screen" if here is not None and here is shown else ""
            if isinstance(info, TapStory):
                size, state = info.size * (not is_half), "live" * info.live
            elif here is None:
                state = "open elsewhere" * info.live
            elif here.open_questions():
                state = "waiting for you"
            elif here.busy:
                state = "running"
            branch = "" if info.parent is None else self._host.mask.marks(line(info.parent.words(), 80))
            facts = size, info.listed_source * (not is_half), branch, line(info.asked[0], 40), info.asked[1]
            note = " · ".join(filter(None, facts))
            if match is not None:
                note = f"{counted(match.rows, 'row')}: {match.excerpt}" if match.rows else match.excerpt
            title = info.label if isinstance(info, TapStory) and is_half else info.title
            choices[key] = Choice(
                words=self._host.mask.marks(line(title, 200)) or "untitled",
                before=" " * 20 if is_half else f"{local_minute(info.updated_ns)}  ",
                note=note,
                right=state,
                take=partial(self.start, partial(self._open, info), group="open", exclusive=True),
                subject=info,
            )
        return choices

    @override
    def sheet(self, key: str) -> None:
        self.start(partial(self._preview, self._lines[key]), exclusive=True, group="preview")

    async def _preview(self, listed: Listed) -> None:
        await asyncio.sleep(PREVIEW_SECONDS)
        store, mask = self._host.store, self._host.mask
        if store is not None:
            try:
                lines = await asyncio.to_thread(lambda: [*preview_lines(store, listed.info)])
            except StoreError as error:
                lines = [str(error)]
            self.view.show(TextPage("session", mask("\n".join(line(words, 300) for words in lines)), form="plain"))

    async def action_link(self) -> None:
        """Join a story to the next one above it that was recorded here, or part a tap from its story."""
        store, name, lines = self._host.store, self.choices.current, self._lines.items()
        if store is None or not name:
            return
        whole = self._lines[name].whole
        stories = [key for key, own in lines if isinstance(own.info, TapStory) and not (own.whole or own.info.imported)]
        above = stories[: stories.index(name)] if name in stories else []
        if not whole and not above:
            words = "There is no story of a tap above this one. Only what a tap recorded here can be joined."
            self.notify(words, severity="warning", markup=False)
            return
        with self.telling():
            async with self._looking:
                links = Stories(store)
                change = partial(links.part, name, whole) if whole else partial(links.join, name, above[-1])
                story = await asyncio.to_thread(change)
            await self._read(self._words)
            self.list_again(story.id)

    def action_export(self) -> None:
        if self.choices.current:
            from tui_host.tui.screens.export_screen import WHOLE, ask_for_export

            ask_for_export(self, self._host, self.choices.current, WHOLE)

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave `delete` to the field while there is text behind its caret."""
        return action != "delete" or self.field.cursor_position >= len(self.field.value)

    async def action_delete(self) -> None:
        """Ask before removing the current session; pressed again, remove it, or all taps of a story, from the disk."""
        listed, store = self._lines.get(self.choices.current), self._host.store
        if listed is None or store is None:
            return
        info, title, reason = listed.info, line(self.listed[self.choices.current].words, 80), ""
        words = f"{key_of('remove')} again: remove «{title}» for good. Any other key keeps it."
        here, shown = self._host.sessions.get(info.id), self._main.submissions.shown
        if shown is not None and shown.id in {info.id, listed.whole, *ids_of(info)}:
            reason = "This session is on the screen. Show another one first, then delete it here."
        elif here is not None and (here.busy or here.open_questions()):
            reason = "A turn of this session is running. Delete the session when the turn has ended."
        elif here is None and info.live:
            reason = "Another process is writing this session. End it there first."
        elif not self.is_again("delete", self._main.pressed_at, words):
            return
        elif here is not None and not self._host.sessions.leave(here):
            reason = "This session is not saved whole yet. Delete it later."
        if reason:
            self.ask_again()
            self.notify(reason, severity="warning", markup=False)
            return
        with self.telling():
            for name in ids_of(info):
                await asyncio.to_thread(delete_session, store, name)
            self.notify(f"removed «{title}»", markup=False)
        await self._read(self._words)

    async def _open(self, info: SessionInfo) -> None:
        sessions = self._host.sessions
        with self.telling():
            read = partial(sessions.foreign, info) if info.is_foreign else partial(sessions.open, info.id)
            session = await asyncio.to_thread(read)
            if self.is_active:  # else the person has gone on meanwhile
                self._main.call_later(self._main.show_session, session)
                self.action_leave()


def preview_lines(store: Store, info: SessionInfo) -> Iterator[str]:
    """Yield dates, size, models, servers and the first prompts or the taps of a session. Blocks on the disk."""
    traffic = [row for name in ids_of(info) for row in store.sessions.traffic(name)]
    dates = " to ".join(dict.fromkeys((local_minute(info.created_ns), local_minute(info.updated_ns))))
    turns = [] if isinstance(info, TapStory) else [counted(info.turns, "turn")]
    yield f"session  {' · '.join((info.id, dates, *turns, short_size(sum(row.size for row in traffic))))} on the disk"
    if info.parent is not None:
        yield f"{info.parent.words()}, session {info.parent.parent}"
    models = () if info.is_direct else store.sessions.names(info.id, "models") or [f"{info.model} {info.protocol}"]
    requests, frames = sum(row.requests for row in traffic), sum(row.frames for row in traffic)
    named = ", ".join(model.strip() for model in models)
    yield f"models   {' · '.join(filter(None, (named, counted(requests, 'request'))))}"
    servers = ", ".join(dict.fromkeys(row.peer for row in traffic if row.frames))
    yield f"servers  {servers} · {counted(frames, 'frame')}" if servers else "servers  none"
    if isinstance(info, TapStory):
        yield from (f"tap      {local_minute(half.created_ns)}  {half.label}" for half in info.halves or (info,))
        return
    for number, text in enumerate(store.session_items(info.id, beginning=SAID, most=_PROMPTS), 1):
        item = item_from_text(text)
        if isinstance(item, UserItem):
            yield f"asked    {number} {item.text}"


def turns_screen(main: MainScreen) -> PickScreen:
    """Return the screen that leaves the oldest turns out of a conversation that is too long for the model."""
    session = main.submissions.session
    turns = oldest_turns(session)

    def go_on(*, leaves_out: bool) -> None:
        note = session.end_note
        has_failed = note is not None and note.again
        if leaves_out and not session.busy:
            omit_turns(session, turns)
        if has_failed:
            main.host.again(session)

    named = "\n".join(f"turn {turn.turn}  {line(turn.title, 80)}  {size_words(turn.size_bytes)}" for turn in turns[:20])
    choices = {
        "leave them out of all requests from now on, and go on; the chat keeps them": partial(go_on, leaves_out=True),
        "send everything again, such as to another model": partial(go_on, leaves_out=False),
    }
    words = f"The conversation is longer than the model reads. These turns are the oldest:\n{named}"
    return PickScreen(f"Oldest turns: {len(turns)}", words, choices)
