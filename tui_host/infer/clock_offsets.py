"""How far one process's clock is from another's, as far as what happened on both tells: what is sent was asked for before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

SURE_NS = 20_000_000
"""So far apart are the clocks of two processes on one machine, at most."""
DOUBTFUL_NS = 2_000_000_000
"""So far apart they may be where what happened tells nothing that agrees."""
SECOND_NS = 1_000_000_000
_WRONG_NS = 60 * SECOND_NS
_ZONE_NS = 900 * SECOND_NS
_FARTHEST_NS = 14 * 3600 * SECOND_NS
"""So far off are clocks that nobody looks after, and so far apart the times of zones, which are whole quarters of an hour."""
_MOST_AGREE = 0.9
LEAST = 3
"""So many calls must say that a clock is off: each may be mistaken. Of fewer it may be so, or not."""


@dataclass(frozen=True, slots=True)
class Shift:
    """What is to be added to one process's times, and how exact that is."""

    ns: int = 0
    within_ns: int = SURE_NS

    @property
    def low_ns(self) -> int:
        """The least that it may be."""
        return self.ns - self.within_ns

    @property
    def high_ns(self) -> int:
        """The most that it may be."""
        return self.ns + self.within_ns

    def blurred(self, sooner_ns: int, later_ns: int) -> Shift:
        """The same where what it is added to may have been so much later than is told, or what it leads to so much sooner."""
        return _between(self.low_ns - sooner_ns, self.high_ns + later_ns) if sooner_ns or later_ns else self


class Cuts:
    """Which clocks tell whole seconds alone: what happened was up to one later than they tell, but in their order."""

    def __init__(self) -> None:
        self._whole: dict[Hashable, int] = {}
        self._finer: set[Hashable] = set()

    def hear(self, clock: Hashable, at_ns: int) -> None:
        """One more time that a clock tells."""
        if at_ns % SECOND_NS:
            self._finer.add(clock)
        else:
            self._whole[clock] = self._whole.get(clock, 0) + 1

    def of(self, clock: Hashable) -> int:
        """How much later at most something was than a clock tells; one time alone may be whole by chance."""
        return SECOND_NS if clock not in self._finer and self._whole.get(clock, 0) > 1 else 0


_NONE = Shift()


def shift_of(bounds: Sequence[tuple[int, int | None]], usual: Shift = _NONE) -> Shift:
    """The shift that agrees with what happened: what is usual, as far as that does.

    Args:
        bounds: For each call that can be nothing else: by how much its frame must be moved at least to come after it was
            asked, and at most so that its answer comes before it is told; None where that is open.
        usual: That of most processes.
    """
    if not bounds:
        return usual
    agreeing = sum(low <= usual.high_ns and (high is None or high >= usual.low_ns) for low, high in bounds)
    most, low, high = _most_agree(bounds)
    if len(bounds) >= LEAST and max(most, agreeing) < len(bounds) * _MOST_AGREE:
        return Shift(usual.ns, max(usual.within_ns, DOUBTFUL_NS))
    if low <= usual.high_ns and high >= usual.low_ns:
        if usual.within_ns <= SURE_NS or most < LEAST:  # what is usual may have been found by these alone
            return usual
        return _between(max(low, usual.low_ns), min(high, usual.high_ns))
    if agreeing and most <= agreeing + 1:  # one may be mistaken
        return usual
    if most < agreeing + LEAST:  # it may be this, or that
        low, high = min(low, usual.low_ns), max(high, usual.high_ns)
    return _between(low, high)


def is_likely(shift: Shift) -> bool:
    """Whether a clock may be so far off, as it is wrong or of another zone: else what seems to fit is of another day, or another run."""
    least = max(shift.low_ns - _WRONG_NS, -_FARTHEST_NS)
    zone = -(-least // _ZONE_NS) * _ZONE_NS  # the first that is no less
    return zone <= min(shift.high_ns + _WRONG_NS, _FARTHEST_NS)


def covering(shifts: Sequence[Shift]) -> Shift:
    """What any of them may be: a clock of which too little is told may be like any of the others."""
    return _between(min(each.low_ns for each in shifts), max(each.high_ns for each in shifts))


@dataclass(frozen=True, slots=True)
class Fit:
    """A frame that brought just what is told of a call.

    Attributes:
        frame: The frame.
        call: The call.
        low_ns: By how much its times must be moved at least, if it carried that.
        high_ns: And at most.
    """

    frame: Hashable
    call: Hashable
    low_ns: int
    high_ns: int

    @property
    def shift(self) -> Shift:
        """By how much that is."""
        return _between(self.low_ns, self.high_ns)


def agreeing(shift: Shift, fits: Sequence[Fit]) -> Sequence[Fit]:
    """Those with which a shift agrees."""
    return [each for each in fits if each.low_ns <= min(shift.high_ns, each.high_ns) and each.high_ns >= shift.low_ns]


def doubted(shift: Shift, fits: Sequence[Fit]) -> Shift:
    """A shift; where by another more frames would have brought what is told of calls, or most by none, as inexact as it is then.

    Args:
        shift: What calls tell that can be nothing else; or what is usual.
        fits: What all others would agree with: a few do so by chance, with any shift.
    """
    fits = [each for each in fits if each.low_ns <= each.high_ns]
    if _count(agreeing(shift, fits)) == _count(fits):
        return shift
    stretches = list(_stretches(fits))
    agrees = max((most for most, low, high in stretches if low <= shift.high_ns and high >= shift.low_ns), default=0)
    if max(most for most, _, _ in stretches) <= agrees and 2 * agrees > _count(fits):
        return shift
    as_good = [(low, high) for most, low, high in stretches if most >= max(agrees, 1)]
    return _between(min(shift.low_ns, *(low for low, _ in as_good)), max(shift.high_ns, *(high for _, high in as_good)))


def _count(fits: Sequence[Fit]) -> int:
    return min(len({each.frame for each in fits}), len({each.call for each in fits}))


def _stretches(fits: Sequence[Fit]) -> Iterator[tuple[int, int, int]]:
    """From where to where a shift agrees with the same of these, and with how many of them: frames, and calls, that are each another."""
    frames, calls = Counter[Hashable](), Counter[Hashable]()
    turns = sorted(
        ((at, step, each) for each in fits for at, step in ((each.low_ns, 1), (each.high_ns + 1, -1))),
        key=lambda turn: turn[:2],
    )
    for (at, step, each), (until, _, _) in pairwise((*turns, turns[-1])):
        for counter, key in ((frames, each.frame), (calls, each.call)):
            counter[key] += step
            if not counter[key]:
                del counter[key]
        if until > at:
            yield min(len(frames), len(calls)), at, until - 1


def _between(low: int, high: int) -> Shift:
    return Shift((low + high) // 2, max((high - low) // 2, SURE_NS))


def _most_agree(bounds: Sequence[tuple[int, int | None]]) -> tuple[int, int, int]:
    """With how many a shift agrees at most, and from where to where it does; of several such stretches the one nearest to none."""
    never = max(abs(end) for bound in bounds for end in bound if end is not None) + 1
    able = [(low, never if high is None else high) for low, high in bounds if high is None or low <= high]
    lows, highs = sorted(low for low, _ in able), sorted(high for _, high in able)
    found = (0, 0, 0)
    for low in lows:
        count = bisect_right(lows, low) - bisect_left(highs, low)
        high = highs[bisect_left(highs, low)] if count else low
        if (count, -min(abs(low), abs(high))) > (found[0], -min(abs(found[1]), abs(found[2]))):
            found = count, low, high
    return found
