"""What the readers of the plain-text tool protocols share: which events they read, and which were never offered to the model."""

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


class Held:
    """A buffer of text deltas: looked at as one text, given out piece by piece, in linear time."""

    def __init__(self) -> None:
        self._text = ""
        self._new: list[str] = []
        self._pieces: deque[TextDelta] = deque()
        self._last = (0, 0)

    @property
    def text(self) -> str:
        """What is held now, as one text: joined when it is looked at, so look only when there is a reason."""
        if self._new:
            self._text = "".join((self._text, *self._new))
            self._new.clear()
        return self._text

    def add(self, delta: TextDelta) -> None:
        """Hold more."""
        if delta.text:
            self._new.append(delta.text)
            self._pieces.append(delta)

    def take(self, size: int) -> list[TextDelta]:
        """Give out the first characters; a piece that is cut keeps its bytes on both sides."""
        found: list[TextDelta] = []
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
            found.append(piece)
        return found

    def cut(self, size: int) -> tuple[str, int, int]:
        """The same as one text, with its first byte and one past its last."""
        found = self.take(size)
        start, end = (found[0].start, found[-1].end) if found else self._last
        return "".join(piece.text for piece in found), start, end


class Line:
    """What was given out of the line that a reader stands in.

    Attributes:
        is_blank: Only spaces and tabs.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A new one, or as if it were."""
        self.is_blank = True
        self._ticks = 0
        self._last = ""

    def add(self, text: str) -> None:
        """More text, of any number of lines."""
        _, newline, rest = text.rpartition("\n")
        if newline:
            self.begin()
        self.is_blank = self.is_blank and not rest.strip(" \t\r")
        self._last = (self._last + rest)[-_LONGEST_TAG:]
        self._ticks += rest.count("`")

    @property
    def may_begin_tag(self) -> bool:
        """Whether a tag here is meant as one: prose that mentions it goes on behind other words, or between ticks."""
        return self.is_blank or (not self.is_in_code and _TAG.search(self._last) is not None)

    @property
    def is_in_code(self) -> bool:
        """Whether what comes stands between ticks."""
        return self._ticks % 2 == 1


def slices(delta: TextDelta) -> Iterator[TextDelta]:
    """A delta in pieces short enough that looking at what is left of one costs little; each keeps the delta's bytes."""
    if len(delta.text) <= _SLICE:
        yield delta
        return
    for place in range(0, len(delta.text), _SLICE):
        yield TextDelta(text=delta.text[place : place + _SLICE], start=delta.start, end=delta.end)


if TYPE_CHECKING:
    from tui_host.llm.protocols.tool_protocol import ToolProtocol

MOST_WAITING = 8 << 10
"""Characters behind a call after which no other is waited for."""
_MOST_LOOKED_AT = 20_000
_MOST_NAMED = 8
_BETWEEN = " \t\r\n,;"


class Behind:
    """Text behind a call waits until it is known what it is: the answer's if another call follows, else made up and cut.

    Args:
        is_said: It is the answer's in any case, and waits for nothing.
    """

    def __init__(self, *, is_said: bool = False) -> None:
        self._is_said = is_said
        self._has_call = False
        self._waiting: list[TextDelta] = []
        self._size = 0
        self._has_cut = False

    def sorted(self, events: Iterable[ModelEvent]) -> list[ModelEvent]:
        """What a reader found, without what has to wait."""
        found: list[ModelEvent] = []
        for event in events:
            match event:
                case TextDelta() if self._has_call and not self._is_said:
                    self._waiting.append(event)
                    self._size += len(event.text)
                    if self._size > MOST_WAITING:
                        found += self.cut()
                case CutOff():
                    found += [*self.cut(), *self._cut(event)]
                case CallStarted() | CallMalformed():
                    found += [*self._waiting, event]
                    self._waiting.clear()
                    self._size = 0
                    self._has_call = True
                case _:
                    found.append(event)
        return found

    def cut(self) -> list[ModelEvent]:
        """What waits, as what is left out of the answer."""
        waiting, self._waiting = self._waiting, []
        return [cut for text in waiting for cut in self._cut(CutOff(text=text.text, start=text.start, end=text.end))]

    def _cut(self, event: CutOff) -> list[ModelEvent]:
        """White space behind a call is nothing."""
        text = event.text if self._has_cut else event.text.lstrip()
        if not text:
            return []
        self._has_cut = True
        return [CutOff(text=text, start=event.start, end=event.end)]


