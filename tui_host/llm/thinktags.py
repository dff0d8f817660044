"""Separates thinking between tags at the beginning of a text, as open models write it."""

from __future__ import annotations

from typing import Literal

from tui_host.llm.events import ModelEvent, TextDelta, TextWasThinking, ThinkingDelta

_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
}
_CLOSE = "</think>"


class ThinkTags:
    """Separates thinking from text, which may be cut anywhere; no part of a tag is shown.

    An opening tag counts only at the beginning of the text. A closing tag whose opening tag stood in the prompt counts
    only at the beginning or end of a line, outside code fences: elsewhere the text merely mentions the tag.
    """

    def __init__(self) -> None:
        self._state: Literal["head", "inside", "after", "text", "plain"] = "head"
        self._close = ""
        self._held = ""
        self._held_start = 0
        self._end = 0
        self._line_is_blank = True
        self._fences = 0
        self._ticks = ""  # a possible beginning of a fence at the end of the text

    def off(self) -> list[ModelEvent]:
        """Treat all further text as text, because the server separates thinking itself."""
        if self._state not in {"head", "text"}:
            return []
        events = self.finish()
        self._state = "plain"
        return events

    def feed(self, text: str, start: int, end: int) -> list[ModelEvent]:
        """Read a piece of text; `start` and `end` are its bytes in the body."""
        is_open = self._held or self._ticks or self._line_is_blank
        if self._state == "text" and text and not (is_open or "<" in text or "`" in text or "\n" in text):
            return [TextDelta(text=text, start=start, end=end)]  # the usual case
        events: list[ModelEvent] = []
        if self._held:
            text, start, self._held = self._held + text, self._held_start, ""
        self._held_start, self._end = start, end
        while text:
            match self._state:
                case "head":
                    text = self._head(text)
                case "inside":
                    text = self._inside(text, events)
                case "after":
                    text = text.lstrip()
                    self._state = "plain" if text else "after"
                case "text":
                    text = self._text(text, events)
                case "plain":
                    events.append(TextDelta(text=text, start=start, end=end))
                    text = ""
        return events

    def finish(self) -> list[ModelEvent]:
        """Return everything still held back."""
        held, self._held = self._held, ""
        if not held:
            return []
        start, end = self._held_start, self._end
        if self._state == "inside":
            return [ThinkingDelta(text=held, start=start, end=end, tag=self._close[2:-1])]
        return [TextDelta(text=held, start=start, end=end)]

    def _head(self, text: str) -> str:
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

    def _inside(self, text: str, found: list[ModelEvent]) -> str:
        before, tag, rest = text.partition(self._close)
        if tag:
            self._state = "after"
        else:
            kept = beginning_of(self._close, text)
            before, self._held = text[: len(text) - kept], text[len(text) - kept :]
        if before:
            tag = self._close[2:-1]
            found.append(ThinkingDelta(text=before, start=self._held_start, end=self._end, tag=tag))
        return rest

    def _text(self, text: str, found: list[ModelEvent]) -> str:
        if "<" not in text:
            self._say(text, found)
            return ""
        before, tag, rest = text.partition(_CLOSE)
        if not tag:
            kept = beginning_of(_CLOSE, text)
            self._held = text[len(text) - kept :]
            self._say(text[: len(text) - kept], found)
            return ""
        line = before.rpartition("\n")[2]
        begins_line = not line.strip() and (self._line_is_blank or "\n" in before)
        if not begins_line and not rest:
            self._say(before, found)  # whether the line ends here depends on the next character
            self._held = _CLOSE
            return ""
        self._say(before, found)
        if self._fences % 2 == 0 and (begins_line or rest.startswith("\n")):
            found.append(TextWasThinking(start=self._held_start, end=self._end))
            self._state = "after"
        else:
            self._say(_CLOSE, found)
        return rest

    def _say(self, text: str, found: list[ModelEvent]) -> None:
        if not text:
            return
        if self._ticks or "`" in text:
            ticks = self._ticks + text
            self._fences += ticks.count("```")
            self._ticks = "`" * ((len(ticks) - len(ticks.rstrip("`"))) % 3)
        if "\n" in text:
            self._line_is_blank = not text.rpartition("\n")[2].strip()
        elif self._line_is_blank:
            self._line_is_blank = not text.strip()
        found.append(TextDelta(text=text, start=self._held_start, end=self._end))


def beginning_of(tag: str, text: str) -> int:
    """Return how many characters at the text's end may be the beginning of the tag."""
    most = min(len(tag) - 1, len(text))
    return next((size for size in range(most, 0, -1) if tag.startswith(text[-size:])), 0)
