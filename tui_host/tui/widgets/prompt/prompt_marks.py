"""Marks in the prompt, each of which stands for something: deleted as one, unlike any other text there."""

from __future__ import annotations

import re
from typing import Generic, TypeVar

T = TypeVar("T")


class Marks(Generic[T]):
    """Marks and what they stand for. A mark stands on one line.

    Attributes:
        values: What stands behind each mark.
    """

    def __init__(self) -> None:
        self.values: dict[str, T] = {}

    def add(self, words: str, value: T, beside: str) -> str:
        """A mark for it: the one that it has had before, if that is free, else a new one.

        Args:
            words: What it says.
            value: What it stands for.
            beside: What stands in the prompt; the mark is like nothing in it.
        """
        for mark, known in self.values.items():
            if known == value and mark not in beside:
                return mark
        mark, number = f"[{words}]", 1
        while mark in self.values or mark in beside:
            number += 1
            mark = f"[{words}, {number}]"
        self.values[mark] = value
        return mark

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where marks begin and end in a line, in order."""
        found = [
            (at.start(), at.end()) for mark in self.values if mark in line for at in re.finditer(re.escape(mark), line)
        ]
        return sorted(found)

    def found(self, text: str) -> list[T]:
        """What the marks in a text stand for, in order, each once."""
        places = sorted((text.find(mark), mark) for mark in self.values if mark in text)
        return [self.values[mark] for _, mark in places]

    def hold(self, text: str) -> bool:
        """Whether there is a mark in a text."""
        return any(mark in text for mark in self.values)
