"""Decodes event streams, without I/O. Source: WHATWG HTML, Server-sent events."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import repeat
from typing import Literal, NamedTuple, TypeAlias

from tui_host.capture.json.reading import read_json

SseKind: TypeAlias = Literal["event", "comment", "other", "cut"]

_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]+")
_BLANK = re.compile(rb"((?:\r\n|\r(?!\n)|\n){2})")  # a line's end and an empty line
_OVERLAP = 3  # bytes in which a blank line may begin


class SseEvent(NamedTuple):  # a NamedTuple, since one is made per event and a dataclass takes much longer
    """An event, a comment or a broken block of an event stream.

    Attributes:
        end: One past the last byte of the event's last line, without its line end.
        data: The data lines, joined; a comment's text; of `other` the lines that are no field's, where services put errors.
        kind: Clients get only `event`. For the record there are `comment` (a keep-alive), `other` (a block without
            data) and `cut` (an incomplete last block, or one that is too large).
    """

    start: int
    end: int
    data: bytes = b""
    kind: SseKind = "event"
    event: str = "message"


@dataclass(slots=True, eq=False)
class SseDecoder:
    """Splits a body into events, in linear time for chunks of any size.

    Lines end only at CR, LF and CRLF. An event is returned with the line end that completes it; one of more than `limit` bytes is
    `cut`, without its data. `last_id` and `retry_ms` are what the stream said last of going on with it.
    """

    limit: int = 64 << 20
    last_id: str = ""
    retry_ms: int | None = None
    _rest: bytearray = field(default_factory=bytearray)  # the block that has not ended
    _at: int = 0  # where it begins in the body
    _searched: int = 0  # how many of its bytes hold no blank line
    _cut_at: int | None = None  # where it began, if it is too large; then only its end is kept
    _has_cr: bool = False

    def feed(self, data: bytes) -> list[SseEvent]:
        """Read the next bytes and return the completed events."""
        self._rest += data
        self._has_cr = self._has_cr or b"\r" in data
        events: list[SseEvent] = []
        if self._has_cr and _BLANK.search(self._rest, self._searched):
            *pieces, rest = _BLANK.split(bytes(self._rest))
            events = self._split(pieces[::2], map(len, pieces[1::2]), rest)
        elif not self._has_cr and self._rest.find(b"\n\n", self._searched) >= 0:
            *blocks, rest = bytes(self._rest).split(b"\n\n")
            events = self._split(blocks, repeat(2), rest)
        size = len(self._rest)
        if size > self.limit + _OVERLAP and self._cut_at is None:
            begins = size - len(self._rest.lstrip(b"\r\n"))
            if len(self._rest.rstrip(b"\r\n")) - begins > self.limit:
                self._cut_at = self._at + begins
        if self._cut_at is not None and size > _OVERLAP:
            self._at += size - _OVERLAP
            del self._rest[:-_OVERLAP]
        self._searched = max(len(self._rest) - _OVERLAP, 0)
        return events

    def finish(self) -> list[SseEvent]:
        """Return the rest at the end of the body: many servers omit the last blank line, so complete data count as an event."""
        block = bytes(self._rest)
        if self._cut_at is not None:
            return [SseEvent(self._cut_at, self._at + len(block.rstrip(b"\r\n")), kind="cut")]
        return self._block(block, self._at, is_last=True)

    def _split(self, blocks: Iterable[bytes], gaps: Iterable[int], rest: bytes) -> list[SseEvent]:
        """Read the blocks that have ended, each before a gap; what is left has not."""
        events: list[SseEvent] = []
        at, has_cr, limit = self._at, self._has_cr, self.limit
        for block, gap in zip(blocks, gaps, strict=False):
            event, line = "message", block
            if block.startswith(b"event: "):
                name, _, line = block.partition(b"\n")
                event = name[7:].decode("utf-8", "replace") or event
            if self._cut_at is not None:
                events.append(SseEvent(self._cut_at, at + len(block), kind="cut"))
                self._cut_at = None
            elif line[:5] == b"data:" and b"\n" not in line and len(block) <= limit and not (has_cr and b"\r" in block):
                # one data line, alone or after a name: so are nearly all
                events.append(SseEvent(at, at + len(block), line[5:].removeprefix(b" "), "event", event))
            else:
                events += self._block(block, at)
            at += len(block) + gap
        self._rest, self._at = bytearray(rest), at
        return events

    def _block(self, block: bytes, at: int, *, is_last: bool = False) -> list[SseEvent]:
        """Read a block of any form."""
        text = (block.removeprefix(_BOM) if at == 0 else block).lstrip(b"\r\n")
        at += len(block) - len(text)
        text = text.rstrip(b"\r\n")
        if len(text) > self.limit:
            return [SseEvent(at, at + len(text), kind="cut")]
        events: list[SseEvent] = []
        data: list[bytes] = []
        loose: list[bytes] = []
        name, start, end = "", -1, -1
        for match in _LINE.finditer(text):
            line = match[0]
            if line.startswith(b":"):
                words = line[1:].removeprefix(b" ")
                events.append(SseEvent(at + match.start(), at + match.end(), words, "comment", ""))
                continue
            start, end = at + match.start() if start < 0 else start, at + match.end()
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
            elif field == b"id":
                self.last_id = value.decode("utf-8", "replace")
            elif field != b"retry":
                loose.append(line)
            elif value.isdigit():
                self.retry_ms = int(value)
        kind: SseKind = "event" if data else "other"
        content = b"\n".join(data or loose)
        if is_last and not data and not loose:
            kind = "cut"
        elif is_last and data:
            try:
                read_json(content, None)
            except (ValueError, RecursionError):
                kind = "event" if content.strip() == b"[DONE]" else "cut"
        if start >= 0:
            events.append(SseEvent(start, end, content, kind, name or "message"))
        return events
