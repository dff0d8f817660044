"""A response's body as the pieces that a dialect reads: events, lines, or one whole value. Source: llm-dialects.md, section 1.

What a body is, its first byte says: services do not always send what was asked for, or what they announce.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, Protocol, TypeAlias

from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON
from tui_host.llm.events import (
    CallArguments,
    CallStarted,
    Failed,
    ModelEvent,
    Stopped,
    TextDelta,
    ThinkingDelta,
    Unreadable,
)
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.textless_events import WORDLESS, is_wordless

Framing: TypeAlias = Literal["sse", "lines"]

Mend: TypeAlias = Callable[[bytes], tuple[bytes, bool] | None]
"""What an event says that was cut off, as one that can be read, and whether what a model wrote is all there; None if it says nothing."""

_SHOWN = 500
_SHORT = 32
_BOM = b"\xef\xbb\xbf"
_STRUCTURE = re.compile(rb'\\.|["{}\[\]]', re.DOTALL)
"""What a JSON text is built of, as far as it matters for where its elements end; escapes in strings are stepped over."""
_OPENED = re.compile(rb"\{[ \t\r]*")
"""So begins the only line of an object, or the first one of an object that is written for eyes."""
_BEGUN = re.compile(rb"\s*(?:e|ev|eve|even|event|d|da|dat|data)(?!\w)")
"""An event that is cut off before what it says."""
_PART = re.compile(rb"\s*(?:\{|\.{3}|\xe2\x80\xa6|\Z)")
"""So begins what is left of one that was an object; what else cannot be read is what services send beside these, as a ping."""
_ELEMENT = 2
"""How deep the elements of a list are."""


class Reading(Protocol):
    """What a dialect makes of one response's pieces."""

    has_failed: bool
    """The provider, or what came in its place, told of an error."""

    has_other: bool
    """Something came that is no piece of an answer."""

    @property
    def is_strange(self) -> bool:
        """Whether something came, and none of it was an answer's."""
        ...

    def data(self, data: bytes, start: int, end: int) -> list[ModelEvent]:
        """One event of the stream."""
        ...

    def whole(self, body: bytes) -> list[ModelEvent]:
        """An answer that was not streamed, or an error in its place."""
        ...

    def end(self, position: int) -> list[ModelEvent]:
        """The end of the answer, once; the last event is a `Stopped`."""
        ...


