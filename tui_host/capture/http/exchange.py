"""Fold records into exchanges: heads, bodies, chunks with times, and the end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from tui_host.capture.content_codings import CodingError, decoder
from tui_host.capture.http.exchange_end import Ending, read_ending
from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.record import Draft, Head, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A body after content decoding.

    Attributes:
        data: The bytes; those of the body itself if it was sent as it is, or cannot be decoded at all.
        ends: For each chunk the place in `data` that was reached with it.
        problem: Why it is not the whole body, empty if it is.
    """

    data: bytes
    ends: tuple[int, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedEvent:
    """An event of a stream, with the time of the chunk by which the event was complete."""

    event: SseEvent
    mono_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One HTTP request with the response, as far as recorded.

    Attributes:
        end: The record that tells the end; None while it lasts, or if the recording was cut.
    """

    capture: str
    id: str
    request: Record | None = None
    response: Record | None = None
    chunks: tuple[Record, ...] = ()
    end: Record | None = None

    @property
    def request_head(self) -> Head | None:
        """Method, URL and headers."""
        return self.request.draft.head if self.request is not None else None

    @property
    def response_head(self) -> Head | None:
        """Status and headers."""
        return self.response.draft.head if self.response is not None else None

    @property
    def ending(self) -> Ending | None:
        """The end of the exchange; None while the exchange lasts."""
        return read_ending(self.end.draft.data) if self.end is not None else None

    @property
    def encoding(self) -> str | None:
        """The content coding of the response's body."""
        return self.chunks[0].draft.encoding if self.chunks else None

    def body(self, side: Literal["request", "response"] = "response") -> bytes:
        """The bytes after transfer framing and before content decoding."""
        if side == "request":
            return self.request.draft.data if self.request is not None else b""
        return b"".join(chunk.draft.data for chunk in self.chunks)

    def decoded(self, side: Literal["request", "response"] = "response") -> Decoded:
        """The body after content decoding, within the bounds of `codings`."""
        sent = (self.request,) if self.request is not None else ()
        records = sent if side == "request" else self.chunks
        return _decoded([record.draft for record in records], whole=self.end is not None)

    def events(self) -> list[TimedEvent]:
        """The events of a streamed response, comments too; empty for any response but an event stream."""
        if not _content_type(self.response_head).startswith("text/event-stream"):
            return []
        decoded = self.decoded()
        stream = SseDecoder()
        events = stream.feed(decoded.data)
        if self.end is not None:
            events += stream.finish()
        times = [chunk.mono_ns for chunk in self.chunks]
        return [TimedEvent(event=event, mono_ns=_time_at(event.end, decoded.ends, times)) for event in events]


def fold_exchanges(records: Iterable[Record]) -> dict[tuple[str, str], Exchange]:
    """All exchanges in some records, by capture and id, in the order of their first records."""
    parts_by_exchange: dict[tuple[str, str], _Parts] = {}
    for record in records:
        draft = record.draft
        if draft.exchange is None or draft.kind in {"frame", "link"}:
            continue
        parts_by_exchange.setdefault((record.capture, draft.exchange), _Parts()).take(record)
    return {key: parts.exchange(*key) for key, parts in parts_by_exchange.items()}


class _Parts:
    """The records of one exchange, sorted by kind."""

    __slots__ = ("chunks", "end", "request", "response")

    def __init__(self) -> None:
        self.request: Record | None = None
        self.response: Record | None = None
        self.chunks: list[Record] = []
        self.end: Record | None = None

    def take(self, record: Record) -> None:
        match record.draft.kind:
            case "request":
                self.request = record
            case "response":
                self.response = record
            case "chunk":
                self.chunks.append(record)
            case _:
                self.end = record

    def exchange(self, capture: str, identity: str) -> Exchange:
        return Exchange(
            capture=capture,
            id=identity,
            request=self.request,
            response=self.response,
            chunks=tuple(self.chunks),
            end=self.end,
        )


def _decoded(drafts: Sequence[Draft], *, whole: bool) -> Decoded:
    """Decode a body; from the first piece without an encoding on, the body was kept decoded."""
    decoded: list[bytes] = []
    ends: list[int] = []
    size = 0
    problem = ""
    encoding = drafts[0].encoding if drafts else None
    try:
        decode = decoder(encoding)
    except CodingError as error:
        pieces = [draft.data for draft in drafts]
        return Decoded(data=b"".join(pieces), ends=tuple(accumulate(map(len, pieces))), problem=str(error))
    try:
        for draft in drafts:
            decoded.append(draft.data if draft.encoding is None else decode.feed(draft.data))
            size += len(decoded[-1])
            ends.append(size)
        if whole and drafts and drafts[-1].encoding is not None:
            decoded.append(decode.finish())
    except CodingError as error:
        problem = str(error)
        ends += [size] * (len(drafts) - len(ends))
    return Decoded(data=b"".join(decoded), ends=tuple(ends), problem=problem)


def _time_at(place: int, ends: Sequence[int], times: Sequence[int | None]) -> int | None:
    """When the bytes up to a place had come."""
    if not times:
        return None
    return times[min(bisect_left(ends, place), len(times) - 1)]


def _content_type(head: Head | None) -> str:
    return head.value("content-type").strip().lower() if head is not None else ""
