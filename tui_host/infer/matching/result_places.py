"""Where a model is told which call's result, if no ids say it: by name, by what came back, and by what is left.

Most hosts tell results in the order of the calls, some as they come, or as they were sent: where nothing but the order tells, it tells
nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TypeAlias

from tui_host.infer.call_values import Sent
from tui_host.infer.matching.candidates import Candidate
from tui_host.infer.same_result import OTHER, SAME
from tui_host.llm.fold import MOST_CALLS

_Said: TypeAlias = tuple[str, str, str]


def placed(
    candidates: Iterable[Candidate], joined: Mapping[str, tuple[Sent, ...]], as_asked: Container[str] = ()
) -> tuple[dict[str, str | None], set[str]]:
    """The calls whose results stand elsewhere than the order alone says.

    Args:
        candidates: All calls.
        joined: The frames of those that have any.
        as_asked: Calls that are known to be told in their own places.

    Returns:
        Of each such call the one in whose place its result stands, None if that is doubtful, as it is of more calls than are heard of
        an answer; and the calls whose frames cannot be theirs, as what came back is told nowhere.
    """
    answers: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.told is not None and not each.told.by_id:
            answers[each.answer].append(each)
    said = Counter(_said(each) for calls in answers.values() for each in calls)
    told: dict[str, str | None] = {}
    refuted: set[str] = set()
    unsure: set[str] = set()
    for calls in answers.values():
        if len(calls) > MOST_CALLS:
            unsure |= {each.asked.key for each in calls}
        elif len(calls) > 1:
            places = _Places(calls, joined, said)
            places.settle(as_asked)
            told |= places.found
            refuted |= places.refuted
            unsure |= places.left.keys()
    told |= dict.fromkeys(unsure)
    return {key: place for key, place in told.items() if place != key}, refuted


class _Places:
    """The places of one answer's results.

    Attributes:
        found: The place of each call that is certain.
        left: The places that are left for each of the others, with how they tell what came back.
        refuted: Calls whose results are told nowhere.
    """

    def __init__(
        self, calls: Sequence[Candidate], joined: Mapping[str, tuple[Sent, ...]], said: Mapping[_Said, int]
    ) -> None:
        self._calls = {each.asked.key: each for each in calls}
        self._sent = joined.keys()
        self._said = said
        self.found: dict[str, str | None] = {}
        self.left = {each.asked.key: self._of(each, joined.get(each.asked.key, ())) for each in calls}
        often = Counter(place for places in self.left.values() if len(places) == 1 for place in places)
        self.refuted = {
            key
            for key, places in self.left.items()
            if not places or (len(places) == 1 and often[next(iter(places))] > 1)
        }
        for key in self.refuted:
            del self.left[key]
        self.found |= dict.fromkeys(self.refuted)

    def _of(self, call: Candidate, frames: Sequence[Sent]) -> dict[str, int | None]:
        """The places that a call's result may have: those that tell best what came back."""
        open_ones = self._open_to(call)
        if not frames:
            return dict.fromkeys(each.asked.key for each in open_ones)
        grades = {each.asked.key: each.tells_itself(frames[-1]) for each in open_ones}
        best = max((grade or OTHER for grade in grades.values()), default=OTHER)
        return {
            key: grade
            for key, grade in grades.items()
            if grade == (best or None) or (best < SAME and grade is None and key == call.asked.key)
        }

    def _open_to(self, call: Candidate) -> Sequence[Candidate]:
        """The calls in whose places its result may stand, as far as names tell."""
        is_named = _is_named(call)
        return [
            each
            for each in self._calls.values()
            if each.asked.name == call.asked.name or not (is_named or _is_named(each))
        ]

    def settle(self, as_asked: Container[str]) -> None:
        """Take what leaves no other reading away, until nothing more does."""
        for key in [key for key in self.left if key in as_asked]:
            self._take(key, key)
        while self._settle_one():
            pass

    def _settle_one(self) -> bool:
        often = Counter(place for places in self.left.values() for place in places)
        telling = {key: [place for place, grade in places.items() if grade] for key, places in self.left.items()}
        told = Counter(place for places in telling.values() for place in places)
        for key, places in self.left.items():
            own = key if key in places else next(iter(places), None)
            if len({self._text(place) for place in places}) < 2 and self._is_room_in(places):
                return self._take(key, own)
            only = [place for place in telling[key] if len(telling[key]) == told[place] == 1]
            only = only or [place for place in places if often[place] == 1]
            if len(only) == 1 and not self.refuted:
                return self._take(key, only[0])
        return False

    def _is_room_in(self, places: Mapping[str, int | None]) -> bool:
        """Whether no more calls have these places alone than there are: else one of them belongs elsewhere, and nobody knows which."""
        return sum(len(each) > 0 and each.keys() <= places.keys() for each in self.left.values()) <= len(places)

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
        """Whether a host may have told what stands in a place by itself, as the same call is told so elsewhere: it was not sent, nor denied."""
        other = self._calls[place]
        if key == place or place in self._sent or other.was_denied or self._said[_said(other)] < 2:
            return False
        beside = (each for each in self._open_to(self._calls[key]) if each is not other)
        return not all(each.was_denied for each in beside)  # what was sent is not told that it was denied

    def _text(self, place: str) -> str:
        told = self._calls[place].told
        return told.text if told is not None else ""


def _said(call: Candidate) -> _Said:
    """What is asked for, and what is told of it."""
    return call.asked.name, call.arguments or call.asked.arguments, "" if call.told is None else call.told.text


def _is_named(call: Candidate) -> bool:
    return call.told is not None and call.told.by_name
