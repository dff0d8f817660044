"""Shared by the readers of plain-text tool protocols: held text, code fences, and text after a call."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from tui_host.llm.events import (
    CallArguments,
    CallMalformed,
    CallStarted,
    CutOff,
    ModelEvent,
    Stopped,
    TextDelta,
    TextWasThinking,
    ThinkingDelta,
)
from tui_host.llm.messages import Stop, ToolSpec

_SLICE = 1024
_LONGEST_TAG = 60
_TAG = re.compile(r"</?[A-Za-z_|][^<>\n]*>[ \t]*$")


class TextBuffer:
    """A buffer of text deltas that is searched as one text and given out in pieces, in linear time."""

    def __init__(self) -> None:
        self._text = ""
        self._new: list[str] = []
        self._pieces: deque[TextDelta] = deque()
        self._last = (0, 0)

    @property
    def text(self) -> str:
        """The held text. Joined on each access, so read it only when needed."""
        if self._new:
            self._text = "".join((self._text, *self._new))
            self._new.clear()
        return self._text

    def add(self, delta: TextDelta) -> None:
        """Hold more text."""
        if delta.text:
            self._new.append(delta.text)
            self._pieces.append(delta)

    def take(self, size: int) -> list[TextDelta]:
        """Return the first `size` characters. If a delta is split, both pieces keep the delta's bytes."""
        pieces: list[TextDelta] = []
        left = min(size, len(self.text))
        self._text = self.text[left:]
        while left:
            piece = self._pieces.popleft()
            self._last = (piece.start, piece.end)
            if len(piece.text) > left:
                rest = TextDelta(text=piece.text[left:], start=piece.start, end=piece.end)
                self._pieces.appendleft(rest)
                piece = TextDelta(text=piece.text[:left], start=piece.start, end=piece.end)
            left -= len(piece.text)
            pieces.append(piece)
        return pieces

    def cut(self, size: int) -> tuple[str, int, int]:
        """Return the first `size` characters as one text, with the range of their bytes."""
        pieces = self.take(size)
        start, end = (pieces[0].start, pieces[-1].end) if pieces else self._last
        return "".join(piece.text for piece in pieces), start, end


class Line:
    """The part of the current line that was already given out.

    Attributes:
        is_blank: Whether the line has only spaces and tabs.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a line."""
        self.is_blank = True
        self._ticks = 0
        self._last = ""

    def add(self, text: str) -> None:
        """Add text, which may hold several lines."""
        _, newline, rest = text.rpartition("\n")
        if newline:
            self.begin()
        self.is_blank = self.is_blank and not rest.strip(" \t\r")
        self._last = (self._last + rest)[-_LONGEST_TAG:]
        self._ticks += rest.count("`")

    @property
    def may_begin_tag(self) -> bool:
        """Whether a tag here is a real tag, and not just mentioned in a sentence."""
        return self.is_blank or (not self.is_in_code and _TAG.search(self._last) is not None)

    @property
    def is_in_code(self) -> bool:
        """Whether the next text is inside backticks."""
        return self._ticks % 2 == 1


def slices(delta: TextDelta) -> Iterator[TextDelta]:
    """Split a delta into short pieces, which are cheap to search; each keeps the delta's bytes."""
    if len(delta.text) <= _SLICE:
        yield delta
        return
    for place in range(0, len(delta.text), _SLICE):
        yield TextDelta(text=delta.text[place : place + _SLICE], start=delta.start, end=delta.end)


if TYPE_CHECKING:
    from tui_host.llm.protocols.tool_protocol import ToolProtocol

MOST_WAITING = 8 << 10
"""The most characters after a call in which another call is waited for."""
_MOST_LOOKED_AT = 20_000
_MOST_NAMED = 8
_BETWEEN = " \t\r\n,;"


class TextAfterCall:
    """Holds text after a call until its kind is clear: part of the answer if another call follows, else made up.

    Args:
        is_said: Text after a call is always part of the answer.
    """

    def __init__(self, *, is_said: bool = False) -> None:
        self._is_said = is_said
        self._has_call = False
        self._waiting: list[TextDelta] = []
        self._size = 0
        self._has_cut = False

    def sorted(self, events: Iterable[ModelEvent]) -> list[ModelEvent]:
        """Return a reader's events, except text that must be held."""
        released: list[ModelEvent] = []
        for event in events:
            match event:
                case TextDelta() if self._has_call and not self._is_said:
                    self._waiting.append(event)
                    self._size += len(event.text)
                    if self._size > MOST_WAITING:
                        released += self.cut()
                case CutOff():
                    released += [*self.cut(), *self._cut(event)]
                case CallStarted() | CallMalformed():
                    released += [*self._waiting, event]
                    self._waiting.clear()
                    self._size = 0
                    self._has_call = True
                case _:
                    released.append(event)
        return released

    def cut(self) -> list[ModelEvent]:
        """Return the held text as cut off."""
        waiting, self._waiting = self._waiting, []
        return [cut for text in waiting for cut in self._cut(CutOff(text=text.text, start=text.start, end=text.end))]

    def _cut(self, event: CutOff) -> list[ModelEvent]:
        """Return the event for cut-off text; white space after a call is dropped."""
        text = event.text if self._has_cut else event.text.lstrip()
        if not text:
            return []
        self._has_cut = True
        return [CutOff(text=text, start=event.start, end=event.end)]


