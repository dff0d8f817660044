"""Follows the story that taps tell while they go on writing it. What is new is handed over in pieces, for a screen to take as it has time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tui_host.capture.record import Draft, Record
from tui_host.capture.store.store import Store
from tui_host.capture.store.tap_summary import captures_of
from tui_host.chat.conversation import Item
from tui_host.errors import StoreError
from tui_host.infer.asking.conversations import Key
from tui_host.infer.asking.speakers import models_of, protocols_of
from tui_host.infer.record_merging import Merging
from tui_host.infer.stories import Stories
from tui_host.infer.story import Found, Story
from tui_host.infer.story_chat import Telling, doubts_of

TAPS_SECONDS = 1.0
"""How often it is looked for taps that have begun, or ended."""
JOIN_SECONDS = 0.2
"""How often at most calls are joined anew while much comes."""
PATIENCE = 20
"""And not before so many times what that took of the processor the last time: where others had it, nothing is gained by waiting."""
LONGEST_SECONDS = 10.0
"""But no longer than so: somebody waits for the links."""
PER_LINKS = 50
"""Links, and items of the chat, that are handed over at a time: each changes a row that is there."""
AHEAD = 40
"""Pieces that may wait to be taken; no more is read before that."""
_LINKS_FROM = 1 << 48
"""Numbers of the links that are found here: no capture has so many records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is known of a story so far.

    Attributes:
        title: What it is called.
        live: More may come.
        running: The captures to which it may come.
        hosts: Whose it is, as far as they say who they are.
        models: Provider and name of the models that were asked; none before one was.
        protocols: The tool protocols in which they were.
        turns: How many turns there are.
        whose: Of several hosts the one that each turn is of.
        has_calls: A server was asked something.
        names: Server and own name for the names of tools that stand for one tool alone.
        is_whole: All that is recorded by now was handed over.
        is_stale: Something that was handed over is not so.
        doubtful: Frames of which nothing tells whose they are, each with the calls that it may carry in words.
    """

    title: str = ""
    live: bool = True
    running: frozenset[str] = frozenset()
    hosts: Sequence[str] = ()
    models: Sequence[tuple[str, str]] = ()
    protocols: Sequence[str] = ()
    turns: int = 0
    whose: Mapping[int, str] = field(default_factory=dict[int, str])
    has_calls: bool = False
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    is_whole: bool = False
    is_stale: bool = False
    doubtful: Mapping[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What is new.

    Attributes:
        records: On the clock that all share, with their places in the story; links among them.
        before: For the requests among these that go on with a conversation the one before in it: capture and exchange of both.
        items: Items of the chat by number, in order; a new one has the next number.
        told: What is known by now.
    """

    records: Sequence[Record] = ()
    before: Mapping[Key, Key] = field(default_factory=dict[Key, Key])
    items: Sequence[tuple[int, Item]] = ()
    told: Told


