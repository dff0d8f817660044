"""Marks in the prompt that stand for pastes and attachments, unique in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached

FOLDED_CHARACTERS = 20_000  # of a paste above which a mark stands for it: the editor is slow with more
FOLDED_LINES = 25  # of a paste above which a mark stands for it: what was written around it is lost from sight


@dataclass(slots=True)
class Marks:
    """The marks of a prompt, each on one line, with the text of a paste or what was attached behind it."""

    values: dict[str, str | Attached] = field(default_factory=dict[str, "str | Attached"])

    def add(self, words: str, value: str | Attached, beside: str) -> str:
        """Return an unused mark for a value, its former mark if possible; it is like nothing in the text beside."""
        for mark, present in self.values.items():
            if present == value and mark not in beside:
                return mark
        mark, number = f"[{words}]", 1
        while mark in self.values or mark in beside:
            number += 1
            mark = f"[{words}, {number}]"
        self.values[mark] = value
        return mark

    def within(self, text: str) -> list[re.Match[str]]:
        marks = [re.escape(mark) for mark in self.values if mark in text]
        return list(re.finditer("|".join(marks), text)) if marks else []

    def fold(self, text: str, beside: str) -> str:
        """Return a paste, or the mark for one that is large or could be taken for a mark."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if len(text) <= FOLDED_CHARACTERS and lines <= FOLDED_LINES and not self.within(text):
            return text
        from tui_host.llm.outline import size_words

        size = size_words(len(text.encode(errors="replace"))).replace(".0 ", " ")
        return self.add(f"pasted: {lines:,} line{'s' * (lines != 1)}, {size}", text, beside)

    def pastes(self, text: str) -> list[re.Match[str]]:
        return [mark for mark in self.within(text) if isinstance(self.values[mark[0]], str)]

    def whole(self, text: str) -> str:
        """Unfold all pastes of a text; text inside pastes is never taken for marks."""
        for mark in reversed(self.pastes(text)):
            text = f"{text[: mark.start()]}{self.values[mark[0]]}{text[mark.end() :]}"
        return text

    def attached(self, text: str) -> list[Attached]:
        """Return what the marks of a text attach, in order, without repeats."""
        values = [self.values[mark] for mark in dict.fromkeys(place[0] for place in self.within(text))]
        return [value for value in values if not isinstance(value, str)]
