"""Whether calls and frames that follow each other were counted from the same one on: logs, and taps, begin and end at different times."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from tui_host.infer.call_values import Carried, FrameKey, Line, Sent
from tui_host.infer.matching.candidates import Candidate

_NEAR = 50
"""Frames beside others that are looked at for one that tells where those stand."""


class Courses:
    """The frames of each connection in order, with the calls that each may carry.

    Args:
        frames: The frames.
        possible: The calls that each frame may carry.
    """

    def __init__(self, frames: Iterable[Sent], possible: Mapping[FrameKey, Sequence[Candidate]]) -> None:
        self._possible = possible
        self._keys: dict[Line, list[FrameKey]] = defaultdict(list)
        for frame in frames:
            if possible[frame.key]:
                self._keys[frame.line].append(frame.key)
        for keys in self._keys.values():
            keys.sort()

    def are_told_apart(self, calls: Sequence[Candidate], carried: Sequence[Carried]) -> bool:
        """Whether of as many calls as frames, each in order, the first belongs to the first: nothing else fits, or both are known from there on.

        Where all say the same it might else be that the frames of the first calls are not known, nor the calls of the last frames, or
        the other way round.
        """
        own = [{call.asked.key for call in self._possible[each.key]} for each in carried]
        keys = [call.asked.key for call in calls]
        is_sure = not any(_fit(keys[by:], own) or _fit(keys, own[by:]) for by in range(1, len(keys)))
        return is_sure or self._are_known_from_the_first(calls, carried) or self._are_beside_others(calls, carried)

    @staticmethod
    def _are_known_from_the_first(calls: Sequence[Candidate], carried: Sequence[Carried]) -> bool:
        """Whether the calls are all of one conversation, which tells what it has said before, and the connection is known from its beginning."""
        return len({call.talk for call in calls}) == 1 and all(each.frames[0].is_from_start for each in carried)

    def _are_beside_others(self, calls: Sequence[Candidate], carried: Sequence[Carried]) -> bool:
        """Whether a frame before the first can only carry a call before the first, or the same behind the last."""
        keys = self._keys[carried[0].first_line]
        first, last = carried[0].frames[0].key, carried[-1].key
        before = keys[: bisect_left(keys, first)][-_NEAR:]
        behind = keys[bisect_right(keys, last) :][:_NEAR]
        return any(
            all(goes_on_before(call, calls[0]) for call in self._possible[key]) for key in reversed(before)
        ) or any(all(goes_on_before(calls[-1], call) for call in self._possible[key]) for key in behind)


def goes_on_before(call: Candidate, later: Candidate) -> bool:
    """Whether the conversation had gone on from a call when another was asked for."""
    if call.answer == later.answer:
        return False
    if call.is_of_before and later.is_of_before and call.talk == later.talk:
        return call.asked.at_ns < later.asked.at_ns
    return call.until_ns is not None and call.until_ns < later.asked.at_ns  # in one second, or tick, none is first


def _fit(calls: Sequence[str], possible: Sequence[Container[str]]) -> bool:
    """Whether each frame may carry the call of its number, as far as there are any."""
    return all(call in own for call, own in zip(calls, possible, strict=False))


def crossing(candidates: Iterable[Candidate], joined: Mapping[str, Sequence[Sent]]) -> Iterator[str]:
    """The calls that follow each other and whose frames, on one connection, do so the other way round: not both can be right.

    Those are meant that contradict most others; what names its call is sure.

    Args:
        candidates: All calls.
        joined: The frames of those that have any.
    """
    of_line: dict[Line, list[tuple[Candidate, Sent]]] = defaultdict(list)
    for each in candidates:
        for frame in joined.get(each.asked.key, ())[-1:]:
            of_line[frame.line].append((each, frame))
    for pairs in of_line.values():
        yield from _crossing(pairs)


def _crossing(pairs: Sequence[tuple[Candidate, Sent]]) -> Iterator[str]:
    against: dict[str, set[str]] = defaultdict(set)
    for one, two in _contradicting(pairs):
        against[one].add(two)
        against[two].add(one)
    named = {call.asked.key for call, frame in pairs if call.asked.wire_id in frame.ids}
    while most := max((len(others) for key, others in against.items() if key not in named), default=0):
        wrong = {key for key, others in against.items() if key not in named and len(others) == most}
        yield from wrong
        against = {key: others - wrong for key, others in against.items() if key not in wrong}


def _contradicting(pairs: Sequence[tuple[Candidate, Sent]]) -> Iterator[tuple[str, str]]:
    """Each that was sent before another that was over when it was asked for, with that: found without a look at all pairs."""
    ends = [(until, frame.key, call) for call, frame in pairs if (until := _over_ns(call)) is not None]
    ends.sort(key=lambda each: each[:2], reverse=True)
    over: list[tuple[FrameKey, Candidate]] = []
    for call, frame in sorted(pairs, key=lambda pair: pair[0].asked.at_ns):
        while ends and ends[-1][0] <= call.asked.at_ns:
            insort(over, ends.pop()[1:], key=_frame_key)
        for _, other in over[bisect_right(over, frame.key, key=_frame_key) :]:
            if goes_on_before(other, call):
                yield call.asked.key, other.asked.key


def _frame_key(pair: tuple[FrameKey, Candidate]) -> FrameKey:
    return pair[0]


def _over_ns(call: Candidate) -> int | None:
    """When something asked for later may have been asked for at the earliest."""
    return call.asked.at_ns + 1 if call.is_of_before else call.until_ns
