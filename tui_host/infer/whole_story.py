"""The whole of what taps of one story recorded, as one session: to be shown and exported as others are.

It is read once to find out what belongs together, and again for its records: these are in the order of time, each with the turn and
step that it seems to belong to, and behind them stand the links that were found. What was brought here from a file comes out as it
came in.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from operator import itemgetter

from tui_host.capture.record import Draft, Place, Record
from tui_host.capture.session_summary import own_name
from tui_host.capture.store.store import Store
from tui_host.capture.store.tap_summary import captures_of
from tui_host.capture.wall_clock import WallClock
from tui_host.chat.conversation import Conversation, item_to_text
from tui_host.infer.asking.speakers import in_words, models_in_words, models_of, protocols_of
from tui_host.infer.story import Story
from tui_host.infer.story_chat import Telling
from tui_host.infer.taps.stories import TapStory

_STEPS = 32
"""Bits of a step's number."""


@dataclass(slots=True)
class _Capture:
    """One capture, as far as it was read: a tap may go on meanwhile."""

    id: str
    last: Record | None = None


class Whole:
    """A story as it is now.

    Args:
        store: Where it is kept.
        told: What it consists of.
        redact: What every text of its chat passes.

    Attributes:
        info: It as a session, named by its first tap's.
        taps: What it consists of.
    """

    def __init__(self, store: Store, told: TapStory, redact: Callable[[str], str] = str) -> None:
        self.info = told.taps[0]
        self.taps = told.taps
        self._store = store
        self._conversation = Conversation(redact=redact)
        self._is_imported = self.info.imported
        names = (name for tap in told.taps for name in captures_of(store, tap.id))
        self._clock = WallClock()
        self._captures = [_Capture(name) for name in sorted(names, key=own_name)]
        self._places = array("Q")
        self._joined: dict[
            tuple[str, int], tuple[int, int]
        ] = {}  # turns and steps of what was found to belong to calls
        self._links: list[Record] = []
        self._read(told)

    def session_items(self, session: str) -> Sequence[str]:  # noqa: ARG002 - there is but one
        """The JSON of the chat's items, in order."""
        return [item_to_text(item) for item in self._conversation.items]

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:  # noqa: ARG002 - as above
        """The records in the order of time, then the links; none is a preamble."""
        for number, record in enumerate(self._merged()):
            if not self._is_imported:
                turn, step = self._joined.get(record.key) or divmod(self._places[number], 1 << _STEPS)
                place = replace(record.draft.place, turn=turn or None, step=step or None)
                record = replace(record, draft=replace(record.draft, place=place))  # noqa: PLW2901 - the same in its place
            yield record, False
        yield from ((link, False) for link in self._links)

    def _read(self, told: TapStory) -> None:
        story = Story(self.info.id)
        for record in self._merged():
            place = story.feed(record).draft.place
            self._places.append(((place.turn or 0) << _STEPS) | (place.step or 0))
        Telling(story, self._conversation).tell()
        if self._is_imported:
            links = (self._recorded_links(capture.id) for capture in self._captures)
            self._links = [link for of_capture in links for link in of_capture]
            return
        self._links = list(self._found_links(story))
        self.info = replace(
            self.info,
            title=told.title,
            created_ns=min(tap.created_ns for tap in told.taps),
            updated_ns=told.updated_ns,
            turns=story.talks.turns,
            live=told.live,
            model=models_in_words(models_of(story.spoken)),
            protocol=in_words(protocols_of(story.spoken)),
        )

    def _merged(self) -> Iterator[Record]:
        yield from map(itemgetter(1), merge(*map(self._timed, self._captures), key=itemgetter(0)))

    def _timed(self, capture: _Capture) -> Iterator[tuple[int, Record]]:
        """A capture's records but links, with their times on the clock that all share."""
        until = None if capture.last is None else capture.last.seq
        for record in self._store.records(capture=capture.id, until_seq=until):
            if until is None:
                capture.last = record
            if record.draft.kind != "link":
                yield self._clock.at_ns(record), record

    def _recorded_links(self, capture: str) -> Iterator[Record]:
        return (record for record in self._store.records(capture=capture) if record.draft.kind == "link")

    def _found_links(self, story: Story) -> Iterator[Record]:
        """What was found to belong together, as records behind those of their captures."""
        found = list(story.links())
        for each in found:
            if each.link.span.seq is not None and each.place.turn and each.place.step:
                self._joined[each.capture, each.link.span.seq] = each.place.turn, each.place.step
        for capture in self._captures:
            last = capture.last
            of_capture = (each for each in found if each.capture == capture.id)
            for number, each in enumerate(of_capture, 1):
                assert last is not None  # noqa: S101 - what is linked was read
                place = Place(session=self.info.id, turn=each.place.turn, step=each.place.step, call=each.place.call)
                draft = Draft(wire="host", kind="link", place=place, data=each.link.to_bytes())
                yield replace(last, seq=last.seq + number, draft=draft)
