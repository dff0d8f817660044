"""Resolve groups of competing calls and frames, taking certain pairs out until none is left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tui_host.infer.call_values import Carried, FrameKey, Sent
from tui_host.infer.matching.assignment import largest_matching, necessary_pairs
from tui_host.infer.matching.candidates import Candidate, Possible
from tui_host.infer.matching.retries import Tries
from tui_host.infer.matching.send_order import Orders
from tui_host.infer.same_result import BEGINNING, END, HINT, OTHER, SAME

_GRADES = (SAME, BEGINNING, END, HINT)
_MOST_ORDERED = 8
"""The most equal calls for which all orders of results are tried."""


def competing(carried: Iterable[Carried], possible: Possible) -> list[tuple[list[Carried], list[Candidate]]]:
    """Divide frames and calls into groups that compete only among themselves."""
    of_call: dict[str, tuple[list[Carried], dict[str, Candidate]]] = {}
    for frame in carried:
        whole: tuple[list[Carried], dict[str, Candidate]] = ([frame], {})
        touching = {id(group): group for call in possible[frame.key] if (group := of_call.get(call.asked.key))}
        for members, calls in touching.values():
            whole[0].extend(members)
            whole[1].update(calls)
        whole[1].update((call.asked.key, call) for call in possible[frame.key])
        of_call.update(dict.fromkeys(whole[1], whole))
    groups = {id(group): group for group in of_call.values()}
    return [(members, list(calls.values())) for members, calls in groups.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubts:
    """What else the calls and frames of a group may belong to.

    Attributes:
        tries: Decides which frames may be first tries of others.
        unasked: Server and name of tools that are also called without a captured model.
        unclear: The `alike` keys of calls beside which an equal call has a result that no frame brought.
        otherwise: Frames that may carry a call whose host reports a different result.
        timed: The captures with known clock offsets; None for all.
    """

    tries: Tries
    unasked: Container[tuple[str, str]] = ()
    unclear: Container[tuple[str, str, str, str]] = ()
    otherwise: Container[FrameKey] = ()
    timed: Container[str] | None = None


class Competition:
    """One group of competing calls and frames.

    Args:
        carried: The frames.
        calls: The calls.
        possible: The calls that each frame may carry.
        doubts: What else the frames and calls may belong to.

    Attributes:
        as_asked: Calls whose results can only stand in the order of the calls.
    """

    def __init__(
        self, carried: Sequence[Carried], calls: Sequence[Candidate], possible: Possible, doubts: Doubts
    ) -> None:
        self._carried = {frame.key: frame for frame in carried}
        self._calls = {call.asked.key: call for call in calls}
        self._doubts = doubts
        self._joined: dict[str, tuple[Sent, ...]] = {}
        self._before: set[FrameKey] = set()  # unanswered frames that may be first tries of a call with another frame
        self.as_asked: set[str] = set()
        self._left = {frame.key: dict.fromkeys(call.asked.key for call in possible[frame.key]) for frame in carried}
        self._frames: dict[str, dict[FrameKey, None]] = defaultdict(dict)
        self._grades: dict[tuple[FrameKey, str], int | None] = {}
        # pairs whose result may still arrive, or stands in another place
        self._doubtful = set[tuple[FrameKey, str]]()
        for frame in carried:
            for call in possible[frame.key]:
                pair = frame.key, call.asked.key
                self._frames[call.asked.key][frame.key] = None
                self._grades[pair] = grade = call.tells(frame.last)
                if call.told is None or (grade is None and call.best_grade(frame.last)):
                    self._doubtful.add(pair)

    def joined(self, orders: Orders | None = None) -> dict[str, tuple[Sent, ...]]:
        """Return the frames of the calls that are certain.

        Args:
            orders: The order that hosts have shown in sending, which may decide more pairs.
        """
        while any(map(self._take_told, _GRADES)) or self._take_necessary() or self._take_twins(orders):
            pass
        return self._joined

    def is_open(self) -> bool:
        """Return whether any frame has possible calls left."""
        return any(self._frames.values())

    def _take(self, key: FrameKey, call: str) -> None:
        for rival in self._left.pop(key):
            del self._frames[rival][key]
        self._joined[call] = self._carried[key].frames
        for rival in self._frames.pop(call):
            del self._left[rival][call]
            before = self._carried[rival]
            if self._calls[call].gave_up_on(before.last) and before.sent < self._carried[key].sent:
                self._before.add(rival)

    def _take_told(self, least: int) -> bool:
        """Take each frame whose answer is the result of exactly one call, and that call's result of no other frame.

        Pairs stay where another call may still get the answer as a result.
        """
        telling = {
            key: [call for call in calls if (self._grades[key, call] or 0) >= least]
            for key, calls in self._left.items()
        }
        often = Counter(call for calls in telling.values() for call in calls)
        pairs = [
            (key, calls[0])
            for key, calls in telling.items()
            if len(calls) == often[calls[0] if calls else ""] == 1
            and not any((key, call) in self._doubtful for call in self._left[key])
        ]
        return self._take_some(pair for pair in pairs if self._is_only_outcome(*pair))

    def _take_some(self, pairs: Iterable[tuple[FrameKey, str]]) -> bool:
        before = len(self._joined)
        for key, call in pairs:
            self._take(key, call)
        return len(self._joined) > before

    def _take_necessary(self) -> bool:
        """Take the pairs that every largest assignment contains.

        A pair counts only if certain both with and without frames that may be failed first tries.
        """
        with_tries = necessary_pairs({key: list(calls) for key, calls in self._left.items()})
        without = necessary_pairs(
            {key: [call for call in calls if self._may_be_left(key, call)] for key, calls in self._left.items()}
        )
        return self._take_some(
            (key, call) for key, call in without.items() if with_tries.get(key) == call and self._is_asked(key, call)
        )

    def _is_asked(self, key: FrameKey, call: str) -> bool:
        """Return whether the call's result speaks for the pair, or nothing else explains the frame."""
        frame, doubts = self._carried[key].last, self._doubts
        if self._calls[call].told is not None:
            is_timed = doubts.timed is None or frame.capture in doubts.timed
            return bool(self._grades[key, call]) or (
                is_timed and not any(self._grades[key, rival] for rival in self._left[key])
            )
        is_anyones = key in self._before or key in doubts.otherwise
        return not (is_anyones or (frame.server, frame.tool) in doubts.unasked)

    def _take_twins(self, orders: Orders | None) -> bool:
        """Take equal calls of one answer with an equal number of frames on one connection, if the order decides."""
        alike = defaultdict[frozenset[str], list[FrameKey]](list)
        for key, calls in self._left.items():
            alike[frozenset(calls)].append(key)
        for names, keys in alike.items():
            if not self._are_twins(names, keys):
                continue
            calls = sorted((self._calls[name] for name in names), key=lambda candidate: candidate.asked.number)
            carried = sorted((self._carried[key] for key in keys), key=lambda sent: sent.sent)
            pairs = list(self._ordered_twins(calls, carried, orders))
            if pairs and all(self._may_be_left(frame.key, call.asked.key) for call, frame in pairs):
                return self._take_some((frame.key, call.asked.key) for call, frame in pairs)
        return False

    def _are_twins(self, names: frozenset[str], keys: Sequence[FrameKey]) -> bool:
        """Return whether calls are of one answer and have the frames to themselves."""
        calls = [self._calls[name] for name in names]
        return (
            len(calls) == len(keys) > 1
            and len({call.answer for call in calls}) == 1
            and all(len(self._frames[name]) == len(keys) for name in names)
            and not any(call.was_denied for call in calls)  # else one of the frames is a second try
            and not any(call.alike in self._doubts.unclear for call in calls)  # or a first try
        )

    def _ordered_twins(
        self, calls: Sequence[Candidate], carried: Sequence[Carried], orders: Orders | None
    ) -> Iterator[tuple[Candidate, Carried]]:
        """Yield equal calls with their frames in the host's order, or in the only order that fits the results."""
        if orders is not None and _is_order(carried) and orders.are_shown(calls[0], carried):
            yield from _in_order(calls, carried)
            return
        if len(calls) > _MOST_ORDERED or not all(call.is_twin for call in calls):
            return
        if all(self._is_of_no_other(frame.key, call.asked.key) for frame in carried for call in calls):
            frames_told = _frames_by_result(calls, carried)
            if _are_as_asked(calls, carried, frames_told):
                self.as_asked |= {call.asked.key for call in calls}
                yield from ((call, frames_told[call.asked.key]) for call in calls if call.asked.key in frames_told)

    def _is_only_outcome(self, key: FrameKey, call: str) -> bool:
        """Return whether a frame's outcome can only be the call's: an answer in time, or an end nobody else shares."""
        frame = self._carried[key].last
        if not self._calls[call].gave_up_on(frame):
            return True
        are_given_up = all(self._calls[name].gave_up_on(frame) for name in self._left[key])
        is_told_beside = any((rival, call) in self._doubtful for rival in self._frames[call])
        return are_given_up and self._is_of_no_other(key, call) and not is_told_beside

    def _is_of_no_other(self, key: FrameKey, call: str) -> bool:
        """Return whether a frame was answered in time, or cannot be the first try of another call."""
        frame = self._carried[key]
        return not self._calls[call].gave_up_on(frame.last) or not self._doubts.tries.may_be_of_another_call(
            frame, call, self._joined
        )

    def _may_be_left(self, key: FrameKey, call: str) -> bool:
        """Return whether a call may take the last frame left: a frame without an answer needs a failed call."""
        gave_up_on = self._calls[call].gave_up_on(self._carried[key].last)
        return not gave_up_on or (self._calls[call].may_have_failed and self._is_of_no_other(key, call))


