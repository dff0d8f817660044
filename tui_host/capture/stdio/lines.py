"""Records the lines between a host and a server, each with the place of its call in the conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from tui_host.capture.connection_end import connection_end
from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.frames.frame_heads import Frame, read_frame
from tui_host.capture.record import NOWHERE, Direction, Place, Record
from tui_host.capture.recording import Recording

LINE_LIMIT = 64 << 20
"""Largest line, in bytes; a server that writes more is faulty."""
LINE_KEPT = 1 << 20  # of a line that is too long


@dataclass(slots=True, eq=False)
class Splitter:
    """Splits bytes into lines. Pieces of an unfinished line are joined once, when it ends."""

    size: int = 0  # bytes of the unfinished line
    _parts: list[bytes] = field(default_factory=list[bytes])

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines completed by a chunk, each with the newline."""
        # Searching is ten times as fast as splitting, which matters to a line of 10 MB.
        *lines, rest = chunk.split(b"\n") if b"\n" in chunk else [chunk]
        complete = [line + b"\n" for line in lines]
        if complete and self._parts:
            self._parts.append(complete[0])
            complete[0] = self.rest()
        if rest:
            self._parts.append(rest)
            self.size += len(rest)
        return complete

    def rest(self) -> bytes:
        """Return the unfinished line and remove it."""
        rest = b"".join(self._parts)
        self._parts, self.size = [], 0
        return rest


class Lines:
    """Records the lines of one connection: call `take` with each, once it has passed.

    Attributes:
        malformed: Number of lines to or from the server that are not messages.
    """

    def __init__(
        self, recorder: Recording, *, peer: str, connection: str, place: Place = NOWHERE, is_whole: bool = True
    ) -> None:
        self._recorder = recorder
        self._peer, self._connection, self._place = peer, connection, place
        # makes records with these fields: `replace` takes several times as long
        self._make = partial(Record, wire="mcp", kind="frame", peer=peer, connection=connection)
        self._correlator = Correlator(is_whole=is_whole)
        self.now = recorder.now  # the clock of stamps
        self.sent = self.received = self.malformed = 0

    def take(
        self,
        direction: Direction,
        line: bytes,
        fault: str = "",
        at_ns: int | None = None,
        *,
        frame: Frame | None = None,
        place: Place | None = None,
    ) -> Frame:
        """Record a line, and return the frame in it.

        `fault` says what is wrong with the line beside its content; `frame` is what was made into it, and `place` that of the
        task that sent it, if known.
        """
        if direction == "out":
            self.sent += 1
        else:
            self.received += 1
        frame = read_frame(line) if frame is None else frame
        seen = self._correlator.see(direction, frame.head, self._place if place is None else place)
        if (fault or not frame.is_message) and line.strip():
            self.malformed += 1
        reason = fault or frame.head.reason or seen.odd or None
        record = self._make(direction=direction, place=seen.place, data=line, malformed=reason)
        self._recorder.append(record, at_ns)
        return frame

    def junk(self, lines: list[bytes]) -> None:
        """Record lines without messages, if there are any, as one record, and clear them."""
        if lines:
            self.received += len(lines)
            self.malformed += len(lines)
            data, fault = b"".join(lines), f"{len(lines):,} lines that are no messages, too fast for a record each"
            self._recorder.append(self._make(direction="in", place=self._place, data=data, malformed=fault))
            lines.clear()

    def error(self, line: bytes, fault: str = "", at_ns: int | None = None) -> None:
        """Record a line of standard error."""
        record = self._make(
            wire="stderr", kind="line", direction="in", place=self._place, data=line, malformed=fault or None
        )
        self._recorder.append(record, at_ns)

    def ended(self, reason: str, at_ns: int) -> None:
        """Record how the connection ended."""
        self._recorder.append(connection_end(self._peer, self._connection, reason, self._place), at_ns)
