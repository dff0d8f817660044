"""Chunks of a server's pipes as records: each line whole, with its line end, parsed or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.capture.lines import LINE_KEPT, LINE_LIMIT, Splitter
from tui_host.capture.stdio_tap import StdioTap
from tui_host.tap.passing import ERROR, IN, LOST, OUT

if TYPE_CHECKING:
    from tui_host.tap.recording import TapRecording

_UNFINISHED = {
    OUT: "unfinished: the input ended in the middle of the line",
    IN: "unfinished: the output ended in the middle of the line",
    ERROR: "unfinished",
}
_LOST = {lost: kind for kind, lost in LOST.items()}


class Lines:
    """One server's three pipes.

    Args:
        recording: Gets the records.
        peer: The server's name.
    """

    def __init__(self, recording: TapRecording, peer: str) -> None:
        recorder = recording.recorder
        connection = recorder.new_connection(peer)
        self._tap = StdioTap(recorder, peer=peer, connection=connection, place=recording.place)
        self._splitters = {OUT: Splitter(), IN: Splitter(), ERROR: Splitter(LINE_KEPT)}
        self._last_ns = 0

    def feed(self, kind: bytes, chunk: bytes, at_ns: int) -> None:
        """The next bytes of one of the pipes."""
        self._last_ns = at_ns
        splitter = self._splitters[kind]
        for line in splitter.feed(chunk):
            self._keep(kind, line, None, at_ns)
        if splitter.too_long:
            limit = LINE_KEPT if kind == ERROR else LINE_LIMIT
            self._keep(kind, splitter.rest(), f"cut: over {limit:,} bytes without a line end; it goes on", at_ns)

    def lose(self, lost: bytes, size: int, at_ns: int) -> None:
        """So many bytes were passed on, but could not be told."""
        kind = _LOST[lost]
        rest = self._splitters[kind].rest()
        self._keep(kind, rest, f"{size:,} bytes after this came too fast to be recorded", at_ns)

    def finish(self) -> None:
        """Nothing follows: what has no line end is a record too."""
        for kind, splitter in self._splitters.items():
            if rest := splitter.rest():
                self._keep(kind, rest, _UNFINISHED[kind], self._last_ns)

    def _keep(self, kind: bytes, line: bytes, fault: str | None, at_ns: int) -> None:
        if kind == ERROR:
            self._tap.error(line, fault, at_ns)
        else:
            self._tap.passed("out" if kind == OUT else "in", line, fault, at_ns)
