"""Export and show a story as a session.

An export reads twice: to find what belongs together, and for the records with the turn and step that was found for each. What was
exported before and comes from a file keeps the places and links that it came with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import merge

from tui_host.capture.exports.parts import Exported
from tui_host.capture.record import Place, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.notes_of_people import choose_frame, frame_choices
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import Conversation, item_to_text
from tui_host.errors import JSON, TuiHostError
from tui_host.infer.conversations.host_names import host_named, in_words, models_in_words, models_of, protocols_of
from tui_host.infer.matching.by_hand import pairing_of
from tui_host.infer.matching.matcher import JoinedCall
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat
from tui_host.infer.tapped_frames import client_in


class CaptureReader:
    """Reads a capture once; of a server shared with the hosts of other stories without their connections, and without links."""

    def __init__(self, store: Store, name: str, other_hosts: frozenset[str], *, is_live: bool) -> None:
        self.name, self.other_hosts, self.is_live = name, other_hosts, is_live
        self.last: Record | None = None  # that was read
        self.has_more = True  # more may have been written since all was read
        self._store = store
        self._reading: Iterator[Record] | None = None
        self._hosts: dict[str | None, set[str]] = {}  # by connection

    def records(self, until: int | None = None) -> Iterator[Record]:
        """Give the records behind the last that was read."""
        after = 0 if self.last is None else self.last.seq
        for record in self._store.records(capture=self.name, after=after, until_seq=until):
            self.last = record
            if record.kind != "link" and not (self.other_hosts and self._is_foreign(record)):
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

    def _is_foreign(self, record: Record) -> bool:
        if record.direction == "out" and record.kind in {"request", "frame"} and (client := client_in(record.data)):
            self._hosts.setdefault(record.connection, set()).add(host_named(client))
        hosts = self._hosts.get(record.connection)
        return bool(hosts) and hosts <= self.other_hosts


def readers_of(store: Store, story: TapStory) -> dict[str, CaptureReader]:
    """Return a reader of each capture of a story, by name."""
    readers: dict[str, CaptureReader] = {}
    for tap in story.taps:
        for name in store.sessions.captures(tap.id) or [tap.id]:
            other_hosts = story.other_hosts.get(tap.id, frozenset())
            readers[name] = CaptureReader(store, name, other_hosts, is_live=tap.live)
    return dict(sorted(readers.items()))


class WholeStory:
    """A story in its present state, read at once. `redact` takes secrets out of the texts of the chat."""

    def __init__(self, store: Store, tap_story: TapStory, redact: Callable[[str], str] = str) -> None:
        self.taps = tap_story.taps
        self._is_kept = tap_story.imported and self.taps[0].turns > 0
        self.info: SessionInfo = self.taps[0] if self._is_kept else tap_story
        self._store = store
        self._story = tap_story
        self._conversation = Conversation(redact=redact)
        self._places_of_frames: dict[tuple[str, int], Place] = {}
        self.found = story = Story(self.info.id)
        readers = readers_of(store, tap_story)
        for record in merge(*(reader.records() for reader in readers.values()), key=story.clock.at_ns):
            story.take(record)
        self._last = {name: reader.last for name, reader in readers.items() if reader.last is not None}
        story.choose(frame_choices(store, self._last))
        StoryChat(story, self._conversation).tell()
        if self._is_kept:
            records = (record for capture in self._last for record in store.records(capture=capture))
            self._links = [record for record in records if record.kind == "link"]
        else:
            self._links = list(self._found_links())
            model, protocol = models_in_words(models_of(story.speakers)), in_words(protocols_of(story.speakers))
            self.info = replace(self.info, turns=story.conversations.turns, model=model, protocol=protocol)

    def session_items(self, session: str) -> Sequence[str]:  # noqa: ARG002 - there is but one
        """Return the items of the chat as JSON, in order."""
        return [item_to_text(item) for item in self._conversation.items]

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:  # noqa: ARG002 - as above
        """Give the records in the order of time, then the links. None is a preamble."""
        readers = readers_of(self._store, self._story)
        own = (readers[name].records(last.seq) for name, last in self._last.items() if name in readers)
        for record in merge(*own, key=self.found.clock.at_ns):
            within = self._places_of_frames.get(record.key) or self.found.place_of(record.capture, record.exchange)
            if not self._is_kept and (within.turn, within.step) != (record.place.turn, record.place.step):
                yield replace(record, place=replace(record.place, turn=within.turn, step=within.step)), False
            else:
                yield record, False
        yield from ((link, False) for link in self._links)

    def _found_links(self) -> Iterator[Record]:
        """Give the links as records, numbered from each capture's last record on."""
        links = list(self.found.links())
        for capture, last in self._last.items():
            for number, link in enumerate((link for link in links if link.capture == capture), 1):
                if link.link.span.seq is not None and link.place.turn and link.place.step:
                    self._places_of_frames[capture, link.link.span.seq] = link.place
                yield link.record(last.seq + number, last.time_ns, last.mono_ns)


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
        if call in {joined.key, f"{place.turn}.{place.step}.{joined.call.number + 1}"}:
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
