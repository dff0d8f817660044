"""How far one process's clock is from another's, as far as what happened on both tells: what is sent was asked for before."""

from __future__ import annotations

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


def shift_of(bounds: Sequence[tuple[int, int | None]]) -> Shift:
    """The shift that agrees with what happened; none if none is needed.

    Args:
        bounds: For each call that can be nothing else: by how much its frame must be moved at least to come after it was
            asked, and at most so that its answer comes before it is told; None where that is open.
    """

    def agreeing(ns: int, within: int) -> int:
        return sum(low - within <= ns and (high is None or ns <= high + within) for low, high in bounds)

    enough = len(bounds) * _MOST_AGREE
    if len(bounds) < LEAST or agreeing(0, SURE_NS) >= enough:
        return Shift()
    ends = [end for bound in bounds for end in bound if end is not None]
    best = max(ends, key=lambda end: (agreeing(end, 0), -abs(end)))
    if agreeing(best, 0) < enough:
        return Shift(0, DOUBTFUL_NS)
    most = [bound for bound in bounds if bound[0] <= best and (bound[1] is None or best <= bound[1])]
    low = max(bound[0] for bound in most)
    high = min((bound[1] for bound in most if bound[1] is not None), default=low)
    return Shift((low + high) // 2, max((high - low) // 2, SURE_NS))
