"""Export and show a story as a session: chat items, records in the order of time, and links.

The records are read twice: once to find what belongs together, and again each time they are exported, with the turn and step that
was found for each. What was exported before and comes from a file keeps the places and links that it came with.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tui_host.capture.exports.parts import Exported
from tui_host.capture.record import Place, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.capture.wall_clock import WallClock
from tui_host.chat.conversation import Conversation, item_to_text
from tui_host.errors import JSON, TuiHostError
from tui_host.infer.conversations.host_names import in_words, models_in_words, models_of, protocols_of
from tui_host.infer.matching.by_hand import choices_of, choose, pairing_named
from tui_host.infer.merged_records import MergedRecords
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat

_STEP_BITS = 32


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


def link_by_hand(store: Store, session: str, call: str, frame: str) -> tuple[str, dict[str, JSON]]:
    """Join a call of a story with a frame, or part them if they are joined, and return that in words and as JSON.

    Raises:
        TuiHostError: There is no such story, call or frame, or the file cannot be written.
    """
    named = Stories(store).find(session)
    if not isinstance(named, TapStory):
        raise TuiHostError("only calls that a tap or a file brought are joined by hand", session, "name such a session")
    story = WholeStory(store, named).found
    keys = {call.key: story.conversations.exchanges[call.call.capture, call.call.exchange] for call in story.joined()}
    numbers = {
        f"{exchange.turn}.{exchange.step}.{int(key.rpartition('.')[2]) + 1}": key for key, exchange in keys.items()
    }
    pairing = pairing_named(story.joined(), story.frames.sent.values(), numbers.get(call, call), frame)
    choose(store, pairing)
    is_joined, (capture, seq) = not pairing.is_joined, pairing.frame
    words = f"{'joined' if is_joined else 'parted'}: {pairing.words}"
    return words, {"call": pairing.call, "capture": capture, "seq": seq, "joined": is_joined}


class WholeStory:
    """A story in its present state, read at once. `redact` takes secrets out of the texts of the chat."""

    def __init__(self, store: Store, tap_story: TapStory, redact: Callable[[str], str] = str) -> None:
        self.taps = tap_story.taps
        self._is_kept = tap_story.is_imported and self.taps[0].turns > 0
        self.info = self.taps[0] if self._is_kept else tap_story.info
        self._store = store
        self._story = tap_story
        self._clock = WallClock()
        self._conversation = Conversation(redact=redact)
        self._places = array("Q")
        self._places_of_linked: dict[tuple[str, int], int] = {}
        self._links: Sequence[Record] = ()
        self.found = Story(self.info.id)
        self._read()

    def session_items(self, session: str) -> Sequence[str]:  # noqa: ARG002 - there is but one
        """Return the items of the chat as JSON, in order."""
        return [item_to_text(item) for item in self._conversation.items]

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:  # noqa: ARG002 - as above
        """Give the records in the order of time, then the links. None is a preamble."""
        reader = MergedRecords(self._store, self._clock, self._last)
        places: dict[tuple[Place, int], Place] = {}
        for number, record in enumerate(reader.all(self._story)):
            step = self._places_of_linked.get(record.key, self._places[number])
            place = record.place
            if not self._is_kept:
                if (place, step) not in places:
                    turn, step_in_turn = divmod(step, 1 << _STEP_BITS)
                    places[place, step] = replace(place, turn=turn or None, step=step_in_turn or None)
                place = places[place, step]
            yield (record if place == record.place else replace(record, place=place)), False
        yield from ((link, False) for link in self._links)

    def _read(self) -> None:
        story, reader = self.found, MergedRecords(self._store, self._clock)
        for record in reader.all(self._story):
            self._places.append(_packed(story.take(record)))
        self._last = reader.last
        story.choose(choices_of(self._store, self._last))
        StoryChat(story, self._conversation).tell()
        if self._is_kept:
            records = (record for capture in self._last for record in self._store.records(capture=capture))
            self._links = [record for record in records if record.kind == "link"]
            return
        self._links = list(self._links_in(story))
        self.info = replace(
            self.info,
            turns=story.conversations.turns,
            model=models_in_words(models_of(story.speakers)),
            protocol=in_words(protocols_of(story.speakers)),
        )

    def _links_in(self, story: Story) -> Iterator[Record]:
        """Give the links as records, numbered from each capture's last record on."""
        links = list(story.links())
        for capture, last in self._last.items():
            of_capture = (link for link in links if link.capture == capture)
            for number, link in enumerate(of_capture, 1):
                if link.link.span.seq is not None and link.place.turn and link.place.step:
                    self._places_of_linked[capture, link.link.span.seq] = _packed(link.place)
                yield link.record(last.seq + number, last.time_ns, last.mono_ns)


def _packed(place: Place) -> int:
    return ((place.turn or 0) << _STEP_BITS) | (place.step or 0)
