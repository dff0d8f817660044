"""Splits a response's body into JSON values for a dialect: events, lines, or a single whole answer.

The first byte of a body decides: services may send a form that was neither requested nor announced. An answer that was
not streamed becomes the events that would have been streamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerReader
from tui_host.llm.body_kinds import answer_part
from tui_host.llm.events import ModelEvent, Stopped
from tui_host.llm.messages import Stop
from tui_host.llm.provider_faults import fault_in

Framing: TypeAlias = Literal["sse", "lines"]

_HEAD_BYTES = 500  # shown if nothing of the body can be read
_DONE = "[DONE]"
_BOM = b"\xef\xbb\xbf"


@dataclass(eq=False)
class BodyDecoder:
    """Reads a response from pieces of any size. The announced type is shown in errors, but not relied on."""

    _reading: AnswerReader
    _content_type: str = ""
    _framing: Framing = "sse"
    _splitter: SseDecoder | LineDecoder | None = None  # None before, and for a whole answer
    _is_whole: bool = False
    _kept: bytearray = field(default_factory=bytearray)  # what no splitter has read, else the beginning of the body
    _size: int = 0
    _spoken: str = ""  # the dialect of events that are not this one's
    _has_stopped: bool = False

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Return the events completed by more bytes."""
        self._size += len(data)
        if self._splitter is None:
            self._kept += data
            if self._is_whole:
                return []
            # How to read the body is chosen once its beginning tells.
            head = bytes(self._kept).removeprefix(_BOM).lstrip()
            line, newline, _ = head.partition(b"\n")
            is_opened = line.rstrip() == b"{"  # by a line, or by an answer laid out for eyes
            if not head or _BOM.startswith(head) or (self._framing == "lines" and is_opened and not newline):
                return []
            if head[:1] == b"<" or is_opened or (self._framing == "sse" and head[:1] in b"{["):
                self._is_whole = True
                return []
            self._splitter = LineDecoder() if self._framing == "lines" else SseDecoder()
            data = bytes(self._kept)
            del self._kept[_HEAD_BYTES:]
        self._read(self._splitter.feed(data))
        events, self._reading.events = self._reading.events, []
        return events

    def finish(self) -> list[ModelEvent]:
        """Return the events completed by the end of the body, with a `Stopped` last, unless already sent."""
        state = self._reading
        if self._splitter is not None:
            self._read(self._splitter.finish())
        state.start, state.end = 0, self._size
        head = bytes(self._kept[:_HEAD_BYTES]).decode("utf-8", "replace").strip()
        if self._splitter is None and (self._is_whole or b"{" in self._kept):
            self._whole(bytes(self._kept).removeprefix(_BOM), head)
        if state.has_foreign and not (state.has_read or state.has_failed or state.mark or self._spoken):
            kind = f" ({self._content_type})" if self._content_type else ""
            state.fail(f"no answer can be read in what came{kind}: {head}")
        state.start = state.end = self._size
        self._stop()
        events, state.events = state.events, []
        return events

    def _read(self, pieces: Sequence[SseEvent]) -> None:
        """Read pieces of the stream: events, the rest of a cut event, or bytes between events."""
        from pydantic_core import from_json  # takes a third of the standard library's time, but long to load

        state = self._reading
        for piece in pieces:
            if self._has_stopped:
                return
            state.start, state.end = piece.start, piece.end
            if piece.kind == "event":
                parsed: JSON = None
                with suppress(ValueError):  # what is not strict is read tolerantly, and in words
                    parsed = from_json(piece.data)
                value = parsed if isinstance(parsed, dict) else self._odd_object(piece.data)
                if value is not None:
                    state.event(value, piece.data)
                    if state.has_foreign and not self._spoken:
                        self._spoken = (answer_part(value) or ("",))[0]
            elif piece.kind == "cut":
                state.unreadable("the last event is cut off")
            elif piece.kind == "other":
                state.has_foreign = True
                self._between(piece.data)
            if state.is_over:
                self._stop()

    def _odd_object(self, data: bytes) -> dict[str, JSON] | None:
        """Read an event that is not one strict JSON object: its data may be anything. None if it is no object."""
        state = self._reading
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("utf-8", "replace")
            state.unreadable("not UTF-8")
        if text.strip() == _DONE:  # services with several APIs send this in all of them
            state.mark = _DONE
            state.start = state.end
            self._stop()
            return None
        reason = "not an object"
        try:
            value = read_json(text)
        except ValueError as error:
            value, reason = None, f"not JSON: {error}"[:200]
            self._between(data)
        if isinstance(value, dict):
            return value
        state.has_foreign = True
        state.unreadable(reason)
        return None

    def _whole(self, body: bytes, head: str) -> None:
        """Read an answer without streaming, or an error in its place."""
        if body.lstrip()[:1] == b"<":
            self._reading.fail(f"a page of HTML came instead of an answer: {head}")
            return
        try:
            value = read_json(body)
        except ValueError as error:
            self._reading.unreadable(f"not JSON: {error}"[:200])
            return
        if isinstance(value, list):  # Gemini's stream without `alt=sse`
            listed = spans(body)
            places = [(node.start, node.end) for node in listed.elements] if listed is not None else []
            self._read([SseEvent(start, end, body[start:end]) for start, end in places])
            return
        events = self._reading.whole(value, body) if isinstance(value, dict) else ()
        for event in events:
            self._reading.event(event, body)
        if not events:
            self._reading.fail(*(fault_in(value) or (f"no answer in it: {head}", "")))

    def _stop(self) -> None:
        """End the answer; does nothing the second time."""
        state = self._reading
        if self._has_stopped:
            return
        self._has_stopped = True
        if self._spoken and not (state.has_read or state.has_failed):
            state.fail(f'the answer has the form of another dialect: set dialect = "{self._spoken}" for this provider')
        start, end = state.start, state.end = state.reason_span if state.reason else (state.end, state.end)
        state.closing()
        stop: Stop = "cut"
        if state.has_failed:
            stop = "failed"
        elif state.reason or state.mark:
            stop = state.stop()
        state.events.append(Stopped(stop=stop, vendor=state.reason or state.mark, start=start, end=end))

    def _between(self, data: bytes) -> None:
        """Find an error written between the events: as JSON, or in words, as Ollama and proxies do."""
        try:
            fault = fault_in(read_json(data.removeprefix(b"error:")))
        except ValueError:
            is_fault = data[:5].lower() == b"error"
            fault = (data.decode("utf-8", "replace").strip()[:_HEAD_BYTES], "") if is_fault else None
        if fault is not None:
            self._reading.fail(*fault)


