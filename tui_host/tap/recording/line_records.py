"""Makes records of a server's lines, including line ends, from chunks of the server's pipes. Imported late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.capture.recorder import OVERHEAD
from tui_host.capture.stdio.line_splitter import LINE_KEPT, LINE_LIMIT, Splitter
from tui_host.capture.stdio.stdio_tap import StdioTap
from tui_host.guard.child_process import ending
from tui_host.tap.recording.channel_write import ERROR, EXITED, IN, OUT, lost

if TYPE_CHECKING:
    from tui_host.tap.recording.channel_write import Item
    from tui_host.tap.recording.tap_session import TapRecording

_UNFINISHED = {
    OUT: "unfinished: the input ended in the middle of the line",
    IN: "unfinished: the output ended in the middle of the line",
    ERROR: "unfinished",
}
_LOST = {lost(kind): kind for kind in (OUT, IN, ERROR)}


class LineRecords:
    """Makes records of the lines of a server's three pipes.

    Args:
        recording: Receives the records.
        peer: The server's name.
    """

    def __init__(self, recording: TapRecording, peer: str) -> None:
        recorder = recording.recorder
        self._exited = recording.exited
        self._tap = StdioTap(
            recorder,
            peer=peer,
            connection=recorder.new_connection(peer),
            place=recording.place,
            is_whole=recording.is_whole,
        )
        self._splitters = {OUT: Splitter(), IN: Splitter(), ERROR: Splitter(LINE_KEPT)}
        self._last_ns = 0
        self._ending: tuple[str, int] | None = None

    def take(self, item: Item) -> int:
        """Record the next item; returns how many bytes the new records take in memory."""
        kind, _, mono_ns, data = item
        if kind == EXITED:
            self._exited(int(data), mono_ns)
            self._ending = ending(int(data)), mono_ns
            return OVERHEAD
        missing = _LOST.get(kind)
        if missing is not None:
            words = f"{int(data):,} bytes after this came too fast to be recorded"
            self._keep(missing, self._splitters[missing].rest(), words, mono_ns)
            return OVERHEAD
        self._last_ns = mono_ns
        splitter = self._splitters[kind]
        lines = splitter.feed(data)
        for line in lines:
            self._keep(kind, line, None, mono_ns)
        if splitter.too_long:
            limit = LINE_KEPT if kind == ERROR else LINE_LIMIT
            words = f"cut: over {limit:,} bytes without a line end; the line continues"
            self._keep(kind, splitter.rest(), words, mono_ns)
        return len(data) + OVERHEAD * len(lines)

    @property
    def unfinished(self) -> int:
        """Number of bytes in unfinished lines."""
        return sum(splitter.size for splitter in self._splitters.values())

    def finish(self) -> None:
        """Record the lines that have no line end, and how the connection ended."""
        for kind, splitter in self._splitters.items():
            if rest := splitter.rest():
                self._keep(kind, rest, _UNFINISHED[kind], self._last_ns)
        if self._ending is not None:
            self._tap.ended(*self._ending)

    def _keep(self, kind: bytes, line: bytes, fault: str | None, at_ns: int) -> None:
        if kind == ERROR:
            self._tap.error(line, fault, at_ns)
        else:
            self._tap.passed("out" if kind == OUT else "in", line, fault, at_ns)
