"""What the readers of all dialects have in common: the events of one answer, its calls, its end, its faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from tui_host.errors import JSON
from tui_host.llm.events import (
    CallArguments,
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


class AnswerReader:
    """The reading of one answer: a dialect's subclass turns JSON values into events, which the methods here add.

    Attributes:
        dialect: The dialect's name, with which data to send back is kept: one model may be used in several dialects.
        stops: Why an answer ended, by the provider's word; `otherwise` for all other words.
        answers: Members by one of which an answer without streaming is known.
        events: The events since they were last taken.
        start: First byte of the vendor's event being read; `end` is one past its last.
        has_read: Whether any piece of an answer has come.
        has_foreign: Whether anything has come that is no part of an answer.
        is_over: Whether the answer has said that nothing follows.
        refuses: Whether the answer's text is a refusal.
        calls: The number of calls, including those beyond the limit.
        reason: The provider's reason for the end, empty before; `reason_span` are the bytes of the event with it.
        mark: The provider's mark for the end of the stream, such as `[DONE]`, empty before.
    """

    dialect = ""
    stops: Mapping[str, Stop] = {}
    otherwise: Stop = "end"
    answers: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        self.start = 0
        self.end = 0
        self.has_read = False
        self.has_foreign = False
        self.has_failed = False
        self.is_over = False
        self.refuses = False
        self.calls = 0
        self.reason = ""
        self.reason_span = (0, 0)
        self.mark = ""
        self._usage: Usage | None = None

    def event(self, value: dict[str, JSON], data: bytes) -> None:
        """Read an event of a stream; `data` are its bytes."""
        raise NotImplementedError

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
        if self.stop() == "failed" and not self.has_failed:
            self.fail(message or f"the provider ended the answer with {word!r}", word)

    def stop(self) -> Stop:
        """Say why the answer ended, given that it neither failed nor was cut; where the reason is plain, calls decide."""
        stop = self.stops.get(self.reason.partition(":")[0], self.otherwise)
        if stop == "end" and self.calls:
            return "tools"
        return "refused" if stop == "end" and self.refuses else stop

    def outside(self, value: Mapping[str, JSON]) -> None:
        """Read an event that is no part of an answer: the provider's error, or anything else."""
        fault = fault_in(value)
        if fault is None:
            self.has_foreign = True
        else:
            self.fail(*fault)

    @property
    def is_foreign(self) -> bool:
        """Whether nothing in the body belongs to an answer."""
        return self.has_foreign and not (self.has_read or self.mark or self.has_failed)

    def take(self) -> list[ModelEvent]:
        """Return the events since they were last taken."""
        events, self.events = self.events, []
        return events

    def text(self, text: JSON) -> None:
        """Add text; anything but a text is left out, here and in the other methods."""
        if isinstance(text, str) and text:
            self.events.append(TextDelta(text=text, start=self.start, end=self.end))

    def thinking(self, text: JSON, tag: str = "") -> None:
        """Add thinking."""
        if isinstance(text, str) and text:
            self.events.append(ThinkingDelta(text=text, tag=tag, start=self.start, end=self.end))

    def say(self, kind: str, words: JSON) -> None:
        """Add thinking, or text for any other kind of words."""
        if kind == "thinking":
            self.thinking(words)
        else:
            self.text(words)

    def end_part(self, kind: Literal["text", "thinking"], echo: Mapping[str, JSON] | None = None) -> None:
        """End a part, with data to send back."""
        self.events.append(PartEnded(kind=kind, echo=self._kept(echo), start=self.start, end=self.end))

    def _kept(self, echo: Mapping[str, JSON] | None) -> JSON:
        return {self.dialect: echo} if echo else None

    def open_call(self, wire_id: JSON, name: JSON, echo: Mapping[str, JSON] | None = None) -> int:
        """Begin the next call. Returns the call's number."""
        self.calls += 1
        self.name_call(self.calls - 1, wire_id, name, echo)
        return self.calls - 1

    def name_call(self, number: int, wire_id: JSON, name: JSON, echo: Mapping[str, JSON] | None = None) -> None:
        """Say the id, the name, or the data to send back of a call, or count the event as bytes of the call."""
        wire_id = wire_id if isinstance(wire_id, str) else ""
        name = name[:_LONGEST_NAME] if isinstance(name, str) else ""
        self.events.append(
            CallStarted(index=number, wire_id=wire_id, name=name, echo=self._kept(echo), start=self.start, end=self.end)
        )

    def arguments(self, number: int | None, text: str, *, anew: bool = False) -> None:
        """Add to the arguments of a call, or replace them."""
        if number is not None and text:
            self.events.append(CallArguments(index=number, text=text, anew=anew, start=self.start, end=self.end))

    def report(self, usage: Usage | None) -> None:
        """Report the usage, unless the same usage was reported before."""
        if usage is not None and usage not in (self._usage, Usage()):
            self._usage = usage
            self.events.append(UsageReported(usage=usage, start=self.start, end=self.end))

    def finish(self, reason: JSON) -> None:
        """Keep the provider's reason for the end, if given."""
        if isinstance(reason, str) and reason:
            self.reason, self.reason_span = reason, (self.start, self.end)

    def fail(self, message: str, vendor: str = "") -> None:
        """Add the provider's error."""
        self.has_failed = True
        message = message or "an error without a word"
        self.events.append(Failed(message=message, vendor=vendor, start=self.start, end=self.end))

    def unreadable(self, reason: str) -> None:
        """Say that an event, or a part of it, could not be read."""
        self.events.append(Unreadable(reason=reason, start=self.start, end=self.end))

    def repeat(self, *, restarts: bool = False) -> None:
        """Say that something came twice; with `restarts` the answer begins anew."""
        self.calls = 0 if restarts else self.calls
        self.events.append(Repeated(restarts=restarts, start=self.start, end=self.end))

    def used(self, name: JSON, given: JSON) -> None:
        """Say that a built-in tool of the vendor ran, with its input, such as a search's words."""
        if not isinstance(name, str) or not name:
            return
        values = [given.get(member) for member in _ASKED] if isinstance(given, Mapping) else []
        texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
        asked = "; ".join(dict.fromkeys(text for text in texts if isinstance(text, str) and text))
        self.events.append(VendorToolUsed(tool=name, asked=asked, start=self.start, end=self.end))

    def cite(self, values: JSON) -> None:
        """Add the sources in some values: objects that have a URL, or contain an object with a URL."""
        sources = tuple(_sources(values if isinstance(values, list) else [values]))
        if sources:
            self.events.append(VendorToolUsed(sources=sources, start=self.start, end=self.end))


def _sources(values: Iterable[JSON]) -> Iterable[CitedPage]:
    for value in values:
        if not isinstance(value, Mapping):
            continue
        for place in (value, value.get("url_citation"), value.get("web")):
            if not isinstance(place, Mapping):
                continue
            url, title = place.get("url") or place.get("uri"), place.get("title")
            if isinstance(url, str) and url:
                yield CitedPage(url=url, title=title if isinstance(title, str) else "")