def calls_after_call(cut: str, speaks: ToolProtocol, tools: Sequence[ToolSpec]) -> list[str]:
    """Return the names of tools that the text cut off after a call would call; none is run.

    Args:
        cut: The text cut off.
        speaks: The tool protocol of the answer.
        tools: The offered tools.
    """
    names: list[str] = []
    rest = cut[:_MOST_LOOKED_AT]
    while (rest := rest.lstrip(_BETWEEN)) and len(names) < _MOST_NAMED:
        reader = speaks.reader(tools)
        events = [*reader.feed(TextDelta(text=rest, start=0, end=0)), *reader.finish()]
        called = [event.name for event in events if isinstance(event, CallStarted)]
        if not called:
            break
        names += called
        rest = "".join(event.text for event in events if isinstance(event, CutOff))
    return names[:_MOST_NAMED]


FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^\n`]*\n\s*")
"""A fence's first line, and the white space after it."""
FENCE_BEGUN = re.compile(r"[ \t]*(`{3,}|~{3,})(?:[^\n`<]*\n\s*|[^\n`<]*(?=<))")
"""A fence's first line, or its beginning before a tag on the same line."""
FENCE_END = re.compile(r"\s*(`{3,}|~{3,})[ \t]*(?=\n|$)")
"""A fence's last line, with the white space before it."""
MARKS = "`~"
"""The characters that fences are made of."""
FENCE_END_MADE_OF = f"{MARKS} \t\n"
"""The characters allowed after a call that stands alone in a fence."""
LONGEST_BLANK = 400
"""The longest first line of a fence, and the longest white space to wait through."""


def may_become_fence(text: str) -> bool:
    """Tell whether the text at the beginning of a line may grow into a fence's first line."""
    begun = text.lstrip(" \t")
    is_begun = begun.startswith(("```", "~~~")) or any(not begun.strip(mark) for mark in MARKS)
    return is_begun and len(text) <= LONGEST_BLANK and "\n" not in text


class Fence:
    """An open code fence, closed by a line of at least as many marks of the same kind.

    Args:
        opening: Its first line.
    """

    def __init__(self, opening: str) -> None:
        begun = opening.lstrip(" \t")
        self._mark = begun[0]
        self._least = len(begun) - len(begun.lstrip(self._mark))
        self._line = ""

    def closes(self, text: str) -> bool:
        """Add text, at most to the end of a line, and tell whether the line closes the fence."""
        self._line = (self._line + text)[:LONGEST_BLANK]
        if not text.endswith("\n"):
            return False
        line, self._line = self._line.strip(), ""
        return len(line) >= self._least and not line.strip(self._mark)


class TextReader(ABC):
    """Reads the calls out of an answer's text.

    A call by the vendor's own function calling becomes a malformed call, since no tool was declared there.
    """

    def __init__(self) -> None:
        self._buffer = TextBuffer()
        self._after_call = TextAfterCall()
        self._is_final = False
        self._stop: Stop | None = None
        self._vendor_calls: dict[int, CallStarted] = {}
        self._after: Self | None = None  # the reader for the text after thinking that had no opening tag

    @abstractmethod
    def _fresh(self) -> Self:
        """Return a fresh reader of the same kind."""

    @abstractmethod
    def _read_piece(self, piece: TextDelta) -> Sequence[ModelEvent]:
        """Read a short piece of text."""

    @abstractmethod
    def _read_rest(self) -> Sequence[ModelEvent]:
        """Read all held text at the end."""

    def _read_thinking(self, event: ThinkingDelta) -> Sequence[ModelEvent]:
        """Read thinking."""
        return [event]

    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        """Read an event."""
        if self._after is not None:
            return self._after.feed(event)
        match event:
            case TextDelta():
                return self._after_call.sorted(found for piece in slices(event) for found in self._read_piece(piece))
            case ThinkingDelta():
                return self._after_call.sorted(self._read_thinking(event))
            case Stopped():
                self._stop = event.stop
                return [*self.finish(), event]
            case CallStarted():
                started = self._vendor_calls.get(event.index, event)
                self._vendor_calls[event.index] = replace(started, name=event.name or started.name, end=event.end)
                return []
            case CallArguments():
                if event.index in self._vendor_calls:
                    self._vendor_calls[event.index] = replace(self._vendor_calls[event.index], end=event.end)
                return []
            case TextWasThinking():
                found = self.finish()  # so that the thinking gets the held text
                self._after = self._fresh()
                return [*found, event]
            case _:
                return [event]

    def finish(self) -> list[ModelEvent]:
        """Return everything still held back."""
        if self._after is not None:
            return self._after.finish()
        self._is_final = True
        events = self._after_call.sorted(self._read_rest())
        for call in self._vendor_calls.values():
            reason = f"{call.name} was asked for by the vendor's own function calling, by which nothing is offered here"
            events.append(CallMalformed(reason=reason, start=call.start, end=call.end))
        self._vendor_calls.clear()
        return [*events, *self._after_call.cut()]
