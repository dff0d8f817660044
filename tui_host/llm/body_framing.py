"""Splits a response's body into values for a dialect: events, lines, or a single whole value.

The first byte of a body decides: services may send a form that was neither requested nor announced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.json.reading import DEPTH, read_json
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerState
from tui_host.llm.events import Failed, ModelEvent, Stopped, Unreadable
from tui_host.llm.messages import Stop
from tui_host.llm.provider_faults import fault_in

Framing: TypeAlias = Literal["sse", "lines"]

_SHOWN = 500
_SHORT = 32
_DONE = b"[DONE]"
_BOM = b"\xef\xbb\xbf"
_STRUCTURE = re.compile(rb'\\.|["{}\[\]]', re.DOTALL)
"""The tokens of a JSON text that matter for finding where its elements end; escapes in strings are skipped."""
_OPENED = re.compile(rb"\{[ \t\r]*")
"""The beginning of an object on one line, or of an object that is pretty-printed."""
_STRICT = json.JSONDecoder()
_ELEMENT = 2
"""The depth of the elements of a list."""


class Reading(Protocol):
    """Turns the JSON values of a response into events, for one dialect.

    Attributes:
        state: The answer so far.
    """

    state: AnswerState

    def event(self, value: dict[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        """Read an event of a stream.

        Args:
            value: The event's JSON object.
            data: The bytes of the object.
            start: First byte of the event in the body.
            end: One past its last byte.
        """
        ...

    def whole(self, value: JSON, body: bytes) -> list[ModelEvent] | None:
        """Read an answer without streaming. None if the value is no answer."""
        ...

    def closing(self, position: int) -> list[ModelEvent]:
        """Return the events before the `Stopped` of an answer with its end at `position`."""
        ...

    def stop(self) -> Stop:
        """Say why the answer ended, given that it neither failed nor was cut."""
        ...


class BodyDecoder:
    """Reads a response from pieces of any size.

    Args:
        reading: The dialect's part.
        content_type: As announced; shown in errors, but not relied on.
        framing: How the dialect streams.
    """

    def __init__(self, reading: Reading, content_type: str = "", framing: Framing = "sse") -> None:
        self._reading = reading
        self._state = reading.state
        self._content_type = content_type
        self._framing: Framing = framing
        self._form: Literal["unknown", "stream", "whole", "page"] = "unknown"
        self._kept = bytearray()  # the whole body for forms read at the end, else only its beginning
        self._size = 0
        self._has_stopped = False
        self._splitter: SseDecoder | LineDecoder | ListDecoder = SseDecoder() if framing == "sse" else LineDecoder()

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Return the events completed by more bytes."""
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
        events: list[ModelEvent] = []
        pieces = self._splitter.feed(data)
        for piece, value in zip(pieces, _objects_of(pieces), strict=True):
            events += self._read(piece) if value is None else self._object(value, piece.data, piece.start, piece.end)
        return events

    def finish(self) -> list[ModelEvent]:
        """Return the events completed by the end of the body, with a `Stopped` last, unless already sent."""
        events: list[ModelEvent] = []
        if self._form == "whole" or (self._form == "unknown" and b"{" in self._kept):
            events += self._whole(bytes(self._kept))
        elif self._form == "page":
            events.append(self._failed(f"a page of HTML came instead of an answer: {self._head()}"))
        elif self._form == "stream":
            for piece in self._splitter.finish():
                events += self._read(piece)
            if self._state.is_foreign:
                kind = f" ({self._content_type})" if self._content_type else ""
                events.append(self._failed(f"no answer can be read in what came{kind}: {self._head()}"))
        return events + self._stop(self._size)

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

    def _failed(self, message: str) -> Failed:
        return self._state.fail(message, "", 0, self._size)

    def _read(self, piece: SseEvent) -> list[ModelEvent]:
        """Read a piece of the stream: an event, the rest of a cut event, or bytes between events."""
        match piece.kind:
            case "event":
                return self._event(piece.data, piece.start, piece.end)
            case "cut":
                return [Unreadable(reason="the last event is cut off", start=piece.start, end=piece.end)]
            case "other":
                self._state.has_foreign = True
                return self._between(piece)
            case _:
                return []

    def _event(self, data: bytes, start: int, end: int) -> list[ModelEvent]:
        if self._has_stopped:
            return []
        value, events = _read_object(data, start, end)
        if value is not None:
            return events + self._object(value, data, start, end)
        if len(data) < _SHORT and data.strip() == _DONE:  # services with several APIs send this in all of them
            self._state.mark = _DONE.decode()
            return self._stop(end)
        self._state.has_foreign = True
        return events

    def _object(self, value: dict[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        """Read an event whose data is a JSON object."""
        if self._has_stopped:
            return []
        events = self._reading.event(value, data, start, end)
        return events + self._stop(end) if self._state.is_over else events

    def _whole(self, body: bytes) -> list[ModelEvent]:
        """Read an answer without streaming, or an error in its place."""
        try:
            value = read_json(body)
        except ValueError as error:
            return [Unreadable(reason=f"not JSON: {error}"[:200], start=0, end=len(body))]
        events = self._reading.whole(value, body)
        if events is not None:
            return events
        message, vendor = fault_in(value) or (f"no answer in it: {self._head()}", "")
        return [self._state.fail(message, vendor, 0, len(body))]

    def _stop(self, position: int) -> list[ModelEvent]:
        """End the answer; does nothing the second time."""
        state = self._state
        if self._has_stopped:
            return []
        self._has_stopped = True
        events = self._reading.closing(position)
        start, end = state.reason_span if state.reason else (position, position)
        if state.has_failed:
            stop = "failed"
        elif not state.reason and not state.mark:
            stop = "cut"
        else:
            stop = self._reading.stop()
        return [*events, Stopped(stop=stop, vendor=state.reason or state.mark, start=start, end=end)]

    def _between(self, piece: SseEvent) -> list[ModelEvent]:
        """Find an error written between the events."""
        try:
            fault = fault_in(read_json(piece.data.removeprefix(b"error:")))
        except ValueError:
            return []
        return [] if fault is None else [self._state.fail(*fault, piece.start, piece.end)]


def _is_json(data: bytes | str) -> bool:
    try:
        read_json(data)
    except ValueError:
        return False
    return True


class LineDecoder:
    """Splits a body into lines (NDJSON), each returned as an event. Lines end at LF or CRLF; empty lines are skipped."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._start = 0

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the lines completed by more bytes."""
        *ended, rest = data.split(b"\n")
        lines: list[SseEvent] = []
        for piece in ended:
            line = piece
            if self._rest:
                line = b"".join((*self._rest, piece))
                self._rest.clear()
            lines += self._line(line)
            self._start += len(line) + 1
        if rest:
            self._rest.append(rest)
        return lines

    def finish(self) -> list[SseEvent]:
        """Return the last line, which may lack its line end; half an object counts as cut off."""
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
    """Splits a body with a JSON list into the list's elements, each returned as an event once complete.

    Only elements that are objects or lists count: nothing else is ever streamed.
    """

    def __init__(self) -> None:
        self._held = bytearray()  # the bytes since the beginning of the current element
        self._offset = 0  # the first held byte's place in the body
        self._seen = 0  # how many held bytes were examined
        self._start = 0  # where the current element begins in the held bytes
        self._depth = 0
        self._in_string = False
        self._is_over = False
        self._count = 0

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the elements completed by more bytes."""
        self._held += data
        elements: list[SseEvent] = []
        seen = self._seen
        for match in _STRUCTURE.finditer(self._held, self._seen):
            elements += self._token(match[0], match.start())
            seen = match.end()
        # A final backslash belongs to the next bytes.
        self._seen = len(self._held) - (len(self._held) > seen and self._held.endswith(b"\\"))
        done = self._start if self._depth > 1 else self._seen
        del self._held[:done]
        self._offset += done
        self._seen -= done
        self._start = 0
        return elements

    def finish(self) -> list[SseEvent]:
        """Return the rest of a list cut off in the middle, if any."""
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


def _objects_of(pieces: Sequence[SseEvent]) -> Sequence[dict[str, JSON] | None]:
    """Decode all events that came together at once. The result has None for each event that must be read singly."""
    unread: list[dict[str, JSON] | None] = [None] * len(pieces)
    places = [number for number, piece in enumerate(pieces) if piece.kind == "event" and piece.data[:1] == b"{"]
    datas = [pieces[number].data for number in places]
    if len(places) < 2 or any(data.count(b"{") + data.count(b"[") > DEPTH or b"\n" in data for data in datas):
        return unread
    objects = unread.copy()
    try:
        text, at = b"\n".join(datas).decode(), 0
        for number in places:
            value, at = _STRICT.raw_decode(text, at)
            if at < len(text) and text[at] != "\n":
                return unread
            objects[number] = value
            at += 1
    except (ValueError, RecursionError):
        return unread
    return objects


def _read_object(data: bytes, start: int, end: int) -> tuple[dict[str, JSON] | None, list[ModelEvent]]:
    """Read an event's data as a JSON object, None on failure, with events for unreadable data."""
    events: list[ModelEvent] = []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        events.append(Unreadable(reason="not UTF-8", start=start, end=end))
    try:
        value = read_json(text)
    except ValueError as error:
        return None, [*events, Unreadable(reason=f"not JSON: {error}"[:200], start=start, end=end)]
    if not isinstance(value, dict):
        return None, [*events, Unreadable(reason="not an object", start=start, end=end)]
    return value, events


def count_of(values: JSON, *path: str) -> int | None:
    """Return the number at a path of member names. None if the number is missing or implausible."""
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    if isinstance(values, bool) or not isinstance(values, int | float) or not 0 <= values < 1e15:
        return None
    return int(values)
