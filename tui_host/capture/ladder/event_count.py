"""How many events a streamed body has, however it was cut into pieces on its way. Source: WHATWG HTML, Server-sent events."""

from __future__ import annotations

from tui_host.capture.record import Head

_OF_EVENTS = b"\ndata:"
_OF_LINES = b"\n"


class EventCount:
    """Counts the events of one body, by the lines that they begin with, or end with where each is a line.

    Args:
        head: The response's; what is coded, or no stream, has no events to be seen.
    """

    def __init__(self, head: Head | None) -> None:
        kind, coding = (head.value(name) if head is not None else "" for name in ("content-type", "content-encoding"))
        self._mark = b""
        if coding in {"", "identity"}:
            self._mark = _OF_EVENTS if kind.startswith("text/event-stream") else _OF_LINES if "ndjson" in kind else b""
        self._tail = b"\n" if self._mark == _OF_EVENTS else b""

    def feed(self, data: bytes) -> int:
        """How many more there are with the next bytes."""
        if not self._mark:
            return 0
        text = self._tail + data
        self._tail = text[1 - len(self._mark) :] if len(self._mark) > 1 else b""
        return text.count(self._mark)
