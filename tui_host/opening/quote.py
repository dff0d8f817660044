"""Something that was on a wire, as an object of a log quotes it, and what stands around it there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening.wire_detection import Known, is_piece


class Around(NamedTuple):
    """What stands around what was on a wire.

    Attributes:
        words: Names and short texts: they may tell a time, and a direction.
        url: The address that is told there; empty if none is.
        key: What names the exchange there; empty if nothing does.
        server: What names the server there; empty if nothing does.
        place: The members in which it stands, from the outermost on.
        members: The short values that stand there, by their names.
    """

    words: str
    url: str = ""
    key: str = ""
    server: str = ""
    place: tuple[str, ...] = ()
    members: Mapping[str, str] = MappingProxyType({})


class Quoted(NamedTuple):
    """Something that was on a wire.

    Attributes:
        around: What stands around it.
        data: It.
        value: What it says; None for a text of events.
        known: What it is; without a dialect a part of a stream that tells none.
        event: What the first event of such a text says.
    """

    around: Around
    data: bytes
    value: JSON
    known: Known
    event: JSON = None

    @property
    def is_stream(self) -> bool:
        """Whether it is a text of events: a whole stream, or a part of one."""
        return self.value is None

    @property
    def is_piece(self) -> bool:
        """Whether it is one piece of a stream, and not its last."""
        return self.known.kind == "answer" and (is_piece(self.value) or mapping(self.value).get("done") is False)

    def says_the_same_as(self, other: Quoted) -> bool:
        """Whether it is another form of the same."""
        return self.data == other.data if self.value is None else self.value == other.value

    def is_beginning_of(self, other: Quoted) -> bool:
        """Whether it is the same once more, and cut off, as who shows how it begins beside it has it."""
        is_cut = self.known.is_cut and self.value is not None and self.known.kind == other.known.kind
        return is_cut and _is_within(self.value, other.value)

    def parses(self, other: Quoted) -> bool:
        """Whether it is what was made of an event that the other has as text."""
        return other.is_stream and self.value is not None and self.value == other.event


def _is_within(value: JSON, other: JSON) -> bool:
    """Whether another value says all that this one does."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return all(name in other and _is_within(item, other[name]) for name, item in value.items())
    if isinstance(value, list) and isinstance(other, list):
        return len(value) <= len(other) and all(map(_is_within, value, other))
    return value == other
