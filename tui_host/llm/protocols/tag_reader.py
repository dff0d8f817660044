"""Reads calls between tags out of an answer's text as the text comes.

No part of a tag is ever shown. A tag is a call at the beginning of a line (or after another tag), outside
code spans and code fences, if the text required by the grammar follows. A fence with a single call and nothing else is that call.
Text after a call is held: if another call follows, the text belongs to the answer, else the model made it up.
For answers of other hosts, which run calls after words and in code and show the text after a call, `anywhere` does the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, Self, TypeAlias

from typing_extensions import override

from tui_host.llm.events import (
    CallArguments,
    CallMalformed,
    CallStarted,
    CutOff,
    ModelEvent,
    PartEnded,
    QuestionAsked,
    TextDelta,
    TextRead,
    ThinkingDelta,
)
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.call_grammar import Broken, Ending, Read, ReadCall, ReadQuestion, TagGrammar
from tui_host.llm.protocols.text_reader import (
    FENCE,
    FENCE_BEGUN,
    FENCE_END,
    FENCE_END_MADE_OF,
    LONGEST_BLANK,
    MARKS,
    Fence,
    Line,
    TextAfterCall,
    TextReader,
    slices,
)
from tui_host.llm.thinktags import beginning_of

_THINKING = ("thinking", "think")
_MARK = re.compile(f"[<{MARKS}]")

Mode: TypeAlias = Literal["text", "fence", "thinking", "block", "before answer", "answer", "answered", "over"]
_Step: TypeAlias = list[ModelEvent] | None
"""The result of reading the buffered text. None if more text is needed."""


class TagReader(TextReader):
    """Reads an answer.

    Args:
        grammar: The tool protocol's grammar.
        tools: The offered tools.
    """

    def __init__(self, grammar: TagGrammar, tools: Sequence[ToolSpec]) -> None:
        super().__init__()
        self._grammar = grammar
        self._tools = tools
        self._openings = tuple(f"<{tag}>" for tag in grammar.tags)
        self._line = Line()
        self._mode: Mode = "text"
        self._thinking = ""  # the closing tag of thinking in the text
        self._told_apart = ""  # the closing tag of thinking that the dialect's reader separated
        self._tag = ""  # the tag of the current block or answer
        self._written: list[str] = []  # the words of the answer as the model wrote them
        self._fence = 0  # length of the fence's first line before the block
        self._code: Fence | None = None  # the open fence
        self._ending: Ending | None = None  # finds the block's end, while unknown
        self._end = -1
        self._calls = 0
        self._is_anywhere = False
        self._steps: Mapping[Mode, Callable[[], _Step]] = {
            "text": self._in_text,
            "fence": self._in_fence,
            "thinking": self._in_thinking,
            "block": self._in_block,
            "before answer": self._before_answer,
            "answer": self._in_answer,
            "answered": self._answered,
            "over": self._over,
        }

    def anywhere(self) -> Self:
        """Make the reader accept calls after words and in code too, as other hosts do; return the reader.

        Calls in thinking count if the hosts of this grammar run them.

        Text after a call then belongs to the answer.
        """
        self._is_anywhere = True
        self._after_call = TextAfterCall(is_said=True)
        return self

    @override
    def _fresh(self) -> Self:
        reader = type(self)(self._grammar, self._tools)
        return reader.anywhere() if self._is_anywhere else reader

    @override
    def _read_rest(self) -> Sequence[ModelEvent]:
        self._ending = None
        events = self._scan()
        if self._mode in {"before answer", "answer"}:  # the answer has already been shown
            self._buffer.cut(len(self._buffer.text))  # a partial closing tag
            self._end = -1
            events += self._answered()
        return events

    @override
    def _read_thinking(self, event: ThinkingDelta) -> Sequence[ModelEvent]:
        """Read thinking as text between its tags, if calls in thinking are run."""
        if not self._is_anywhere or event.tag not in self._grammar.thinking_with_calls:
            return [event]
        events: list[ModelEvent] = []
        if not self._told_apart:
            events += self._take_piece(_as_text(replace(event, text=f"<{event.tag}>")))
            self._told_apart = f"</{event.tag}>"
        return [*events, *(piece_event for piece in slices(_as_text(event)) for piece_event in self._take_piece(piece))]

    @override
    def _read_piece(self, piece: TextDelta) -> list[ModelEvent]:
        closing, self._told_apart = self._told_apart, ""
        events = self._take_piece(replace(piece, text=closing)) if closing else []
        return [*events, *self._take_piece(piece)]

    def _take_piece(self, piece: TextDelta) -> list[ModelEvent]:
        self._buffer.add(piece)
        if self._ending is not None:
            self._end = self._ending.feed(piece.text)
            if self._end < 0:
                return []
            self._ending = None
        return self._scan()

    def _scan(self) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        while self._ending is None and self._buffer.text:
            step = self._steps[self._mode]()
            if step is None:
                break
            events += step
        return events

    # Text.

    def _in_text(self) -> _Step:
        text = self._buffer.text
        mark = _MARK.search(text)
        place = mark.start() if mark is not None else len(text)
        if place:
            return self._say(place)
        return self._at_tag(text) if text[0] == "<" else self._at_mark(text)

    def _at_tag(self, text: str) -> _Step:
        if not self._line.may_begin_tag:
            return self._at_call(text, ()) if self._is_anywhere else self._say(1)
        for tag in _THINKING:
            if tag not in self._grammar.tags and text.startswith(f"<{tag}>"):
                self._buffer.take(len(tag) + 2)
                self._mode, self._thinking = "thinking", f"</{tag}>"
                return []
        made_up = self._grammar.results if self._calls and not self._is_anywhere else ()
        if any(text.startswith(f"<{tag}>") for tag in made_up):
            return self._over()
        return self._at_call(text, (*_THINKING, *made_up))

    def _at_call(self, text: str, others: Sequence[str]) -> _Step:
        """Read a tag that is or may be a call, or one of `others`."""
        tag = next((tag for tag in self._grammar.tags if text.startswith(f"<{tag}>")), "")
        if tag:
            return self._at_block(text, tag)
        is_beginning = any(f"<{tag}>".startswith(text) for tag in (*self._grammar.tags, *others))
        return None if is_beginning and not self._is_final else self._say(1)

    def _at_mark(self, text: str) -> _Step:
        marks = len(text) - len(text.lstrip(text[0]))
        if not self._line.is_blank or (marks < 3 and (len(text) > marks or self._is_final)):
            return self._say(marks)
        opening = (FENCE_BEGUN if self._is_anywhere else FENCE).match(text)
        if opening is None:
            if self._is_anywhere and "`" in text[marks:]:  # code inside the line; a call may follow
                return self._say(marks)
            return self._say(len(text)) if self._is_final or len(text) > LONGEST_BLANK else None
        inside = text[opening.end() :]
        tag = next((tag for tag in self._grammar.tags if inside.startswith(f"<{tag}>")), "")
        if tag:
            return self._at_block(inside, tag, fence=opening.end())
        if any(opening_tag.startswith(inside) for opening_tag in self._openings) and self._may_wait(text):
            return None
        return self._in_code(opening.end())

    def _may_wait(self, text: str) -> bool:
        return not self._is_final and len(text) <= LONGEST_BLANK

    def _in_code(self, size: int) -> _Step:
        """Begin a code fence with the held text."""
        events = self._say(size)
        self._mode, self._code = "fence", Fence(_joined(events))
        return events

    # Blocks.

    def _at_block(self, text: str, tag: str, fence: int = 0) -> _Step:
        """Read a call's opening tag. `text` begins after the tag; `fence` is the length of a fence before it."""
        size = len(tag) + 2
        begun, demanded = text[size:].lstrip(), self._grammar.tags[tag]
        if not any(begun.startswith(start) for start in demanded):
            if any(start.startswith(begun) for start in demanded) and self._may_wait(text):
                return None
            if not self._is_final or begun:
                return self._in_code(fence) if fence else self._say(size)
        element = f"<{self._grammar.streamed[tag]}>" if tag in self._grammar.streamed else ""
        if element and begun.startswith(element) and not fence:
            return self._begin_answer(tag, text.index(element) + len(element))
        self._mode, self._tag, self._fence = "block", tag, fence
        ending = self._grammar.ending(tag)
        self._end = ending.feed(text[size:])
        self._ending = ending if self._end < 0 and not self._is_final else None
        return []

    def _in_block(self) -> _Step:
        tag, start = self._tag, self._fence + len(self._tag) + 2
        text = self._buffer.text
        if self._end < 0:
            return self._unclosed(tag, text[start:])
        end = start + self._end
        if not self._fence:
            return self._tell(self._read(text[start:end]), end)
        closing = FENCE_END.match(text, end)
        if closing is None and text[end:].strip(FENCE_END_MADE_OF):  # the fence holds more than the call
            return self._in_code(self._fence)
        is_whole = closing is not None and (closing.end() < len(text) or text.endswith("\n"))
        if not is_whole and self._may_wait(text[end:]):
            return None  # more backticks may follow
        return self._tell(self._read(text[start:end]), closing.end() if closing is not None else len(text))

    def _read(self, inside: str) -> Read:
        return self._grammar.read(self._tag, inside.removesuffix(f"</{self._tag}>"), self._tools)

    def _unclosed(self, tag: str, inside: str) -> _Step:
        """Read a block that the answer's end cut, perhaps because the closing tag is a stop sequence."""
        if self._fence and "\n```" in inside:
            return self._in_code(self._fence)
        size = len(self._buffer.text)
        if self._stop == "length":
            return self._tell(Broken(reason="the call was cut at the token limit"), size)
        written, closing, _ = inside.partition(f"</{tag}>")  # the tag may stand in a string that never ends
        read = self._grammar.read(tag, written, self._tools)
        if closing:
            return self._tell(read, self._fence + len(tag) + 2 + len(written) + len(closing))
        if isinstance(read, Broken):
            read = Broken(reason=f"there is no </{tag}> ({read.reason})")
        return self._tell(read, size, closing=f"</{tag}>")

    def _tell(self, read: Read, size: int, *, closing: str = "") -> list[ModelEvent]:
        self._mode = "over"
        if isinstance(read, Broken):
            words = self._buffer.take(size)
            self._calls += 1
            if self._is_anywhere:
                self._go_on()
            return [*words, CallMalformed(reason=read.reason, start=words[0].start, end=words[-1].end)]
        written, start, end = self._buffer.cut(size)
        written = written.strip() + closing
        if isinstance(read, ReadCall):
            return self._call(read, written, start, end)
        events: list[ModelEvent] = [TextRead(text=read.text, written=written, start=start, end=end)]
        if isinstance(read, ReadQuestion):
            events.append(QuestionAsked(options=read.options, start=start, end=end))
        return events

    def _call(self, read: ReadCall, written: str, start: int, end: int) -> list[ModelEvent]:
        index = self._calls
        self._calls += 1
        self._go_on()
        return [
            CallStarted(index=index, wire_id="", name=read.name, start=start, end=end, written=written),
            CallArguments(index=index, text=read.arguments, start=start, end=end),
        ]

    def _go_on(self) -> None:
        """Go on after a call; another call may follow."""
        self._line.begin()
        if self._thinking:
            self._mode = "thinking"
        elif self._grammar.several:
            self._mode = "text" if self._code is None else "fence"

    # The answer in a tag.

    def _begin_answer(self, tag: str, size: int) -> list[ModelEvent]:
        written, _, end = self._buffer.cut(size)
        self._mode, self._tag, self._written = "before answer", tag, [written]
        return [PartEnded(kind="text", start=end, end=end)]  # the words before the tag are not the answer

    def _before_answer(self) -> _Step:
        """Skip blank lines before the answer."""
        text = self._buffer.text
        if not text.strip() and self._may_wait(text):
            return None
        self._written.append(self._buffer.cut(len(text) - len(text.lstrip()))[0])
        self._mode = "answer"
        return []

    def _in_answer(self) -> _Step:
        """Read the answer's text up to its closing tag, if the block's closing tag or a command follows."""
        text = self._buffer.text
        closing = f"</{self._grammar.streamed[self._tag]}>"
        place = text.find(closing)
        if place < 0:
            return self._more_answer(text, len(text) - beginning_of(closing, text))
        followers = (f"</{self._tag}>", "<command>")
        behind = text[place + len(closing) :].lstrip()
        is_open = any(follower.startswith(behind) for follower in followers)
        if behind.startswith(followers) or (self._is_final and is_open):
            events = self._say(len(text[:place].rstrip()))
            self._written.append(_joined(events))
            rest = self._buffer.text
            self._mode = "answered"
            self._ending = Ending(f"</{self._tag}>")
            self._end = self._ending.feed(rest)
            self._ending = self._ending if self._end < 0 and not self._is_final else None
            return events
        if is_open and self._may_wait(text[place:]):
            return self._more_answer(text, place)
        return self._more_answer(text, place + len(closing))

    def _more_answer(self, text: str, size: int) -> _Step:
        """Return more of the answer, holding back trailing white space."""
        kept = len(text[:size].rstrip())
        events = self._say(kept if self._is_final or self._may_wait(text[kept:]) else size)
        self._written.append(_joined(events))
        return events or None

    def _answered(self) -> list[ModelEvent]:
        """Finish a block that is complete, has a command (which is never run), or lacks its closing tag."""
        is_whole = self._end >= 0
        rest, start, end = self._buffer.cut(self._end if is_whole else len(self._buffer.text))
        self._mode = "over"
        ending = "" if is_whole else self._missing(rest)
        written = "".join((*self._written, rest.rstrip(), ending))
        return [PartEnded(kind="text", start=start, end=end, written=written)]

    def _missing(self, rest: str) -> str:
        """Return the closing tags missing because of a stop sequence or the answer's end."""
        inner = f"</{self._grammar.streamed[self._tag]}>"
        return ("" if inner in rest else inner) + f"</{self._tag}>"

    # Fences, thinking, and what comes behind a call.

    def _in_fence(self) -> _Step:
        """Read code. Calls in code count only for hosts that run them."""
        text = self._buffer.text
        end = text.find("\n") + 1 or len(text)
        tag = text.find("<", 0, end) if self._is_anywhere else -1
        if tag == 0:
            return self._at_call(text, ())
        return self._say(end if tag < 0 else tag)

    def _in_thinking(self) -> _Step:
        """Read thinking. Calls in thinking count only for hosts that run them."""
        text, tag = self._buffer.text, self._thinking[2:-1]
        has_run = self._calls > 0 and not self._grammar.several
        if (
            self._is_anywhere
            and tag in self._grammar.thinking_with_calls
            and not has_run
            and not text.startswith(self._thinking)
        ):
            place = text.find("<")
            return self._at_call(text, (f"/{tag}",)) if place == 0 else self._say(place if place > 0 else len(text))
        end = text.find(self._thinking)
        kept = 0 if self._is_final or end >= 0 else beginning_of(self._thinking, text)
        events = self._say(end if end >= 0 else len(text) - kept)
        if end >= 0:
            self._buffer.take(len(self._thinking))
            self._mode, self._thinking = "over" if has_run else "text", ""
            self._line.begin()
        return events or ([] if end >= 0 else None)

    def _over(self) -> list[ModelEvent]:
        """Mark all text after the call as cut off."""
        self._mode = "over"
        if self._is_anywhere:
            return self._say(len(self._buffer.text))
        text, start, end = self._buffer.cut(len(self._buffer.text))
        return [CutOff(text=text, start=start, end=end)]

    def _say(self, size: int) -> list[ModelEvent]:
        pieces = self._buffer.take(size)
        for piece in pieces:
            self._line.add(piece.text)
        if self._mode == "thinking":
            tag = self._thinking[2:-1]
            return [ThinkingDelta(text=piece.text, start=piece.start, end=piece.end, tag=tag) for piece in pieces]
        if self._mode == "fence" and self._code is not None and self._code.closes(_joined(pieces)):
            self._mode, self._code = "text", None
        return list(pieces)


def _as_text(event: ThinkingDelta) -> TextDelta:
    return TextDelta(text=event.text, start=event.start, end=event.end)


def _joined(events: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))
