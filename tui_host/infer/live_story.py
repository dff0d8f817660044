"""Follow a story while its taps go on recording. New records and chat items are queued as updates, for a screen to take."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tui_host.capture.record import Record
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import Conversation, Item
from tui_host.errors import StoreError
from tui_host.infer.conversations.host_names import models_of, protocols_of
from tui_host.infer.conversations.model_exchange import ExchangeKey
from tui_host.infer.matching.by_hand import Pairing, choices_of, pairings
from tui_host.infer.matching.matcher import JoinedCall
from tui_host.infer.merged_records import MergedRecords
from tui_host.infer.stories import Stories
from tui_host.infer.story import FoundLink, Story
from tui_host.infer.story_chat import StoryChat

TAPS_SECONDS = 1.0
"""How often to look for taps that have begun or ended."""
JOIN_SECONDS = 0.2
"""The shortest time between two searches for links."""
PATIENCE = 20
"""The processor time of the last search, times this, must pass before the next search."""
LONGEST_SECONDS = 10.0
"""The longest time between two searches while records come."""
PER_LINKS = 50
"""The most links, and chat items, in one update: each changes a row on the screen."""
AHEAD = 40
"""The most updates in the queue; reading stops until some are taken."""
_LINKS_FROM = 1 << 48
"""The first number of the links' records: no capture has as many records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryState:
    """The present state of a followed story."""

    title: str = ""
    live: bool = True  # a tap of the story still runs
    running: frozenset[str] = frozenset()  # the captures that still grow
    hosts: Sequence[str] = ()  # as far as they state their names
    models: Sequence[tuple[str, str]] = ()  # provider and name of each that was asked
    protocols: Sequence[str] = ()
    turns: int = 0
    whose: Mapping[int, str] = field(default_factory=dict[int, str])  # the host of each turn, where there are several
    has_calls: bool = False  # a server's tool was called
    names: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )  # server and tool by the model's names
    is_whole: bool = False  # everything recorded so far was handed over
    is_stale: bool = False  # something handed over turned out to be wrong: read the story anew


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryUpdate:
    """New records or chat items, and the state of the story after them."""

    records: Sequence[Record] = ()  # on the shared clock, with their places in the story, and links
    before: Mapping[ExchangeKey, ExchangeKey] = field(
        default_factory=dict[ExchangeKey, ExchangeKey]
    )  # the request before
    items: Sequence[tuple[int, Item]] = ()  # new and changed ones of the chat, by number
    state: StoryState


