"""Reads calls between tags out of an answer's text while it comes. Source: tool-protocols.md, section 1.

The visible text never shows a part of a tag. A tag is a call where it begins a line (or stands behind another tag), outside
code spans and code fences, and is followed by what its grammar demands; a fence that holds one call and nothing else is that call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from tui_host.llm.messages import (
    CallArguments,
    CallMalformed,
    CallStarted,
    CutOff,
    ModelEvent,
    PartEnded,
    QuestionAsked,
    Stop,
    Stopped,
    TextDelta,
    TextRead,
    ThinkingDelta,
    ToolSpec,
)
from tui_host.llm.protocols.grammar import Broken, Read, ReadCall, ReadQuestion, ReadText, TagGrammar
from tui_host.llm.protocols.held import Held

_THINKING = ("thinking", "think")
_FENCE = re.compile(r"[ \t]*(`{3,})[^\n`]*\n\s*")
_FENCE_END = re.compile(r"\n?[ \t]*`{3,}[ \t]*(?=\n|$)")
_LONGEST_LINE = 400
"""Characters of a fence's first line."""

_Step: TypeAlias = list[ModelEvent] | None
"""What a look at the held text gives; None: more must come before anything can be told."""


class TagReader:
    """One answer's reader.

    Args:
        grammar: The tool protocol's.
        tools: What the answer may ask for.
    """

    def __init__(self, grammar: TagGrammar, tools: Sequence[ToolSpec]) -> None:
        self._grammar = grammar
        self._tools = tools
        self._openings = tuple(f"<{tag}>" for tag in grammar.tags)
        self._held = Held()
        self._mode: Literal["text", "fence", "thinking", "answer", "over"] = "text"
        self._thinking = ""  # the tag that will close it
        self._line = ""  # what was given out of the present line
        self._tag = self._written = ""  # of the answer that is being read
        self._calls = 0
        self._awaited = ""  # nothing can be told before this has come
        self._window = ""  # the end of what came since, for looking for it
        self._has_cut = False
        self._is_final = False
        self._stop: Stop | None = None

    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        """What an event becomes."""
        if isinstance(event, TextDelta):
            self._held.add(event)
            return self._scan() if self._has_come(event.text) else []
        if isinstance(event, Stopped):
            self._stop = event.stop
            return [*self.finish(), event]
        return [event]

    def finish(self) -> list[ModelEvent]:
        """What was still held back."""
        self._is_final, self._awaited = True, ""
        found = self._scan()
        if self._mode == "answer":  # all of it was shown before its end did not come
            found += self._end_answer(0, f"</{self._grammar.streamed[self._tag]}></{self._tag}>")
        return found

    def _has_come(self, text: str) -> bool:
        """Whether what is waited for may be there: looked for in what is new, not in all that is held."""
        if not self._awaited:
            return True
        seen = self._window + text
        self._window = seen[-len(self._awaited) :]
        return self._awaited in seen

    def _await(self, text: str) -> None:
        self._awaited, self._window = text, ""

    def _scan(self) -> list[ModelEvent]:
        found: list[ModelEvent] = []
        self._awaited = ""
        while self._held.text:
            match self._mode:
                case "text":
                    step = self._in_text()
                case "fence":
                    step = self._in_fence()
                case "thinking":
                    step = self._in_thinking()
                case "answer":
                    step = self._in_answer()
                case "over":
                    step = self._over()
            if step is None:
                break
            found += step
        return found

    # Text.

    def _in_text(self) -> _Step:
        text = self._held.text
        place = next((n for n, character in enumerate(text) if character in "<`"), len(text))
        if self._calls and self._grammar.several and not self._is_next(text):
            return self._between(text)
        if place:
            return self._say(place)
        if text[0] == "`":
            return self._at_tick(text)
        return self._at_tag(text)

    def _is_next(self, text: str) -> bool:
        """Whether what is held is another call, or may become one."""
        begun = text.lstrip()
        return any(begun.startswith(opening) for opening in self._openings)

    def _between(self, text: str) -> _Step:
        """Text behind a call is the answer's if another call follows, else the model has gone on as if it knew the result."""
        starts = [start for opening in self._openings if (start := text.find(opening)) >= 0]
        if starts:
            return self._say(min(starts))
        return self._over() if self._is_final else None

    def _at_tag(self, text: str) -> _Step:
        if not self._may_begin():
            return self._say(1)
        for tag in _THINKING:
            if tag not in self._grammar.tags and text.startswith(f"<{tag}>"):
                self._held.take(len(tag) + 2)
                self._mode, self._thinking = "thinking", f"</{tag}>"
                return []
        tag = next((tag for tag in self._grammar.tags if text.startswith(f"<{tag}>")), "")
        if tag:
            return self._block(text, tag)
        is_beginning = any(f"<{tag}>".startswith(text) for tag in (*self._grammar.tags, *_THINKING))
        return None if is_beginning and not self._is_final else self._say(1)

    def _may_begin(self) -> bool:
        """Whether a tag here is meant as one: prose that mentions it goes on behind other words, or between ticks."""
        line = self._line
        return not line.strip() or (line.rstrip().endswith(">") and line.count("`") % 2 == 0)

    def _at_tick(self, text: str) -> _Step:
        ticks = len(text) - len(text.lstrip("`"))
        if self._line.strip() or (ticks < 3 and (len(text) > ticks or self._is_final)):
            return self._say(max(ticks, 1))
        opening = _FENCE.match(text)
        if opening is None:
            return self._say(len(text)) if self._is_final or len(text) > _LONGEST_LINE else None
        inside = text[opening.end() :]
        if not any(inside.startswith(tag) or tag.startswith(inside) for tag in self._openings):
            self._mode = "fence"
            return self._say(opening.end())
        return self._fenced_call(inside, opening.end())

    def _fenced_call(self, inside: str, start: int) -> _Step:
        """A fence that begins with a call: it is one if it holds nothing else, which its end tells."""
        tag = next((tag for tag in self._grammar.tags if inside.startswith(f"<{tag}>")), "")
        end = self._end_of(inside, tag) if tag else -1
        if end >= 0 and (closing := _FENCE_END.match(inside, end)) is not None:
            if closing.end() == len(inside) and not self._is_final and not inside.endswith("\n"):
                return None  # more ticks may follow
            raw = inside[len(tag) + 2 : end - len(tag) - 3]
            return self._tell(self._grammar.read(tag, raw, self._tools), start + closing.end())
        is_open = end < 0 or not inside[end:].strip() or "```".startswith(inside[end:].strip())
        if is_open and not self._is_final and _FENCE_END.search(inside) is None:
            if end < 0 and tag:
                self._await("```")
            return None
        self._mode = "fence"
        return self._say(start)

    # Blocks.

    def _block(self, text: str, tag: str) -> _Step:
        inside = text[len(tag) + 2 :]
        begun, demanded = inside.lstrip(), self._grammar.tags[tag]
        if begun and demanded and not any(begun.startswith(each) or each.startswith(begun) for each in demanded):
            return self._say(len(tag) + 2)
        if tag in self._grammar.streamed and (element := f"<{self._grammar.streamed[tag]}>") in inside:
            return self._begin_answer(tag, len(tag) + 2 + inside.index(element) + len(element))
        end = self._end_of(inside, tag)
        if end >= 0:
            read = self._grammar.read(tag, inside[: end - len(tag) - 3], self._tools)
            return self._tell(read, len(tag) + 2 + end)
        if not self._is_final:
            self._await(f"</{tag}>" if begun else ">")
            return None
        return self._unclosed(tag, inside)

    def _end_of(self, inside: str, tag: str) -> int:
        """Where a block ends behind its closing tag, -1 while it does not."""
        closing = f"</{tag}>"
        place = inside.find(closing)
        while place >= 0 and not self._grammar.closes(tag, inside[:place]):
            place = inside.find(closing, place + 1)
        return place + len(closing) if place >= 0 else -1

    def _unclosed(self, tag: str, inside: str) -> list[ModelEvent]:
        """The answer has ended within a block: a stop sequence may have taken its closing tag, and that alone."""
        if self._stop == "length":
            return self._tell(Broken(reason="the call was cut at the token limit"), len(self._held.text))
        read = self._grammar.read(tag, inside, self._tools)
        if isinstance(read, Broken):
            read = Broken(reason=f"there is no </{tag}> ({read.reason})")
        return self._tell(read, len(self._held.text), closing=f"</{tag}>")

    def _tell(self, read: Read, size: int, *, closing: str = "") -> list[ModelEvent]:
        if isinstance(read, Broken | ReadQuestion):
            words = self._held.take(size) if isinstance(read, Broken) else self._question(read, size)
            start, end = words[0].start, words[-1].end
            self._mode = "over"
            if isinstance(read, Broken):
                return [*words, CallMalformed(reason=read.reason, start=start, end=end)]
            return [*words, QuestionAsked(options=read.options, start=start, end=end)]
        written, start, end = self._held.cut(size)
        written = written.strip() + closing
        if isinstance(read, ReadText):
            self._mode = "over"
            return [TextRead(text=read.text, written=written, start=start, end=end)]
        return self._call(read, written, start, end)

    def _question(self, read: ReadQuestion, size: int) -> list[TextRead]:
        written, start, end = self._held.cut(size)
        return [TextRead(text=read.text, written=written.strip(), start=start, end=end)]

    def _call(self, read: ReadCall, written: str, start: int, end: int) -> list[ModelEvent]:
        index = self._calls
        self._calls += 1
        self._line = ""
        if not self._grammar.several:
            self._mode = "over"
        return [
            CallStarted(index=index, wire_id="", name=read.name, start=start, end=end, written=written),
            CallArguments(index=index, text=read.arguments, start=start, end=end),
        ]

    def _begin_answer(self, tag: str, size: int) -> list[ModelEvent]:
        written, _, end = self._held.cut(size)
        self._mode, self._tag, self._written = "answer", tag, written
        return [PartEnded(kind="text", start=end, end=end)]  # what was said before it is not the answer

    def _in_answer(self) -> _Step:
        """The answer's own text, up to the closing tag that is followed by the end: others may stand in it."""
        if self._written.endswith(">"):  # its first line may be empty
            text = self._held.text
            if not text.strip() and not self._is_final:
                return None
            self._written += self._held.cut(len(text) - len(text.lstrip()))[0]
        text = self._held.text
        closing = f"</{self._grammar.streamed[self._tag]}>"
        last = re.compile(rf"\s*{re.escape(closing)}(?=\s*<(?:command|/{self._tag})>)").search(text)
        if last is None and not self._is_final:
            place = text.rfind(closing)
            place = place if place >= 0 else len(text) - _beginning_of(closing, text)
            found = self._say(len(text[:place].rstrip()))
            self._written += "".join(piece.text for piece in found if isinstance(piece, TextDelta))
            return found or None
        if last is None:
            return self._end_answer(len(text.removesuffix(closing).rstrip()), f"{closing}</{self._tag}>")
        if f"</{self._tag}>" in text[last.end() :] or self._is_final:
            return self._end_answer(last.start(), f"</{self._tag}>")
        return None

    def _end_answer(self, size: int, ending: str) -> list[ModelEvent]:
        said: list[ModelEvent] = list(self._held.take(size))
        text = self._held.text
        end = text.find(f"</{self._tag}>")
        rest, start, stop = self._held.cut(end + len(self._tag) + 3 if end >= 0 else len(text))
        whole = "".join(piece.text for piece in said if isinstance(piece, TextDelta)) + (rest if end >= 0 else ending)
        self._mode = "over"
        return [*said, PartEnded(kind="text", start=start, end=stop, written=self._written + whole)]

    # Fences, thinking, and what comes behind a call.

    def _in_fence(self) -> _Step:
        """Code: nothing in it is a call."""
        text = self._held.text
        newline = text.find("\n")
        line = self._line + (text if newline < 0 else text[:newline])
        may_close = not line.strip("` \t")
        if newline < 0 and may_close and not self._is_final:
            return None
        if may_close and line.count("`") >= 3:
            self._mode = "text"
        return self._say(len(text) if newline < 0 else newline + 1)

    def _in_thinking(self) -> _Step:
        text = self._held.text
        end = text.find(self._thinking)
        kept = 0 if self._is_final or end >= 0 else _beginning_of(self._thinking, text)
        size = end if end >= 0 else len(text) - kept
        found: list[ModelEvent] = [
            ThinkingDelta(text=piece.text, start=piece.start, end=piece.end) for piece in self._held.take(size)
        ]
        if end >= 0:
            self._held.take(len(self._thinking))
            self._mode, self._line = "text", ""
        return found or ([] if end >= 0 else None)

    def _over(self) -> list[ModelEvent]:
        """The answer has ended with its call: what the model goes on to write, it has made up."""
        text = self._held.text
        if not self._has_cut:
            self._held.take(len(text) - len(text.lstrip()))
        if not self._held.text:
            return []
        self._has_cut = True
        text, start, end = self._held.cut(len(text))
        return [CutOff(text=text, start=start, end=end)]

    def _say(self, size: int) -> list[ModelEvent]:
        found = self._held.take(size)
        text = "".join(piece.text for piece in found)
        _, newline, line = text.rpartition("\n")
        self._line = line if newline else self._line + line
        return list(found)


def _beginning_of(tag: str, text: str) -> int:
    """How many characters at the text's end may become the tag."""
    most = min(len(tag) - 1, len(text))
    return next((size for size in range(most, 0, -1) if tag.startswith(text[-size:])), 0)
