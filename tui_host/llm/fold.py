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
    CallsLeftOut,
    CallStarted,
    CutOff,
    Failed,
    ModelEvent,
    PartEnded,
    QuestionAsked,
    Repeated,
    Source,
    Stopped,
    TextDelta,
    TextRead,
    TextWasThinking,
    ThinkingDelta,
    ThinkingEcho,
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
    is_cut: bool = False
    echo: JSON = None


class Fold:
    """An answer that grows with each event, in linear time. Any order of events is accepted.

    Attributes:
        vendor_stop: The provider's own value for the reason of the end.
        failure: The provider's words for an error inside the response, empty if there was none.
        unreadable: The number of unreadable events.
        cut_off: The model's words after its call, which are not part of the answer.
        vendor_runs: The runs of the vendor's built-in tools, in order.
        sources: The sources that these tools or the answer name, without repeats.
    """

    def __init__(self, *, provider: str, model: str, call_id: Callable[[int], str]) -> None:
        """Start an empty answer.

        Args:
            provider: The name of the provider that may get the thinking back.
            model: The model's name.
            call_id: Returns an id, unique in the session, for the n-th call of the answer, from 0.
        """
        self.usage = Usage()
        self.stop: Stop | None = None
        self.vendor_stop = ""
        self.failure = ""
        self.unreadable = 0
        self.vendor_runs: list[VendorToolUsed] = []
        self.sources: list[Source] = []
        self.has_calls_left_out = False
        self._provider = provider
        self._model = model
        self._call_id = call_id
        self._clear()

    def _clear(self) -> None:
        self.malformed: list[CallMalformed] = []
        self.cut_off: list[CutOff] = []
        self.question: QuestionAsked | None = None
        self._blocks: list[_Words | _Call] = []
        self._calls: dict[int, _Call] = {}

    @property
    def has_begun(self) -> bool:
        """Whether anything of an answer has come: words, thinking, a call, or a broken call."""
        return bool(self._blocks or self.malformed or self.cut_off or self.question)

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
                block = self._words(thinking=event.kind == "thinking")
                block.has_ended, block.echo, block.written = True, event.echo, event.written
            case ThinkingEcho():
                self._echo(event.echo)
            case TextRead():
                self._blocks.append(_Words(pieces=[event.text], written=event.written, has_ended=True))
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
            case QuestionAsked():
                self.question = event
            case UsageReported():
                self.usage = event.usage
            case Stopped():
                self.stop, self.vendor_stop = event.stop, event.vendor
            case Failed():
                self.failure = event.message
            case Unreadable():
                self.unreadable += 1
            case CallsLeftOut():
                self.has_calls_left_out = True
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
        self.question = None

    def _echo(self, echo: JSON) -> None:
        for block in reversed(self._blocks):
            if isinstance(block, _Words) and block.is_thinking:
                block.echo = echo
                return
        self._blocks.insert(0, _Words(is_thinking=True, echo=echo))

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
        if call is None or call.is_cut:
            return
        if event.anew:
            call.pieces.clear()
            call.size = 0
        call.size += len(event.text)
        if call.size > MOST_ARGUMENTS:
            call.is_cut = True  # all that follows is incomplete JSON, so no call can run by mistake
            return
        call.pieces.append(event.text)
        _extend(call.spans, event.start, event.end)

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return self._joined(thinking=False)

    @property
    def thinking(self) -> str:
        """The thinking so far."""
        return self._joined(thinking=True)

    @property
    def runs(self) -> Sequence[tuple[str, str]]:
        """Text and thinking so far, split at the calls."""
        runs: list[tuple[list[str], list[str]]] = [([], [])]
        for block in self._blocks:
            if isinstance(block, _Call):
                runs.append(([], []))
            else:
                runs[-1][block.is_thinking].append(_whole(block.pieces))
        return [("".join(text), "".join(thinking)) for text, thinking in runs]

    def _joined(self, *, thinking: bool) -> str:
        blocks = (block for block in self._blocks if isinstance(block, _Words) and block.is_thinking == thinking)
        return "".join([_whole(block.pieces) for block in blocks])

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
            folded.append(FoldedCall(call=asked, spans=tuple(call.spans), complete=is_ended and not call.is_cut))
        return tuple(folded)

    def message(self, *, turn: int) -> Message:
        """Return the answer as an assistant message, with the parts in the order in which they began."""
        calls = iter(self.calls)
        parts: list[Part] = []
        for block in self._blocks:
            if isinstance(block, _Call):
                parts.append(next(calls).call)
                continue
            text = _whole(block.pieces)
            if not text and block.echo is None:
                continue
            if block.is_thinking:
                parts.append(
                    Thinking(text=text, provider=self._provider, model=self._model, echo=block.echo, tag=block.tag)
                )
            else:
                parts.append(Text(text=text, echo=self._echo_of(block), written=block.written))
        return Message(role="assistant", parts=tuple(parts), stop=self.stop, turn=turn)

    def _echo_of(self, block: _Words | _Call) -> Echo | None:
        return None if block.echo is None else Echo(provider=self._provider, model=self._model, value=block.echo)


def _whole(pieces: list[str]) -> str:
    """Join the pieces in place and return the text; surrogate pairs split between two events become characters."""
    if len(pieces) == 1:
        text = pieces[0]
    else:
        text = "".join(pieces)
        pieces[:] = [text]
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _extend(spans: list[Range], start: int, end: int) -> None:
    if spans and start <= spans[-1][1] + _BETWEEN_EVENTS:
        spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
    else:
        spans.append((start, end))
