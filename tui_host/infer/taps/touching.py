"""What ran at the same time, found without a look at each pair: of many that run at once there are too many pairs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stretch:
    """From when to when something ran; what begins at its end touches it still."""

    begin_ns: int
    end_ns: int

    def touches(self, other: Stretch) -> bool:
        """Whether both ran at one time."""
        return self.begin_ns <= other.end_ns and other.begin_ns <= self.end_ns

    def __or__(self, other: Stretch) -> Stretch:
        """From the beginning of the first to the end of the last."""
        return Stretch(min(self.begin_ns, other.begin_ns), max(self.end_ns, other.end_ns))


def in_a_row(things: Iterable[T], stretch_of: Callable[[T], Stretch]) -> Iterator[Sequence[T]]:
    """Things by the stretches of time in which at least one of them ran: no two of different ones touch."""
    row: list[T] = []
    end_ns = 0
    for stretch, thing in sorted(((stretch_of(each), each) for each in things), key=lambda each: each[0].begin_ns):
        if row and stretch.begin_ns > end_ns:
            yield row
            row = []
        end_ns = max(end_ns, stretch.end_ns) if row else stretch.end_ns
        row.append(thing)
    if row:
        yield row


def meetings(ones: Mapping[str, Stretch], others: Mapping[str, Stretch]) -> Iterator[tuple[str, str]]:
    """Names of two that touch, one of each kind: not every such pair, but as many as lead from each to all that it is joined with."""
    begins = sorted(
        (stretch.begin_ns, side, stretch.end_ns, name)
        for side, kind in enumerate((ones, others))
        for name, stretch in kind.items()
    )
    running: tuple[list[tuple[int, str]], list[tuple[int, str]]] = ([], [])
    for begin_ns, side, end_ns, name in begins:
        there = [each for each in running[1 - side] if each[0] >= begin_ns]
        for _, met in there:
            yield name, met
        # all these are joined by now: the last to end stands for them
        running[1 - side][:] = [max(there)] if there else []
        running[side].append((end_ns, name))


class Stretches:
    """All the time in which at least one of several things ran."""

    def __init__(self, stretches: Iterable[Stretch]) -> None:
        self._whole: list[Stretch] = []
        for stretch in sorted(stretches, key=lambda each: each.begin_ns):
            if self._whole and self._whole[-1].touches(stretch):
                self._whole[-1] |= stretch
            else:
                self._whole.append(stretch)

    def touch(self, other: Stretch) -> bool:
        """Whether one of them ran at the time of another thing."""
        place = bisect_left(self._whole, other.begin_ns, key=lambda each: each.end_ns)
        return place < len(self._whole) and self._whole[place].begin_ns <= other.end_ns


class Joins:
    """Names that belong together, as more and more of them are joined."""

    def __init__(self) -> None:
        self._with: dict[str, set[str]] = {}

    def join(self, names: Collection[str]) -> None:
        """Have these belong together, with all that each belongs to."""
        sets = {id(each): each for name in names if (each := self._with.get(name)) is not None}
        whole = max(sets.values(), key=len, default=set[str]())
        for new in (names, *(each for each in sets.values() if each is not whole)):
            whole |= set(new)
            self._with.update(dict.fromkeys(new, whole))

    @property
    def names(self) -> Mapping[str, str]:
        """For each name that was joined the one that stands for all it belongs with."""
        first = {id(each): min(each) for each in {id(each): each for each in self._with.values()}.values()}
        return {name: first[id(each)] for name, each in self._with.items()}
