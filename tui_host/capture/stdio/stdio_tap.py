"""Records the lines of a stdio server, each with the place of its call in the conversation."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.capture.connection_end import connection_end
from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.frames.frame_heads import Frame, made_frame, read_frame
from tui_host.capture.record import NOWHERE, Direction, Place, Record
from tui_host.capture.recording import Recording
from tui_host.errors import JSON


class StdioTap:
    """Records the lines of one connection.

    Attributes:
        malformed: Number of lines of standard output that are not messages.
    """

    def __init__(
        self, recorder: Recording, *, peer: str, connection: str, place: Place = NOWHERE, is_whole: bool = True
    ) -> None:
        self._recorder = recorder
        self._peer = peer
        self._connection = connection
        self._place = place
        self._correlator = Correlator(is_whole=is_whole)
        self.sent = 0
        self.received = 0
        self.malformed = 0

    def now(self) -> int:
        """Return the clock of stamps."""
        return self._recorder.now()

    def out(self, line: bytes, value: Mapping[str, JSON], place: Place, at_ns: int) -> None:
        """Record a line to the server."""
        self.sent += 1
        head = made_frame(value).head
        seen = self._correlator.see("out", head, place)
        self._keep("out", line, head.reason or seen.odd, seen.place, at_ns)

    def into(self, line: bytes, fault: str | None) -> Frame:
        """Record a line from the server, and return the parsed frame."""
        self.received += 1
        return self._read("in", line, fault)

    def passed(self, direction: Direction, line: bytes, fault: str | None, at_ns: int) -> None:
        """Record a line between another host and a server."""
        if direction == "out":
            self.sent += 1
        else:
            self.received += 1
        self._read(direction, line, fault, at_ns)

    def _read(self, direction: Direction, line: bytes, fault: str | None, at_ns: int | None = None) -> Frame:
        frame = read_frame(line)
        seen = self._correlator.see(direction, frame.head, self._place)
        is_message = fault is None and frame.is_message
        if not is_message and line.strip():
            self.malformed += 1
        reason = fault or ("" if is_message or line.strip() else "an empty line") or frame.head.reason or seen.odd
        self._keep(direction, line, reason, seen.place, at_ns)
        return frame

    def junk(self, block: bytes, lines: int) -> None:
        """Record several lines without messages as one record."""
        self.received += lines
        self.malformed += lines
        reason = f"{lines:,} lines that are no messages, too fast for a record each"
        self._keep("in", block, reason, self._place)

    def error(self, line: bytes, fault: str | None, at_ns: int | None = None) -> None:
        """Record a line of standard error."""
        draft = Record(
            wire="stderr",
            kind="line",
            peer=self._peer,
            direction="in",
            place=self._place,
            connection=self._connection,
            data=line,
            malformed=fault or None,
        )
        self._recorder.append(draft, at_ns)

    def ended(self, reason: str, at_ns: int) -> None:
        """Record how the connection ended."""
        self._recorder.append(connection_end(self._peer, self._connection, reason, self._place), at_ns)

    def _keep(self, direction: Direction, data: bytes, malformed: str, place: Place, at_ns: int | None = None) -> None:
        draft = Record(
            wire="mcp",
            kind="frame",
            peer=self._peer,
            direction=direction,
            place=place,
            connection=self._connection,
            data=data,
            malformed=malformed or None,
        )
        self._recorder.append(draft, at_ns)
