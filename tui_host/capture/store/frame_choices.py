"""What a person decided on a frame: which call it carried, or that it did not carry one. Kept in the store, and in no export."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.store.rows import storable
from tui_host.capture.store.writer import Write

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store

_READ = "SELECT call, capture, seq, joined FROM frame_choices WHERE capture = ? ORDER BY seq, call"
_SAVE = "INSERT OR REPLACE INTO frame_choices (call, capture, seq, joined) VALUES (?, ?, ?, ?)"
_REMOVE = "DELETE FROM frame_choices WHERE call = ? AND capture = ? AND seq = ?"


@dataclass(frozen=True, slots=True)
class FrameChoice:
    """A decision on a call and a frame.

    Attributes:
        call: The call, as its links name it.
        frame: Capture and number of the frame.
        is_joined: Whether the frame carried the call.
    """

    call: str
    frame: tuple[str, int]
    is_joined: bool


def frame_choices(store: Store, captures: Iterable[str]) -> Sequence[FrameChoice]:
    """Return the decisions on the frames of some captures. Blocks on the disk."""
    return [
        FrameChoice(text_or_empty(call), (text_or_empty(name), number_or_zero(seq)), bool(joined))
        for capture in captures
        for call, name, seq, joined in store.read(_READ, capture)
    ]


def choose_frame(store: Store, call: str, frame: tuple[str, int], *, is_joined: bool | None) -> None:
    """Save a decision at once, replacing an earlier one; None forgets it."""
    if is_joined is None:
        store.put(Write(sql=_REMOVE, row=(storable(call), *frame)))
    else:
        store.put(Write(sql=_SAVE, row=(storable(call), *frame, int(is_joined))))
