"""Merge the records of a story's captures in the order of time, and export and show the whole as a session.

Every tap is a process of its own that writes to the database: while one runs, a record waits a moment for earlier ones of others.
An export reads twice: to find what belongs together, and for the records with the turn and step that was found for each. What was
exported before and comes from a file keeps the places and links that it came with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from tui_host.capture.exports.parts import Exported
from tui_host.capture.record import Place, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.notes_of_people import frame_choices
from tui_host.capture.store.store import Store
from tui_host.capture.wall_clock import WallClock
from tui_host.chat.conversation import Conversation, item_to_text
from tui_host.errors import JSON, StoreError, TuiHostError
from tui_host.infer.conversations.host_names import host_named, in_words, models_in_words, models_of, protocols_of
from tui_host.infer.matching.by_hand import choose, pairing_named
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat
from tui_host.infer.tapped_frames import client_in

WAIT_NS = 250_000_000  # how long a record waits for earlier ones that other processes have yet to write
PER_PAGE = 250  # the most records that are given at a time


@dataclass(slots=True, kw_only=True)
class _Capture:
    """A capture, as far as read; of a shared server without the connections that only hosts of other stories use."""

    is_live: bool = True
    other_hosts: frozenset[str]
    until: int | None
    last: Record | None = None  # that was read
    head: Record | None = None  # that was read and not given
    at_ns: int = 0  # the time of the head
    is_given: bool = False
    has_more: bool = True
    reading: Iterator[Record] | None = None
    hosts: dict[str | None, set[str]] = field(default_factory=dict[str | None, set[str]])  # by connection

    def is_foreign(self, record: Record) -> bool:
        if not self.other_hosts:
            return False
        if record.direction == "out" and record.kind in {"request", "frame"} and (client := client_in(record.data)):
            self.hosts.setdefault(record.connection, set()).add(host_named(client))
        hosts = self.hosts.get(record.connection)
        return bool(hosts) and hosts <= self.other_hosts


class MergedRecords:
    """Gives each record of a story's captures once, without links, up to the last ones of `until`.

    `is_wrong` says that what was given is out of order, or not of this story. Only `is_waiting` may be used by several threads.
    """

    def __init__(self, store: Store, clock: WallClock, until: Mapping[str, Record] | None = None) -> None:
        self.is_wrong = False
        self._store = store
        self._clock = clock
        self._until = until
        self._captures: dict[str, _Capture] = {}
        self._frame_ns = 0  # the time of the last frame that was given

    @property
    def is_waiting(self) -> bool:
        """Whether some records were read and not given yet."""
        return any(capture.head is not None for capture in list(self._captures.values()))

    @property
    def is_read(self) -> bool:
        """Whether all records written before the last call of `look_again` were read."""
        return not any(capture.has_more for capture in self._captures.values())

    @property
    def last(self) -> Mapping[str, Record]:
        """The last record of each capture that was read, in the order in which the captures began."""
        read = sorted(self._captures.items())
        return {name: capture.last for name, capture in read if capture.last is not None}

    @property
    def running(self) -> frozenset[str]:
        """The captures that still grow."""
        return frozenset(name for name, capture in self._captures.items() if capture.is_live)

    def look_again(self) -> None:
        """Look for new records in every capture."""
        for capture in self._captures.values():
            capture.has_more = True

    def take(self, story: TapStory | None) -> None:
        """Set the story whose captures are read; None for one that was deleted."""
        before, self._captures = self._captures, {}
        for tap in () if story is None else story.taps:
            others = frozenset[str]() if story is None else story.other_hosts.get(tap.id, frozenset())
            for name in self._store.sessions.captures(tap.id) or [tap.id]:
                if self._until is None or name in self._until:
                    until = None if self._until is None else self._until[name].seq
                    capture = before.pop(name, None) or _Capture(other_hosts=others, until=until)
                    capture.is_live = tap.live
                    self.is_wrong |= capture.is_given and capture.other_hosts != others
                    self._captures[name] = capture
        self.is_wrong |= any(capture.is_given for capture in before.values())

    def all(self, story: TapStory) -> Iterator[Record]:
        """Give the records that a story has by now."""
        self.take(story)
        yield from self._given(waits=False)

    def ready(self) -> Sequence[Record]:
        """Return the next records in the order of time, a page at most. Raises StoreError if there are none to be read."""
        records: list[Record] = []
        try:
            for record in islice(self._given(waits=True), PER_PAGE):
                records.append(record)  # noqa: PERF402 - what was read before an error is given all the same
        except StoreError:
            if not records:
                raise
        return records

    def _given(self, *, waits: bool) -> Iterator[Record]:
        now_ns = time.time_ns()
        for name, capture in self._captures.items():
            self._fill(name, capture)
        while heads := [(own.at_ns, name, own.head) for name, own in self._captures.items() if own.head is not None]:
            at_ns, name, record = min(heads)
            is_open = any(capture.head is None and capture.is_live for capture in self._captures.values())
            if waits and is_open and at_ns > now_ns - WAIT_NS:
                return
            capture = self._captures[name]
            capture.head, capture.is_given = None, True
            if record.kind == "frame":
                self._frame_ns = max(self._frame_ns, at_ns)
            # A tap joined late, or was slow to write: the frame may be of this exchange's own turn.
            self.is_wrong |= record.wire == "llm" and record.kind != "chunk" and at_ns < self._frame_ns
            yield record
            self._fill(name, capture)

    def _fill(self, name: str, capture: _Capture) -> None:
        while capture.has_more and capture.head is None:
            if capture.reading is None:
                after = 0 if capture.last is None else capture.last.seq
                capture.reading = self._store.records(capture=name, after=after, until_seq=capture.until)
            try:
                record = next(capture.reading, None)
            except StoreError:
                capture.reading = None  # a generator that has raised would give no more
                raise
            if record is None:
                capture.reading, capture.has_more = None, False
                return
            capture.last = record
            if record.kind != "link" and not capture.is_foreign(record):
                capture.head, capture.at_ns = record, self._clock.at_ns(record)


class WholeStory:
    """A story in its present state, read at once. `redact` takes secrets out of the texts of the chat."""

    def __init__(self, store: Store, tap_story: TapStory, redact: Callable[[str], str] = str) -> None:
        self.taps = tap_story.taps
        self._is_kept = tap_story.is_imported and self.taps[0].turns > 0
        self.info = self.taps[0] if self._is_kept else tap_story.info
        self._store = store
        self._story = tap_story
        self._conversation = Conversation(redact=redact)
        self._places_of_frames: dict[tuple[str, int], Place] = {}
        self.found = story = Story(self.info.id)
        reader = MergedRecords(store, story.clock)
        for record in reader.all(tap_story):
            story.take(record)
        self._last = reader.last
        story.choose(frame_choices(store, self._last))
        StoryChat(story, self._conversation).tell()
        self._links = self._kept_links() if self._is_kept else self._found_links()
        if not self._is_kept:
            model, protocol = models_in_words(models_of(story.speakers)), in_words(protocols_of(story.speakers))
            self.info = replace(self.info, turns=story.conversations.turns, model=model, protocol=protocol)

    def session_items(self, session: str) -> Sequence[str]:  # noqa: ARG002 - there is but one
        """Return the items of the chat as JSON, in order."""
        return [item_to_text(item) for item in self._conversation.items]

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:  # noqa: ARG002 - as above
        """Give the records in the order of time, then the links. None is a preamble."""
        for record in MergedRecords(self._store, self.found.clock, self._last).all(self._story):
            within = self._places_of_frames.get(record.key) or self.found.place_of(record)
            if not self._is_kept and (within.turn, within.step) != (record.place.turn, record.place.step):
                yield replace(record, place=replace(record.place, turn=within.turn, step=within.step)), False
            else:
                yield record, False
        yield from ((link, False) for link in self._links)

    def _kept_links(self) -> Sequence[Record]:
        records = (record for capture in self._last for record in self._store.records(capture=capture))
        return [record for record in records if record.kind == "link"]

    def _found_links(self) -> Sequence[Record]:
        """Return the links as records, numbered from each capture's last record on."""
        links, records = list(self.found.links()), list[Record]()
        for capture, last in self._last.items():
            for number, link in enumerate((link for link in links if link.capture == capture), 1):
                if link.link.span.seq is not None and link.place.turn and link.place.step:
                    self._places_of_frames[capture, link.link.span.seq] = link.place
                records.append(link.record(last.seq + number, last.time_ns, last.mono_ns))
        return records


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
    story, numbers = WholeStory(store, named).found, dict[str, str]()
    for joined in story.joined():
        exchange = story.conversations.exchanges[joined.call.capture, joined.call.exchange]
        numbers[f"{exchange.turn}.{exchange.step}.{joined.call.number + 1}"] = joined.key
    pairing = pairing_named(story.joined(), story.frames.sent.values(), numbers.get(call, call), frame)
    choose(store, pairing)
    is_joined, (capture, seq) = not pairing.is_joined, pairing.frame
    words = f"{'joined' if is_joined else 'parted'}: {pairing.words}"
    return words, {"call": pairing.call, "capture": capture, "seq": seq, "joined": is_joined}
