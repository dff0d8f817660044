"""Calls and frames that compete with each other: what is certain is taken out, until nothing more is."""

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
"""Alike calls up to which all orders are looked at in which they may have been told."""


def competing(carried: Iterable[Carried], possible: Possible) -> list[tuple[list[Carried], list[Candidate]]]:
    """Return the groups of frames and calls that compete with each other and with no others."""
    of_call: dict[str, tuple[list[Carried], dict[str, Candidate]]] = {}
    for each in carried:
        whole: tuple[list[Carried], dict[str, Candidate]] = ([each], {})
        touching = {id(group): group for call in possible[each.key] if (group := of_call.get(call.asked.key))}
        for members, calls in touching.values():
            whole[0].extend(members)
            whole[1].update(calls)
        whole[1].update((call.asked.key, call) for call in possible[each.key])
        of_call.update(dict.fromkeys(whole[1], whole))
    groups = {id(group): group for group in of_call.values()}
    return [(members, list(calls.values())) for members, calls in groups.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubts:
    """What else calls and frames may belong to.

    Attributes:
        tries: Which frames may have been sent in place of others.
        unasked: Server and name of tools that are called without a model's asking, too.
        unclear: Calls, as what is alike in them, beside which one was told what no frame brought, maybe in its host's words.
        otherwise: Frames that may carry a call of which a host tells something else.
        timed: The captures of which is known how far their clocks are off; None for all.
    """

    tries: Tries
    unasked: Container[tuple[str, str]] = ()
    unclear: Container[tuple[str, str, str, str]] = ()
    otherwise: Container[FrameKey] = ()
    timed: Container[str] | None = None


class Competition:
    """One group of calls and frames that compete.

    Args:
        carried: The frames.
        calls: The calls.
        possible: The calls that each frame may carry.
        doubts: What else they may belong to.

    Attributes:
        as_asked: Calls whose results can only be told in the order in which they were asked for.
    """

    def __init__(
        self, carried: Sequence[Carried], calls: Sequence[Candidate], possible: Possible, doubts: Doubts
    ) -> None:
        self._carried = {each.key: each for each in carried}
        self._calls = {call.asked.key: call for call in calls}
        self._doubts = doubts
        self._joined: dict[str, tuple[Sent, ...]] = {}
        self._before: set[FrameKey] = set()  # not answered, and maybe what a call was sent with before that has another
        self.as_asked: set[str] = set()
        self._left = {each.key: dict.fromkeys(call.asked.key for call in possible[each.key]) for each in carried}
        self._frames: dict[str, dict[FrameKey, None]] = defaultdict(dict)
        self._grades: dict[tuple[FrameKey, str], int | None] = {}
        self._doubtful: set[tuple[FrameKey, str]] = (
            set()
        )  # what may still be told of the call, or was in another's place
        for each in carried:
            for call in possible[each.key]:
                pair = each.key, call.asked.key
                self._frames[call.asked.key][each.key] = None
                self._grades[pair] = grade = call.tells(each.last)
                if call.told is None or (grade is None and call.tells_beside(each.last)):
                    self._doubtful.add(pair)

    def joined(self, orders: Orders | None = None) -> dict[str, tuple[Sent, ...]]:
        """Return the frames of the calls that are certain.

        Args:
            orders: What hosts have shown of the order in which they send; that may make more certain.
        """
        while any(map(self._take_told, _GRADES)) or self._take_necessary() or self._take_twins(orders):
            pass
        return self._joined

    def is_open(self) -> bool:
        """Whether a frame is left that some call may have."""
        return any(self._frames.values())

    def _take(self, key: FrameKey, call: str) -> None:
        for other in self._left.pop(key):
            del self._frames[other][key]
        self._joined[call] = self._carried[key].frames
        for other in self._frames.pop(call):
            del self._left[other][call]
            before = self._carried[other]
            if self._calls[call].is_given_up(before.last) and before.sent < self._carried[key].sent:
                self._before.add(other)

    def _take_told(self, least: int) -> bool:
        """Take frames that brought what was told of one call alone, which no other brought, and no call may still be told."""
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
        return self._take_some(pair for pair in pairs if self._is_its_end(*pair))

    def _take_some(self, pairs: Iterable[tuple[FrameKey, str]]) -> bool:
        before = len(self._joined)
        for key, call in pairs:
            self._take(key, call)
        return len(self._joined) > before

    def _take_necessary(self) -> bool:
        """Take the pairs that every assignment of as many calls as possible has.

        That is where a frame that brought nothing in time may be a call's first try, and where it may not.
        """
        with_tries = necessary_pairs({key: list(calls) for key, calls in self._left.items()})
        without = necessary_pairs(
            {key: [call for call in calls if self._may_be_left(key, call)] for key, calls in self._left.items()}
        )
        return self._take_some(
            (key, call) for key, call in without.items() if with_tries.get(key) == call and self._is_asked(key, call)
        )

    def _is_asked(self, key: FrameKey, call: str) -> bool:
        """Whether a frame is of a call, and of nobody else: it may be while nothing is told of the call."""
        frame, doubts = self._carried[key].last, self._doubts
        if self._calls[call].told is not None:
            is_timed = doubts.timed is None or frame.capture in doubts.timed
            return bool(self._grades[key, call]) or (
                is_timed and not any(self._grades[key, other] for other in self._left[key])
            )
        is_anyones = key in self._before or key in doubts.otherwise
        return not (is_anyones or (frame.server, frame.tool) in doubts.unasked)

    def _take_twins(self, orders: Orders | None) -> bool:
        """Take as many frames on one connection as calls of one answer, all alike, if an order tells which is whose."""
        alike = defaultdict[frozenset[str], list[FrameKey]](list)
        for key, calls in self._left.items():
            alike[frozenset(calls)].append(key)
        for names, keys in alike.items():
            if not self._are_twins(names, keys):
                continue
            calls = sorted((self._calls[name] for name in names), key=lambda each: each.asked.number)
            carried = sorted((self._carried[key] for key in keys), key=lambda each: each.sent)
            pairs = list(self._ordered_twins(calls, carried, orders))
            if pairs and all(self._may_be_left(each.key, call.asked.key) for call, each in pairs):
                return self._take_some((each.key, call.asked.key) for call, each in pairs)
        return False

    def _are_twins(self, names: frozenset[str], keys: Sequence[FrameKey]) -> bool:
        """Whether calls are of one answer, and these frames are theirs alone."""
        calls = [self._calls[name] for name in names]
        return (
            len(calls) == len(keys) > 1
            and len({call.answer for call in calls}) == 1
            and all(len(self._frames[name]) == len(keys) for name in names)
            and not any(call.was_denied for call in calls)  # else one of the frames is another's second
            and not any(call.alike in self._doubts.unclear for call in calls)  # or its first
        )

    def _ordered_twins(
        self, calls: Sequence[Candidate], carried: Sequence[Carried], orders: Orders | None
    ) -> Iterator[tuple[Candidate, Carried]]:
        """Alike calls with their frames: as their host sends them, or else as they can only be told."""
        if orders is not None and _is_order(carried) and orders.are_shown(calls[0], carried):
            yield from _in_order(calls, carried)
            return
        if len(calls) > _MOST_ORDERED or not all(call.is_twin for call in calls):
            return
        if all(self._is_of_no_other(each.key, call.asked.key) for each in carried for call in calls):
            told = _told(calls, carried)
            if _are_as_asked(calls, carried, told):
                self.as_asked |= {call.asked.key for call in calls}
                yield from ((call, told[call.asked.key]) for call in calls if call.asked.key in told)

    def _is_its_end(self, key: FrameKey, call: str) -> bool:
        """Whether a frame brought something in time, or that it did not is what is told: and brought nothing to another call, nor another to this."""
        frame = self._carried[key].last
        if not self._calls[call].is_given_up(frame):
            return True
        are_given_up = all(self._calls[name].is_given_up(frame) for name in self._left[key])
        is_told_beside = any((other, call) in self._doubtful for other in self._frames[call])
        return are_given_up and self._is_of_no_other(key, call) and not is_told_beside

    def _is_of_no_other(self, key: FrameKey, call: str) -> bool:
        """Whether a frame brought something in time, or cannot be what another call was sent with at first."""
        each = self._carried[key]
        return not self._calls[call].is_given_up(each.last) or not self._doubts.tries.may_be_anothers(
            each, call, self._joined
        )

    def _may_be_left(self, key: FrameKey, call: str) -> bool:
        """Whether a call may have a frame as it is the only one that is left: what brought nothing in time is not what a result is of."""
        is_given_up = self._calls[call].is_given_up(self._carried[key].last)
        return not is_given_up or (self._calls[call].may_have_failed and self._is_of_no_other(key, call))


def _in_order(calls: Sequence[Candidate], carried: Sequence[Carried]) -> Sequence[tuple[Candidate, Carried]]:
    """Which of alike calls, in the order of the answer, has which frame, if a host sends in that order.

    None where results are told neither as they were asked for nor, by ids, as the answers came: then it may be another.
    """
    told = [call.told for call in calls]
    places = [each.start for each in told if each is not None]
    if len(places) < len(calls):
        return ()
    is_by_id = all(each is not None and each.by_id for each in told)
    as_they_came = [place for _, place in sorted(zip((each.over for each in carried), places, strict=True))]
    is_usual = places == sorted(places) or (is_by_id and as_they_came == sorted(places))
    return list(zip(calls, carried, strict=True)) if is_usual else ()


def _told(calls: Sequence[Candidate], carried: Sequence[Carried]) -> dict[str, Carried]:
    """Whose result stands in the place of each of alike calls, as far as what came back tells."""
    own = [replace(call, places=None, is_twin=False) for call in calls]
    possible = {each.key: [call for call in own if call.tells(each.last) != OTHER] for each in carried}
    joined = Competition(carried, own, possible, Doubts(tries=Tries(carried, possible))).joined()
    by_last = {each.key: each for each in carried}
    return {name: by_last[frames[-1].key] for name, frames in joined.items()}


def _are_as_asked(calls: Sequence[Candidate], carried: Sequence[Carried], told: Mapping[str, Carried]) -> bool:
    """Whether results of alike calls can only be told as they were asked for: not as they were sent, nor as they came."""
    if any(not each.last.dropped and calls[0].is_given_up(each.last) for each in carried):
        return False  # nobody knows when a host gave up what never came, or came too late

    def can_be(call: Candidate, each: Carried) -> bool:
        return told.get(call.asked.key, each) is each and call.tells_itself(each.last) != OTHER

    def can_be_in(
        order: Callable[[Carried, Carried], bool], calls: Sequence[Candidate], left: Sequence[Carried]
    ) -> bool:
        """Whether the calls can be told in some order that is no other than one as far as that is known."""
        first = [each for each in left if not any(order(other, each) for other in left)]
        return not calls or any(
            can_be(calls[0], each) and can_be_in(order, calls[1:], [other for other in left if other is not each])
            for each in first
        )

    own = {each.key: [call.asked.key for call in calls if can_be(call, each)] for each in carried}
    fits = len(largest_matching(own)) == len(carried)
    return fits and not any(can_be_in(order, calls, carried) for order in (_is_sent_before, _is_over_before))


def _is_order(carried: Sequence[Carried]) -> bool:
    """Whether things were sent one after the other on all clocks on which they may have been."""
    return all(_is_sent_before(one, two) for one, two in pairwise(carried))


def _is_sent_before(one: Carried, two: Carried) -> bool:
    return _is_before(one.frames[0], one.sent, two.frames[0], two.sent)


def _is_over_before(one: Carried, two: Carried) -> bool:
    return _is_before(one.last, one.over, two.last, two.over)


def _is_before(one: Sent, before: tuple[int, int], two: Sent, after: tuple[int, int]) -> bool:
    """Whether something happened to one frame before something did to another, on one clock or on all that may be meant."""
    if one.capture == two.capture:
        cut_ns = 0 if one.line == two.line else (one.cut_ns + two.cut_ns) // 2
        return (before[0] + cut_ns, before[1]) < after
    return before[0] + one.within_ns + two.within_ns < after[0]
