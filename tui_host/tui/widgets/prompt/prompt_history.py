"""What was sent before, for `up` and `down` to bring back, and the draft that waits meanwhile."""

from __future__ import annotations

from collections.abc import Iterable


class History:
    """The texts that were sent, and which of them stands in the prompt.

    Args:
        texts: Oldest first.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = list(texts)
        self._at: int | None = None
        self._draft = ""

    @property
    def is_shown(self) -> bool:
        """Whether one of them stands in the prompt, in the place of the draft."""
        return self._at is not None

    def add(self, *texts: str) -> None:
        """What was sent, oldest first; each text is kept once."""
        self._texts = [old for old in self._texts if old not in texts] + list(dict.fromkeys(texts))
        self._at = None

    def leave(self) -> None:
        """Something else stands in the prompt now, and no draft waits."""
        self._at = None
        self._draft = ""

    def go_back(self, steps: int, text: str) -> str | None:
        """Go to an earlier one, or with less than none to a later one, and behind the last to the draft.

        Args:
            steps: How many.
            text: What stands in the prompt: the draft, if it is none of these.

        Returns:
            What is to stand there, None if it stays.
        """
        count = len(self._texts)
        present = count if self._at is None else self._at
        wanted = max(0, min(count, present - steps))
        if wanted == present:
            return None
        if self._at is None:
            self._draft = text
        self._at = None if wanted == count else wanted
        return self._draft if self._at is None else self._texts[wanted]
