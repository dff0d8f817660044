"""How far one process's clock is from another's, as far as what happened on both tells: what is sent was asked for before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

SURE_NS = 20_000_000
"""So far apart are the clocks of two processes on one machine, at most."""
DOUBTFUL_NS = 2_000_000_000
"""So far apart they may be where what happened tells nothing that agrees."""
_MOST_AGREE = 0.9
LEAST = 3
"""So many calls must say that a clock is off: each may be mistaken."""


@dataclass(frozen=True, slots=True)
class Shift:
    """What is to be added to one process's times, and how exact that is."""

    ns: int = 0
    within_ns: int = SURE_NS
    is_usual: bool = False

    @property
    def low_ns(self) -> int:
        """The least that it may be."""
        return self.ns - self.within_ns

    @property
    def high_ns(self) -> int:
        """The most that it may be."""
        return self.ns + self.within_ns

    def and_also(self, usual: Shift) -> Shift:
        """The same, where it is also what it is of most processes, as far as these two agree."""
        low, high = max(self.low_ns, usual.low_ns), min(self.high_ns, usual.high_ns)
        if low > high and self.is_usual:
            low, high = min(self.low_ns, usual.low_ns), max(self.high_ns, usual.high_ns)
        return self if low > high else _between(low, high)


def shift_of(bounds: Sequence[tuple[int, int | None]]) -> Shift:
    """The shift that agrees with what happened; none if none is needed.

    Args:
        bounds: For each call that can be nothing else: by how much its frame must be moved at least to come after it was
            asked, and at most so that its answer comes before it is told; None where that is open.
    """
    if len(bounds) < LEAST:
        return Shift()
    agreeing = sum(low <= SURE_NS and (high is None or high >= -SURE_NS) for low, high in bounds)
    most, low, high = _most_agree(bounds)
    if max(most, agreeing) < len(bounds) * _MOST_AGREE:
        return Shift(0, DOUBTFUL_NS)
    if most <= agreeing:
        return Shift(is_usual=True)
    if most < agreeing + LEAST:  # it may be none, or that
        low, high = min(low, -SURE_NS), max(high, SURE_NS)
    return _between(low, high)


def _between(low: int, high: int) -> Shift:
    return Shift((low + high) // 2, max((high - low) // 2, SURE_NS))


def _most_agree(bounds: Sequence[tuple[int, int | None]]) -> tuple[int, int, int]:
    """With how many a shift agrees at most, and from where to where it does; of several such stretches the one nearest to none."""
    never = max(abs(end) for bound in bounds for end in bound if end is not None)
    able = [(low, never if high is None else high) for low, high in bounds if high is None or low <= high]
    lows, highs = sorted(low for low, _ in able), sorted(high for _, high in able)
    found = (0, 0, 0)
    for low in lows:
        count = bisect_right(lows, low) - bisect_left(highs, low)
        high = highs[bisect_left(highs, low)] if count else low
        if (count, -min(abs(low), abs(high))) > (found[0], -min(abs(found[1]), abs(found[2]))):
            found = count, low, high
    return found
