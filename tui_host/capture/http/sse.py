"""Decodes event streams, without I/O. Source: WHATWG HTML, Server-sent events."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from tui_host.capture.json.reading import load

SseKind: TypeAlias = Literal["event", "comment", "other", "cut"]

_BOM = b"\xef\xbb\xbf"
_FIELDS = frozenset({b"data", b"event", b"id", b"retry"})
_END_OF_LINE = re.compile(rb"\r\n?|\n")


class SseEvent(NamedTuple):  # a NamedTuple, since one is made per event and a dataclass takes much longer
    """An event, a comment or a broken block of an event stream.

    Attributes:
        end: One past the last byte of the event's last line, without its line end.
        data: The data lines, joined; a comment's text; of `other` the lines that are no field's, where services put errors.
        kind: Clients get only `event`. For the record there are `comment` (a keep-alive), `other` (a block without
            data) and `cut` (an incomplete last block).
    """

    start: int
    end: int
    data: bytes = b""
    kind: SseKind = "event"
    event: str = "message"


class SseDecoder:
    """Splits a body into events, in linear time for chunks of any size.

    Lines end only at CR, LF and CRLF. An event is returned with the line end that completes it; one of more than `limit` bytes is
    `cut`, without its data. `last_id` and `retry_ms` are what the stream said last of going on with it.
    """

    def __init__(self, limit: int = 64 << 20) -> None:
        self._limit = limit
        self.last_id = ""
        self.retry_ms: int | None = None
        self._line = bytearray()
        self._line_start = 0
        self._position = 0
        self._head: bytes | None = b""  # the first bytes, until it is clear whether they are a byte order mark
        self._after_cr = False
        self._skip = False  # whether the current line is too long and was dropped
        self._clear()

    def feed(self, data: bytes) -> list[SseEvent]:
        """Read the next bytes and return the completed events."""
        if self._head is not None:
            self._head += data
            if len(self._head) < len(_BOM) and _BOM.startswith(self._head):
                return []
            data, self._head = self._head, None
            if data.startswith(_BOM):
                data = data[len(_BOM) :]
                self._position = self._line_start = len(_BOM)
        return self._split(data)

    def finish(self) -> list[SseEvent]:
        """Return the rest at the end of the body: many servers omit the last blank line, so complete data count as an event."""
        head, self._head = self._head, None
        events = self._split(head) if head else []
        if self._line:
            events += self._take(bytes(self._line), self._position)
            self._line.clear()
        if self._start is not None:
            whole = self._data is not None and not self._over and _is_complete(b"\n".join(self._data))
            events.append(
                self._dispatch("event" if whole else "other" if self._data is None and self._loose else "cut")
            )
        return events

    def _split(self, data: bytes) -> list[SseEvent]:
        """Split whole blocks of the usual form at once, and everything else line by line."""
        if self._after_cr or b"\r" in data or len(data) > self._limit:
            return self._split_lines(data)
        events: list[SseEvent] = []
        if self._line or self._start is not None:
            end = data.find(b"\n\n") + 2
            if end < 2:
                return self._split_lines(data)
            events, data = self._split_lines(data[:end]), data[end:]
        *blocks, rest = data.split(b"\n\n")
        start = self._position
        for block in blocks:
            event = _usual(block, start)
            if event is None:
                events += self._split_lines(block + b"\n\n")
                start = self._position
            else:
                events.append(event)
                self._position = self._line_start = start = start + len(block) + 2
        return events + self._split_lines(rest) if rest else events

    def _split_lines(self, data: bytes) -> list[SseEvent]:
        events: list[SseEvent] = []
        begin = 0
        if self._after_cr and data:
            begin = int(data.startswith(b"\n"))
            self._after_cr = False
            if not self._line:
                self._line_start = self._position + begin
        for match in _END_OF_LINE.finditer(data, begin):
            text = data[begin : match.start()]
            if self._line:
                text = bytes(self._line) + text
                self._line.clear()
            events += self._take(text, self._position + match.start())
            begin = match.end()
            self._line_start = self._position + begin
        self._line += data[begin:] if begin else data
        if len(self._line) + self._held > self._limit:
            self._too_large()
            self._skip = True
        self._after_cr = data.endswith(b"\r") or (self._after_cr and not data)
        self._position += len(data)
        return events

    def _take(self, line: bytes, end: int) -> list[SseEvent]:
        start = self._line_start
        if self._skip or end - start + self._held > self._limit:
            self._too_large()
            self._skip = False
            self._end = end
            return []
        if not line:
            if self._start is None:
                return []
            return [self._dispatch("cut" if self._over else "other" if self._data is None else "event")]
        if line.startswith(b":"):
            return [SseEvent(kind="comment", event="", data=line[1:].removeprefix(b" "), start=start, end=end)]
        if self._start is None:
            self._start = start
        self._end = end
        name, _, value = line.partition(b":")
        if name in _FIELDS:
            self._field(name, value.removeprefix(b" "))
        elif not self._over:
            self._loose.append(line)
            self._held += len(line)
        return []

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data" and not self._over:
            if self._data is None:
                self._data = []
            self._data.append(value)
            self._held += len(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            self.last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry_ms = int(value)

    def _too_large(self) -> None:
        """Drop an event that exceeds the limit; of an unfinished line, remember only whether it is empty."""
        if self._start is None:
            self._start = self._line_start
        self._over = True
        self._held = 0
        self._data = None
        self._loose = []
        del self._line[1:]

    def _dispatch(self, kind: SseKind) -> SseEvent:
        event = SseEvent(
            kind=kind,
            event=self._event or "message",
            data=b"\n".join(self._loose if kind == "other" else self._data or ()),
            start=self._start or 0,
            end=self._end,
        )
        self._clear()
        return event

    def _clear(self) -> None:
        self._start: int | None = None
        self._end = 0
        self._held = 0
        self._over = False
        self._data: list[bytes] | None = None
        self._loose: list[bytes] = []
        self._event = ""


def _usual(block: bytes, start: int) -> SseEvent | None:
    """Return the event in a block with one data line, alone or after a name, the usual form; None for any other."""
    name = "message"
    line = block
    if line.startswith(b"event: "):
        head, _, line = line.partition(b"\n")
        name = head[7:].decode("utf-8", "replace") or name
    if not line.startswith(b"data:") or b"\n" in line:
        return None
    value = line[6:] if line.startswith(b" ", 5) else line[5:]
    return SseEvent(start, start + len(block), value, "event", name)


def _is_complete(data: bytes) -> bool:
    if data.strip() == b"[DONE]":
        return True
    try:
        load(data)
    except (ValueError, RecursionError):
        return False
    return True