class BodyDecoder:
    """Reads one response, however it is cut.

    Args:
        reading: The dialect's.
        content_type: As announced; shown where nothing can be read, not taken at its word.
        framing: How the dialect streams.

    Attributes:
        mend: Of what whoever wrote it down is known to have cut: mends its events. None where all that came is here.
    """

    def __init__(self, reading: Reading, content_type: str = "", framing: Framing = "sse") -> None:
        self._reading = reading
        self._content_type = content_type
        self._framing: Framing = framing
        self.mend: Mend | None = None
        self._form: Literal["unknown", "stream", "whole", "page"] = "unknown"
        self._kept = bytearray()  # the body, of forms that are read at the end; else its beginning
        self._size = 0
        self._splitter: SseDecoder | LineDecoder | ListDecoder = SseDecoder() if framing == "sse" else LineDecoder()

    def feed(self, data: bytes) -> list[ModelEvent]:
        """What these bytes add."""
        self._size += len(data)
        if self._form == "unknown":
            self._kept += data
            head = bytes(self._kept).removeprefix(_BOM).lstrip()
            is_begun = bool(head) and not (len(head) < len(_BOM) and _BOM.startswith(head))
            if not is_begun or (self._framing == "lines" and _OPENED.fullmatch(head)):
                return []
            self._form = self._form_of(head)
            data = bytes(self._kept)
            if self._form != "whole":
                del self._kept[_SHOWN:]
        elif self._form == "whole":
            self._kept += data
        if self._form != "stream":
            return []
        found: list[ModelEvent] = []
        for event in self._splitter.feed(data):
            found += self._read(event) if event.kind == "event" else self._strange(event)
        return found

    def _read(self, event: SseEvent) -> list[ModelEvent]:
        """One event of the stream, which may be cut off: what it says, and then that it is. What is whole is read as it is, once."""
        data, start, end = event.data, event.start, event.end
        if self.mend is None or _is_json(data.decode("utf-8", "replace")):
            return self._reading.data(data, start, end)
        mended = self.mend(data)
        if mended is None:
            is_cut = _PART.match(data) is not None and event.event not in WORDLESS
            found = self._reading.data(data, start, end)
            return [replace(each, is_cut=is_cut) if isinstance(each, Unreadable) else each for each in found]
        said = [each for each in self._reading.data(mended[0], start, end) if not _is_nameless(each)]
        has_words = any(isinstance(each, TextDelta | ThinkingDelta | CallArguments) for each in said)
        has_gap = has_words or not is_wordless(read_json(mended[0]), event.event)
        cut = Unreadable(reason="an event is cut off", start=start, end=end, is_cut=has_gap)
        return said if mended[1] and has_words else [*said, cut]

    def _whole(self) -> list[ModelEvent]:
        body = bytes(self._kept)
        mended = None if self.mend is None or _is_json(body) else self.mend(body.strip())
        if mended is None:
            return self._reading.whole(body) + self._reading.end(self._size)
        read = self._reading.whole(mended[0])
        if _tells_no_error(mended[0]) and any(isinstance(each, Failed) and not each.vendor for each in read):
            self._reading.has_failed = False  # that there is no answer in it: what would be one is cut off
            read = [each for each in read if not isinstance(each, Failed)]
        said = [*read, *self._reading.end(self._size)]
        cut = Unreadable(reason="the answer is cut off", start=self._size, end=self._size, is_cut=True)
        ends = [replace(each, stop="cut") for each in said if isinstance(each, Stopped)]
        return [*(each for each in said if not isinstance(each, Stopped) and not _is_nameless(each)), cut, *ends]

    def finish(self) -> list[ModelEvent]:
        """What the end of the body adds."""
        found: list[ModelEvent] = []
        if self._form == "whole" or (self._form == "unknown" and b"{" in self._kept):
            return self._whole()
        if self._form == "page":
            found.append(self._failed(f"a page of HTML came instead of an answer: {self._head()}", ""))
        elif self._form == "stream":
            for event in self._splitter.finish():
                is_whole = event.kind == "event"
                found += self._read(event) if is_whole else self._strange(event)
            if self._reading.is_strange and self.mend is None:
                kind = f" ({self._content_type})" if self._content_type else ""
                found.append(self._failed(f"no answer can be read in what came{kind}: {self._head()}", ""))
        return found + self._reading.end(self._size)

    def _form_of(self, head: bytes) -> Literal["stream", "whole", "page"]:
        if head[:1] == b"<":
            return "page"
        if self._framing == "lines":
            opened = _OPENED.match(head)
            return "whole" if opened is not None and head[opened.end() :][:1] == b"\n" else "stream"
        if head[:1] == b"[":
            self._splitter = ListDecoder()
            return "stream"
        return "whole" if head[:1] == b"{" else "stream"

    def _head(self) -> str:
        return bytes(self._kept[:_SHOWN]).decode("utf-8", "replace").strip()

    def _failed(self, words: str, vendor: str) -> Failed:
        self._reading.has_failed = True
        return Failed(message=words, vendor=vendor, start=0, end=self._size)

    def _strange(self, event: SseEvent) -> list[ModelEvent]:
        is_cut = self.mend is not None
        if event.kind == "cut":
            said = self._read(event) if is_cut and event.data else []
            reason = "the last event is cut off"
            return [*said, Unreadable(reason=reason, start=event.start, end=event.end, is_cut=is_cut)]
        if event.kind == "other":
            self._reading.has_other = True
            if is_cut and _BEGUN.match(event.data):
                return [Unreadable(reason="an event is cut off", start=event.start, end=event.end, is_cut=True)]
            return self._outside(event)
        return []

    def _outside(self, event: SseEvent) -> list[ModelEvent]:
        """What stands between the events: nothing, or an error, which some services write without the form of one."""
        try:
            fault = fault_in(read_json(event.data.removeprefix(b"error:")))
        except ValueError:
            return []
        if fault is None:
            return []
        self._reading.has_failed = True
        words, vendor = fault
        return [Failed(message=words or "an error without a word", vendor=vendor, start=event.start, end=event.end)]


def _is_nameless(event: ModelEvent) -> bool:
    """Whether it begins a call of which its name was cut off: nobody knows what is called."""
    return isinstance(event, CallStarted) and not event.name


def _tells_no_error(body: bytes) -> bool:
    """Whether a body that can be read has no error of the provider in it, nor the beginning of one."""
    value = read_json(body)
    return fault_in(value) is None and not (isinstance(value, Mapping) and value.get("error") is not None)


