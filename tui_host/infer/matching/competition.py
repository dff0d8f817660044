"""Resolve groups of competing calls and frames: by results, by necessity, by the order in which a host sends calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import factorial, prod

from tui_host.infer.call_values import Attempts, CallFrame, FrameKey, Line
from tui_host.infer.matching.assignment import largest_matching, necessary_pairs
from tui_host.infer.matching.candidates import Candidate, Possible
from tui_host.infer.matching.resent_calls import Resending
from tui_host.infer.same_result import END, OTHER

_ORDERS_SHOWN = 1000
"""How many orders must have been possible before an order counts as a habit and not as chance."""
_MOST_ORDERED = 8
"""The most equal calls for which all orders of results are tried."""


def competing(attempts: Iterable[Attempts], possible: Possible) -> list[tuple[list[Attempts], list[Candidate]]]:
    """Divide frames and calls into groups that compete only among themselves."""
    of_call: dict[str, tuple[list[Attempts], dict[str, Candidate]]] = {}
    for frame in attempts:
        whole: tuple[list[Attempts], dict[str, Candidate]] = ([frame], {})
        touching = {id(group): group for call in possible[frame.key] if (group := of_call.get(call.key))}
        for members, calls in touching.values():
            whole[0].extend(members)
            whole[1].update(calls)
        whole[1].update((call.key, call) for call in possible[frame.key])
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
        kept: Pairs of a frame with a call whose result the host may have kept from an earlier call.
    """

    tries: Resending
    unasked: Container[tuple[str, str]] = ()
    unclear: Container[tuple[str, str, str, str]] = ()
    otherwise: Container[FrameKey] = ()
    timed: Container[str] | None = None
    kept: Container[tuple[FrameKey, str]] = ()


