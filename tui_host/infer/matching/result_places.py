"""Find which result belongs to which call where no id says so: by name, by the frames' answers, by elimination.

Most hosts report results in the order of the calls, some in the order of arrival or of sending. Order alone decides nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TypeAlias

from tui_host.infer.call_values import CallFrame
from tui_host.infer.matching.candidates import Candidate
from tui_host.infer.same_result import OTHER, SAME
from tui_host.llm.fold import MOST_CALLS

_ResultKind: TypeAlias = tuple[str, str, str]


def placed(
    candidates: Iterable[Candidate], joined: Mapping[str, tuple[CallFrame, ...]], as_asked: Container[str] = ()
) -> tuple[dict[str, str | None], set[str]]:
    """Return the calls whose results stand out of order.

    Args:
        candidates: All calls.
        joined: The frames of the matched calls.
        as_asked: Calls whose results are known to stand in their own places.

    Returns:
        The place of each such result by call, None if doubtful or if the answer has too many calls; and the calls that cannot
        have their frames because no result repeats the frame's answer.
    """
    answers: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for call in candidates:
        if call.result is not None and not call.result.by_id:
            answers[call.answer].append(call)
    counts = Counter(_kind_of(call) for calls in answers.values() for call in calls)
    places_by_call: dict[str, str | None] = {}
    refuted: set[str] = set()
    unsure: set[str] = set()
    for calls in answers.values():
        if len(calls) > MOST_CALLS:
            unsure |= {call.key for call in calls}
        elif len(calls) > 1:
            places = _Places(calls, joined, counts)
            places.settle(as_asked)
            places_by_call |= places.found
            refuted |= places.refuted
            unsure |= places.left.keys()
    places_by_call |= dict.fromkeys(unsure)
    return {key: place for key, place in places_by_call.items() if place != key}, refuted


class _Places:
    """The places of one answer's results.

    Attributes:
        found: The places of calls with a certain place.
        left: The possible places of the other calls, with their grades.
        refuted: Calls whose answers no result repeats.
    """

    def __init__(
        self, calls: Sequence[Candidate], joined: Mapping[str, tuple[CallFrame, ...]], counts: Mapping[_ResultKind, int]
    ) -> None:
        self._calls = {call.key: call for call in calls}
        self._sent = joined.keys()
        self._kind_of = counts
        self.found: dict[str, str | None] = {}
        self.left = {call.key: self._possible_places(call, joined.get(call.key, ())) for call in calls}
        often = Counter(place for places in self.left.values() if len(places) == 1 for place in places)
        self.refuted = {
            key
            for key, places in self.left.items()
            if not places or (len(places) == 1 and often[next(iter(places))] > 1)
        }
        for key in self.refuted:
            del self.left[key]
        self.found |= dict.fromkeys(self.refuted)

    def _possible_places(self, call: Candidate, frames: Sequence[CallFrame]) -> dict[str, int | None]:
        """Return the places whose results best repeat the frame's answer."""
        open_ones = self._open_to(call)
        if not frames:
            return dict.fromkeys(candidate.key for candidate in open_ones)
        grades = {candidate.key: candidate.own_grade(frames[-1]) for candidate in open_ones}
        best = max((grade or OTHER for grade in grades.values()), default=OTHER)
        return {
            key: grade
            for key, grade in grades.items()
            if grade == (best or None) or (best < SAME and grade is None and key == call.key)
        }

    def _open_to(self, call: Candidate) -> Sequence[Candidate]:
        """Return the calls in whose places the result may stand, by tool name."""
        is_named = _is_named(call)
        return [
            candidate
            for candidate in self._calls.values()
            if candidate.call.name == call.call.name or not (is_named or _is_named(candidate))
        ]

    def settle(self, as_asked: Container[str]) -> None:
        """Take every place without alternatives until none is left."""
        for key in [key for key in self.left if key in as_asked]:
            self._take(key, key)
        while self._settle_one():
            pass

    def _settle_one(self) -> bool:
        often = Counter(place for places in self.left.values() for place in places)
        telling = {key: [place for place, grade in places.items() if grade] for key, places in self.left.items()}
        telling_counts = Counter(place for places in telling.values() for place in places)
        for key, places in self.left.items():
            own = key if key in places else next(iter(places), None)
            if len({self._text(place) for place in places}) < 2 and self._is_room_in(places):
                return self._take(key, own)
            only = [place for place in telling[key] if len(telling[key]) == telling_counts[place] == 1]
            only = only or [place for place in places if often[place] == 1]
            if len(only) == 1 and not self.refuted:
                return self._take(key, only[0])
        return False

    def _is_room_in(self, places: Mapping[str, int | None]) -> bool:
        """Return whether the places suffice for the calls confined to them."""
        confined = [own for own in self.left.values() if own and own.keys() <= places.keys()]
        return len(confined) <= len(places)

    def _take(self, key: str, place: str | None) -> bool:
        if place is not None and self._may_be_cached(key, place):
            self.found |= dict.fromkeys((key, place))
            self.left.pop(place, None)
        else:
            self.found[key] = place
        del self.left[key]
        for places in self.left.values():
            places.pop(place or "", None)
        return True

    def _may_be_cached(self, key: str, place: str) -> bool:
        """Return whether the result in a place may come from the host's cache, as an equal call has the same result."""
        placed_call = self._calls[place]
        if key == place or place in self._sent or placed_call.was_denied or self._kind_of[_kind_of(placed_call)] < 2:
            return False
        beside = (rival for rival in self._open_to(self._calls[key]) if rival is not placed_call)
        return not all(rival.was_denied for rival in beside)  # a call with a frame has no denial as its result

    def _text(self, place: str) -> str:
        result = self._calls[place].result
        return result.text if result is not None else ""


def _kind_of(call: Candidate) -> _ResultKind:
    """Return tool, arguments and result of a call."""
    return call.call.name, call.arguments or call.call.arguments, "" if call.result is None else call.result.text


def _is_named(call: Candidate) -> bool:
    return call.result is not None and call.result.by_name
