"""Separates thinking between tags at the beginning of a text, as open models write it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerReader
from tui_host.llm.events import TextWasThinking

_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
}
_CLOSE = "</think>"


@dataclass(eq=False)
class TaggedReader(AnswerReader):
    """Reads answers whose text may begin with thinking between tags; it may be cut anywhere, and no part of a tag is shown."""

    _state: Literal["head", "inside", "after", "text", "plain"] = "head"
    _close: str = ""
    _held: str = ""
    _said: list[str] = field(default_factory=list[str])  # the text so far, in which a closing tag may stand

    @override
    def closing(self) -> None:
        self.give_held()
        super().closing()

    @override
    def thinking(self, text: JSON, tag: str = "") -> None:
        # A server that separates thinking itself leaves none in the text.
        if text and self._state in {"head", "text"}:
            self.give_held()
            self._state = "plain"
        super().thinking(text, tag)

    def tagged(self, text: str) -> None:
        """Add text in which tags count."""
        if self._state == "text" and not self._held and "<" not in text:  # nearly every piece
            self._said.append(text)
            self.text(text)
            return
        text, self._held = self._held + text, ""
        while text:
            match self._state:
                case "text":
                    text = self._text(text)
                case "head":
                    text = self._head(text)
                case "inside":
                    before, tag, rest = text.partition(self._close)
                    kept = 0 if tag else beginning_of(self._close, text)
                    self._held = text[len(text) - kept :]
                    self.thinking(before[: len(before) - kept], self._close[2:-1])
                    self._state, text = "after" if tag else "inside", rest
                case "after":
                    text = text.lstrip()
                    self._state = "plain" if text else "after"
                case "plain":
                    self.text(text)
                    text = ""

    def give_held(self) -> None:
        """Add everything still held back."""
        held, self._held = self._held, ""
        if self._state == "inside":
            self.thinking(held, self._close[2:-1])
        else:
            self.text(held)

    def _head(self, text: str) -> str:
        # An opening tag counts only at the beginning of the text.
        stripped = text.lstrip()
        for tag, close in _TAGS.items():
            if stripped.startswith(tag):
                self._state, self._close = "inside", close
                return stripped[len(tag) :]
        if not stripped or any(tag.startswith(stripped) for tag in _TAGS):
            self._held = text
            return ""
        self._state = "text"
        return text

    def _text(self, text: str) -> str:
        before, tag, rest = text.partition(_CLOSE)
        if not tag:
            kept = beginning_of(_CLOSE, text) if "<" in text else 0
            self._held = text[len(text) - kept :]
            self._say(text[: len(text) - kept])
            return ""
        self._say(before)
        # Its opening tag stood in the prompt. Within a line or in code the text merely mentions the tag.
        said = "".join(self._said)
        begins_line = not said.rpartition("\n")[2].strip()
        if not begins_line and not rest:
            self._held = _CLOSE  # whether the line ends here depends on the next character
        elif said.count("```") % 2 == 0 and (begins_line or rest.startswith("\n")):
            self.events.append(TextWasThinking(start=self.start, end=self.end))
            self._state = "after"
        else:
            self._say(_CLOSE)
        return rest

    def _say(self, text: str) -> None:
        self._said.append(text)
        self.text(text)


def beginning_of(tag: str, text: str) -> int:
    """Return how many characters at the text's end may be the beginning of the tag."""
    most = min(len(tag) - 1, len(text))
    return next((size for size in range(most, 0, -1) if tag.startswith(text[-size:])), 0)