class _Chat:
    """Takes the items of a chat, and keeps which of them are new."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._new: dict[int, Item] = {}

    def __getitem__(self, number: int) -> Item:
        return self._items[number]

    def add(self, item: Item) -> int:
        """The next item; its number."""
        self._items.append(item)
        self._new[len(self._items) - 1] = item
        return len(self._items) - 1

    def put(self, number: int, item: Item) -> None:
        """An item in the place of one."""
        self._items[number] = self._new[number] = item

    def news(self) -> Sequence[tuple[int, Item]]:
        """What came or changed since the last call."""
        new, self._new = self._new, {}
        return sorted(new.items(), key=lambda each: each[0])


class Following:
    """Reads the story of one session. `read` is for one thread at a time, all else for any.

    Args:
        store: Where the taps write.
        session: One of the taps' sessions.

    Attributes:
        pieces: What was read, for whoever shows it to take away.
    """

    def __init__(self, store: Store, session: str) -> None:
        self.pieces: deque[Piece] = deque()
        self._store = store
        self._session = session
        self._told = Told()
        self._story = Story(session)
        self._chat = _Chat()
        self._telling = Telling(self._story, self._chat, is_followed=True)
        self._merging = Merging(store, self._story.clock)
        self._stories = Stories(store)
        self._given: set[Found] = set()
        self._links = 0
        self._joined = self._version = -1
        self._looked_for_taps = self._join_at = 0.0
        self._is_changed = False  # something was written since it was looked for taps

    @property
    def version(self) -> object:
        """Changes whenever there may be something to read.

        Raises:
            StoreError: The file cannot be read.
        """
        is_due = (self._told.live or self._is_changed) and time.monotonic() - self._looked_for_taps >= TAPS_SECONDS
        return self._store.data_version(), is_due, self._merging.is_waiting

    def on_clock(self, record: Record) -> Record:
        """A record of the story with its time on the shared clock."""
        return self._story.clock.on_it(record)

    def read(self, seconds: float) -> None:
        """Read for about so long what is new. Blocks on the disk.

        Raises:
            StoreError: The file cannot be read; what is missing is read when it is asked for again, which `version` says in a moment.
        """
        try:
            self._read(seconds)
        except StoreError:
            self._version, self._is_changed = -1, True
            raise

    def _read(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        version = self._store.data_version()
        if version != self._version:
            self._version = version
            self._is_changed = True
            self._merging.look_again()
        if time.monotonic() - self._looked_for_taps >= TAPS_SECONDS or self._merging.begins():
            self._looked_for_taps = time.monotonic()
            self._look_for_taps()
        while time.monotonic() < until and len(self.pieces) < AHEAD:
            ready = list(self._merging.ready())
            if not ready:
                break
            self._hand_over_read(ready)
        is_read = self._merging.is_read
        is_first = is_read and self._joined < 0 and not self._merging.is_waiting  # whoever opens a story waits for this
        if self._joined != self._story.revision and (is_first or time.monotonic() >= self._join_at):
            began, took = time.monotonic(), time.thread_time()
            self._tell()
            if is_read:
                self._join()
            took = time.thread_time() - took
            self._join_at = began + min(max(JOIN_SECONDS, PATIENCE * took), LONGEST_SECONDS)
        is_whole = is_read and not self._merging.is_waiting and self._joined == self._story.revision
        if is_whole != self._told.is_whole:
            self._told = replace(self._told, is_whole=is_whole)
            self._hand_over()

    def _hand_over_read(self, ready: Sequence[Record]) -> None:
        records = [self._story.feed(record) for record in ready]
        requests = [record for record in records if record.draft.wire == "llm" and record.draft.kind == "request"]
        before = {_exchange(record): key for record in requests if (key := self._story.before(record)) is not None}
        self.pieces.append(Piece(records=records, before=before, told=self._told))

    def _hand_over(self, *, records: Sequence[Record] = (), items: Sequence[tuple[int, Item]] = ()) -> None:
        self.pieces.append(Piece(records=records, items=items, told=self._told))

    def _look_for_taps(self) -> None:
        """Those that belong to the story by now, and whether they run."""
        self._is_changed = False
        told = self._stories.get(self._session)
        taps = (
            {}
            if told is None
            else {
                capture: info
                for info in told.taps
                for capture in (captures_of(self._store, info.id) if info.imported else (info.id,))
            }
        )
        self._merging.take(taps, {} if told is None else told.other_hosts)
        self._telling.names_hosts |= told is not None and len(told.hosts) > 1
        now = replace(
            self._told,
            live=told is not None and told.live,
            running=frozenset(capture for capture, info in taps.items() if info.live),
            title="" if told is None else told.title,
            is_stale=self._told.is_stale or self._merging.is_wrong,
        )
        if now != self._told:
            self._told = now
            self._hand_over()

    def _join(self) -> None:
        """What was found to belong together; not before all is read: more may make it doubtful."""
        self._joined = self._story.revision
        found = list(self._story.links())
        known = {_place(each) for each in self._given}
        is_stale = self._merging.is_wrong or (
            not self._given <= set(found) and not known <= {_place(each) for each in found}
        )
        self._told = replace(self._told, is_stale=is_stale, doubtful=doubts_of(self._story))
        new = [each for each in found if each not in self._given]
        self._given.update(new)
        links = [self._link(each) for each in new if _place(each) not in known]
        for start in range(0, max(len(links), 1), PER_LINKS):
            self._hand_over(records=links[start : start + PER_LINKS])

    def _tell(self) -> None:
        """What was said, and who speaks."""
        story = self._story
        self._telling.tell()
        self._told = replace(
            self._told,
            hosts=story.hosts,
            models=models_of(story.spoken),
            protocols=protocols_of(story.spoken),
            turns=story.talks.turns,
            whose=story.whose,
            has_calls=bool(story.frames.sent),
            names=self._names(),
        )
        items = self._chat.news()
        for start in range(0, max(len(items), 1), PER_LINKS):
            self._hand_over(items=items[start : start + PER_LINKS])

    def _names(self) -> Mapping[str, tuple[str, str]]:
        known: dict[str, set[tuple[str, str]]] = {}
        for joined in self._story.joined():
            if joined.server:
                known.setdefault(joined.asked.name, set()).add((joined.server, joined.tool))
        return {name: next(iter(tools)) for name, tools in known.items() if len(tools) == 1}

    def _link(self, found: Found) -> Record:
        self._links += 1
        draft = Draft(wire="host", kind="link", place=found.place, data=found.link.to_bytes())
        return Record(capture=found.capture, seq=_LINKS_FROM + self._links, time_ns=0, mono_ns=0, draft=draft)


def _exchange(record: Record) -> Key:
    return record.capture, record.draft.exchange or ""


def _place(found: Found) -> tuple[object, ...]:
    """What is joined to what, whatever is known besides."""
    link = found.link
    return found.capture, link.relation, link.call, link.span.exchange, link.span.seq, not link.call and link.span
