"""Estimate how far one process's clock is from another's, from the order of events: the model asks for a call before the host sends the call."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

SURE_NS = 20_000_000
"""The most that the clocks of two processes on one machine differ."""
DOUBTFUL_NS = 2_000_000_000
"""The most that clocks may differ where the calls give no consistent estimate."""
SECOND_NS = 1_000_000_000
_WRONG_NS = 60 * SECOND_NS
_ZONE_NS = 900 * SECOND_NS
_FARTHEST_NS = 14 * 3600 * SECOND_NS
"""Limits for a likely offset: an error of up to a minute, and a time zone, in quarters of an hour, of up to 14 hours."""
_MOST_AGREE = 0.9
LEAST = 3
"""How many calls must agree on an offset before the usual one is given up: a single call may be mistaken."""


@dataclass(frozen=True, slots=True)
class Shift:
    """The offset to add to a process's times, in nanoseconds, with the error on either side."""

    ns: int = 0
    within_ns: int = SURE_NS

    @property
    def low_ns(self) -> int:
        """The smallest possible offset."""
        return self.ns - self.within_ns

    @property
    def high_ns(self) -> int:
        """The largest possible offset."""
        return self.ns + self.within_ns

    def blurred(self, sooner_ns: int, later_ns: int) -> Shift:
        """Return the offset for events up to `later_ns` later than recorded, with counterparts up to `sooner_ns` earlier."""
        return _between(self.low_ns - sooner_ns, self.high_ns + later_ns) if sooner_ns or later_ns else self


class Cuts:
    """Finds clocks with a resolution of a second: events are up to a second later than recorded, in the recorded order."""

    def __init__(self) -> None:
        self._whole: dict[Hashable, int] = {}
        self._finer: set[Hashable] = set()

    def add(self, clock: Hashable, at_ns: int) -> None:
        """Take in a time of a clock."""
        if at_ns % SECOND_NS:
            self._finer.add(clock)
        else:
            self._whole[clock] = self._whole.get(clock, 0) + 1

    def of(self, clock: Hashable) -> int:
        """Return how much later than recorded an event may be, in nanoseconds. A single time may be a whole second by chance."""
        return SECOND_NS if clock not in self._finer and self._whole.get(clock, 0) > 1 else 0


_NONE = Shift()


def shift_of(bounds: Sequence[tuple[int, int | None]], usual: Shift = _NONE) -> Shift:
    """Estimate an offset from calls with certain frames; return `usual` if the calls agree with `usual`.

    Args:
        bounds: For each call the least offset that puts the frame after the model's request for the call, and the largest that puts
            the frame's answer before the request with the result; None if there is no such request.
        usual: The offset of most processes.
    """
    if not bounds:
        return usual
    agreeing = sum(low <= usual.high_ns and (high is None or high >= usual.low_ns) for low, high in bounds)
    most, low, high = _most_agree(bounds)
    if len(bounds) >= LEAST and max(most, agreeing) < len(bounds) * _MOST_AGREE:
        return Shift(usual.ns, max(usual.within_ns, DOUBTFUL_NS))
    if low <= usual.high_ns and high >= usual.low_ns:
        if usual.within_ns <= SURE_NS or most < LEAST:  # the usual offset may come from these calls alone
            return usual
        return _between(max(low, usual.low_ns), min(high, usual.high_ns))
    if agreeing and most <= agreeing + 1:  # one call may be mistaken
        return usual
    if most < agreeing + LEAST:  # either offset is possible
        low, high = min(low, usual.low_ns), max(high, usual.high_ns)
    return _between(low, high)


