"""The items of an answer of Responses while they come, found again by whatever an event names them by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_host.errors import JSON


@dataclass(slots=True)
class OpenItem:
    """An item of the output that is being streamed.

    Attributes:
        kind: The vendor's word for what it is; empty while that has not been said.
        call: The number of the call it is; None if it is none, or one too many.
        pieces: What was streamed of what it says.
        is_done: Its whole has come.
    """

    kind: str = ""
    call: int | None = None
    pieces: list[str] = field(default_factory=list[str])
    is_done: bool = False


class OpenItems:
    """The items of one answer."""

    def __init__(self) -> None:
        self._by_index: dict[int, OpenItem] = {}
        self._by_id: dict[str, OpenItem] = {}
        self._last: OpenItem | None = None

    @property
    def is_empty(self) -> bool:
        """Whether none has come."""
        return self._last is None

    def add(self, event: Mapping[str, JSON], item: Mapping[str, JSON]) -> OpenItem:
        """Another item, which an event begins, or is the first to speak of."""
        kind, index = item.get("type"), _index_in(event)
        there = self._last = OpenItem(kind=kind if isinstance(kind, str) else "")
        if index is not None:
            self._by_index[index] = there
        for name in (item.get("id"), event.get("item_id")):
            if isinstance(name, str) and name:
                self._by_id[name] = there
        return there

    def find(self, event: Mapping[str, JSON], item: Mapping[str, JSON] | None = None) -> OpenItem | None:
        """The item that an event is about: by its id, which some services write anew each time, by its place, or the last."""
        name = event.get("item_id") if item is None else item.get("id")
        there = self._by_id.get(name) if isinstance(name, str) else None
        if there is not None:
            return there
        index = _index_in(event)
        return self._last if index is None else self._by_index.get(index)

    def is_named(self, item: Mapping[str, JSON], there: OpenItem) -> bool:
        """Whether the whole of an item bears the id of one that has come."""
        return there is self._by_id.get(str(item.get("id")))


def _index_in(event: Mapping[str, JSON]) -> int | None:
    index = event.get("output_index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None
