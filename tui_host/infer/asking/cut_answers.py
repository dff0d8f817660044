"""Where something is missing in an answer, as a logger cut off what an event says: a mark stands there, so that nothing is read as if whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tui_host.llm.events import CallArguments, CallStarted, ModelEvent, Stopped, TextDelta, ThinkingDelta, Unreadable

MARK = "[…cut off…]"


class Gaps:
    """Puts a mark before what comes next behind an event that was cut; only for an answer of which that is known.

    Behind the last there is none, as it is told there how the answer ended; but for a call's arguments that are no whole value.
    """

    def __init__(self) -> None:
        self._is_open = False
        self._call: CallArguments | None = None
        self._arguments: list[str] = []

    def mark(self, events: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
        """The same events, and marks between them."""
        for event in events:
            match event:
                case Unreadable():
                    self._is_open |= event.is_cut
                case CallStarted():
                    yield from self._start(event)
                case TextDelta() | ThinkingDelta() | CallArguments():
                    yield from self._say(event)
                    continue
                case Stopped():
                    yield from self._end_call()
                case _:
                    pass
            yield event

    def _start(self, event: CallStarted) -> Iterator[ModelEvent]:
        if self._call is not None and self._call.index == event.index:
            return  # more of the same
        yield from self._end_call()
        if self._is_open:
            yield TextDelta(text=MARK, start=event.start, end=event.start)
            self._is_open = False
        self._call = CallArguments(index=event.index, text="", start=event.end, end=event.end)

    def _say(self, event: TextDelta | ThinkingDelta | CallArguments) -> Iterator[ModelEvent]:
        if isinstance(event, CallArguments):
            if self._call is None:
                yield event
                return  # of a call whose beginning is not there, which nobody shows
            if event.anew:
                self._arguments.clear()
            self._arguments.append(event.text)
        is_marked = self._is_open and bool(event.text) and not (isinstance(event, CallArguments) and event.anew)
        self._is_open &= not event.text
        yield replace(event, text=f"{MARK}{event.text}") if is_marked else event

    def _end_call(self) -> Iterator[ModelEvent]:
        call, arguments = self._call, "".join(self._arguments)
        self._call, self._arguments = None, []
        if self._is_open and call is not None and not _is_object(arguments):
            self._is_open = False
            yield replace(call, text=MARK)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
