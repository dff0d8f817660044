"""Follow a story while its taps go on recording. New records and chat items are queued as updates, for a screen to take."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tui_host.capture.record import Record
from tui_host.capture.store.notes_of_people import frame_choices
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import Conversation, Item
from tui_host.errors import StoreError
from tui_host.infer.conversations.host_names import models_of, protocols_of
from tui_host.infer.conversations.model_exchange import ExchangeKey
from tui_host.infer.matching.by_hand import Pairing, pairings
from tui_host.infer.matching.matcher import JoinedCall
from tui_host.infer.stories import Stories
from tui_host.infer.story import FoundLink, Story
from tui_host.infer.story_chat import StoryChat
from tui_host.infer.whole_story import MergedRecords

TAPS_SECONDS = 1.0  # how often to look for taps that have begun or ended
JOIN_SECONDS = 0.2  # the shortest time between two searches for links
PATIENCE = 20  # the processor time of the last search, times this, must pass before the next search
LONGEST_SECONDS = 10.0  # the longest time between two searches while records come
PER_LINKS = 50  # the most links, and chat items, in one update: each changes a row on the screen
AHEAD = 40  # the most updates in the queue; reading stops until some are taken
_LINKS_FROM = 1 << 48  # the first number of the links' records: no capture has as many records


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
    )  # tools by the model's names
    is_whole: bool = False  # everything recorded so far was handed over
    is_stale: bool = False  # something handed over turned out to be wrong: read the story anew


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryUpdate:
    """New records or chat items, and the state of the story after them."""

    state: StoryState
    records: Sequence[Record] = ()  # on the shared clock, with their places in the story, and links
    items: Sequence[tuple[int, Item]] = ()  # new and changed ones of the chat, by number
    before: Mapping[ExchangeKey, ExchangeKey] = field(default_factory=dict[ExchangeKey, ExchangeKey])  # its request


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
        self._joined: Sequence[JoinedCall] = ()
        self._joined_at = -1
        self._version: int | None = None
        self._chosen_at: int | None = None
        self._looked_for_taps = self._join_at = 0.0
        self._is_changed = False  # whether something was written since the last search for taps

    @property
    def version(self) -> object:
        """A value that changes whenever new records may be waiting. Raises StoreError if the file cannot be read."""
        is_due = (self._state.live or self._is_changed) and time.monotonic() - self._looked_for_taps >= TAPS_SECONDS
        return self._store.data_version(), is_due, self._merging.is_waiting

    def on_clock(self, record: Record) -> Record:
        """Return a record of the story with its time on the shared clock."""
        return self._story.clock.on_it(record)

    def pairings(self, calls: Container[str], record: tuple[str, int]) -> Sequence[Pairing]:
        """Return what the frame of a record, or else some calls, may be joined with by hand."""
        return pairings(self._joined, list(self._story.frames.sent.values()), calls=calls, record=record)

    def read(self, seconds: float) -> None:
        """Read new records, for about `seconds`. Blocks. After a `StoreError` `version` changes, and another call reads the rest."""
        try:
            self._read(time.monotonic() + seconds)
        except StoreError:
            self._version, self._is_changed = None, True
            raise

    def _read(self, until: float) -> None:
        merging, version = self._merging, self._store.data_version()
        if version != self._version:
            self._version, self._is_changed = version, True
            merging.look_again()
        if time.monotonic() - self._looked_for_taps >= TAPS_SECONDS:
            self._look_for_taps()
        while time.monotonic() < until and len(self.updates) < AHEAD and (ready := merging.ready()):
            self._hand_over_records(ready)
        if merging.is_read and version != self._chosen_at:
            self._chosen_at = version
            self._story.choose(frame_choices(self._store, merging.last))
        is_given = merging.is_read and not merging.is_waiting
        is_first = self._joined_at < 0 and is_given  # whoever opens a story waits for the links
        if self._joined_at != self._story.revision and (is_first or time.monotonic() >= self._join_at):
            began, took = time.monotonic(), time.thread_time()
            self._tell()
            took = time.thread_time() - took
            self._join_at = began + min(max(JOIN_SECONDS, PATIENCE * took), LONGEST_SECONDS)
        self._change(replace(self._state, is_whole=is_given and self._joined_at == self._story.revision))

    def _hand_over_records(self, ready: Sequence[Record]) -> None:
        records = [self._story.feed(record) for record in ready]
        requests = [record for record in records if record.wire == "llm" and record.kind == "request"]
        pairs = (((record.capture, record.exchange or ""), self._story.before(record)) for record in requests)
        before = {key: earlier for key, earlier in pairs if earlier is not None}
        self.updates.append(StoryUpdate(records=records, before=before, state=self._state))

    def _change(self, state: StoryState) -> None:
        if state != self._state:
            self._state = state
            self.updates.append(StoryUpdate(state=state))

    def _look_for_taps(self) -> None:
        self._looked_for_taps, self._is_changed = time.monotonic(), False
        story = self._stories.get(self._session)
        self._merging.take(story)
        state = replace(self._state, running=self._merging.running, live=story is not None and story.live)
        if story is not None:
            self._telling.names_hosts |= len(story.hosts) > 1
        title = "" if story is None else story.title
        self._change(replace(state, title=title, is_stale=state.is_stale or self._merging.is_wrong))

    def _tell(self) -> None:
        """Bring chat, names and, once everything is read, links up to date: more records could change a link."""
        story = self._story
        self._telling.tell()
        items = [(number, self._chat[number]) for number in self._chat.changed_since(self._shown)]
        self._shown = self._chat.revision
        links = self._new_links() if self._merging.is_read else ()
        tools: dict[str, set[tuple[str, str]]] = {}
        for joined in story.joined():
            if joined.server:
                tools.setdefault(joined.call.name, set()).add((joined.server, joined.tool))
        self._state = replace(
            self._state,
            hosts=story.hosts,
            models=models_of(story.speakers),
            protocols=protocols_of(story.speakers),
            turns=story.conversations.turns,
            whose=story.whose,
            has_calls=bool(story.frames.sent),
            names={name: next(iter(named)) for name, named in tools.items() if len(named) == 1},
        )
        for start in range(0, max(len(items), len(links), 1), PER_LINKS):
            page = slice(start, start + PER_LINKS)
            self.updates.append(StoryUpdate(records=links[page], items=items[page], state=self._state))

    def _new_links(self) -> Sequence[Record]:
        """Return the links found since the last time; what was handed over is stale if a link is gone or less sure."""
        self._joined_at, self._joined = self._story.revision, self._story.joined()
        links = {_ends(link): link for link in self._story.links()}
        is_stale = any(
            ends not in links or links[ends].link.known == "maybe" != earlier.link.known
            for ends, earlier in self._given.items()
        )
        self._state = replace(self._state, is_stale=self._merging.is_wrong or is_stale)
        new = {ends: link for ends, link in links.items() if ends not in self._given}
        first = _LINKS_FROM + len(self._given) + 1
        self._given |= new
        return [link.record(first + number, 0, 0) for number, link in enumerate(new.values())]


def _ends(found: FoundLink) -> tuple[object, ...]:
    """Return what a link joins, without its words and certainty."""
    link, span = found.link, found.link.span
    return found.capture, link.relation, link.call, span.exchange, span.seq, not link.call and span
