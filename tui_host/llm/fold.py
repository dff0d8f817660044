"""Builds the assistant message and its calls from the events of an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tui_host.errors import JSON
from tui_host.llm.events import (
    CallArguments,
    CallMalformed,
    CallStarted,
    CitedPage,
    CutOff,
    Failed,
    ModelEvent,
    PartEnded,
    Repeated,
    Stopped,
    TextDelta,
    TextWasThinking,
    ThinkingDelta,
    Unreadable,
    UsageReported,
    VendorToolUsed,
)
from tui_host.llm.messages import Echo, Message, Part, Stop, Text, Thinking, ToolCall, Usage

MOST_CALLS = 128
_SURROGATE = re.compile("[\ud800-\udfff]")
_BETWEEN_EVENTS = len("\r\n\r\n")

Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedCall:
    """A call read out of a response."""

    call: ToolCall
    spans: tuple[Range, ...]  # its bytes in the response, in order; adjacent events are joined
    complete: bool = True  # nothing is missing; while the answer is streaming, its last call is not complete


@dataclass(slots=True)
class _Part:
    """Words, or a call if it has an index."""

    index: int = -1
    pieces: list[str] = field(default_factory=list[str])
    written: str = ""
    echo: JSON = None
    is_thinking: bool = False
    has_ended: bool = False
    tag: str = ""
    wire_id: str = ""
    name: str = ""
    spans: list[Range] = field(default_factory=list[Range])

    @property
    def text(self) -> str:
        if len(self.pieces) != 1:
            self.pieces = ["".join(self.pieces)]  # so that each piece is joined once
        text = self.pieces[0]
        if text.isascii() or _SURROGATE.search(text) is None:
            return text
        # A pair of surrogates that two events split becomes a character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def extend(self, start: int, end: int) -> None:
        # What follows in the next event joins the bytes before.
        if self.spans and start <= self.spans[-1][1] + _BETWEEN_EVENTS:
            start, end = self.spans[-1][0], max(end, self.spans.pop()[1])
        self.spans.append((start, end))


@dataclass(kw_only=True, eq=False)
class Fold:
    """An answer that grows with each event, in linear time. Any order of events is accepted."""

    provider: str  # only this provider and model get back what is theirs, such as the thinking
    model: str
    call_id: Callable[[int], str]  # returns an id, unique in the session, for the n-th call of the answer, from 0
    usage: Usage = field(default_factory=Usage)
    stop: Stop | None = None
    vendor_stop: str = ""  # the provider's own value for the reason of the end
    failure: str = ""  # the provider's words for an error inside the response
    unreadable: int = 0
    vendor_runs: list[VendorToolUsed] = field(default_factory=list[VendorToolUsed])
    sources: list[CitedPage] = field(
        default_factory=list[CitedPage]
    )  # that its tools or the answer name, without repeats
    has_calls_left_out: bool = False
    malformed: list[CallMalformed] = field(default_factory=list[CallMalformed])
    cut_off: list[CutOff] = field(default_factory=list[CutOff])  # words after a call, which are no part of the answer
    options: tuple[str, ...] = ()  # the answers to choose from that a question to the user proposes
    _parts: list[_Part] = field(default_factory=list[_Part])
    _calls: dict[int, _Part] = field(default_factory=dict[int, _Part])

    @property
    def has_begun(self) -> bool:
        """Whether anything of an answer has come: words, thinking, a call, or a broken call."""
        return bool(self._parts or self.malformed or self.cut_off)

    def add(self, event: ModelEvent) -> None:
        match event:
            case TextDelta():
                self._words(thinking=False).pieces.append(event.text)
            case ThinkingDelta():
                words = self._words(thinking=True)
                words.pieces.append(event.text)
                words.tag = words.tag or event.tag
            case CallStarted():
                started = self._calls.get(event.index)
                if started is None:
                    if len(self._calls) >= MOST_CALLS:
                        self.has_calls_left_out = True
                        return
                    started = self._calls[event.index] = _Part(event.index)
                    self._parts.append(started)
                started.wire_id = event.wire_id or started.wire_id
                started.name = event.name or started.name
                started.written = event.written or started.written
                started.echo = started.echo if event.echo is None else event.echo
                started.extend(event.start, event.end)
            case CallArguments(index=index) if (call := self._calls.get(index)) is not None:
                if event.anew:
                    call.pieces.clear()
                call.pieces.append(event.text)
                call.extend(event.start, event.end)
            case PartEnded():
                part = None
                if event.kind == "thinking":  # data for the thinking may come when the text has begun
                    part = next(
                        (part for part in reversed(self._parts) if part.is_thinking and not part.has_ended), None
                    )
                part = part or self._words(thinking=event.kind == "thinking")
                part.has_ended, part.echo, part.written = True, event.echo, event.written
                self.options = event.options or self.options
            case TextWasThinking():
                for part in self._parts:
                    if part.index >= 0 and part.written:  # a call that was taken out of the text
                        del self._calls[part.index]
                        part.index, part.pieces, part.written = -1, [part.written], ""
                    part.is_thinking = part.index < 0
                self._parts += [_Part(is_thinking=True, pieces=[cut.text]) for cut in self.cut_off]
                self.cut_off.clear()
                self.malformed.clear()
                self.options = ()
            case Repeated(restarts=True):
                for kept in (self._parts, self._calls, self.malformed, self.cut_off):
                    kept.clear()
                self.options = ()
            case _:
                self._note(event)

    def _note(self, event: ModelEvent) -> None:
        match event:
            case CallMalformed():
                self.malformed.append(event)
            case CutOff():
                self.cut_off.append(event)
            case UsageReported():
                self.usage = event.usage
            case Stopped():
                self.stop, self.vendor_stop = event.stop, event.vendor
            case Failed():
                self.failure = event.message
            case Unreadable():
                self.unreadable += 1
            case VendorToolUsed():
                self.vendor_runs += [event] if event.tool else []
                self.sources += [source for source in event.sources if source not in self.sources]
            case _:
                pass

    def _words(self, *, thinking: bool) -> _Part:
        last = self._parts[-1] if self._parts else None
        if last is None or last.index >= 0 or last.is_thinking != thinking or last.has_ended:
            last = _Part(is_thinking=thinking)
            self._parts.append(last)
        return last

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return "".join(part.text for part in self._parts if part.index < 0 and not part.is_thinking)

    @property
    def thinking(self) -> str:
        """The thinking so far."""
        return "".join(part.text for part in self._parts if part.is_thinking)

    @property
    def runs(self) -> Sequence[tuple[str, str]]:
        """Text and thinking so far, split at the calls."""
        runs = [("", "")]
        for part in self._parts:
            text, thinking = runs[-1]
            if part.index >= 0:
                runs.append(("", ""))
            else:
                runs[-1] = (text, thinking + part.text) if part.is_thinking else (text + part.text, thinking)
        return runs

    @property
    def calls(self) -> tuple[FoldedCall, ...]:
        """The calls so far, in the model's order."""
        ordered = sorted(self._calls.values(), key=lambda call: call.index)
        has_ended = self.stop in {"end", "tools", "paused"}
        folded: list[FoldedCall] = []
        for number, call in enumerate(ordered):
            asked = ToolCall(
                id=self.call_id(number),
                wire_id=call.wire_id,
                name=call.name,
                arguments=call.text,
                echo=self._echo_of(call),
                written=call.written,
            )
            is_whole = bool(call.written) or call is not ordered[-1] or has_ended
            folded.append(FoldedCall(call=asked, spans=tuple(call.spans), complete=is_whole))
        return tuple(folded)

    def message(self, *, turn: int) -> Message:
        """Return the answer as an assistant message, with the parts in the order in which they began."""
        calls = iter(self.calls)
        parts: list[Part] = []
        for part in self._parts:
            text = "" if part.index >= 0 else part.text
            if part.index >= 0:
                parts.append(next(calls).call)
            elif part.is_thinking and (text or part.echo is not None):
                parts.append(
                    Thinking(text=text, provider=self.provider, model=self.model, echo=part.echo, tag=part.tag)
                )
            elif text or part.echo is not None:
                parts.append(Text(text=text, echo=self._echo_of(part), written=part.written))
        return Message(role="assistant", parts=tuple(parts), stop=self.stop, turn=turn)

    def _echo_of(self, part: _Part) -> Echo | None:
        return None if part.echo is None else Echo(provider=self.provider, model=self.model, value=part.echo)
