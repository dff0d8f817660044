"""What a model writes behind its call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tui_host.llm.events import CallMalformed, CallStarted, CutOff, ModelEvent, TextDelta
from tui_host.llm.messages import ToolSpec

if TYPE_CHECKING:
    from tui_host.llm.protocols.tool_protocol import ToolProtocol

MOST_WAITING = 8 << 10
"""Characters behind a call after which no other is waited for."""
_MOST_LOOKED_AT = 20_000
_MOST_NAMED = 8
_BETWEEN = " \t\r\n,;"


class Behind:
    """Text behind a call waits until it is known what it is: the answer's if another call follows, else made up and cut.

    Args:
        is_said: It is the answer's in any case, and waits for nothing.
    """

    def __init__(self, *, is_said: bool = False) -> None:
        self._is_said = is_said
        self._has_call = False
        self._waiting: list[TextDelta] = []
        self._size = 0
        self._has_cut = False

    def sorted(self, events: Iterable[ModelEvent]) -> list[ModelEvent]:
        """What a reader found, without what has to wait."""
        found: list[ModelEvent] = []
        for event in events:
            match event:
                case TextDelta() if self._has_call and not self._is_said:
                    self._waiting.append(event)
                    self._size += len(event.text)
                    if self._size > MOST_WAITING:
                        found += self.cut()
                case CutOff():
                    found += [*self.cut(), *self._cut(event)]
                case CallStarted() | CallMalformed():
                    found += [*self._waiting, event]
                    self._waiting.clear()
                    self._size = 0
                    self._has_call = True
                case _:
                    found.append(event)
        return found

    def cut(self) -> list[ModelEvent]:
        """What waits, as what is left out of the answer."""
        waiting, self._waiting = self._waiting, []
        return [cut for text in waiting for cut in self._cut(CutOff(text=text.text, start=text.start, end=text.end))]

    def _cut(self, event: CutOff) -> list[ModelEvent]:
        """White space behind a call is nothing."""
        text = event.text if self._has_cut else event.text.lstrip()
        if not text:
            return []
        self._has_cut = True
        return [CutOff(text=text, start=event.start, end=event.end)]


def calls_behind(cut: str, speaks: ToolProtocol, tools: Sequence[ToolSpec]) -> list[str]:
    """The names of the tools that a model asked for in what was cut behind its call: none of these is run.

    Args:
        cut: All that was cut.
        speaks: The tool protocol.
        tools: What the answer may ask for.
    """
    names: list[str] = []
    rest = cut[:_MOST_LOOKED_AT]
    while (rest := rest.lstrip(_BETWEEN)) and len(names) < _MOST_NAMED:
        reader = speaks.reader(tools)
        events = [*reader.feed(TextDelta(text=rest, start=0, end=0)), *reader.finish()]
        found = [event.name for event in events if isinstance(event, CallStarted)]
        if not found:
            break
        names += found
        rest = "".join(event.text for event in events if isinstance(event, CutOff))
    return names[:_MOST_NAMED]
