"""Heights of stacked blocks: finds the block at a line, and the first line of a block, in logarithmic time."""

from __future__ import annotations

from collections.abc import Sequence


class Heights:
    """Line counts in order, with their running sums in a binary indexed tree (Fenwick): each question costs log n steps.

    The tree reaches as far as it was asked for since the last change in the middle.
    """

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]
        self.total = 0

    def __getitem__(self, number: int) -> int:
        return self._heights[number]

    def splice(self, start: int, end: int, heights: Sequence[int]) -> None:
        """Put other heights in the place of some."""
        self.total += sum(heights) - sum(self._heights[start:end])
        self._heights[start:end] = heights
        del self._tree[start + 1 :]

    def _reach(self, number: int) -> None:
        tree = self._tree
        for place in range(len(tree), number + 1):
            covered = self._heights[place - 1]
            step = 1
            while step < place & -place:
                covered += tree[place - step]
                step *= 2
            tree.append(covered)

    def put(self, number: int, height: int) -> None:
        """Correct a height."""
        difference = height - self._heights[number]
        self._heights[number] = height
        self.total += difference
        place = number + 1
        while place < len(self._tree):
            self._tree[place] += difference
            place += place & -place

    def start(self, number: int) -> int:
        """Return the first line of a block."""
        self._reach(number)
        line = 0
        while number > 0:
            line += self._tree[number]
            number -= number & -number
        return line

    def find(self, line: int) -> tuple[int, int]:
        """Return the block at a line, and the line inside the block. Beyond the end, count from the last block."""
        count = len(self._heights)
        while len(self._tree) <= count and self.start(len(self._tree) - 1) <= line:
            self._reach(min(count, 2 * len(self._tree)))
        number, rest = 0, max(0, line)
        step = 1 << len(self._tree).bit_length()
        while step:
            ahead = number + step
            if ahead < len(self._tree) and self._tree[ahead] <= rest:
                number = ahead
                rest -= self._tree[ahead]
            step //= 2
        if number >= count and count:
            number = count - 1
            rest += self._heights[number]
        return number, rest
