"""What the readers of all dialects have in common: the events of one answer, its calls, its end, its faults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.llm.events import (
    CallArguments,
    CallMalformed,
    CallStarted,
    CitedPage,
    Failed,
    ModelEvent,
    PartEnded,
    Repeated,
    TextDelta,
    ThinkingDelta,
    Unreadable,
    UsageReported,
    VendorToolUsed,
)
from tui_host.llm.messages import Stop, Usage
from tui_host.llm.provider_faults import fault_in

_LONGEST_NAME = 1000
_ASKED = ("query", "code", "url", "command", "queries")
"""The members of a built-in tool's input that tell what it was asked for."""


@dataclass(eq=False)
class AnswerReader(ABC):
    """The reading of one answer: a dialect's subclass turns JSON values into events, which the methods here add."""

    dialect: ClassVar[str] = (
        ""  # one model may be used in several dialects, so data to send back is kept with the dialect's name
    )
    stops: ClassVar[Mapping[str, Stop]] = {}  # why an answer ended, by the provider's word
    otherwise: ClassVar[Stop] = "end"  # for all other words
    answers: ClassVar[tuple[str, ...]] = ()  # the members by one of which an answer without streaming is known

    events: list[ModelEvent] = field(default_factory=list[ModelEvent])  # since they were last taken
    start: int = 0  # the bytes of the vendor's event being read
    end: int = 0
    has_read: bool = False  # whether any piece of an answer has come
    has_foreign: bool = False  # whether anything has come that is no part of an answer
    has_failed: bool = False
    is_over: bool = False  # whether the answer has said that nothing follows
    refuses: bool = False
    calls: int = 0  # including those beyond the limit
    reason: str = ""  # the provider's, for the end
    reason_span: tuple[int, int] = (0, 0)
    mark: str = ""  # the provider's mark for the end of the stream, such as `[DONE]`
    _usage: Usage | None = None

    @abstractmethod
    def event(self, value: dict[str, JSON], data: bytes) -> None:
        """Read an event of a stream; `data` are its bytes."""

    def whole(self, value: dict[str, JSON], data: bytes) -> Sequence[dict[str, JSON]]:
        """Return the events that say what an answer without streaming says. Empty if the value is no answer."""
        del data
        if not value.keys() & set(self.answers):
            return ()
        self.mark = "[DONE]"
        return [value]

    def closing(self) -> None:
        """Add what was held back until the end of the answer, and the fault that its reason tells."""
        word, _, message = self.reason.partition(": ")
        stop = self.stop()
        if stop == "bad call":
            words = message or f"the provider could not read it ({word})"
            self.events.append(CallMalformed(reason=words, start=self.start, end=self.end))
        if stop == "failed" and not self.has_failed:
            self.fail(message or f"the provider ended the answer with {word!r}", word)

    def stop(self) -> Stop:
        """Say why the answer ended, given that it neither failed nor was cut."""
        stop = self.stops.get(self.reason.partition(":")[0], self.otherwise)
        if stop == "end" and self.calls:  # not all providers have a reason of its own for calls
            return "tools"
        return "refused" if stop == "end" and self.refuses else stop

    def outside(self, value: Mapping[str, JSON]) -> None:
        """Read an event that is no part of an answer: the provider's error, or anything else."""
        fault, status = fault_in(value), value.get("status")
        if fault is None:
            self.has_foreign = True
        else:
            self.fail(fault[0], fault[1] or (str(status) if isinstance(status, int) else ""))

    def text(self, text: JSON) -> None:
        """Add text; anything but a text is left out, here and in the other methods."""
        if isinstance(text, str) and text:
            self.events.append(TextDelta(text=text, start=self.start, end=self.end))

    def thinking(self, text: JSON, tag: str = "") -> None:
        if isinstance(text, str) and text:
            self.events.append(ThinkingDelta(text=text, tag=tag, start=self.start, end=self.end))

    def end_part(self, kind: Literal["text", "thinking"], echo: Mapping[str, JSON] | None = None) -> None:
        kept: JSON = {self.dialect: echo} if echo else None
        self.events.append(PartEnded(kind=kind, echo=kept, start=self.start, end=self.end))

    def call(self, number: int | None, wire_id: JSON, name: JSON, echo: Mapping[str, JSON] | None = None) -> int:
        """Begin the next call if the number is None, else say more of a call: its id, its name, or data to send back.

        Returns the call's number. The event counts as bytes of the call.
        """
        if number is None:
            number, self.calls = self.calls, self.calls + 1
        wire_id = wire_id if isinstance(wire_id, str) else ""
        name = name[:_LONGEST_NAME] if isinstance(name, str) else ""
        kept: JSON = {self.dialect: echo} if echo else None
        self.events.append(
            CallStarted(index=number, wire_id=wire_id, name=name, echo=kept, start=self.start, end=self.end)
        )
        return number

    def arguments(self, number: int | None, text: str, *, anew: bool = False) -> None:
        """Add to the arguments of a call, or replace them."""
        if number is not None and text:
            self.events.append(CallArguments(index=number, text=text, anew=anew, start=self.start, end=self.end))

    def report(self, usage: Usage) -> None:
        if usage not in (self._usage, Usage()):  # many services repeat it in each event
            self._usage = usage
            self.events.append(UsageReported(usage=usage, start=self.start, end=self.end))

    def finish(self, reason: JSON) -> None:
        if isinstance(reason, str) and reason:
            self.reason, self.reason_span = reason, (self.start, self.end)

    def fail(self, message: str, vendor: str = "") -> None:
        self.has_failed = True
        message = message or "an error without a word"
        self.events.append(Failed(message=message, vendor=vendor, start=self.start, end=self.end))

    def unreadable(self, reason: str) -> None:
        self.events.append(Unreadable(reason=reason, start=self.start, end=self.end))

    def repeat(self, *, restarts: bool = False) -> None:
        """Say that something came twice; with `restarts` the answer begins anew."""
        self.calls = 0 if restarts else self.calls
        self.events.append(Repeated(restarts=restarts, start=self.start, end=self.end))

    def used(self, name: JSON, given: JSON) -> None:
        """Say that a built-in tool of the vendor ran, with its input, such as a search's words."""
        if not isinstance(name, str) or not name:
            return
        values = [mapping(given).get(member) for member in _ASKED]
        texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
        asked = "; ".join(dict.fromkeys(text for text in texts if isinstance(text, str) and text))
        self.events.append(VendorToolUsed(tool=name, asked=asked, start=self.start, end=self.end))

    def cite(self, values: JSON) -> None:
        """Add the sources in some values: objects that have a URL, or contain an object with a URL."""
        found = map(mapping, values if isinstance(values, list) else [values])
        places = [mapping(place) for value in found for place in (value, value.get("url_citation"), value.get("web"))]
        named = [(place.get("url") or place.get("uri"), text_or_empty(place.get("title"))) for place in places]
        sources = tuple(CitedPage(url=url, title=title) for url, title in named if isinstance(url, str) and url)
        if sources:
            self.events.append(VendorToolUsed(sources=sources, start=self.start, end=self.end))