def _in_order(calls: Sequence[Candidate], carried: Sequence[Carried]) -> Sequence[tuple[Candidate, Carried]]:
    """Pair equal calls with frames in the order of sending.

    Nothing where the results follow neither the order of the calls nor, by ids, the order of the answers: then the host may
    send in any order.
    """
    results = [call.told for call in calls]
    places = [result.start for result in results if result is not None]
    if len(places) < len(calls):
        return ()
    is_by_id = all(result is not None and result.by_id for result in results)
    as_they_came = [place for _, place in sorted(zip((frame.over for frame in carried), places, strict=True))]
    is_usual = places == sorted(places) or (is_by_id and as_they_came == sorted(places))
    return list(zip(calls, carried, strict=True)) if is_usual else ()


def _frames_by_result(calls: Sequence[Candidate], carried: Sequence[Carried]) -> dict[str, Carried]:
    """Return the frame whose answer each call's result repeats, as far as results decide."""
    own = [replace(call, places=None, is_twin=False) for call in calls]
    possible = {frame.key: [call for call in own if call.tells(frame.last) != OTHER] for frame in carried}
    joined = Competition(carried, own, possible, Doubts(tries=Tries(carried, possible))).joined()
    by_last = {frame.key: frame for frame in carried}
    return {name: by_last[frames[-1].key] for name, frames in joined.items()}


