"""Reads calls out of an answer's text as it comes, for all tool protocols of plain text.

Text is passed on until a line may begin a call, and held from there: the protocol's `parse` says what it is once it may
be whole, or the answer ends. So no part of a call is ever shown. A fence with a call alone is that call; other code
is code. Text after a call is held too: if another call follows, it belongs to the answer, else the model made it up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from typing_extensions import override

from tui_host.llm.events import (
    CallArguments,
    CallMalformed,
    CallStarted,
    CutOff,
    ModelEvent,
    PartEnded,
    Repeated,
    Stopped,
    TextDelta,
    TextWasThinking,
    ThinkingDelta,
)
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.grammar import Ending, ReadCall, Syntax
from tui_host.llm.protocols.tool_protocol import Reader
from tui_host.llm.thinktags import beginning_of

_MOST_WAITING = 8 << 10  # characters after a call in which another call is waited for
_LONGEST_SIGN = 400  # of a text that is held because it may grow into a sign, white space included
_LONGEST_LINE = 4000
_SLICE = 1024
_FENCE = re.compile(r"(`{3,}|~{3,})[^\n`]*\n\s*")
_FENCE_BEGUN = re.compile(r"(`{1,3}|~{1,3}|(?:```|~~~)[^\n]*)")
_TAG = re.compile(r"</?[A-Za-z_|][^<>\n]*>[ \t]*$")
# What a fence gives that holds nothing but calls, a broken call, the answer, or a question.
_ALONE: tuple[set[type[ModelEvent]], ...] = (
    {CallStarted, CallArguments},
    {TextDelta, CallMalformed},
    {TextDelta, PartEnded},
)

_Step: TypeAlias = list[ModelEvent] | None
"""What held text gave. None if more text must come first."""


class HeldReader(Reader):
    """Reads an answer. A call by the vendor's own function calling is a fault, since no tool was declared there."""

    def __init__(self, grammar: Syntax, tools: Sequence[ToolSpec], *, anywhere: bool = False) -> None:
        """Read calls of these tools; `anywhere` also after words and in code, as hosts do that show the text after a call."""
        self._grammar = grammar
        self._tools = tools
        self._is_anywhere = anywhere and grammar.has_tags
        self._begin()

    def _begin(self) -> None:
        self._text = ""  # what is held, from byte `_start` on
        self._start = 0
        self._last: TextDelta = TextDelta(text="", start=0, end=0)
        self._look: Callable[[str], _Step] = self._in_text  # reads held text; what it is inside of
        self._tried = 0  # characters of the block that were looked at in vain
        self._ending: Ending = "open"
        self._line = ""  # what was given out of the current line
        self._tag = ""  # the tag or label of the current thinking
        self._fence = ("", 0)  # the marks of the current fence, and where the text inside begins
        self._answer = ""  # the words of the answer as the model wrote them
        self._calls = 0
        self._waiting: list[TextDelta] = []  # the text after a call
        self._has_cut = False

    @override
    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        match event:
            case TextDelta():
                events: list[ModelEvent] = []
                for start in range(0, len(event.text), _SLICE):  # short pieces are cheap to search
                    piece = replace(event, text=event.text[start : start + _SLICE])
                    self._start = self._start if self._text else piece.start
                    self._text, self._last = self._text + piece.text, piece
                    events += self._scan()
                return events
            case Stopped():
                self._ending = "length" if event.stop == "length" else "end"
                return [*self.finish(), event]
            case CallStarted(name=name, start=start, end=end) if name:
                reason = f"{name} was asked for by the vendor's own function calling, by which nothing is offered here"
                return [CallMalformed(reason=reason, start=start, end=end)]
            case CallStarted() | CallArguments():
                return []
            case Repeated(restarts=True):
                self._begin()
            case TextWasThinking():
                found = self.finish()  # so that the thinking gets the held text
                self._begin()
                return [*found, event]
            case _:
                pass
        return [event]

    @override
    def finish(self) -> list[ModelEvent]:
        self._ending = "end" if self._ending == "open" else self._ending
        events = self._scan()
        if self._answer:
            end = self._last.end
            events.append(PartEnded(kind="text", start=end, end=end, written=self._answer.rstrip()))
            self._answer, self._look = "", self._cut_rest
        return [*events, *self._cut_waiting()]

    def _take(self, size: int) -> TextDelta:
        # The bytes of a piece are those of all that its characters may have come in.
        taken = replace(self._last, text=self._text[:size], start=self._start)
        self._text = self._text[size:]
        if len(self._text) <= len(self._last.text):
            self._start = self._last.start
        return taken

    def _scan(self) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        while text := self._text:
            if self._ending == "open" and self._tried > 4 * len(text) + (1 << 16):
                break  # so that a long block, looked at again and again, takes linear time
            step = self._look(text)
            if step is None:
                self._tried += len(text)
                break
            events += step
            self._tried = 0
        return events

    def _turn_to(self, look: Callable[[str], _Step]) -> list[ModelEvent]:
        self._look, self._tag, self._line = look, "", ""
        return []

    def _in_text(self, text: str) -> _Step:
        blank = len(text) - len(text.lstrip())
        if blank:
            return self._say(blank)
        if self._is_anywhere or self._may_begin:
            is_fence = not self._line.strip() and not self._is_anywhere
            fence = _FENCE.match(text) if is_fence else None
            inside = text[fence.end() :] if fence is not None else text
            sign = self._grammar.signs.match(inside)
            if self._ending == "open" and len(text) <= _LONGEST_SIGN:
                may_grow = self._grammar.begins.fullmatch(inside) or (is_fence and _FENCE_BEGUN.fullmatch(text))
                if may_grow or not inside or (sign is not None and sign.end() == len(inside)):
                    return None
            if fence is not None:
                self._fence = (fence[1], fence.end())
                if sign is not None:
                    return self._turn_to(self._in_fence)
                self._look = self._in_code
                return self._say(fence.end())
            if sign is not None:
                return self._at_sign(sign)
        end = text.find("\n") + 1 or len(text)
        tag = text.find("<", 1, end) if self._grammar.has_tags else -1
        return self._say(end if tag < 0 else tag)

    @property
    def _may_begin(self) -> bool:
        if not self._line.strip():
            return True
        # Elsewhere a sentence may mention it; but models put thinking and call into one line.
        return self._grammar.has_tags and self._line.count("`") % 2 == 0 and _TAG.search(self._line) is not None

    def _at_sign(self, sign: re.Match[str]) -> list[ModelEvent]:
        kind = sign.lastgroup or ""
        is_mentioned = kind == "made_up" and self._grammar.has_tags and (self._is_anywhere or not self._calls)
        if is_mentioned or (kind == "thinking" and not self._may_begin):
            return self._say(sign.end())
        if kind in {"call", "made_up"}:
            return self._turn_to(self._in_block if kind == "call" else self._cut_rest)
        self._tag = ""
        words = self._take(sign.end())
        self._line = words.text.rpartition("\n")[2]
        if kind == "answer":
            self._answer, self._look = words.text, self._in_answer
            return [PartEnded(kind="text", start=words.end, end=words.end)]  # the words before are not the answer
        self._tag = sign[kind]
        self._look = self._in_thinking if kind == "thinking" else self._in_text
        return []

    def _in_block(self, text: str) -> _Step:
        parsed = self._grammar.parse(text, self._tools, self._ending)
        if parsed is None:
            return None
        self._turn_to(self._in_text)
        words = self._take(max(1, parsed.size))
        if not parsed.found and not parsed.fault:
            return [] if parsed.is_dropped else self._give(words)
        events: list[ModelEvent] = [*self._waiting]
        self._waiting = []
        if parsed.fault:
            events += [words, CallMalformed(reason=parsed.fault, start=words.start, end=words.end)]
        start, end = words.start, words.end
        for found in parsed.found:
            written = words.text.strip() + parsed.closing
            if isinstance(found, ReadCall):
                index, own = self._calls, found.written or written
                self._calls += 1
                events.append(CallStarted(index=index, wire_id="", name=found.name, start=start, end=end, written=own))
                events.append(CallArguments(index=index, text=found.arguments, start=start, end=end))
            else:
                events.append(PartEnded(kind="text", start=start, end=start))  # the words before are not the answer
                events.append(TextDelta(text=found.text, start=start, end=end))
                events.append(PartEnded(kind="text", written=written, options=found.options, start=start, end=end))
        has_call = bool(parsed.found) and isinstance(parsed.found[0], ReadCall)
        if not self._grammar.several or not (self._is_anywhere or has_call):
            self._look = self._cut_rest
        return events

    def _in_fence(self, text: str) -> _Step:
        marks, body = self._fence
        closing = re.compile(rf"\n[ \t]*{marks}{marks[0]}*[ \t]*(?=\n|\Z)").search(text, body)
        if self._ending == "open" and (closing is None or closing.end() == len(text)):  # more marks may follow
            return None
        end, size = (len(text), len(text)) if closing is None else closing.span()
        fence = self._take(size)
        inner = HeldReader(self._grammar, self._tools)
        inner._calls = self._calls
        inner._ending = self._ending if closing is None else "end"
        inner._text, inner._start = fence.text[body:end], fence.start
        inner._last = replace(fence, text=inner._text)
        events = inner.finish()
        self._turn_to(self._in_text)
        if {type(event) for event in events} - {ThinkingDelta} not in _ALONE:
            return self._give(fence)
        if inner._look == inner._cut_rest:
            self._look = self._cut_rest
        if inner._calls == self._calls + 1 and isinstance(events[0], CallStarted):
            events[0] = replace(events[0], written=fence.text.strip())  # the model's own words, for the history
        waiting, self._waiting, self._calls = self._waiting, [], inner._calls
        return [*waiting, *events]

    def _in_code(self, text: str) -> _Step:
        end = text.find("\n") + 1
        line, marks = (self._line + text[:end]).strip(), self._fence[0]
        if end and line.startswith(marks) and not line.strip(marks[0]):
            self._look = self._in_text
        return self._say(end or len(text))

    def _in_thinking(self, text: str) -> _Step:
        closing = f"</{self._tag}>"
        said, found, _ = text.partition(closing)
        held = beginning_of(closing, text) if not found and self._ending == "open" else 0
        events = self._say(len(said) - held)
        if found:
            self._take(len(closing))
            self._turn_to(self._in_text)
        return events if found or events else None

    def _in_answer(self, text: str) -> _Step:
        self._answer += text
        return [self._take(len(text))]

    def _say(self, size: int) -> list[ModelEvent]:
        return self._give(self._take(size)) if size else []

    def _give(self, piece: TextDelta) -> list[ModelEvent]:
        self._line = (self._line + piece.text).rpartition("\n")[2][-_LONGEST_LINE:]
        if self._tag:
            return [ThinkingDelta(text=piece.text, start=piece.start, end=piece.end, tag=self._tag)]
        if not self._calls or self._is_anywhere:
            return [piece]
        # Behind another call it would be a part of the answer, else the model made it up.
        self._waiting.append(piece)
        return self._cut_waiting() if sum(len(waiting.text) for waiting in self._waiting) > _MOST_WAITING else []

    def _cut_rest(self, text: str) -> _Step:
        if self._is_anywhere:
            return self._say(len(text))  # those hosts show it
        self._waiting.append(self._take(len(text)))
        return self._cut_waiting()

    def _cut_waiting(self) -> list[ModelEvent]:
        waiting, self._waiting = self._waiting, []
        text = "".join(piece.text for piece in waiting)
        text = text if self._has_cut else text.lstrip()
        self._has_cut = self._has_cut or bool(text)
        return [CutOff(text=text, start=waiting[0].start, end=waiting[-1].end)] if text else []


def called_in(text: str, grammar: Syntax, tools: Sequence[ToolSpec]) -> Iterator[str]:
    """Yield the names of tools that a text would call, also after its first call; none is run."""
    rest = text
    while rest := rest.lstrip(" \t\r\n,;"):
        reader = HeldReader(grammar, tools)
        events = [*reader.feed(TextDelta(text=rest, start=0, end=0)), *reader.finish()]
        names = [event.name for event in events if isinstance(event, CallStarted)]
        yield from names
        rest = "".join(event.text for event in events if isinstance(event, CutOff)) if names else ""
