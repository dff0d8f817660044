"""The part of an answer's state common to all dialects: end, usage, failure, calls."""

from __future__ import annotations

from dataclasses import dataclass

from tui_host.errors import JSON
from tui_host.llm.events import CallsLeftOut, CallStarted, Failed, ModelEvent, UsageReported
from tui_host.llm.fold import MOST_CALLS
from tui_host.llm.messages import Usage

_LONGEST_NAME = 1000


@dataclass(slots=True)
class AnswerState:
    """The state of one answer.

    Attributes:
        has_read: Whether any piece of an answer has come.
        has_foreign: Whether anything has come that is no part of an answer.
        has_failed: Whether the provider has sent an error.
        is_over: Whether the answer has said that nothing follows.
        calls: The number of calls, including those beyond the limit.
        reason: The provider's reason for the end, empty before.
        reason_span: The bytes of the event with the reason.
        mark: The provider's mark for the end of the stream, such as `[DONE]`, empty before.
        usage: The usage that was reported last.
    """

    has_read: bool = False
    has_foreign: bool = False
    has_failed: bool = False
    is_over: bool = False
    calls: int = 0
    reason: str = ""
    reason_span: tuple[int, int] = (0, 0)
    mark: str = ""
    usage: Usage | None = None

    @property
    def is_foreign(self) -> bool:
        """Whether nothing in the body belongs to an answer."""
        return self.has_foreign and not (self.has_read or self.mark or self.has_failed)

    def finish(self, reason: str, start: int, end: int) -> None:
        """Keep the provider's reason for the end, if given."""
        if reason:
            self.reason, self.reason_span = reason, (start, end)

    def fail(self, message: str, vendor: str, start: int, end: int) -> Failed:
        """Mark the answer as failed, and return the event with the error."""
        self.has_failed = True
        return Failed(message=message or "an error without a word", vendor=vendor, start=start, end=end)

    def report(self, usage: Usage | None, start: int, end: int) -> list[ModelEvent]:
        """Return an event with the usage; nothing if the same usage was reported before."""
        if usage is None or usage in (self.usage, Usage()):
            return []
        self.usage = usage
        return [UsageReported(usage=usage, start=start, end=end)]

    def open_call(
        self, wire_id: JSON, name: JSON, start: int, end: int, echo: JSON = None
    ) -> tuple[int | None, list[ModelEvent]]:
        """Begin the next call. Returns the call's number, None beyond the limit, and events."""
        number = self.calls
        self.calls += 1
        if number >= MOST_CALLS:
            return None, [CallsLeftOut(start=start, end=end)] if number == MOST_CALLS else []
        return number, [call_started(number, wire_id, name, start, end, echo)]


def call_started(index: int, wire_id: JSON, name: JSON, start: int, end: int, echo: JSON = None) -> CallStarted:
    """Make the event for the id and the name of a call; values that are not strings count as absent."""
    return CallStarted(
        index=index,
        wire_id=wire_id if isinstance(wire_id, str) else "",
        name=name[:_LONGEST_NAME] if isinstance(name, str) else "",
        echo=echo,
        start=start,
        end=end,
    )
