"""The content blocks of an answer while they are streamed, found again by their index. Source: llm-dialects.md, section 5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_host.errors import JSON


@dataclass(slots=True)
class Block:
    """A content block that is being streamed.

    Attributes:
        value: As it began.
        kind: The vendor's word for what it is.
        call: The number of the call it is; None if it is none, or one too many.
        pieces: What came of its input, as JSON text.
        start: First byte of the event in which it began.
        end: One past its last.
        input: The input's text in that event.
    """

    value: dict[str, JSON]
    kind: str = field(init=False)
    start: int
    end: int
    call: int | None = None
    pieces: list[str] = field(default_factory=list[str])
    input: str = ""
    has_ended: bool = False

    def __post_init__(self) -> None:
        kind = self.value.get("type")
        self.kind = kind if isinstance(kind, str) else ""


class OpenBlocks:
    """The blocks of one answer. Services that take after the vendor leave the index out, or give all blocks the same."""

    def __init__(self) -> None:
        self._by_index: dict[int, Block] = {}
        self._last: Block | None = None

    def add(self, block: Block, event: Mapping[str, JSON]) -> None:
        """Another block, at the index that its event names, or the next."""
        index = event.get("index")
        self._by_index[index if type(index) is int else len(self._by_index)] = self._last = block

    def at(self, event: Mapping[str, JSON]) -> Block | None:
        """The block that an event is about: the last one where it does not say; None if that has not begun."""
        index = event.get("index")
        if type(index) is int:  # which a truth value is not
            return self._by_index.get(index)
        return self._last
