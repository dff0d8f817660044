"""Records what moves on a stdio server's pipes, each line in the place in a conversation that it belongs to."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from tui_host.capture.correlator import Correlator
from tui_host.capture.frames import frame_head
from tui_host.capture.record import NOWHERE, Draft, Place


class Recording(Protocol):
    """What a tap needs of a recorder."""

    def append(self, draft: Draft, /) -> object:
        """Keep a record."""
        ...


class StdioTap:
    """One connection's tap.

    Attributes:
        sent: Lines given to standard input.
        received: Lines of standard output, readable or not.
        malformed: Those of them that are no messages.
    """

    def __init__(self, recorder: Recording, *, peer: str, connection: str) -> None:
        self._recorder = recorder
        self._in = Draft(wire="mcp", kind="frame", peer=peer, direction="in", connection=connection)
        self._out = replace(self._in, direction="out")
        self._error = replace(self._in, wire="stderr", kind="line")
        self._correlator = Correlator()
        self.sent = 0
        self.received = 0
        self.malformed = 0

    def out(self, line: bytes, place: Place) -> None:
        """Record a line on its way to the server."""
        self.sent += 1
        head = frame_head(line)
        seen = self._correlator.see("out", head, place)
        self._keep(self._out, line, head.reason or seen.odd, seen.place)

    def into(self, line: bytes, fault: str | None) -> bool:
        """Record a line that came from the server; whether it is a message."""
        self.received += 1
        head = frame_head(line)
        seen = self._correlator.see("in", head)
        is_message = fault is None and head.kind not in {"malformed", "batch"}
        if not is_message and line.strip():
            self.malformed += 1
        reason = fault or ("" if is_message or line.strip() else "an empty line") or head.reason or seen.odd
        self._keep(self._in, line, reason, seen.place)
        return is_message

    def junk(self, block: bytes, lines: int) -> None:
        """Record lines that are no messages, together."""
        self.received += lines
        self.malformed += lines
        self._keep(self._in, block, f"{lines:,} lines that are no messages, too fast for a record each")

    def error(self, line: bytes, fault: str | None) -> None:
        """Record a line of standard error."""
        self._keep(self._error, line, fault)

    def _keep(self, draft: Draft, data: bytes, malformed: str | None, place: Place = NOWHERE) -> None:
        self._recorder.append(replace(draft, data=data, malformed=malformed or None, place=place))
