"""Read the captures of a story by time: whole, to show and export it as a session, or while its taps go on recording.

Every tap is a process of its own that writes to the database: while one runs, a record waits a moment for earlier ones of others.
An export reads twice: to find what belongs together, and for the records with the turn and step that was found for each. What was
exported before and comes from a file keeps the places and links that it came with.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge

from tui_host.capture.exports.parts import Exported
from tui_host.capture.record import Place, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.notes_of_people import choose_frame, frame_choices
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import ITEM_FORM, Conversation, Item
from tui_host.errors import JSON, StoreError, TuiHostError
from tui_host.infer.conversations.host_names import models_in_words, protocols_in_words
from tui_host.infer.matching.matcher import JoinedCall, Pairing, pairing_of
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story import FoundLink, Story
from tui_host.infer.story_chat import StoryChat

WAIT_NS = 250_000_000  # how long a record waits for earlier ones that other processes have yet to write
TAPS_SECONDS = 1.0  # how often to look for taps that have begun or ended
JOIN_SECONDS = 0.2  # the shortest time between two searches for links
PATIENCE = 20  # the processor time of the last search, times this, must pass before the next search
LONGEST_SECONDS = 10.0  # the longest time between two searches while records come
PER_PAGE, PER_LINKS = 250, 50  # the most records, and links or chat items, in one update: those change rows
AHEAD = 40  # the most updates in the queue; reading stops until some are taken
_MOST_PAIRS = 9  # the most pairs to choose among by hand: a digit each
_LINKS_FROM = 1 << 48  # the first number of the links' records: no capture has as many records


@dataclass(slots=True, eq=False)
class CaptureReader:
    """Reads a capture once, without links."""

    _store: Store
    name: str
    is_live: bool
    last: Record | None = None  # that was read
    has_more: bool = True  # more may have been written since all was read
    _reading: Iterator[Record] | None = None

    def records(self, until: int | None = None) -> Iterator[Record]:
        """Give the records behind the last that was read."""
        after = 0 if self.last is None else self.last.seq
        for record in self._store.records(capture=self.name, after=after, until_seq=until):
            self.last = record
            if record.kind != "link":
                yield record

    def next(self) -> Record | None:
        """Return the next record; None if no more is written yet."""
        reading, self._reading = self._reading or self.records(), None  # one that has raised would give no more
        record = next(reading, None)
        if record is None:
            self.has_more = False
        else:
            self._reading = reading
        return record


def readers_of(store: Store, story: TapStory) -> dict[str, CaptureReader]:
    """Return a reader of each capture of a story, by name. Of a live tap the last one grows, of an import any."""
    readers: dict[str, CaptureReader] = {}
    for tap in story.taps:
        names = store.sessions.names(tap.id, "captures") or [tap.id]
        for name in names:
            readers[name] = CaptureReader(store, name, is_live=tap.live and (tap.imported or name == names[-1]))
    return dict(sorted(readers.items()))


class WholeStory:
    """A story in its present state, read at once. `redact` takes secrets out of the texts of the chat."""

    def __init__(self, store: Store, tap_story: TapStory, redact: Callable[[str], str] = str) -> None:
        self.taps = tap_story.taps
        self._is_kept = tap_story.imported and self.taps[0].turns > 0
        self.info: SessionInfo = self.taps[0] if self._is_kept else tap_story
        self._store = store
        self.tap_story = tap_story
        self._conversation = Conversation(redact=redact)
        self._places_of_frames: dict[tuple[str, int], Place] = {}
        self.found = story = Story(self.info.id)
        readers = readers_of(store, tap_story)
        for record in merge(*(reader.records() for reader in readers.values()), key=story.clock.at_ns):
            story.take(record)
        story.cut([name for name, reader in readers.items() if reader.is_live])
        self._last = {name: reader.last for name, reader in readers.items() if reader.last is not None}
        story.choose(frame_choices(store, self._last))
        StoryChat(story, self._conversation).tell()
        if self._is_kept:
            records = (record for capture in self._last for record in store.records(capture=capture))
            self._links = [record for record in records if record.kind == "link"]
        else:
            links = list(story.links())
            self._links = list[Record]()
            for capture, last in self._last.items():  # their numbers follow the capture's last record
                for number, found in enumerate((found for found in links if found.capture == capture), last.seq + 1):
                    if found.link.span.seq is not None and found.place.turn and found.place.step:
                        self._places_of_frames[capture, found.link.span.seq] = found.place
                    self._links.append(found.record(number, last.time_ns, last.mono_ns))
            model, protocol = models_in_words(story.speakers), protocols_in_words(story.speakers)
            self.info = replace(self.info, turns=story.conversations.turns, model=model, protocol=protocol)

    def session_items(self, session: str) -> Sequence[str]:  # noqa: ARG002 - there is but one
        return [ITEM_FORM.write(item) for item in self._conversation]

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:  # noqa: ARG002 - as above
        """Give the records in the order of time, then the links. None is a preamble."""
        readers = readers_of(self._store, self.tap_story)
        own = (readers[name].records(last.seq) for name, last in self._last.items() if name in readers)
        for record in merge(*own, key=self.found.clock.at_ns):
            within = self._places_of_frames.get(record.key) or self.found.place_of(record.capture, record.exchange)
            if not self._is_kept and (within.turn, within.step) != (record.place.turn, record.place.step):
                yield replace(record, place=replace(record.place, turn=within.turn, step=within.step)), False
            else:
                yield record, False
        yield from ((link, False) for link in self._links)


def exported_session(store: Store, name: str) -> tuple[SessionInfo, Exported]:
    """Find a session by its id, and what its export reads: of a story or a tap, calls and frames are joined."""
    named = Stories(store).find(name)
    if not isinstance(named, TapStory):
        return named, store
    whole = WholeStory(store, named, store.redactor.text)
    return whole.info, whole


def link_by_hand(store: Store, session: str, call: str, frame: str) -> tuple[str, dict[str, JSON]]:
    """Join a call of a story with a frame, or part them if they are joined, and return that in words and as JSON."""
    named = Stories(store).find(session)
    if not isinstance(named, TapStory):
        raise TuiHostError("only calls that a tap or a file brought are joined by hand", session, "name such a session")
    story = WholeStory(store, named).found
    asked: list[JoinedCall] = []
    for joined in story.joined():
        place = story.place_of(joined.call.capture, joined.call.exchange)
        if call in {joined.call.key, f"{place.turn}.{place.step}.{joined.call.number + 1}"}:
            asked.append(joined)
    sent = [
        own for own in story.frames.sent.values() if frame in {"{}:{}".format(*own.key), f"{own.server}#{own.rpc_id}"}
    ]
    remedy = "name a call as 1.1.2, a frame as math#4, or both as the JSON lines of `sessions export` do"
    if not asked:
        raise TuiHostError("there is no such call of a model", call, remedy)
    if len(sent) != 1:
        what = "several frames are named so" if sent else "there is no such frame of a call"
        raise TuiHostError(what, frame, remedy)
    pairing = pairing_of(asked[0], sent[0])
    is_joined, (capture, seq) = not pairing.is_joined, pairing.frame
    choose_frame(store, pairing.call, pairing.frame, is_joined=is_joined)
    words = f"{'joined' if is_joined else 'parted'}: {pairing.words}"
    return words, {"call": pairing.call, "capture": capture, "seq": seq, "joined": is_joined}


# Following: new records and chat items are queued as updates, for a screen to take.


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryState:
    """The present state of a followed story."""

    title: str = ""
    live: bool = True  # a tap of the story still runs
    running: frozenset[str] = frozenset()  # the captures that still grow
    hosts: Sequence[str] = ()  # as far as they state their names
    models: str = ""  # that were asked
    protocols: str = ""
    turns: int = 0
    whose: Mapping[int, str] = field(default_factory=dict[int, str])  # the host of each turn, where there are several
    has_calls: bool = False  # a server's tool was called
    # Servers and tools by the model's names.
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    is_whole: bool = False  # everything recorded so far was handed over
    is_stale: bool = False  # something handed over turned out to be wrong: read the story anew


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryUpdate:
    """New records or chat items, and the state of the story after them."""

    state: StoryState
    records: Sequence[Record] = ()  # on the shared clock, with their places in the story, and links
    items: Sequence[tuple[int, Item]] = ()  # new and changed ones of the chat, by number


class LiveStory:
    """Reads the story, or the tap, with an id into `updates`. Only `read` must be called by one thread at a time."""

    def __init__(self, store: Store, session: str) -> None:
        self.updates: deque[StoryUpdate] = deque()  # the reader removes those that it has shown
        self.story = Story(session)
        self._store = store
        self._session = session
        self._state = StoryState()
        self._chat = Conversation()
        self._shown = self._chat.revision
        self._telling = StoryChat(self.story, self._chat)
        self._readers: Mapping[str, CaptureReader] = {}
        self._heads: dict[str, tuple[int, Record]] = {}  # of each capture, what was read and not given, with its time
        self._frame_ns = 0  # the time of the last frame that was given
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
        return self._store.data_version(), is_due, bool(self._heads)

    def pairings(self, calls: Container[str], record: tuple[str, int]) -> Sequence[Pairing]:
        """Return the pairs of the frame that a record is or answers, or else of the calls with these keys, the likeliest first."""
        (capture, seq), frames = record, list(self.story.frames.sent.values())
        own = [frame for frame in frames if frame.key[0] == capture]
        own = [frame for frame in own if seq in {frame.key[1], frame.answer and frame.answer.seq}]
        pairs = [(call, frame) for call in self._joined if own or call.call.key in calls for frame in own or frames]
        ranks: list[tuple[int, int, int]] = []
        for number, (call, frame) in enumerate(pairs):
            # What is joined first, then what may be, then what has the same tool.
            likely = (frame in call.sent, frame in call.rivals, call.tool == frame.tool, True)
            ranks.append((likely.index(True), abs(frame.at_ns - call.call.at_ns), number))
        return [pairing_of(*pairs[number]) for _, _, number in sorted(ranks)[:_MOST_PAIRS]]

    def read(self, seconds: float) -> None:
        """Read new records, for about `seconds`. Blocks. After a `StoreError` `version` changes, and another call reads the rest."""
        story, until = self.story, time.monotonic() + seconds
        try:
            version = self._store.data_version()
            if version != self._version:
                self._version, self._is_changed = version, True
                for reader in self._readers.values():
                    reader.has_more = True
            if time.monotonic() - self._looked_for_taps >= TAPS_SECONDS:
                self._looked_for_taps, self._is_changed = time.monotonic(), False
                tap_story, before = Stories(self._store).get(self._session), self._readers
                readers = {} if tap_story is None else readers_of(self._store, tap_story)
                self._readers = {name: before.get(name, reader) for name, reader in readers.items()}
                self._heads = {name: head for name, head in self._heads.items() if name in readers}
                running = frozenset(name for name, reader in readers.items() if reader.is_live)
                title, is_live = ("", False) if tap_story is None else (tap_story.title, tap_story.live)
                is_stale = self._state.is_stale or not before.keys() <= readers.keys()
                self._change(replace(self._state, title=title, live=is_live, running=running, is_stale=is_stale))
            while time.monotonic() < until and len(self.updates) < AHEAD and (records := self._next_records()):
                self.updates.append(StoryUpdate(records=records, state=self._state))
            is_read = not any(reader.has_more for reader in self._readers.values())
            if is_read and version != self._chosen_at:
                self._chosen_at = version
                story.choose(frame_choices(self._store, self._readers))
            is_given = is_read and not self._heads
            if is_given:
                story.cut(self._state.running)
            is_first = self._joined_at < 0 and is_given  # whoever opens a story waits for the links
            if self._joined_at != story.revision and (is_first or time.monotonic() >= self._join_at):
                began, took = time.monotonic(), time.thread_time()
                self._tell(with_links=is_read)  # more records could change a link
                took = time.thread_time() - took
                self._join_at = began + min(max(JOIN_SECONDS, PATIENCE * took), LONGEST_SECONDS)
            self._change(replace(self._state, is_whole=is_given and self._joined_at == story.revision))
        except StoreError:
            self._version, self._is_changed = None, True
            raise

    def _next_records(self) -> Sequence[Record]:
        """Return the next records in the order of time, a page at most. Raises StoreError if there are none to be read."""
        records: list[Record] = []
        until_ns = time.time_ns() - WAIT_NS
        try:
            while len(records) < PER_PAGE:
                for name, reader in self._readers.items():
                    if reader.has_more and name not in self._heads and (record := reader.next()) is not None:
                        self._heads[name] = self.story.clock.at_ns(record), record
                at_ns, first = min(((at_ns, name) for name, (at_ns, _) in self._heads.items()), default=(0, ""))
                if not first or (at_ns > until_ns and not self._state.running <= self._heads.keys()):
                    break
                _, record = self._heads.pop(first)
                if record.kind == "frame":
                    self._frame_ns = max(self._frame_ns, at_ns)
                elif record.wire == "llm" and record.kind != "chunk" and at_ns < self._frame_ns:
                    # A tap joined late, or was slow to write: the frame may be of this exchange's own turn.
                    self._state = replace(self._state, is_stale=True)
                records.append(self.story.feed(record))
        except StoreError:
            if not records:  # what was read before is given all the same
                raise
        return records

    def _change(self, state: StoryState) -> None:
        if state != self._state:
            self._state = state
            self.updates.append(StoryUpdate(state=state))

    def _tell(self, *, with_links: bool) -> None:
        """Hand over what is new in the chat and of the names, and links found since the last time."""
        story, new = self.story, dict[tuple[object, ...], FoundLink]()
        if with_links:
            self._joined_at, self._joined = story.revision, story.joined()
            links: dict[tuple[object, ...], FoundLink] = {}
            for found_link in story.links():  # by what they join, without their words and certainty
                link, span = found_link.link, found_link.link.span
                ends = (found_link.capture, link.relation, link.call, span.exchange, span.seq, not link.call and span)
                links[ends] = found_link
            for ends, earlier in self._given.items():  # what was handed over is stale if a link is gone or less sure
                if ends not in links or links[ends].link.known == "maybe" != earlier.link.known:
                    self._state = replace(self._state, is_stale=True)
            new = {ends: link for ends, link in links.items() if ends not in self._given}
        first = _LINKS_FROM + len(self._given) + 1
        self._given |= new
        records = [link.record(first + number, 0, 0) for number, link in enumerate(new.values())]
        is_shown, had_one_host = len(self._chat) > 0, not self._telling.names_hosts
        self._telling.tell()
        items = [(number, self._chat[number]) for number in self._chat.changed_since(self._shown)]
        self._shown = self._chat.revision
        asking = [exchange for exchange in story.conversations.exchanges.values() if not exchange.is_side_request]
        hosts = {exchange.turn: host for exchange in reversed(asking) if (host := story.host_of(exchange))}
        tools: dict[str, set[tuple[str, str]]] = {}
        for joined in story.joined():
            if joined.server:
                tools.setdefault(joined.call.name, set()).add((joined.server, joined.tool))
        self._state = replace(
            self._state,
            hosts=story.hosts,
            models=models_in_words(story.speakers),
            protocols=protocols_in_words(story.speakers),
            turns=story.conversations.turns,
            whose=hosts if len(story.hosts) > 1 else {},
            has_calls=bool(story.frames.sent),
            names={name: next(iter(named)) for name, named in tools.items() if len(named) == 1},
            is_stale=self._state.is_stale
            or (is_shown and had_one_host and self._telling.names_hosts),  # unnamed so far
        )
        for start in range(0, max(len(items), len(records), 1), PER_LINKS):
            page = slice(start, start + PER_LINKS)
            self.updates.append(StoryUpdate(records=records[page], items=items[page], state=self._state))
