"""Export and show a story as a session: chat items, records in the order of time, and links.

The records are read twice: once to find what belongs together, and again each time they are exported, with the turn and step that
was found for each. A story that was exported before keeps the places and links that it came with.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from operator import itemgetter

from tui_host.capture.exports.parts import Exported
from tui_host.capture.record import Place, Record
from tui_host.capture.session_summary import SessionInfo, own_name
from tui_host.capture.store.store import Store
from tui_host.capture.store.tap_summary import captures_of
from tui_host.capture.wall_clock import WallClock
from tui_host.chat.conversation import Conversation, item_to_text
from tui_host.infer.conversations.host_names import in_words, models_in_words, models_of, protocols_of
from tui_host.infer.record_merging import OtherHosts
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat

_STEP_BITS = 32


@dataclass(slots=True)
class _Capture:
    """A capture, up to the last record at the first reading: a tap may go on recording."""

    id: str
    other_hosts: frozenset[str]
    last: Record | None = None


def exported_session(store: Store, name: str) -> tuple[SessionInfo, Exported]:
    """Find a session by its id, and what its export reads: of a story or a tap, calls and frames are joined.

    Raises:
        TuiHostError: Nothing has this name.
    """
    named = Stories(store).find(name)
    if not isinstance(named, TapStory):
        return named, store
    whole = WholeStory(store, named, store.redactor.text)
    return whole.info, whole


class WholeStory:
    """A story in its present state.

    Args:
        store: The store.
        tap_story: The story.
        redact: Takes secrets out of the texts of the chat.

    Attributes:
        info: The story as a session.
        taps: The taps' sessions.
    """

    def __init__(self, store: Store, tap_story: TapStory, redact: Callable[[str], str] = str) -> None:
        self._is_kept = tap_story.taps[0].imported and tap_story.taps[0].turns > 0
        self.info = tap_story.taps[0] if self._is_kept else tap_story.info
        self.taps = tap_story.taps
        self._store = store
        self._conversation = Conversation(redact=redact)
        self._clock = WallClock()
        captures = (
            _Capture(name, tap_story.other_hosts.get(tap.id, frozenset()))
            for tap in tap_story.taps
            for name in captures_of(store, tap.id)
        )
        self._captures = sorted(captures, key=lambda capture: own_name(capture.id))
        self._places = array("Q")
        self._linked_places: dict[tuple[str, int], tuple[int, int]] = {}
        self._links: list[Record] = []
        self._read()

    def session_items(self, session: str) -> Sequence[str]:  # noqa: ARG002 - there is but one
        """Return the items of the chat as JSON, in order."""
        return [item_to_text(item) for item in self._conversation.items]

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:  # noqa: ARG002 - as above
        """Give the records in the order of time, then the links. None is a preamble."""
        places: dict[tuple[Place, tuple[int, int]], Place] = {}
        for number, record in enumerate(self._merged()):
            if not self._is_kept:
                own = record.place
                step = self._linked_places.get(record.key) or divmod(self._places[number], 1 << _STEP_BITS)
                if (own, step) not in places:
                    places[own, step] = replace(own, turn=step[0] or None, step=step[1] or None)
                if places[own, step] != own:
                    record = replace(record, place=places[own, step])  # noqa: PLW2901
            yield record, False
        yield from ((link, False) for link in self._links)

    def _read(self) -> None:
        story = Story(self.info.id)
        for record in self._merged():
            place = story.take(record)
            self._places.append(((place.turn or 0) << _STEP_BITS) | (place.step or 0))
        StoryChat(story, self._conversation).tell()
        if self._is_kept:
            records = (record for capture in self._captures for record in self._store.records(capture=capture.id))
            self._links = [record for record in records if record.kind == "link"]
            return
        self._links = list(self._found_links(story))
        self.info = replace(
            self.info,
            turns=story.conversations.turns,
            model=models_in_words(models_of(story.speakers)),
            protocol=in_words(protocols_of(story.speakers)),
        )

    def _merged(self) -> Iterator[Record]:
        yield from map(itemgetter(1), merge(*map(self._timed, self._captures), key=itemgetter(0)))

    def _timed(self, capture: _Capture) -> Iterator[tuple[int, Record]]:
        """Give a capture's records, without links and records of other stories' hosts, with their times on the shared clock."""
        until = None if capture.last is None else capture.last.seq
        foreign = OtherHosts(capture.other_hosts)
        for record in self._store.records(capture=capture.id, until_seq=until):
            if until is None:
                capture.last = record
            if record.kind != "link" and not foreign.have(record):
                yield self._clock.at_ns(record), record

    def _found_links(self, story: Story) -> Iterator[Record]:
        """Give the links as records, numbered from each capture's last record on."""
        links = list(story.links())
        for link in links:
            if link.link.span.seq is not None and link.place.turn and link.place.step:
                self._linked_places[link.capture, link.link.span.seq] = link.place.turn, link.place.step
        for capture in self._captures:
            last = capture.last
            of_capture = (link for link in links if link.capture == capture.id)
            for number, link in enumerate(of_capture, 1):
                assert last is not None  # noqa: S101 - what is linked was read
                place = Place(session=self.info.id, turn=link.place.turn, step=link.place.step, call=link.place.call)
                made = Record(wire="host", kind="link", place=place, data=link.link.to_bytes())
                yield replace(
                    made, capture=last.capture, seq=last.seq + number, time_ns=last.time_ns, mono_ns=last.mono_ns
                )