def _is_json(data: bytes | str) -> bool:
    try:
        read_json(data)
    except ValueError:
        return False
    return True


class LineDecoder:
    """Splits a body into lines (NDJSON), each given out as an event; empty ones are passed over. Lines end at LF or CRLF."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._start = 0

    def feed(self, data: bytes) -> list[SseEvent]:
        """What these bytes completed."""
        *ended, rest = data.split(b"\n")
        found: list[SseEvent] = []
        for piece in ended:
            line = piece
            if self._rest:
                line = b"".join((*self._rest, piece))
                self._rest.clear()
            found += self._line(line)
            self._start += len(line) + 1
        if rest:
            self._rest.append(rest)
        return found

    def finish(self) -> list[SseEvent]:
        """The last line, which may lack its end; one that began as an object and is none was cut off."""
        return [last._replace(kind="cut") if _is_half(last.data) else last for last in self._line(b"".join(self._rest))]

    def _line(self, line: bytes) -> list[SseEvent]:
        start = self._start
        data = line.rstrip(b"\r")
        if not start and data.startswith(_BOM):
            start, data = len(_BOM), data[len(_BOM) :]
        return [SseEvent(start, start + len(data), data)] if data.strip() else []


def _is_half(line: bytes) -> bool:
    return line.lstrip()[:1] == b"{" and not _is_json(line)


class ListDecoder:
    """Splits a body that is one JSON list into its elements, each given out as an event as soon as it is complete.

    Only elements that are objects or lists count: nothing else is ever streamed.
    """

    def __init__(self) -> None:
        self._held = bytearray()  # from the element that has begun
        self._offset = 0  # of the first byte held
        self._seen = 0  # how much of what is held was looked at
        self._start = 0  # of the element among what is held
        self._depth = 0
        self._in_string = False
        self._is_over = False
        self._count = 0

    def feed(self, data: bytes) -> list[SseEvent]:
        """What these bytes completed."""
        self._held += data
        found: list[SseEvent] = []
        seen = self._seen
        for match in _STRUCTURE.finditer(self._held, self._seen):
            found += self._token(match[0], match.start())
            seen = match.end()
        # A backslash at the very end belongs to what comes next.
        self._seen = len(self._held) - (len(self._held) > seen and self._held.endswith(b"\\"))
        done = self._start if self._depth > 1 else self._seen
        del self._held[:done]
        self._offset += done
        self._seen -= done
        self._start = 0
        return found

    def finish(self) -> list[SseEvent]:
        """What was cut off, if anything was."""
        end = self._offset + len(self._held)
        if not self._is_over:
            return [SseEvent(kind="cut", start=self._offset, end=end)]
        return [] if self._count else [SseEvent(kind="other", start=0, end=end)]

    def _token(self, token: bytes, position: int) -> list[SseEvent]:
        if self._is_over:
            return []
        if token == b'"':
            self._in_string = not self._in_string
        elif self._in_string:
            return []
        elif token in b"{[":
            self._depth += 1
            if self._depth == _ELEMENT:
                self._start = position
        elif token in b"}]":
            self._depth -= 1
            self._is_over = self._depth == 0
            if self._depth == _ELEMENT - 1:
                return self._element(position + 1)
        return []

    def _element(self, end: int) -> list[SseEvent]:
        self._count += 1
        data = bytes(self._held[self._start : end])
        return [SseEvent(data=data, start=self._offset + self._start, end=self._offset + end)]


def read_object(data: bytes, start: int, end: int) -> tuple[dict[str, JSON] | None, list[ModelEvent]]:
    """One event's data as an object, and what cannot be read of it; None if it is none."""
    found: list[ModelEvent] = []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        found.append(Unreadable(reason="not UTF-8", start=start, end=end))
    try:
        value = read_json(text)
    except ValueError as error:
        return None, [*found, Unreadable(reason=f"not JSON: {error}"[:200], start=start, end=end)]
    if not isinstance(value, dict):
        return None, [*found, Unreadable(reason="not an object", start=start, end=end)]
    return value, found


def is_done(data: bytes) -> bool:
    """Whether an event is the word by which many services end a stream, and no JSON."""
    return len(data) < _SHORT and data.strip() == b"[DONE]"


def count_of(values: JSON, *path: str) -> int | None:
    """A number of tokens in an object, or in an object within it; None where none is reported."""
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    if isinstance(values, bool) or not isinstance(values, int | float) or not 0 <= values < 1e15:
        return None
    return int(values)
