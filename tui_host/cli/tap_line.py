"""The line that a person gets of one thing that passed a tap: its columns, and what stands in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tui_host.capture.record import Direction, Record
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import line, visible
from tui_host.cli.cells import clipped, padded

ERROR = "ERROR"
"""Stands in every line that tells of something that went wrong, and in capitals nowhere else but in what is foreign."""
SAID = 80
"""Cells of what was said, and of a call with its arguments."""
_PEER, _REF, _SIZE, _TIME = 8, 4, 5, 7
_LONGEST_PEER, _LONGEST_REF = 20, 8
_WORDS = 1000
_ARROWS: dict[Direction | None, str] = {"out": "-->", "in": "<--", None: " * "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line.

    Attributes:
        time_ns: When, on the wall clock.
        peer: The provider's or server's name.
        direction: `out` from the host, None for what is no message.
        ref: What leads from an answer to its question: the exchange's number, or the frame's id.
        size: Bytes; None where nothing has a size.
        took_ns: How long an answer took; None for what is none.
        words: What it is, foreign text too.
    """

    time_ns: int
    peer: str
    words: str
    direction: Direction | None = None
    ref: str = ""
    size: int | None = None
    took_ns: int | None = None

    @property
    def text(self) -> str:
        """The line, with nothing in it that a terminal would obey."""
        moment = datetime.fromtimestamp(self.time_ns / 1_000_000_000).astimezone()
        size = "" if self.size is None else short_size(self.size)
        took = "" if self.took_ns is None else short_time(self.took_ns / 1_000_000)
        columns = (
            f"{moment:%H:%M:%S}.{self.time_ns // 1_000_000 % 1000:03d}",
            padded(line(self.peer, _LONGEST_PEER), _PEER),
            _ARROWS[self.direction],
            padded(line(self.ref, _LONGEST_REF), _REF),
            f"{size:>{_SIZE}}",
            f"{took:>{_TIME}}",
            line(" ".join(self.words.split()), _WORDS),
        )
        return " ".join(columns).rstrip()


def begun(record: Record) -> Line:
    """The line of a record, without words."""
    draft = record.draft
    return Line(time_ns=record.time_ns, peer=draft.peer, direction=draft.direction, size=len(draft.data), words="")


def short(text: str, most: int = SAID) -> str:
    """The beginning of a foreign text in one line, in at most so many cells."""
    return clipped(visible(" ".join(text[: 4 * most].split()), newlines=False), most)