class Competition:
    """One group of competing calls and frames.

    Args:
        attempts: The frames.
        calls: The calls.
        possible: The calls that each frame may carry.
        doubts: What else the frames and calls may belong to.

    Attributes:
        as_asked: Calls whose results can only stand in the order of the calls.
    """

    def __init__(
        self, attempts: Sequence[Attempts], calls: Sequence[Candidate], possible: Possible, doubts: Doubts
    ) -> None:
        self._attempts = {frame.key: frame for frame in attempts}
        self._calls = {call.key: call for call in calls}
        self._doubts = doubts
        self._joined: dict[str, tuple[CallFrame, ...]] = {}
        self._before: set[FrameKey] = set()  # unanswered frames that may be first tries of a call with another frame
        self.as_asked: set[str] = set()
        self._left = {frame.key: dict.fromkeys(call.key for call in possible[frame.key]) for frame in attempts}
        self._frames: dict[str, dict[FrameKey, None]] = defaultdict(dict)
        self._grades: dict[tuple[FrameKey, str], int | None] = {}
        # pairs whose result may still arrive, or stands in another place
        self._doubtful = set[tuple[FrameKey, str]]()
        for frame in attempts:
            for call in possible[frame.key]:
                pair = frame.key, call.key
                self._frames[call.key][frame.key] = None
                self._grades[pair] = grade = call.tells(frame.last)
                if call.result is None or (grade is None and call.best_grade(frame.last)) or pair in doubts.kept:
                    self._doubtful.add(pair)

    def joined(self, orders: SendOrders | None = None) -> dict[str, tuple[CallFrame, ...]]:
        """Return the frames of the calls that are certain.

        Args:
            orders: The order that hosts have shown in sending, which may decide more pairs.
        """
        while self._take_told() or self._take_necessary() or self._take_twins(orders):
            pass
        return self._joined

    def is_open(self) -> bool:
        """Return whether any frame has possible calls left."""
        return any(self._frames.values())

    def _take(self, key: FrameKey, call: str) -> None:
        for rival in self._left.pop(key):
            del self._frames[rival][key]
        self._joined[call] = self._attempts[key].frames
        for rival in self._frames.pop(call):
            del self._left[rival][call]
            before = self._attempts[rival]
            if self._calls[call].gave_up_on(before.last) and before.sent < self._attempts[key].sent:
                self._before.add(rival)

    def _take_told(self) -> bool:
        """Take each frame whose answer is the result of exactly one call, and that call's result of no other frame.

        Pairs stay where another call may still get the answer as a result, and where only the end of a result repeats the answer and
        another call's result is in words of the host's own.
        """
        telling = {key: [call for call in calls if self._grades[key, call]] for key, calls in self._left.items()}
        often = Counter(call for calls in telling.values() for call in calls)
        pairs = [
            (key, calls[0])
            for key, calls in telling.items()
            if len(calls) == often[calls[0] if calls else ""] == 1
            and not any((key, call) in self._doubtful for call in self._left[key])
            and self._is_told_enough(key, calls[0])
        ]
        return self._take_some(pair for pair in pairs if self._is_only_outcome(*pair))

    def _is_told_enough(self, key: FrameKey, call: str) -> bool:
        """Return whether more than the end of a result repeats an answer, or no rival's result is in words of the host's own."""
        grades = self._grades
        return (grades[key, call] or OTHER) > END or all(grades[key, rival] is not None for rival in self._left[key])

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
        frame, doubts = self._attempts[key].last, self._doubts
        if (key, call) in doubts.kept:
            return False
        if self._calls[call].result is not None:
            is_timed = doubts.timed is None or frame.capture in doubts.timed
            return bool(self._grades[key, call]) or (
                is_timed and not any(self._grades[key, rival] for rival in self._left[key])
            )
        is_anyones = key in self._before or key in doubts.otherwise
        return not (is_anyones or (frame.server, frame.tool) in doubts.unasked)

    def _take_twins(self, orders: SendOrders | None) -> bool:
        """Take equal calls of one answer with an equal number of frames on one connection, if the order decides."""
        alike = defaultdict[frozenset[str], list[FrameKey]](list)
        for key, calls in self._left.items():
            alike[frozenset(calls)].append(key)
        for names, keys in alike.items():
            if not self._are_twins(names, keys):
                continue
            calls = sorted((self._calls[name] for name in names), key=lambda candidate: candidate.call.number)
            attempts = sorted((self._attempts[key] for key in keys), key=lambda sent: sent.sent)
            pairs = list(self._ordered_twins(calls, attempts, orders))
            if pairs and all(self._may_be_left(frame.key, call.key) for call, frame in pairs):
                return self._take_some((frame.key, call.key) for call, frame in pairs)
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
        self, calls: Sequence[Candidate], attempts: Sequence[Attempts], orders: SendOrders | None
    ) -> Iterator[tuple[Candidate, Attempts]]:
        """Yield equal calls with their frames in the host's order, or in the only order that fits the results."""
        if orders is not None and _is_order(attempts) and orders.are_shown(calls[0], attempts):
            if all(call.result is not None for call in calls):
                yield from zip(calls, attempts, strict=True)
            return
        if len(calls) > _MOST_ORDERED or not all(call.is_twin for call in calls):
            return
        if all(self._is_of_no_other(frame.key, call.key) for frame in attempts for call in calls):
            frames_told = _frames_by_result(calls, attempts)
            if _are_as_asked(calls, attempts, frames_told):
                self.as_asked |= {call.key for call in calls}
                yield from ((call, frames_told[call.key]) for call in calls if call.key in frames_told)

    def _is_only_outcome(self, key: FrameKey, call: str) -> bool:
        """Return whether a frame's outcome can only be the call's: an answer in time, or an end nobody else shares."""
        frame = self._attempts[key].last
        if not self._calls[call].gave_up_on(frame):
            return True
        are_given_up = all(self._calls[name].gave_up_on(frame) for name in self._left[key])
        is_told_beside = any((rival, call) in self._doubtful for rival in self._frames[call])
        return are_given_up and self._is_of_no_other(key, call) and not is_told_beside

    def _is_of_no_other(self, key: FrameKey, call: str) -> bool:
        """Return whether a frame was answered in time, or cannot be the first try of another call."""
        frame = self._attempts[key]
        return not self._calls[call].gave_up_on(frame.last) or not self._doubts.tries.may_be_of_another_call(
            frame, call, self._joined
        )

    def _may_be_left(self, key: FrameKey, call: str) -> bool:
        """Return whether a call may take the last frame left: a frame without an answer needs a failed call."""
        gave_up_on = self._calls[call].gave_up_on(self._attempts[key].last)
        return not gave_up_on or (self._calls[call].may_have_failed and self._is_of_no_other(key, call))


