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
    TextRead,
    TextWasThinking,
    ThinkingDelta,
    Unreadable,
    UsageReported,
    VendorToolUsed,
)
from tui_host.llm.messages import Echo, Message, Part, Stop, Text, Thinking, ToolCall, Usage

MOST_CALLS = 128
MOST_ARGUMENTS = 4 << 20
"""The most characters of one call's arguments."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_BETWEEN_EVENTS = len("\r\n\r\n")

Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedCall:
    """A call read out of a response.

    Attributes:
        spans: The bytes of the call in the response, in order; adjacent events are joined to a range.
        complete: Whether the arguments are all there: not cut by the token limit, the stream's end, or a limit of ours.
            While the answer is streaming, the last call is not complete.
    """

    call: ToolCall
    spans: tuple[Range, ...]
    complete: bool = True


@dataclass(slots=True)
class _Words:
    pieces: list[str] = field(default_factory=list[str])
    is_thinking: bool = False
    written: str = ""
    has_ended: bool = False
    echo: JSON = None
    tag: str = ""


@dataclass(slots=True)
class _Call:
    index: int
    wire_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    size: int = 0
    spans: list[Range] = field(default_factory=list[Range])
    written: str = ""
    echo: JSON = None


class Fold:
    """An answer that grows with each event, in linear time. Any order of events is accepted.

    `call_id` returns an id, unique in the session, for the n-th call of the answer, from 0. Only the `provider` and
    `model` get back what is theirs, such as the thinking.
    """

    def __init__(self, *, provider: str, model: str, call_id: Callable[[int], str]) -> None:
        self.usage = Usage()
        self.stop: Stop | None = None
        self.vendor_stop = ""  # the provider's own value for the reason of the end
        self.failure = ""  # the provider's words for an error inside the response
        self.unreadable = 0
        self.vendor_runs: list[VendorToolUsed] = []
        self.sources: list[CitedPage] = []  # those that the vendor's tools or the answer name, without repeats
        self.has_calls_left_out = False
        self._provider = provider
        self._model = model
        self._call_id = call_id
        self._clear()

    def _clear(self) -> None:
        self.malformed: list[CallMalformed] = []
        self.cut_off: list[CutOff] = []  # the model's words after its call, which are not part of the answer
        self.options: tuple[str, ...] = ()  # the answers to choose from that a question to the user proposes
        self._blocks: list[_Words | _Call] = []
        self._calls: dict[int, _Call] = {}

    @property
    def has_begun(self) -> bool:
        """Whether anything of an answer has come: words, thinking, a call, or a broken call."""
        return bool(self._blocks or self.malformed or self.cut_off)

    def add(self, event: ModelEvent) -> None:
        """Add an event to the message."""
        match event:
            case TextDelta():
                self._words(thinking=False).pieces.append(event.text)
            case ThinkingDelta():
                words = self._words(thinking=True)
                words.pieces.append(event.text)
                words.tag = words.tag or event.tag
            case CallStarted():
                self._start(event)
            case CallArguments():
                self._arguments(event)
            case PartEnded():
                self._end_part(event)
            case TextRead():
                self._blocks.append(_Words(pieces=[event.text], written=event.written, has_ended=True))
                self.options = event.options
            case TextWasThinking():
                self._text_was_thinking()
            case Repeated():
                if event.restarts:
                    self._clear()
            case _:
                self._note(event)

    def _note(self, event: ModelEvent) -> None:
        """Keep what is no part of the message."""
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
                raise TypeError(event)

    def _words(self, *, thinking: bool) -> _Words:
        last = self._blocks[-1] if self._blocks else None
        if isinstance(last, _Words) and last.is_thinking == thinking and not last.has_ended:
            return last
        block = _Words(is_thinking=thinking)
        self._blocks.append(block)
        return block

    def _end_part(self, event: PartEnded) -> None:
        is_thinking = event.kind == "thinking"
        words = (block for block in reversed(self._blocks) if isinstance(block, _Words) and block.is_thinking)
        # Data for the thinking may come when the text has begun.
        block = next((block for block in words if is_thinking and not block.has_ended), None)
        block = block or self._words(thinking=is_thinking)
        block.has_ended, block.echo, block.written = True, event.echo, event.written

    def _text_was_thinking(self) -> None:
        """Turn all text so far, and the calls extracted from it, into thinking."""
        for number, block in enumerate(self._blocks):
            if isinstance(block, _Words):
                block.is_thinking = True
            elif block.written:
                self._blocks[number] = _Words(is_thinking=True, pieces=[block.written])
                del self._calls[block.index]
        self._blocks += [_Words(is_thinking=True, pieces=[cut.text]) for cut in self.cut_off]
        self.cut_off.clear()
        self.malformed.clear()
        self.options = ()

    def _start(self, event: CallStarted) -> None:
        call = self._calls.get(event.index)
        if call is None:
            if len(self._calls) >= MOST_CALLS:
                self.has_calls_left_out = True
                return
            call = self._calls[event.index] = _Call(event.index)
            self._blocks.append(call)
        call.wire_id = event.wire_id or call.wire_id
        call.name = event.name or call.name
        call.written = event.written or call.written
        if event.echo is not None:
            call.echo = event.echo
        _extend(call.spans, event.start, event.end)

    def _arguments(self, event: CallArguments) -> None:
        call = self._calls.get(event.index)
        if call is None or call.size > MOST_ARGUMENTS:
            return
        if event.anew:
            call.pieces.clear()
            call.size = 0
        call.size += len(event.text)
        if call.size <= MOST_ARGUMENTS:  # what is longer is incomplete JSON, so it cannot run by mistake
            call.pieces.append(event.text)
            _extend(call.spans, event.start, event.end)

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return "".join(text for text, _ in self.runs)

    @property
    def thinking(self) -> str:
        """The thinking so far."""
        return "".join(thinking for _, thinking in self.runs)

    @property
    def runs(self) -> Sequence[tuple[str, str]]:
        """Text and thinking so far, split at the calls."""
        runs = [("", "")]
        for block in self._blocks:
            text, thinking = runs[-1]
            if isinstance(block, _Call):
                runs.append(("", ""))
            elif block.is_thinking:
                runs[-1] = text, thinking + _whole(block.pieces)
            else:
                runs[-1] = text + _whole(block.pieces), thinking
        return runs

    @property
    def calls(self) -> tuple[FoldedCall, ...]:
        """The calls so far, in the model's order."""
        ordered = sorted(self._calls.values(), key=lambda call: call.index)
        has_ended = self.stop in {"end", "tools", "paused"}
        folded: list[FoldedCall] = []
        for number, call in enumerate(ordered):
            asked = ToolCall(
                id=self._call_id(number),
                wire_id=call.wire_id,
                name=call.name,
                arguments=_whole(call.pieces),
                echo=self._echo_of(call),
                written=call.written,
            )
            is_ended = bool(call.written) or call is not ordered[-1] or has_ended
            is_whole = is_ended and call.size <= MOST_ARGUMENTS
            folded.append(FoldedCall(call=asked, spans=tuple(call.spans), complete=is_whole))
        return tuple(folded)

    def message(self, *, turn: int) -> Message:
        """Return the answer as an assistant message, with the parts in the order in which they began."""
        calls = iter(self.calls)
        parts: list[Part] = []
        for block in self._blocks:
            if isinstance(block, _Call):
                parts.append(next(calls).call)
                continue
            text, of = _whole(block.pieces), {"provider": self._provider, "model": self._model}
            if block.is_thinking and (text or block.echo is not None):
                parts.append(Thinking(text=text, echo=block.echo, tag=block.tag, **of))
            elif text or block.echo is not None:
                parts.append(Text(text=text, echo=self._echo_of(block), written=block.written))
        return Message(role="assistant", parts=tuple(parts), stop=self.stop, turn=turn)

    def _echo_of(self, block: _Words | _Call) -> Echo | None:
        return None if block.echo is None else Echo(provider=self._provider, model=self._model, value=block.echo)


def _whole(pieces: list[str]) -> str:
    """Join the pieces in place and return the text; surrogate pairs split between two events become characters."""
    if len(pieces) != 1:
        pieces[:] = ["".join(pieces)]
    text = pieces[0]
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _extend(spans: list[Range], start: int, end: int) -> None:
    if spans and start <= spans[-1][1] + _BETWEEN_EVENTS:
        spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
    else:
        spans.append((start, end))
