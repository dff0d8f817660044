"""Lays out a line of `--log -` in columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tui_host.capture.record import Direction, Record
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import line, visible
from tui_host.cli.columns import clipped, padded

ERROR = "ERROR"
"""Marks every line about a failure. No other text of the log contains it in capitals."""
SAID = 80
"""Number of cells for quoted text, and for a call with its arguments."""
_PEER, _REF, _SIZE, _TIME = 8, 4, 5, 7
_LONGEST_PEER, _LONGEST_REF = 20, 8
_WORDS = 1000
_ARROWS: dict[Direction | None, str] = {"out": "-->", "in": "<--", None: " * "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the log, before it is formatted.

    Attributes:
        direction: `out` for a message from the host, `in` for a message to it, None for anything else.
        ref: Joins an answer to its request: the exchange's number, or the frame's id.
        size: Size of the message in bytes, None if it has no size.
        took_ns: Time from the request to this answer, None for other lines.
        words: The text of the line, not yet made safe.
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
        """The formatted line, made safe for a terminal."""
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
    """Return a line with the time, direction and size of a record, but without text."""
    draft = record.draft
    return Line(time_ns=record.time_ns, peer=draft.peer, direction=draft.direction, size=len(draft.data), words="")


def short(text: str, most: int = SAID) -> str:
    """Return the beginning of a text on one line of at most `most` cells."""
    return clipped(visible(" ".join(text[: 4 * most].split()), newlines=False), most)
