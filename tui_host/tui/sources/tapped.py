"""Sources of what others recorded: stories of taps and files, followed while they grow, and imported sessions with their chat."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.chat.conversation import Conversation
from tui_host.errors import StoreError
from tui_host.infer.conversations.host_names import in_words
from tui_host.infer.story_reader import LiveStory, StoryState, StoryUpdate
from tui_host.tui.in_thread import in_thread
from tui_host.tui.sources.live import LOOK_SECONDS, SessionSource
from tui_host.tui.suggestions import FROM_FILE, READING, read_only

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.capture.store.store import Store
    from tui_host.chat.session import Session
    from tui_host.host.host import Host

_READ_SECONDS = 0.25  # longest time to read at once
_PIECES_SECONDS = 0.02  # longest time to process records in one look while little is drawn
NO_CHAT = "This capture has no chat. Read its requests and frames in the inspector. To send something, begin a session of your own: /new."
_WHOSE_CHARACTERS = 100


class TapSource(SessionSource):
    """A story, read in a thread: of taps, or of a file while it is read and after. The chat is filled into the session's conversation."""

    def __init__(self, host: Host, store: Store, session: Session, info: SessionInfo | None = None) -> None:
        super().__init__(host, session, clock=session.id)
        is_file = info is not None and info.imported
        self._reading = READING.format(session.title) if is_file else ""
        self._has_own_chat = info is not None and is_file and not info.is_story
        self.read_only = read_only(FROM_FILE if is_file else "Tapped")
        self.empty = self._reading or "Reading the taps' records …"
        session.conversation = Conversation(redact=session.redact)
        self._following = self.story = LiveStory(store, session.id)
        self._at_work: Future[None] | None = None
        self._version: object = None
        self._state = StoryState()
        self.foreign = f"{self._reading or 'another host'}: read only"

    @override
    def look(self) -> None:
        until = time.perf_counter() + (_PIECES_SECONDS if self.is_behind else LOOK_SECONDS)
        updates = self._following.updates
        while updates and time.perf_counter() < until:
            self._take(updates.popleft())
        self.is_settled = not self._read_on() and not updates and self._state.is_whole
        self.is_stale |= self._has_own_chat and self.is_settled and not self.live  # its own chat is there now

    def _read_on(self) -> bool:
        """Read new records in the thread, if there may be any; returns whether the thread is busy."""
        if self._at_work is not None and not self._at_work.done():
            return True
        ended, self._at_work = self._at_work, None
        try:
            if ended is not None:
                ended.result()
            version = self._following.version
        except StoreError:
            # The records may be readable later; the app reports the store's fault elsewhere.
            self._state, self._version = replace(self._state, is_whole=True), None
            return False
        if version == self._version and self._state.is_whole:
            return False
        self._version = version
        self._at_work = in_thread(partial(self._following.read, _READ_SECONDS))
        return True

    def _take(self, update: StoryUpdate) -> None:
        """Show the records, the chat items and the state that the thread has read."""
        state, session = update.state, self.session
        self.links |= {record.key: record for record in update.records if record.kind == "link"}
        self._feed(update.records)
        for number, item in update.items:
            if number < len(session.conversation):
                session.conversation.put(number, item)
            else:
                session.conversation.add(item)
        if state == self._state:
            return
        self._state, self.ladder.hosts = state, state.whose
        self.live, self.is_stale = state.live, state.is_stale
        session.title = state.title or session.title
        session.turn = max(state.turns, 1)
        session.asked, session.protocol = state.models, state.protocols
        if state.is_whole:
            self.ladder.close(state.running)
            self.is_behind = False
            if not state.title:
                self.empty = "These records were deleted. /sessions lists others; /new begins your own."
            elif self._reading:
                self.empty = NO_CHAT
            elif state.has_calls and not state.models:
                self.empty = "Only servers are tapped so far. To see the model's traffic too, run tui-host tap llm --upstream URL."
            elif state.live:
                self.empty = "No messages yet. Use the tapped host, and they appear here."
            else:
                self.empty = "No messages passed while this host was tapped."
        whose = line(in_words(state.hosts), _WHOSE_CHARACTERS)
        if self._reading:
            words = self._reading if self.live else f"{whose}, from a file".removeprefix(", ")
        else:
            how = ", followed" if self.live else ", tapped"
            words = f"{whose or 'another host'}{'' if self.is_behind else how}"
        self.foreign = f"{words}: read only"

    @override
    def before(self, row: Row) -> Row | None:
        asked = self._following.story.conversations.exchanges.get((row.capture, row.exchange))
        key = None if asked is None else asked.previous
        number, _ = self.ladder.halves.get(key, (-1, -1)) if key is not None else (-1, -1)
        return None if number < 0 or self.ladder.rows[number].missing else self.ladder.rows[number]

    @override
    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        return self._state.names