def _frames_by_result(calls: Sequence[Candidate], attempts: Sequence[Attempts]) -> dict[str, Attempts]:
    """Return the frame whose answer each call's result repeats, as far as results decide."""
    own = [replace(call, places=None, is_twin=False) for call in calls]
    possible = {frame.key: [call for call in own if call.tells(frame.last) != OTHER] for frame in attempts}
    joined = Competition(attempts, own, possible, Doubts(tries=Resending(attempts, possible))).joined()
    by_last = {frame.key: frame for frame in attempts}
    return {name: by_last[frames[-1].key] for name, frames in joined.items()}


def _are_as_asked(
    calls: Sequence[Candidate], attempts: Sequence[Attempts], frames_told: Mapping[str, Attempts]
) -> bool:
    """Return whether results of equal calls can only be in the order of the calls, not of sending or answering."""
    if any(not frame.last.dropped and calls[0].gave_up_on(frame.last) for frame in attempts):
        return False  # nobody knows when a host gave up a lost or late answer
    if not all(any(call.own_grade(frame.last) for frame in attempts) for call in calls):
        return False  # a result in the host's own words may be of any frame

    def can_be(call: Candidate, frame: Attempts) -> bool:
        return frames_told.get(call.key, frame) is frame and call.own_grade(frame.last) != OTHER

    def can_be_in(
        order: Callable[[Attempts, Attempts], bool], calls: Sequence[Candidate], left: Sequence[Attempts]
    ) -> bool:
        """Return whether the calls can have the frames in some order that does not contradict `order`."""
        first = [frame for frame in left if not any(order(earlier, frame) for earlier in left)]
        return not calls or any(
            can_be(calls[0], frame) and can_be_in(order, calls[1:], [rest for rest in left if rest is not frame])
            for frame in first
        )

    own = {frame.key: [call.key for call in calls if can_be(call, frame)] for frame in attempts}
    fits = len(largest_matching(own)) == len(attempts)
    return fits and not any(can_be_in(order, calls, attempts) for order in (_is_sent_before, _is_over_before))


def _is_order(attempts: Sequence[Attempts]) -> bool:
    """Return whether the frames were certainly sent one after another."""
    return all(_is_sent_before(first, second) for first, second in pairwise(attempts))


def _is_sent_before(first: Attempts, second: Attempts) -> bool:
    return _is_before(first.frames[0], first.sent, second.frames[0], second.sent)


def _is_over_before(first: Attempts, second: Attempts) -> bool:
    return _is_before(first.last, first.over, second.last, second.over)


def _is_before(first: CallFrame, before: tuple[int, int], second: CallFrame, after: tuple[int, int]) -> bool:
    """Return whether one frame's event certainly precedes another frame's event, by one clock or two."""
    if first.capture == second.capture:
        return before < after
    return before[0] + first.within_ns + second.within_ns < after[0]


@dataclass(slots=True)
class _SeenOrder:
    """The order in which a host has sent calls.

    Attributes:
        chances: How many orders were possible in total, where each time the order of the answer was used.
        at_once: The same for calls sent before the earlier calls were answered.
        is_otherwise: Whether the host has used another order.
    """

    chances: int = 1
    at_once: int = 1
    is_otherwise: bool = False

    def add(self, shown: _SeenOrder) -> None:
        """Add the order shown on another connection."""
        self.chances *= shown.chances
        self.at_once *= shown.at_once
        self.is_otherwise |= shown.is_otherwise