@dataclass(eq=False)
class LineDecoder:
    """Splits a body into lines (NDJSON), each returned as an event; empty lines are skipped."""

    _rest: bytearray = field(default_factory=bytearray)
    _start: int = 0

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the lines completed by more bytes."""
        self._rest += data
        if b"\n" not in data:
            return []
        *ended, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        lines: list[SseEvent] = []
        for line in ended:
            start, data = self._start, line.rstrip(b"\r")
            if not start and data.startswith(_BOM):
                start, data = len(_BOM), data[len(_BOM) :]
            if data.strip():
                lines.append(SseEvent(start, start + len(data), data))
            self._start += len(line) + 1
        return lines

    def finish(self) -> list[SseEvent]:
        """Return the last line, which may lack its line end; half an object counts as cut off."""
        last = self.feed(b"\n")
        if last and last[0].data.lstrip()[:1] == b"{":
            try:
                read_json(last[0].data)
            except ValueError:
                return [last[0]._replace(kind="cut")]
        return last


def source(data: bytes, *path: str | int) -> str:
    """Return a value inside an event exactly as the model wrote it, by names and numbers; empty if there is none."""
    names = [step for step in path if isinstance(step, str)]
    node: Node | None = spans(data, walk=names, depth=len(path) + 1)
    for step in path:
        if node is None:
            return ""
        inside: dict[str | int, Node] = {**dict(node.members), **dict(enumerate(node.elements))}
        node = inside.get(step)
    return data[node.start : node.end].decode("utf-8", "replace") if node is not None else ""


def count_of(values: JSON, *path: str) -> int | None:
    """Return the number at a path of member names. None if the number is missing or implausible."""
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    if isinstance(values, bool) or not isinstance(values, int | float) or not 0 <= values < 1e15:
        return None
    return int(values)
