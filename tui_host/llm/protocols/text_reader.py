"""What the readers of the plain-text tool protocols share: which events they read, and which were never offered to the model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from tui_host.llm.events import (
    CallArguments,
    CallMalformed,
    CallStarted,
    ModelEvent,
    Stopped,
    TextDelta,
    TextWasThinking,
    ThinkingDelta,
)
from tui_host.llm.messages import Stop
from tui_host.llm.protocols.pending_text import Held, slices
from tui_host.llm.protocols.trailing_text import Behind


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