class SendOrders:
    """The order that hosts have shown in calls matched without the order.

    Args:
        candidates: The calls.
        joined: The frames of the matched calls.
    """

    def __init__(self, candidates: Iterable[Candidate], joined: Mapping[str, tuple[CallFrame, ...]]) -> None:
        self._of_line: dict[Line, _SeenOrder] = defaultdict(_SeenOrder)
        sent: dict[tuple[object, Line], list[tuple[int, Attempts]]] = defaultdict(list)
        for call, attempts in _joined_calls(candidates, joined):
            sent[call.answer, attempts.first_line].append((call.call.number, attempts))
        for (_, line), batch in sent.items():
            self._learn(self._of_line[line], sorted(batch, key=lambda numbered: numbered[1].frames[0].seq))
        self.know(candidates, joined)

    def know(self, candidates: Iterable[Candidate], joined: Mapping[str, tuple[CallFrame, ...]]) -> None:
        """Learn which connections belong to one host, from the calls joined so far."""
        joined_calls = list(_joined_calls(candidates, joined))
        self._line_of = {call.conversation: attempts.first_line for call, attempts in joined_calls}
        self._hosts = _hosts([(call.conversation, line) for call, attempts in joined_calls for line in attempts.lines])
        self._shown: dict[Line, _SeenOrder] = defaultdict(_SeenOrder)
        for line, shown in self._of_line.items():
            self._shown[self._hosts[line]].add(shown)

    @staticmethod
    def _learn(shown: _SeenOrder, batch: Sequence[tuple[int, Attempts]]) -> None:
        numbers, attempts = [number for number, _ in batch], [frame for _, frame in batch]
        if numbers != sorted(numbers):
            shown.is_otherwise = True
        elif are_timed(attempts):
            shown.chances *= factorial(len(batch))
            shown.at_once *= factorial(len(batch)) if all(map(_is_beside, attempts, attempts[1:])) else 1

    def are_shown(self, call: Candidate, attempts: Sequence[Attempts]) -> bool:
        """Return whether the host is known to send calls in the answer's order, and the frames have times."""
        own = self._line_of.get(call.conversation, attempts[0].first_line)  # the call's host may have others
        lines = {own, *(frame.first_line for frame in attempts)}
        shown = [self._shown[host] for host in {self._hosts.get(line, line) for line in lines} if host in self._shown]
        is_any_beside = any(map(_is_beside, attempts, attempts[1:]))
        chances = prod(order.at_once if is_any_beside else order.chances for order in shown)  # all of the host
        return chances >= _ORDERS_SHOWN and not any(order.is_otherwise for order in shown) and are_timed(attempts)


def _joined_calls(
    candidates: Iterable[Candidate], joined: Mapping[str, tuple[CallFrame, ...]]
) -> Iterator[tuple[Candidate, Attempts]]:
    return ((call, Attempts(joined[call.key])) for call in candidates if call.key in joined)


def are_timed(attempts: Sequence[Attempts]) -> bool:
    """Return whether the times of all frames are told."""
    return all(frame.mono_ns is not None for frames in attempts for frame in frames.frames)


def _is_beside(before: Attempts, after: Attempts) -> bool:
    """Return whether a call was sent before the call before was answered."""
    return before.last.over is None or after.sent < before.over


def _hosts(carrying: Iterable[tuple[object, Line]]) -> dict[Line, Line]:
    """Map each connection to a connection that stands for the host."""
    of_talk: dict[object, set[Line]] = defaultdict(set)
    for conversation, line in carrying:
        of_talk[conversation].add(line)
    whole: dict[Line, set[Line]] = {}
    for lines in of_talk.values():
        together = lines.union(*(whole[line] for line in lines if line in whole))
        whole.update(dict.fromkeys(together, together))
    return {line: min(lines) for line, lines in whole.items()}
