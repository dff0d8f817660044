"""Export and show a story as a session: chat items, records in the order of time, and links.

The records are read twice: once to find what belongs together, and again each time they are exported, with the turn and step that
was found for each. What was exported before and comes from a file keeps the places and links that it came with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tui_host.capture.exports.parts import Exported
from tui_host.capture.record import Place, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.notes_of_people import frame_choices
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import Conversation, item_to_text
from tui_host.errors import JSON, TuiHostError
from tui_host.infer.conversations.host_names import in_words, models_in_words, models_of, protocols_of
from tui_host.infer.matching.by_hand import choose, pairing_named
from tui_host.infer.merged_records import MergedRecords
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat


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
    story, numbers = WholeStory(store, named).found, dict[str, str]()
    for joined in story.joined():
        exchange = story.conversations.exchanges[joined.call.capture, joined.call.exchange]
        numbers[f"{exchange.turn}.{exchange.step}.{joined.call.number + 1}"] = joined.key
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
