"""Source of a story's rows: records of taps, followed while the taps run, and imported stories."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.visible import line
from tui_host.chat.conversation import Conversation
from tui_host.errors import StoreError
from tui_host.infer.conversations.host_names import in_words
from tui_host.infer.story_reader import LiveStory, StoryState, StoryUpdate
from tui_host.tui.sources.live import LOOK_SECONDS, SessionSource
from tui_host.tui.sources.source_words import FROM_FILE, NO_CHAT, reading_words

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.infer.matching.matcher import Pairing

READ_SECONDS = 0.25
"""Longest time to read at once, in seconds: the program's end waits for it at most."""

SWITCH_SECONDS = 0.0005
"""Longest time, in seconds, until the reading thread lets the screen work."""
_WHOSE = 100
PIECES_SECONDS = 0.02
"""Longest time to process records in one look while little is drawn, in seconds."""

NO_MODEL = "Only servers are tapped so far. To see the model's traffic too, run tui-host tap llm --upstream URL."
LOADING = "Reading the taps' records …"
GONE = "These records were deleted. f5 lists other sessions; ctrl+n begins your own."
NOTHING_SAID = "No messages yet. Use the tapped host, and they appear here."
NEVER_SAID = "No messages passed while this host was tapped."


class TapSource(SessionSource):
    """The rows and bytes of a story, read in a separate thread. The chat is filled into the session's conversation.

    Attributes:
        no_model: The chat's text if only servers were used.
        nothing_said: The chat's text while there are no records.
        never_said: The chat's text if there were no records before all taps ended.
    """

    read_only = "Tapped, read only.  ctrl+n new session  / commands"
    no_model = NO_MODEL
    nothing_said = NOTHING_SAID
    never_said = NEVER_SAID
    has_talks = True

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__(host, session)
        self.ladder = Ladder(session.id)
        self.empty = LOADING
        session.conversation = Conversation(redact=session.redact)
        self._following = None if host.store is None else LiveStory(host.store, session.id)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="following")
        self._reading: Future[None] | None = None
        self._version: object = None
        self._state = StoryState()
        self._links: dict[tuple[str, int], Record] = {}
        self._turns: dict[int, int] = {}
        self._name_hosts()

    # New records.

    @property
    @override
    def news(self) -> object:
        """Changes whenever a look may find something."""
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

    def _read_on(self, following: LiveStory) -> bool:
        """Read new records in the thread, if there may be any; returns whether the thread is busy."""
        try:
            if self._reading is not None:
                if not self._reading.done():
                    return True
                reading, self._reading = self._reading, None
                reading.result()
            version = following.version
        except StoreError:
            # The records may be readable later; the app reports the store's fault elsewhere.
            self._state, self._version = replace(self._state, is_whole=True), None
            return False
        if version == self._version and self._state.is_whole:
            return False
        self._version = version
        self._reading = self._reader.submit(_read, following)
        return True

    def _take(self, piece: StoryUpdate) -> None:
        state, session = piece.state, self.session
        for record in piece.records:
            if record.kind == "link":
                self._links[record.key] = record
            elif record.mono_ns is not None:
                self._turns.setdefault(record.place.turn or 0, record.mono_ns)
        self.ladder.feed(piece.records)
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
            nothing_passed = self.nothing_said if state.live else self.never_said
            words = self.no_model if state.has_calls and not state.models else nothing_passed
            self.empty = words if state.title else GONE
        self._name_hosts()

    def _name_hosts(self) -> None:
        """Say whose session it is, and whether it is still being recorded."""
        how = ", followed" if self.live else ", tapped"
        how *= not self.is_behind
        self.foreign, self.origin = f"{self._whose}{how}: read only", f"tapped from {self._whose}"

    @override
    def runs(self, capture: str) -> bool:
        return capture in self._state.running

    @property
    def _whose(self) -> str:
        return line(in_words(self._state.hosts), _WHOSE) or "another host"

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
    def started_mono_ns(self, row: Row) -> int | None:
        return self._turns.get(row.turn, row.mono_ns)

    @override
    def before(self, row: Row) -> Row | None:
        key = None if self._following is None else self._following.story.before(row.capture, row.exchange)
        number = None if key is None else self.ladder.request_of(*key)
        return None if number is None or self.ladder.rows[number].missing else self.ladder.rows[number]

    @override
    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        return self._state.names


class TapFileSource(TapSource):
    """A story from a file, followed while the file is read: nothing else can be added."""

    read_only = FROM_FILE
    no_model = nothing_said = never_said = NO_CHAT

    def __init__(self, host: Host, session: Session) -> None:
        info = None if host.store is None else host.store.sessions.get(session.id)
        self._is_own = info is not None and not info.is_story
        self._reading_words = reading_words(session.title)
        super().__init__(host, session)
        self.empty = self._reading_words

    @override
    def look(self) -> None:
        super().look()
        self.is_stale |= self._is_own and self.is_settled and not self.live  # its own chat is there now

    @override
    def _name_hosts(self) -> None:
        whose = line(in_words(self._state.hosts), _WHOSE)
        self.foreign, self.origin = f"{whose}, from a file: read only".removeprefix(", "), "from a file"
        if self.live:
            self.foreign = f"{self._reading_words}: read only"
        elif whose:
            self.origin = f"of {whose}, from a file"


def _read(following: LiveStory) -> None:
    """Read for a while, and give way to the screen meanwhile."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        following.read(READ_SECONDS)
    finally:
        sys.setswitchinterval(usual)