def is_likely(shift: Shift) -> bool:
    """Whether an offset is a plausible clock error or time zone. If not, the fitting frames are from a different run."""
    least = max(shift.low_ns - _WRONG_NS, -_FARTHEST_NS)
    zone = -(-least // _ZONE_NS) * _ZONE_NS  # the first that is no less
    return zone <= min(shift.high_ns + _WRONG_NS, _FARTHEST_NS)


def covering(shifts: Sequence[Shift]) -> Shift:
    """Return an offset covering all of `shifts`, for a clock without an estimate."""
    return _between(min(shift.low_ns for shift in shifts), max(shift.high_ns for shift in shifts))


@dataclass(frozen=True, slots=True)
class Fit:
    """A frame with the same result as the conversation reports for a call.

    Attributes:
        frame: The frame.
        call: The call.
        low_ns: The least offset with which the frame can have carried the call.
        high_ns: The largest such offset.
    """

    frame: Hashable
    call: Hashable
    low_ns: int
    high_ns: int

    @property
    def shift(self) -> Shift:
        """The range of offsets."""
        return _between(self.low_ns, self.high_ns)


def agreeing(shift: Shift, fits: Sequence[Fit]) -> Sequence[Fit]:
    """Return the fits possible with an offset."""
    return [fit for fit in fits if fit.low_ns <= min(shift.high_ns, fit.high_ns) and fit.high_ns >= shift.low_ns]


def doubted(shift: Shift, fits: Sequence[Fit]) -> Shift:
    """Widen an offset if a different offset explains more fits, or if the offset explains less than half of the fits.

    Args:
        shift: The estimate from certain calls, or the usual offset.
        fits: The possible frames of all other calls. A few fit any offset by chance.
    """
    fits = [fit for fit in fits if fit.low_ns <= fit.high_ns]
    if _count(agreeing(shift, fits)) == _count(fits):
        return shift
    stretches = list(_stretches(fits))
    agrees = max((most for most, low, high in stretches if low <= shift.high_ns and high >= shift.low_ns), default=0)
    if max(most for most, _, _ in stretches) <= agrees and 2 * agrees > _count(fits):
        return shift
    as_good = [(low, high) for most, low, high in stretches if most >= max(agrees, 1)]
    return _between(min(shift.low_ns, *(low for low, _ in as_good)), max(shift.high_ns, *(high for _, high in as_good)))


def _count(fits: Sequence[Fit]) -> int:
    return min(len({fit.frame for fit in fits}), len({fit.call for fit in fits}))


def _stretches(fits: Sequence[Fit]) -> Iterator[tuple[int, int, int]]:
    """Give ranges of offsets with equal sets of fits, each with the smaller of the numbers of different frames and calls."""
    frames, calls = Counter[Hashable](), Counter[Hashable]()
    turns = sorted(
        ((at, step, fit) for fit in fits for at, step in ((fit.low_ns, 1), (fit.high_ns + 1, -1))),
        key=lambda turn: turn[:2],
    )
    for (at, step, fit), (until, _, _) in pairwise((*turns, turns[-1])):
        for counter, key in ((frames, fit.frame), (calls, fit.call)):
            counter[key] += step
            if not counter[key]:
                del counter[key]
        if until > at:
            yield min(len(frames), len(calls)), at, until - 1


def _between(low: int, high: int) -> Shift:
    return Shift((low + high) // 2, max((high - low) // 2, SURE_NS))


def _most_agree(bounds: Sequence[tuple[int, int | None]]) -> tuple[int, int, int]:
    """Return the largest number of bounds satisfied by an offset, and the range of those offsets nearest to 0."""
    never = max(abs(end) for bound in bounds for end in bound if end is not None) + 1
    able = [(low, never if high is None else high) for low, high in bounds if high is None or low <= high]
    lows, highs = sorted(low for low, _ in able), sorted(high for _, high in able)
    best = (0, 0, 0)
    for low in lows:
        count = bisect_right(lows, low) - bisect_left(highs, low)
        high = highs[bisect_left(highs, low)] if count else low
        if (count, -min(abs(low), abs(high))) > (best[0], -min(abs(best[1]), abs(best[2]))):
            best = count, low, high
    return best
