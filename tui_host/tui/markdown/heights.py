"""Heights of stacked items: finds the item at a line, and the first line of an item, in logarithmic time."""

from __future__ import annotations

from collections.abc import Iterable


class Heights:
    """Line counts in order, with their running sums in a binary indexed tree (Fenwick): each question costs log n steps."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]
        self._total = 0
        self.replace(heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, number: int) -> int:
        return self._heights[number]

    @property
    def total(self) -> int:
        return self._total

    def replace(self, heights: Iterable[int]) -> None:
        """Replace all heights."""
        self._heights = list(heights)
        self._total = sum(self._heights)
        self._tree = [0, *self._heights]
        for place in range(1, len(self._tree)):
            parent = place + (place & -place)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[place]

    def append(self, height: int) -> None:
        """Append a height."""
        place = len(self._tree)
        covered = height
        step = 1
        while step < place & -place:
            covered += self._tree[place - step]
            step *= 2
        self._heights.append(height)
        self._tree.append(covered)
        self._total += height

    def put(self, number: int, height: int) -> None:
        """Correct a height."""
        difference = height - self._heights[number]
        if not difference:
            return
        self._heights[number] = height
        self._total += difference
        place = number + 1
        while place < len(self._tree):
            self._tree[place] += difference
            place += place & -place

    def start(self, number: int) -> int:
        """Return the first line of an item."""
        line = 0
        while number > 0:
            line += self._tree[number]
            number -= number & -number
        return line

    def find(self, line: int) -> tuple[int, int]:
        """Return the item at a line, and the line inside the item. Beyond the end, count from the last item."""
        number = 0
        step = 1 << len(self._heights).bit_length()
        rest = max(0, line)
        while step:
            ahead = number + step
            if ahead < len(self._tree) and self._tree[ahead] <= rest:
                number = ahead
                rest -= self._tree[ahead]
            step //= 2
        if number >= len(self._heights) and self._heights:
            number = len(self._heights) - 1
            rest += self._heights[number]
        return number, rest
