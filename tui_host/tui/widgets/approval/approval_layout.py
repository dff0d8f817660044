"""How the approval's room is shared out: arguments and keys stay to the last, the description folds first."""

from __future__ import annotations

from dataclasses import dataclass

SMALLEST_WIDTH = 26
"""Cells inside the frame below which a tool's name and its arguments cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Lines that each part would like to have."""

    calls: int
    description: int
    arguments: int
    message: int
    keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Lines that each part gets.

    Attributes:
        framed: The arguments stand in a frame of their own (two more lines); else a line below says how many are left.
        enough: What would be approved can be seen.
    """

    calls: int
    description: int
    arguments: int
    message: int
    keys: int
    framed: bool
    enough: bool


def share(height: int, width: int, wanted: Wanted) -> Room:
    """Share `height` lines of `width` cells."""
    left = max(0, height)
    calls = min(1, left)
    left -= calls
    arguments = min(1, left)
    left -= arguments
    note = min(1, left)  # how much of them is not on the screen
    left -= note
    enough = note == 1 and width >= SMALLEST_WIDTH
    message = min(wanted.message, left)
    left -= message
    keys = min(wanted.keys, left)
    left -= keys
    framed = left >= 4 and note == 1
    if framed:
        left -= 1  # its second line takes the place of the note
    more = min(wanted.arguments - arguments, left, 4)
    arguments += max(0, more)
    left -= max(0, more)
    more = min(wanted.calls - calls, left, 4)
    calls += max(0, more)
    left -= max(0, more)
    description = min(wanted.description, left, 3)
    left -= description
    arguments += max(0, min(wanted.arguments - arguments, left))
    return Room(
        calls=calls,
        description=description,
        arguments=arguments,
        message=message,
        keys=keys,
        framed=framed,
        enough=enough,
    )
