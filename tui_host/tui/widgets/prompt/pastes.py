"""Large pastes in the prompt: a mark stands for each until it is sent, is opened, or is deleted as one."""

from __future__ import annotations

import re

FOLDED_CHARACTERS = 20_000
"""Characters of a paste above which a mark stands for it: the editor is slow with more."""
FOLDED_LINES = 25
"""Lines of a paste above which a mark stands for it: what was written before and after is lost from sight."""
BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
OPENED = 200_000
"""Characters above which a paste is not opened: the editor would hold everything up."""


class Pastes:
    """The folded pastes of a prompt. A mark stands on one line, and is unlike any other text there."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str, beside: str) -> str:
        """A paste, or the mark that stands for it.

        Args:
            text: What was pasted.
            beside: What stands in the prompt; no new mark is like anything in it.
        """
        lines = text.count("\n") + (not text.endswith("\n"))
        if len(text) <= FOLDED_CHARACTERS and lines <= FOLDED_LINES and not self._holds_mark(text):
            return text
        return self._marked(text, lines, beside)

    def fold_again(self, text: str) -> str:
        """A whole text as it stood in the prompt: pastes that are known by their marks again, and what is huge by one."""
        for mark, folded in sorted(self._texts.items(), key=lambda pair: -len(pair[1])):
            ends = folded.rstrip()  # the ends of a message are sent without empty lines
            known = next((each for each in (folded, ends, BLANK_LINES.sub("", ends)) if each and each in text), None)
            if known is not None:
                text = text.replace(known, mark, 1)
        if len(text) <= FOLDED_CHARACTERS:
            return text
        return self._marked(text, text.count("\n") + 1, "")

    def _marked(self, text: str, lines: int, beside: str) -> str:
        from tui_host.llm.outline import size_words

        known = {folded: mark for mark, folded in self._texts.items()}
        if text in known and known[text] not in beside:
            return known[text]
        size = size_words(len(text.encode(errors="replace"))).replace(".0 ", " ")
        words = f"pasted: {lines:,} line{'s' * (lines != 1)}, {size}"
        mark, number = f"[{words}]", 1
        while mark in self._texts or mark in beside:
            number += 1
            mark = f"[{words}, {number}]"
        self._texts[mark] = text
        return mark

    def whole(self, text: str) -> str:
        """The text with every folded paste in its place; what stands inside a paste is never taken for a mark."""
        if not self._texts:
            return text
        marks = re.compile("|".join(map(re.escape, self._texts)))
        return marks.sub(lambda found: self._texts[found[0]], text)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where marks begin and end in a line, in order."""
        found = [
            (at.start(), at.end()) for mark in self._texts if mark in line for at in re.finditer(re.escape(mark), line)
        ]
        return sorted(found)

    def opened(self, mark: str) -> str | None:
        """What a mark stands for; None where it cannot stand in the prompt itself: too long, or like a mark."""
        text = self._texts[mark]
        return None if len(text) > OPENED or self._holds_mark(text) else text

    def _holds_mark(self, text: str) -> bool:
        return any(mark in text for mark in self._texts)