class LiveStory:
    """Reads the story, or the tap, with an id into `updates`. Only `read` must be called by one thread at a time."""

    def __init__(self, store: Store, session: str) -> None:
        self.updates: deque[StoryUpdate] = deque()  # the reader removes those that it has shown
        self._store = store
        self._session = session
        self._state = StoryState()
        self._story = Story(session)
        self._chat = Conversation()
        self._shown = self._chat.revision
        self._telling = StoryChat(self._story, self._chat, is_followed=True)
        self._merging = MergedRecords(store, self._story.clock)
        self._stories = Stories(store)
        self._given: dict[tuple[object, ...], FoundLink] = {}
        self._joined = -1
        self._version: int | None = None
        self._chosen_at: int | None = None
        self._found: Sequence[JoinedCall] = ()
        self._looked_for_taps = self._join_at = 0.0
        self._is_changed = False  # whether something was written since the last search for taps

    @property
    def version(self) -> object:
        """A value that changes whenever new records may be waiting.

        Raises:
            StoreError: The file cannot be read.
        """
        is_due = (self._state.live or self._is_changed) and time.monotonic() - self._looked_for_taps >= TAPS_SECONDS
        return self._store.data_version(), is_due, self._merging.is_waiting

    def on_clock(self, record: Record) -> Record:
        """Return a record of the story with its time on the shared clock."""
        return self._story.clock.on_it(record)

    def pairings(self, calls: Container[str], record: tuple[str, int]) -> Sequence[Pairing]:
        """Return what the frame of a record, or else some calls, may be joined with by hand."""
        return pairings(self._found, list(self._story.frames.sent.values()), calls=calls, record=record)

    def read(self, seconds: float) -> None:
        """Read new records, for about `seconds`. Blocks.

        Raises:
            StoreError: The file cannot be read; `version` changes soon, and another call reads the rest.
        """
        try:
            self._read(time.monotonic() + seconds)
        except StoreError:
            self._version, self._is_changed = None, True
            raise

    def _read(self, until: float) -> None:
        version = self._store.data_version()
        if version != self._version:
            self._version, self._is_changed = version, True
            self._merging.look_again()
        if time.monotonic() - self._looked_for_taps >= TAPS_SECONDS:
            self._looked_for_taps = time.monotonic()
            self._look_for_taps()
        while time.monotonic() < until and len(self.updates) < AHEAD:
            ready = list(self._merging.ready())
            if not ready:
                break
            self._hand_over_records(ready)
        if self._merging.is_read and version != self._chosen_at:
            self._chosen_at = version
            self._story.choose(choices_of(self._store, self._merging.last))
        # Whoever opens a story waits for the links.
        is_first = self._joined < 0 and self._merging.is_read and not self._merging.is_waiting
        if self._joined != self._story.revision and (is_first or time.monotonic() >= self._join_at):
            began, took = time.monotonic(), time.thread_time()
            self._tell()
            if self._merging.is_read:
                self._join()
            took = time.thread_time() - took
            self._join_at = began + min(max(JOIN_SECONDS, PATIENCE * took), LONGEST_SECONDS)
        is_all_given = self._merging.is_read and not self._merging.is_waiting
        self._change(replace(self._state, is_whole=is_all_given and self._joined == self._story.revision))

    def _hand_over_records(self, ready: Sequence[Record]) -> None:
        records = [self._story.feed(record) for record in ready]
        before: dict[ExchangeKey, ExchangeKey] = {}
        for record in records:
            if record.wire == "llm" and record.kind == "request" and (key := self._story.before(record)) is not None:
                before[record.capture, record.exchange or ""] = key
        self.updates.append(StoryUpdate(records=records, before=before, state=self._state))

    def _change(self, state: StoryState) -> None:
        """Hand over a state, if it is another."""
        if state != self._state:
            self._state = state
            self.updates.append(StoryUpdate(state=state))

    def _look_for_taps(self) -> None:
        """Find the story's taps, and the running taps."""
        self._is_changed = False
        story = self._stories.get(self._session)
        self._merging.take(story)
        self._telling.names_hosts |= story is not None and len(story.hosts) > 1
        self._change(
            replace(
                self._state,
                live=story is not None and story.live,
                running=self._merging.running,
                title="" if story is None else story.title,
                is_stale=self._state.is_stale or self._merging.is_wrong,
            )
        )

    def _join(self) -> None:
        """Find links, once everything is read: more records could change a link."""
        self._joined, self._found = self._story.revision, self._story.joined()
        links = {link.ends: link for link in self._story.links()}
        is_stale = any(ends not in links or links[ends].is_less_sure_than(link) for ends, link in self._given.items())
        self._state = replace(self._state, is_stale=self._merging.is_wrong or is_stale)
        new = [link for ends, link in links.items() if ends not in self._given]
        first = _LINKS_FROM + len(self._given)
        records = [link.record(first + number, 0, 0) for number, link in enumerate(new, 1)]
        self._given.update((link.ends, link) for link in new)
        for start in range(0, max(len(records), 1), PER_LINKS):
            self.updates.append(StoryUpdate(records=records[start : start + PER_LINKS], state=self._state))

    def _tell(self) -> None:
        """Bring the chat up to date, and the names of hosts and models."""
        story = self._story
        self._telling.tell()
        self._state = replace(
            self._state,
            hosts=story.hosts,
            models=models_of(story.speakers),
            protocols=protocols_of(story.speakers),
            turns=story.conversations.turns,
            whose=story.whose,
            has_calls=bool(story.frames.sent),
            names=self._names(),
        )
        items = [(number, self._chat[number]) for number in self._chat.changed_since(self._shown)]
        self._shown = self._chat.revision
        for start in range(0, max(len(items), 1), PER_LINKS):
            self.updates.append(StoryUpdate(items=items[start : start + PER_LINKS], state=self._state))

    def _names(self) -> Mapping[str, tuple[str, str]]:
        tools_by_name: dict[str, set[tuple[str, str]]] = {}
        for joined in self._story.joined():
            if joined.server:
                tools_by_name.setdefault(joined.call.name, set()).add((joined.server, joined.tool))
        return {name: next(iter(tools)) for name, tools in tools_by_name.items() if len(tools) == 1}
