"""What the process that records has taken in, and may not have kept yet: it outlives that process, and another one takes it in again.

It stands in memory that both share with the relay, behind what is needed to go on from where it begins: things that were on their way
then, as they were told, and the number of the last record before it. So who begins anew makes the same records again from there, under
the same numbers, and leaves out those that the database has.
Imported before the first byte flows: nothing here imports more than `mmap`.
"""

from __future__ import annotations

import mmap

ROOM = 16 << 20
"""Bytes that are held, at most: what is more is lost with the process that has taken it."""
KEPT_PAGES = 256 << 10
"""Bytes of memory that are not given back."""
_SIDE, _REACHED, _KEPT, _LOGGED, _IS_TOLD, _LOST, _IS_AT_WORK = 0, 1, 2, 3, 4, 5, 6
_WHOLE, _IS_FAULT_TOLD = 7, 20
_BEGAN, _STATE, _SEQ, _IS_SHORT, _FIELDS = 8, 9, 10, 11, 8
"""Of each of two sides, one of which is valid: a change is made on the other, and whoever dies before its end has changed nothing."""


class Unsettled:
    """Made before the process that takes is forked. But for what is said otherwise, that one alone uses it.

    Args:
        room: Bytes that are held, at most.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._marks = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("Q")
        self._marks[_IS_TOLD] = 1
        self._sides = [mmap.mmap(-1, room) for _ in range(2)]

    def add(self, data: bytes, taken: int) -> None:
        """Hold what is being taken.

        Args:
            data: It.
            taken: Bytes of all that were taken before.
        """
        start = self._at(taken)
        if start + len(data) > self._room:
            self.give_up()
        elif not self.is_short:
            self._sides[self._marks[_SIDE]][start : start + len(data)] = data

    def begin_anew(self, taken: int, seq: int) -> None:
        """Go on where what came before is lost; the arguments are those of `settle`."""
        self._marks[_LOST] += self.size(taken)
        self.settle(taken, b"", seq)

    def settle(self, taken: int, state: bytes, seq: int) -> None:
        """Nothing before this is needed any more but the state.

        Args:
            taken: Bytes of all that were taken by now.
            state: What has to be taken in again, without a record of it, to go on from here.
            seq: The last record's number.
        """
        old = self._marks[_SIDE]
        new = 1 - old
        at = new * _FIELDS
        fits = len(state) <= self._room
        if fits:
            self._sides[new][: len(state)] = state
        for field, value in ((_BEGAN, taken), (_STATE, len(state)), (_SEQ, seq), (_IS_SHORT, not fits)):
            self._marks[at + field] = value
        used = self._at(taken)
        self._marks[_SIDE] = new
        if used > KEPT_PAGES:
            _give_back(self._sides[old])

    def give_up(self) -> None:
        """Not all of it is there. Also for the relay, while nobody takes: who takes it in again dies of it."""
        self._marks[self._marks[_SIDE] * _FIELDS + _IS_SHORT] = 1

    @property
    def is_short(self) -> bool:
        """Not all of it is there, so that nobody can go on from where it begins."""
        return self._of_side(_IS_SHORT) != 0

    @property
    def state_size(self) -> int:
        """Bytes of the state."""
        return self._of_side(_STATE)

    @property
    def lost(self) -> int:
        """Bytes of what was given up, since it was told what is missing."""
        return self._marks[_LOST]

    @lost.setter
    def lost(self, size: int) -> None:
        self._marks[_LOST] = size

    def size(self, taken: int) -> int:
        """Bytes that were taken since, of all that were taken."""
        return taken - self._of_side(_BEGAN)

    def state(self) -> bytes:
        """What has to be taken in again first, without a record of it."""
        return self._sides[self._marks[_SIDE]][: self._of_side(_STATE)]

    def since(self, taken: int) -> bytes:
        """What was taken since."""
        return self._sides[self._marks[_SIDE]][self._of_side(_STATE) : self._at(taken)]

    @property
    def seq(self) -> int:
        """The last record's number before that."""
        return self._of_side(_SEQ)

    @property
    def reached(self) -> int:
        """No record has a greater number."""
        return self._marks[_REACHED]

    @reached.setter
    def reached(self, seq: int) -> None:
        self._marks[_REACHED] = seq

    @property
    def kept(self) -> int:
        """Records up to this number are. For the relay: it grows while recording gets on."""
        return self._marks[_KEPT]

    @kept.setter
    def kept(self, seq: int) -> None:
        self._marks[_KEPT] = seq

    @property
    def whole(self) -> int:
        """So many bytes of all were taken when all records made of them were kept. For the relay, as `kept`."""
        return self._marks[_WHOLE]

    @whole.setter
    def whole(self, taken: int) -> None:
        self._marks[_WHOLE] = taken

    @property
    def is_fault_told(self) -> bool:
        """Whether who takes knows why nothing is kept, and tells it. For the relay."""
        return self._marks[_IS_FAULT_TOLD] != 0

    @is_fault_told.setter
    def is_fault_told(self, value: bool) -> None:
        self._marks[_IS_FAULT_TOLD] = value

    @property
    def is_at_work(self) -> bool:
        """Whether who takes has begun to look at what is there: only then may he die of it. Also for the relay, while nobody takes."""
        return self._marks[_IS_AT_WORK] != 0

    @is_at_work.setter
    def is_at_work(self, value: bool) -> None:
        self._marks[_IS_AT_WORK] = value

    @property
    def logged(self) -> int | None:
        """The last record's number that stands in the log; None while nothing does."""
        return self._marks[_LOGGED] - 1 if self._marks[_LOGGED] else None

    @logged.setter
    def logged(self, seq: int) -> None:
        self._marks[_LOGGED] = seq + 1

    @property
    def is_told(self) -> bool:
        """Whether it was told that recording goes on, since it was told that it does not. Also for the relay, while nobody takes."""
        return self._marks[_IS_TOLD] != 0

    @is_told.setter
    def is_told(self, value: bool) -> None:
        self._marks[_IS_TOLD] = value

    def _at(self, taken: int) -> int:
        return self._of_side(_STATE) + self.size(taken)

    def _of_side(self, field: int) -> int:
        return self._marks[self._marks[_SIDE] * _FIELDS + field]


def _give_back(side: mmap.mmap) -> None:
    """Let the system have the pages of a side that is valid no more."""
    remove: int | None = getattr(mmap, "MADV_REMOVE", None)
    if remove is not None:
        side.madvise(remove, KEPT_PAGES)
