"""Estimate how far one process's clock is from another's, from the order of events: the model asks for a call before the host sends the call."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

SURE_NS = 20_000_000
"""The most that the clocks of two processes on one machine differ."""
DOUBTFUL_NS = 3_000_000_000
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
