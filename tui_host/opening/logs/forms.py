"""Ways to write a word that may name exchanges: each that stands beside all of them, as long as what is heard allows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from tui_host.errors import JSON
from tui_host.opening.drafts import read_value
from tui_host.opening.quote import Around

_EVENT = re.compile(rb"(?m)^data:[ \t]?(\{.*)")


class Form(Protocol):
    """What was heard of one way to write such a word."""

    def asks(self, value: str, body: int) -> bool:
        """A request with it; says whether that may be."""
        ...

    def says(self, value: str, events: Sequence[JSON]) -> bool:
        """Events of an answer, or all of it; says whether that may be."""
        ...


F = TypeVar("F", bound=Form)


class Forms(Generic[F]):
    """Hears all that was on the wires of models, and drops each form that cannot be it.

    Args:
        made: Makes what hears one.
        marks_in: What may name an exchange, by how it is written.
    """

    def __init__(self, made: Callable[[], F], marks_in: Callable[[Around], Mapping[str, str]]) -> None:
        self._made = made
        self._marks_in = marks_in
        self._left: dict[str, F] | None = None

    @property
    def left(self) -> Mapping[str, F]:
        """Those that may still be it."""
        return self._left or {}

    def hear(self, found: Around, data: bytes, value: JSON, *, is_request: bool) -> None:
        """Something was on a model's wire.

        Args:
            found: What stands beside it.
            data: Its bytes.
            value: What it says; None for a text of events.
            is_request: It is a request; else an answer, or a part of one.
        """
        if self._left == {}:
            return
        marks = self._marks_in(found)
        if self._left is None:
            self._left = {form: self._made() for form in marks}
        events = [value] if value is not None else list(_events_in(data))
        self._left = {
            form: each
            for form, each in self._left.items()
            if form in marks and (each.asks(marks[form], hash(data)) if is_request else each.says(marks[form], events))
        }


def _events_in(data: bytes) -> Iterator[JSON]:
    """What the events of a stream say."""
    return (value for event in _EVENT.findall(data) if (value := read_value(event)) is not None)