def _are_as_asked(calls: Sequence[Candidate], carried: Sequence[Carried], frames_told: Mapping[str, Carried]) -> bool:
    """Return whether results of equal calls can only be in the order of the calls, not of sending or answering."""
    if any(not frame.last.dropped and calls[0].gave_up_on(frame.last) for frame in carried):
        return False  # nobody knows when a host gave up a lost or late answer

    def can_be(call: Candidate, frame: Carried) -> bool:
        return frames_told.get(call.asked.key, frame) is frame and call.own_grade(frame.last) != OTHER

    def can_be_in(
        order: Callable[[Carried, Carried], bool], calls: Sequence[Candidate], left: Sequence[Carried]
    ) -> bool:
        """Return whether the calls can have the frames in some order that does not contradict `order`."""
        first = [frame for frame in left if not any(order(earlier, frame) for earlier in left)]
        return not calls or any(
            can_be(calls[0], frame) and can_be_in(order, calls[1:], [rest for rest in left if rest is not frame])
            for frame in first
        )

    own = {frame.key: [call.asked.key for call in calls if can_be(call, frame)] for frame in carried}
    fits = len(largest_matching(own)) == len(carried)
    return fits and not any(can_be_in(order, calls, carried) for order in (_is_sent_before, _is_over_before))


def _is_order(carried: Sequence[Carried]) -> bool:
    """Return whether the frames were certainly sent one after another."""
    return all(_is_sent_before(first, second) for first, second in pairwise(carried))


def _is_sent_before(first: Carried, second: Carried) -> bool:
    return _is_before(first.frames[0], first.sent, second.frames[0], second.sent)


def _is_over_before(first: Carried, second: Carried) -> bool:
    return _is_before(first.last, first.over, second.last, second.over)


def _is_before(first: Sent, before: tuple[int, int], second: Sent, after: tuple[int, int]) -> bool:
    """Return whether one frame's event certainly precedes another frame's event, by one clock or two."""
    if first.capture == second.capture:
        cut_ns = 0 if first.line == second.line else (first.cut_ns + second.cut_ns) // 2
        return (before[0] + cut_ns, before[1]) < after
    return before[0] + first.within_ns + second.within_ns < after[0]
