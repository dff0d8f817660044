"""Marks in the prompt that stand for pastes and files, unique in the text."""

from __future__ import annotations

import re
from typing import Generic, TypeVar

T = TypeVar("T")


class Marks(Generic[T]):
    """Marks and their values. Each mark stands on one line."""

    def __init__(self) -> None:
        self.values: dict[str, T] = {}  # what stands behind each mark

    def add(self, words: str, value: T, beside: str) -> str:
        """Return an unused mark for a value: its former mark if possible.

        Args:
            words: What it says.
            value: What it stands for.
            beside: What stands in the prompt; the mark is like nothing in it.
        """
        for mark, present in self.values.items():
            if present == value and mark not in beside:
                return mark
        mark, number = f"[{words}]", 1
        while mark in self.values or mark in beside:
            number += 1
            mark = f"[{words}, {number}]"
        self.values[mark] = value
        return mark

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where marks begin and end in a line, in order."""
        places = [
            (at.start(), at.end()) for mark in self.values if mark in line for at in re.finditer(re.escape(mark), line)
        ]
        return sorted(places)

    def found(self, text: str) -> list[T]:
        """Return the values of the marks in a text, in order, without repeats."""
        places = sorted((text.find(mark), mark) for mark in self.values if mark in text)
        return [self.values[mark] for _, mark in places]

    def hold(self, text: str) -> bool:
        """Whether a text contains a mark."""
        return any(mark in text for mark in self.values)


FOLDED_CHARACTERS = 20_000
"""Characters of a paste above which a mark stands for it: the editor is slow with more."""
FOLDED_LINES = 25
"""Lines of a paste above which a mark stands for it: what was written before and after is lost from sight."""
BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
OPENED = 200_000
"""Characters above which a paste is not opened: the editor would hold everything up."""


class Pastes(Marks[str]):
    """The folded pastes of a prompt."""

    def fold(self, text: str, beside: str, *, is_like_mark: bool = False) -> str:
        """Return a paste, or the mark for a large paste.

        Args:
            text: What was pasted.
            beside: What stands in the prompt; no new mark is like anything in it.
            is_like_mark: What was pasted could be taken for a mark of another kind.
        """
        lines = text.count("\n") + (not text.endswith("\n"))
        is_like_mark = is_like_mark or self.hold(text)
        if len(text) <= FOLDED_CHARACTERS and lines <= FOLDED_LINES and not is_like_mark:
            return text
        return self._marked(text, lines, beside)

    def fold_again(self, text: str) -> str:
        """Fold known pastes of a text again, and a huge text as a whole."""
        for mark, folded in sorted(self.values.items(), key=lambda pair: -len(pair[1])):
            ends = folded.rstrip()  # the ends of a message are sent without empty lines
            variant = next(
                (spelling for spelling in (folded, ends, BLANK_LINES.sub("", ends)) if spelling and spelling in text),
                None,
            )
            if variant is not None:
                text = text.replace(variant, mark, 1)
        if len(text) <= FOLDED_CHARACTERS:
            return text
        return self._marked(text, text.count("\n") + 1, "")

    def _marked(self, text: str, lines: int, beside: str) -> str:
        from tui_host.llm.outline import size_words

        size = size_words(len(text.encode(errors="replace"))).replace(".0 ", " ")
        return self.add(f"pasted: {lines:,} line{'s' * (lines != 1)}, {size}", text, beside)

    def whole(self, text: str) -> str:
        """Unfold all pastes of a text; text inside pastes is never taken for marks."""
        if not self.values:
            return text
        marks = re.compile("|".join(map(re.escape, self.values)))
        return marks.sub(lambda found: self.values[found[0]], text)

    def opened(self, mark: str) -> str | None:
        """Return the text of a mark; None if too long, or confusable with marks."""
        text = self.values[mark]
        return None if len(text) > OPENED or self.hold(text) else text
