"""Sources of what others recorded: stories of taps and files, followed while they grow, and imported sessions with their chat."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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
from tui_host.tui.sources.source_words import (
    ARRIVING,
    FROM_FILE,
    GONE,
    LOADING,
    NEVER_SAID,
    NO_CHAT,
    NO_MODEL,
    NOTHING_SAID,
    TAPPED,
    reading_words,
)

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.infer.matching.matcher import Pairing

READ_SECONDS = 0.25
"""Longest time to read at once, in seconds."""
PIECES_SECONDS = 0.02
"""Longest time to process records in one look while little is drawn, in seconds."""
_WHOSE = 100


class FileSource(SessionSource):
    """An imported session of our own, with the chat that was stored for it; or the place of one that has no record yet."""

    read_only = FROM_FILE

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__(host, session)
        self._reading = reading_words(session.title) if session.id == ARRIVING else ""
        self.empty = self._reading or NO_CHAT
        self.foreign, self.origin = f"{self._reading or 'from a file'}: read only", "from a file"
        self.live = bool(self._reading)
        if not self._reading and host.store is not None:
            items = host.store.sessions.item_texts(session.id)
            session.conversation = Conversation(items, redact=session.redact)

    @property
    @override
    def why_empty(self) -> str:
        return self._reading or super().why_empty

    @override
    def _belongs(self, record: Record) -> bool:
        return False


class TapSource(SessionSource):
    """A story, read in a thread: of taps, or of a file while it is read and after. The chat is filled into the session's conversation."""

    has_talks = True

    def __init__(self, host: Host, session: Session, info: SessionInfo | None = None) -> None:
        super().__init__(host, session, clock=session.id)
        is_file = info is not None and info.imported
        self._reading = reading_words(session.title) if is_file else ""
        self._has_own_chat = info is not None and is_file and not info.is_story
        self.read_only = FROM_FILE if is_file else TAPPED
        self.empty = self._reading or LOADING
        session.conversation = Conversation(redact=session.redact)
        self._following = None if host.store is None else LiveStory(host.store, session.id)
        self._at_work: Future[None] | None = None
        self._version: object = None
        self._state = StoryState()
        self._links: dict[tuple[str, int], Record] = {}
        self._name_hosts()

    # New records.

    @property
    @override
    def news(self) -> object:
        try:
            return None if self._following is None else self._following.version
        except StoreError:
            return None

    @override
    def pairings(self, row: Row) -> Sequence[Pairing]:
        return () if self._following is None else self._following.pairings(row.calls, (row.capture, row.seq))

    @override
    def look(self) -> None:
        following = self._following
        if following is None:
            return
        until = time.perf_counter() + (PIECES_SECONDS if self.is_behind else LOOK_SECONDS)
        while following.updates and time.perf_counter() < until:
            self._take(following.updates.popleft())
        self.is_settled = not self._read_on(following) and not following.updates and self._state.is_whole
        self.is_stale |= self._has_own_chat and self.is_settled and not self.live  # its own chat is there now

    def _read_on(self, following: LiveStory) -> bool:
        """Read new records in the thread, if there may be any; returns whether the thread is busy."""
        try:
            if self._at_work is not None:
                if not self._at_work.done():
                    return True
                ended, self._at_work = self._at_work, None
                ended.result()
            version = following.version
        except StoreError:
            # The records may be readable later; the app reports the store's fault elsewhere.
            self._state, self._version = replace(self._state, is_whole=True), None
            return False
        if version == self._version and self._state.is_whole:
            return False
        self._version = version
        self._at_work = in_thread(partial(following.read, READ_SECONDS))
        return True

    def _take(self, piece: StoryUpdate) -> None:
        state, session = piece.state, self.session
        self._links |= {record.key: record for record in piece.records if record.kind == "link"}
        self._feed(piece.records)
        for number, item in piece.items:
            if number < len(session.conversation):
                session.conversation.put(number, item)
            else:
                session.conversation.add(item)
        if state == self._state:
            return
        self._state = state
        if state.whose != self.ladder.hosts:
            self.ladder.hosts = state.whose
        self.live, self.is_stale = state.live, state.is_stale
        session.title = state.title or session.title
        session.turn = max(state.turns, 1)
        session.asked, session.protocol = state.models, state.protocols
        if state.is_whole:
            self.ladder.close(state.running)
            self.is_behind = False
            self.empty = self._why_no_chat(state)
        self._name_hosts()

    def _why_no_chat(self, state: StoryState) -> str:
        if not state.title:
            return GONE
        if self._reading:
            return NO_CHAT
        if state.has_calls and not state.models:
            return NO_MODEL
        return NOTHING_SAID if state.live else NEVER_SAID

    def _name_hosts(self) -> None:
        """Say whose session it is, and whether it is still being recorded."""
        whose = line(in_words(self._state.hosts), _WHOSE)
        if self._reading:
            self.foreign = f"{whose}, from a file: read only".removeprefix(", ")
            self.origin = f"of {whose}, from a file" if whose else "from a file"
            if self.live:
                self.foreign, self.origin = f"{self._reading}: read only", "from a file"
            return
        whose = whose or "another host"
        how = ", followed" if self.live else ", tapped"
        self.foreign, self.origin = f"{whose}{'' if self.is_behind else how}: read only", f"tapped from {whose}"

    @override
    def runs(self, capture: str) -> bool:
        return capture in self._state.running

    # Bytes.

    @override
    def record(self, key: tuple[str, int]) -> Record | None:
        if key in self._links:
            return self._links[key]
        record = super().record(key)
        return record if record is None or self._following is None else self._following.story.clock.on_it(record)

    @override
    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        records = super()._read(capture, after, last)
        return records if self._following is None else [self._following.story.clock.on_it(record) for record in records]

    @override
    def before(self, row: Row) -> Row | None:
        key = None if self._following is None else self._following.story.before(row.capture, row.exchange)
        number = None if key is None else self.ladder.request_of(*key)
        return None if number is None or self.ladder.rows[number].missing else self.ladder.rows[number]

    @override
    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        return self._state.names
