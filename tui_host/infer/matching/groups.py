"""Calls and frames that compete with each other: what is certain is taken away, until nothing more is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise, starmap

from tui_host.infer.call_values import Carried, FrameKey, Sent
from tui_host.infer.matching.again import Tries
from tui_host.infer.matching.candidates import Candidate
from tui_host.infer.matching.courses import Courses, goes_on_before
from tui_host.infer.matching.rivals import GRADES, Possible, Rivals
from tui_host.infer.matching.send_order import Orders
from tui_host.infer.same_result import OTHER

_MOST_FITTED = 100
"""Frames that compete up to which a way is looked for in which each has its own call."""
_MOST_ORDERED = 8
"""Alike calls up to which all orders are looked at in which they may have been told."""


def groups(carried: Iterable[Carried], possible: Possible) -> list[tuple[list[Carried], list[Candidate]]]:
    """Frames and calls that compete with each other, apart from all others."""
    of_call: dict[str, tuple[list[Carried], dict[str, Candidate]]] = {}
    for each in carried:
        whole: tuple[list[Carried], dict[str, Candidate]] = ([each], {})
        touching = {id(group): group for call in possible[each.key] if (group := of_call.get(call.asked.key))}
        for members, calls in touching.values():
            whole[0].extend(members)
            whole[1].update(calls)
        whole[1].update((call.asked.key, call) for call in possible[each.key])
        of_call.update(dict.fromkeys(whole[1], whole))
    found = {id(group): group for group in of_call.values()}
    return [(members, list(calls.values())) for members, calls in found.values()]


class Group:
    """Calls and frames that compete.

    Args:
        carried: The frames.
        calls: The calls.
        possible: Which may carry which.
        courses: Where these frames stand among others.
        unasked: Server and name of tools that are called without a model's asking, too.
        unclear: Calls, as what is alike in them, beside which one was told what no frame brought, maybe in its host's words.

    Attributes:
        as_asked: Calls whose results can only be told in the order in which they were asked for.
    """

    def __init__(
        self,
        carried: Sequence[Carried],
        calls: Sequence[Candidate],
        possible: Possible,
        courses: Courses | None = None,
        unasked: Container[tuple[str, str]] = (),
        unclear: Container[tuple[str, str, str, str]] = (),
    ) -> None:
        self._carried = {each.key: each for each in carried}
        self._calls = {call.asked.key: call for call in calls}
        self._rivals = Rivals(carried, possible)
        self._courses = courses
        self._unasked = unasked
        self._unclear = unclear
        self._tries = Tries(carried, possible)
        self._joined: dict[str, tuple[Sent, ...]] = {}
        self._before: set[FrameKey] = set()  # not answered, and maybe what a call was sent with before that has another
        self.as_asked: set[str] = set()

    def joined(self, orders: Orders | None = None) -> dict[str, tuple[Sent, ...]]:
        """What is certain; with what hosts have shown of their orders, what that makes certain."""
        while (
            any(map(self._by_text, GRADES)) or self._alone() or self._in_order() or self._whole() or self._twins(orders)
        ):
            pass
        return self._joined

    def is_open(self) -> bool:
        """Whether a frame is left that some call may have."""
        return bool(self._rivals.often)

    def _take(self, key: FrameKey, call: str) -> bool:
        self._joined[call] = self._carried[key].frames
        for other in self._rivals.take(key, call):
            before = self._carried[other]
            if self._calls[call].is_given_up(before.last) and before.sent < self._carried[key].sent:
                self._before.add(other)
        return True

    def _by_text(self, least: int) -> bool:
        """A frame that brought what was told of one call alone, which no other brought, and no call may still be told."""
        found = next((pair for pair in self._rivals.told(least) if self._is_its_end(*pair)), None)
        return found is not None and self._take(*found)

    def _alone(self) -> bool:
        """A frame that only one call is left for, and no other frame for that call; it may be nobody's while nothing is told."""
        for key, call in self._rivals.alone():
            if not self._may_be_left(key, call):
                continue
            frame = self._carried[key].last
            is_anyones = key in self._before or (frame.server, frame.tool) in self._unasked
            if self._calls[call].told is not None or not is_anyones:
                return self._take(key, call)
        return False

    def _in_order(self) -> bool:
        """As many frames on one connection as calls, each asked for after the conversation had gone on from the one before."""
        left = self._rivals.left()
        calls = sorted(self._rivals.often, key=lambda call: self._calls[call].asked.at_ns) if left else []
        keys = sorted(left, key=lambda key: key[1])
        asked, carried = [self._calls[call] for call in calls], [self._carried[key] for key in keys]
        is_settled = (
            len(keys) > 1
            and self._is_one_line(keys)
            and all(call in self._rivals.calls[key] for call, key in zip(calls, keys, strict=True))
            and all(map(self._may_be_left, keys, calls))
            and all(starmap(goes_on_before, pairwise(asked)))
            and self._courses is not None
            and self._courses.are_told_apart(asked, carried)
        )
        for call, key in zip(calls, keys, strict=True) if is_settled else ():
            self._take(key, call)
        return is_settled

    def _whole(self) -> bool:
        """Of as many frames as calls, one that has only one call, or one call that has only one frame, where each has its own."""
        left, often = self._rivals.left(), self._rivals.often
        if not 0 < len(left) <= _MOST_FITTED or any(self._calls[name].told is None for name in often):
            return False
        own = {key: [name for name in calls if self._may_be_left(key, name)] for key, calls in left.items()}
        if not _fits(own):  # one of them may be another's first try
            return False
        only = ((key, name) for key, calls in left.items() for name in calls if len(calls) == 1)
        only_frame = ((key, name) for key, calls in left.items() for name in calls if often[name] == 1)
        found = next((pair for pair in chain(only, only_frame) if pair[1] in own[pair[0]]), None)
        return found is not None and self._take(*found)

    def _twins(self, orders: Orders | None) -> bool:
        """As many frames on one connection as calls of one answer, all alike."""
        alike = defaultdict[frozenset[str], list[FrameKey]](list)
        for key, calls in self._rivals.calls.items():
            alike[frozenset(calls)].append(key)
        for names, keys in alike.items():
            calls = sorted((self._calls[name] for name in names), key=lambda each: each.asked.number)
            carried = sorted((self._carried[key] for key in keys), key=lambda each: each.sent)
            is_settled = (
                len(calls) == len(keys) > 1
                and len({call.answer for call in calls}) == 1
                and all(self._rivals.often[name] == len(keys) for name in names)
                and not any(call.was_denied for call in calls)  # else one of the frames is another's second
                and not any(call.alike in self._unclear for call in calls)  # or its first
            )
            if not is_settled:
                continue
            is_ordered = orders is not None and _is_order(carried) and orders.are_shown(calls[0], carried)
            pairs = _ordered(calls, carried) if is_ordered else ()
            are_few_twins = len(calls) <= _MOST_ORDERED and all(call.is_twin for call in calls)
            if (
                not is_ordered
                and are_few_twins
                and all(self._is_of_no_other(key, name) for key in keys for name in names)
            ):
                told = _told(calls, carried)
                if _are_as_asked(calls, carried, told):
                    self.as_asked |= names
                    pairs = [(call, told[call.asked.key]) for call in calls if call.asked.key in told]
            if pairs and all(self._may_be_left(each.key, call.asked.key) for call, each in pairs):
                for call, each in pairs:
                    self._take(each.key, call.asked.key)
                return True
        return False

    def _is_its_end(self, key: FrameKey, call: str) -> bool:
        """Whether a frame brought something in time, or that it did not is what is told: and brought nothing to another call, nor another to this."""
        frame = self._carried[key].last
        if not self._calls[call].is_given_up(frame):
            return True
        are_given_up = all(self._calls[name].is_given_up(frame) for name in self._rivals.calls[key])
        return are_given_up and self._is_of_no_other(key, call) and not self._rivals.is_told_beside(call)

    def _is_of_no_other(self, key: FrameKey, call: str) -> bool:
        """Whether a frame brought something in time, or cannot be what another call was sent with at first."""
        each = self._carried[key]
        return not self._calls[call].is_given_up(each.last) or not self._tries.may_be_anothers(each, call, self._joined)

    def _may_be_left(self, key: FrameKey, call: str) -> bool:
        """Whether a call may have a frame as it is the only one that is left: what brought nothing in time is not what a result is of."""
        is_given_up = self._calls[call].is_given_up(self._carried[key].last)
        return not is_given_up or (self._calls[call].may_have_failed and self._is_of_no_other(key, call))

    def _is_one_line(self, keys: Iterable[FrameKey]) -> bool:
        return len({self._carried[key].line for key in keys}) == 1


def _fits(left: Mapping[FrameKey, Sequence[str]]) -> bool:
    """Whether there is a way in which each frame has a call of its own."""
    owner: dict[str, FrameKey] = {}

    def place(key: FrameKey, seen: set[str]) -> bool:
        for name in left[key]:
            if name not in seen:
                seen.add(name)
                if name not in owner or place(owner[name], seen):
                    owner[name] = key
                    return True
        return False

    return all(place(key, set()) for key in left)


def _ordered(calls: Sequence[Candidate], carried: Sequence[Carried]) -> Sequence[tuple[Candidate, Carried]]:
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
    joined = Group(carried, own, possible).joined()
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
    return _fits(own) and not any(can_be_in(order, calls, carried) for order in (_is_sent_before, _is_over_before))


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