def calls_behind(cut: str, speaks: ToolProtocol, tools: Sequence[ToolSpec]) -> list[str]:
    """The names of the tools that a model asked for in what was cut behind its call: none of these is run.

    Args:
        cut: All that was cut.
        speaks: The tool protocol.
        tools: What the answer may ask for.
    """
    names: list[str] = []
    rest = cut[:_MOST_LOOKED_AT]
    while (rest := rest.lstrip(_BETWEEN)) and len(names) < _MOST_NAMED:
        reader = speaks.reader(tools)
        events = [*reader.feed(TextDelta(text=rest, start=0, end=0)), *reader.finish()]
        found = [event.name for event in events if isinstance(event, CallStarted)]
        if not found:
            break
        names += found
        rest = "".join(event.text for event in events if isinstance(event, CutOff))
    return names[:_MOST_NAMED]


FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^\n`]*\n\s*")
"""A fence's first line, and the white space behind it."""
FENCE_BEGUN = re.compile(r"[ \t]*(`{3,}|~{3,})(?:[^\n`<]*\n\s*|[^\n`<]*(?=<))")
"""The same where a tag may stand in that line already, behind the marks or the code's kind: up to the tag."""
FENCE_END = re.compile(r"\s*(`{3,}|~{3,})[ \t]*(?=\n|$)")
"""Its last line, behind whatever white space stands before it."""
MARKS = "`~"
"""What a fence's lines are made of."""
FENCE_END_MADE_OF = f"{MARKS} \t\n"
"""What may stand behind a call that a fence holds alone."""
LONGEST_BLANK = 400
"""Characters of a fence's first line, and of white space that is waited through for what comes behind it."""


def may_become_fence(text: str) -> bool:
    """Whether the text that a line begins with may be the beginning of a fence's first line."""
    begun = text.lstrip(" \t")
    is_begun = begun.startswith(("```", "~~~")) or any(not begun.strip(mark) for mark in MARKS)
    return is_begun and len(text) <= LONGEST_BLANK and "\n" not in text


class Fence:
    """A code fence that is open: of its lines only one of the same marks, at least as many, closes it.

    Args:
        opening: Its first line.
    """

    def __init__(self, opening: str) -> None:
        begun = opening.lstrip(" \t")
        self._mark = begun[0]
        self._least = len(begun) - len(begun.lstrip(self._mark))
        self._line = ""

    def closes(self, text: str) -> bool:
        """Take in more of what stands in it, at most to the end of a line; whether that line closes it."""
        self._line = (self._line + text)[:LONGEST_BLANK]
        if not text.endswith("\n"):
            return False
        line, self._line = self._line.strip(), ""
        return len(line) >= self._least and not line.strip(self._mark)


class TextReader(ABC):
    """Reads the calls out of one answer's text.

    A call by the vendor's own function calling is none: no tool was offered by it. It is told as malformed, with what is right.
    """

    def __init__(self) -> None:
        self._held = Held()
        self._behind = Behind()
        self._is_final = False
        self._stop: Stop | None = None
        self._vendor_calls: dict[int, CallStarted] = {}
        self._after: Self | None = None  # reads what comes behind the thinking that all so far has turned out to be

    @abstractmethod
    def _anew(self) -> Self:
        """Another reader like this one, at the beginning of a text."""

    @abstractmethod
    def _came(self, piece: TextDelta) -> Sequence[ModelEvent]:
        """What a short piece of text becomes."""

    @abstractmethod
    def _ended(self) -> Sequence[ModelEvent]:
        """What is still held back, once nothing more comes."""

    def _thought(self, event: ThinkingDelta) -> Sequence[ModelEvent]:
        """What thinking becomes."""
        return [event]

    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        """What an event becomes."""
        if self._after is not None:
            return self._after.feed(event)
        match event:
            case TextDelta():
                return self._behind.sorted(found for piece in slices(event) for found in self._came(piece))
            case ThinkingDelta():
                return self._behind.sorted(self._thought(event))
            case Stopped():
                self._stop = event.stop
                return [*self.finish(), event]
            case CallStarted():
                known = self._vendor_calls.get(event.index, event)
                self._vendor_calls[event.index] = replace(known, name=event.name or known.name, end=event.end)
                return []
            case CallArguments():
                if event.index in self._vendor_calls:
                    self._vendor_calls[event.index] = replace(self._vendor_calls[event.index], end=event.end)
                return []
            case TextWasThinking():
                found = self.finish()  # for the thinking to have it
                self._after = self._anew()
                return [*found, event]
            case _:
                return [event]

    def finish(self) -> list[ModelEvent]:
        """What was still held back."""
        if self._after is not None:
            return self._after.finish()
        self._is_final = True
        found = self._behind.sorted(self._ended())
        for call in self._vendor_calls.values():
            reason = f"{call.name} was asked for by the vendor's own function calling, by which nothing is offered here"
            found.append(CallMalformed(reason=reason, start=call.start, end=call.end))
        self._vendor_calls.clear()
        return [*found, *self._behind.cut()]
