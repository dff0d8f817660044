"""The columns of a line in `--log -`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tui_host.capture.record import Direction, Record
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import line, visible
from tui_host.cli.columns import clipped, padded

ERROR = "ERROR"
"""Marks every line about a failure; our own text uses it in capitals nowhere else."""
SAID = 80
"""Cells for quoted text, and for a call with its arguments."""
_PEER, _REF, _SIZE, _TIME = 8, 4, 5, 7
_LONGEST_PEER, _LONGEST_REF = 20, 8
_WORDS = 1000
_ARROWS: dict[Direction | None, str] = {"out": "-->", "in": "<--", None: " * "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the log.

    Attributes:
        direction: `out` from the host, None if not a message.
        ref: Links an answer to its request: the exchange's number, or the frame's id.
        size: Bytes; None without a size.
        took_ns: Duration of an answer, else None.
        words: The description, not yet made safe.
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
        """The formatted line, safe for a terminal."""
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
    """Return a record's line without words."""
    draft = record.draft
    return Line(time_ns=record.time_ns, peer=draft.peer, direction=draft.direction, size=len(draft.data), words="")


def short(text: str, most: int = SAID) -> str:
    """Return the beginning of a foreign text on one line, at most `most` cells."""
    return clipped(visible(" ".join(text[: 4 * most].split()), newlines=False), most)
