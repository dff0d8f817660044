"""Turns what passed a server's three pipes into lines, each with its line end and the time when it was complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_host.capture.stdio.lines import LINE_KEPT, LINE_LIMIT, Lines, Splitter
from tui_host.guard.child_process import ending
from tui_host.tap.relay import ERROR, EXITED, GAP, IN, OUT
from tui_host.tap.ring import Item

_LIMITS = {OUT: LINE_LIMIT, IN: LINE_LIMIT, ERROR: LINE_KEPT}
_UNFINISHED = {
    OUT: "unfinished: the input ended in the middle of the line",
    IN: "unfinished: the output ended in the middle of the line",
    ERROR: "unfinished",
}


@dataclass(slots=True, eq=False)
class TappedLines:
    """Records the lines of a tapped server."""

    _lines: Lines
    _splitters: Mapping[bytes, Splitter] = field(default_factory=lambda: {kind: Splitter() for kind in _LIMITS})
    _last_ns: int = 0
    _exit: tuple[str, int] | None = None

    def take(self, item: Item) -> None:
        """Record the lines that an item completes."""
        if item.kind == EXITED:
            self._exit = ending(int(item.data)), item.at_ns
        elif item.kind == GAP:
            self._end_lines(f"{int(item.data):,} bytes after this came too fast to be recorded", item.at_ns)
        elif splitter := self._splitters.get(item.kind):
            self._last_ns = item.at_ns
            for line in splitter.feed(item.data):
                self._keep(item.kind, line, "", item.at_ns)
            if splitter.size > _LIMITS[item.kind]:
                words = f"cut: over {_LIMITS[item.kind]:,} bytes without a line end; the line continues"
                self._keep(item.kind, splitter.rest(), words, item.at_ns)

    def finish(self) -> None:
        """Record the lines without a line end, and how the connection ended."""
        self._end_lines("", self._last_ns)
        if self._exit is not None:
            self._lines.ended(*self._exit)

    def _end_lines(self, fault: str, at_ns: int) -> None:
        for kind, unfinished in _UNFINISHED.items():
            rest = self._splitters[kind].rest()
            if rest or (fault and kind != ERROR):
                self._keep(kind, rest, fault or unfinished, at_ns)

    def _keep(self, kind: bytes, line: bytes, fault: str, at_ns: int) -> None:
        if kind == ERROR:
            self._lines.error(line, fault, at_ns)
        else:
            self._lines.take("out" if kind == OUT else "in", line, fault, at_ns)
