"""The Events tab: everything in an exchange, with times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from tui_host.answers.masks import masked
from tui_host.capture.content_codings import encoding_of
from tui_host.capture.http.decoded_body import PlainBody
from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import MISSING, Head, Record, Redaction, lasted
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import decode, line
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.tree_page import Entry, TreePage

_PREVIEW = 300
_NAMES = {"event": "", "comment": "comment ", "other": "no data ", "cut": "cut off "}


def events_page(source: SessionSource, row: Row, flipped: set[str]) -> Page:
    """Return everything in an exchange as entries with time and size."""
    pages = source.pages_of(row)
    first = next(pages, ())
    notes = [_note(record, len(first)) for record in first if record.draft.kind == "response"]
    return TreePage(
        "events", _entries(chain([first], pages)), flipped=flipped, notes=notes, empty="nothing received yet"
    )


def _note(response: Record, count: int) -> str:
    """Explain how the body is shown, if not as received."""
    head = response.draft.head or Head()
    encoding = line(encoding_of(head.headers) or "", 40)
    if _is_event_stream(response):
        return f"{encoding}, decoded; each event has the time of the chunk that completed it" if encoding else ""
    if count <= 2:
        return ""
    return "no event stream: the chunks as received" + (f", {encoding} decoded" if encoding else "")


def _entries(pages: Iterable[Sequence[Record]]) -> Iterator[Entry]:
    happened = _EventEntries()
    for page in pages:
        for record in page:
            yield from happened.entries(record)


class _EventEntries:
    """Turns the records of an exchange into entries, and decodes each chunk once."""

    def __init__(self) -> None:
        self._start: int | None = None
        self._events: SseDecoder | None = None
        self._body = PlainBody()
        self._reported = ""

    def entries(self, record: Record) -> Iterator[Entry]:
        """Return the entries of the next record."""
        self._start = record.mono_ns if self._start is None else self._start
        after = _milliseconds(lasted(self._start, record.mono_ns))
        match record.draft.kind:
            case "chunk":
                yield from self._chunk(record, after)
            case "end" | "error":
                for event in self._events.finish() if self._events is not None else ():
                    yield _event_entry(event, record, after)
                self._body.finish()
                yield from self._problem(record, after)
                yield _record_entry(record, after)
            case "response":
                self._events = SseDecoder() if _is_event_stream(record) else None
                yield _record_entry(record, after)
            case _:
                yield _record_entry(record, after)

    def _chunk(self, record: Record, after: float | None) -> Iterator[Entry]:
        draft = record.draft
        plain = self._body.feed(draft.data, draft.encoding)
        yield from self._problem(record, after)
        if plain is None:
            yield _record_entry(record, after)
        elif self._events is None:
            yield _record_entry(record, after, plain)
        else:
            for event in self._events.feed(plain):
                yield _event_entry(event, record, after)

    def _problem(self, record: Record, after: float | None) -> Iterator[Entry]:
        if self._body.problem != self._reported:
            self._reported = self._body.problem
            label = f"not decoded from here on: {self._reported}"
            yield Entry(key=f"{record.seq}:coding", label=label, figures=_figures(after, 0), style="failed")


def _is_event_stream(record: Record) -> bool:
    head = record.draft.head
    if head is None or record.draft.kind != "response":
        return False
    return "event-stream" in head.value("content-type").lower()


def _milliseconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6


def _figures(after: float | None, size: int) -> tuple[str, str]:
    return "" if after is None else f"+{short_time(after)}", short_size(size) if size else ""


def _record_entry(record: Record, after: float | None, plain: bytes | None = None) -> Entry:
    """Return a record as an entry, with the size on the wire.

    Args:
        record: The record.
        after: Milliseconds since the exchange began.
        plain: What could be read with it, None for its bytes as they are.
    """
    draft = record.draft
    data = draft.data if plain is None else plain
    match draft.kind:
        case "request" | "response":
            head = draft.head or Head()
            label = f"{head.method} {head.url}" if head.method else f"{draft.kind} {head.status or ''}".rstrip()
            label = masked(label, draft.redacted)
        case "end" | "error":
            ending = read_ending(draft.data)
            label = f"end: {ending.reason}" + (f": {ending.error[:_PREVIEW]}" if ending.error else "")
        case "chunk" if draft.data and not data:
            label = "chunk that cannot be decoded alone"
        case _:
            label = f"{draft.kind} {masked(decode(data[:_PREVIEW]), draft.redacted)}"
    is_body = bool(draft.data) and draft.kind not in {"end", "error"}
    text = partial(_text_of, data, draft.redacted) if is_body and data else None
    if draft.kind == "request" and text is not None and draft.encoding:
        text = partial(_decoded_text, data, draft.encoding, draft.redacted)
    style = "failed" if draft.kind == "error" or draft.malformed not in {None, MISSING} else "what"
    figures = _figures(after, len(draft.data) if is_body else 0)
    return Entry(key=f"{record.seq}", label=label, figures=figures, text=text, style=style)


def _event_entry(event: SseEvent, record: Record, after: float | None) -> Entry:
    redacted = record.draft.redacted
    name = _NAMES[event.kind] + (f"{event.event} " if event.event not in {"", "message"} else "")
    return Entry(
        key=f"{record.seq}:{event.start}",
        label=name + masked(decode(event.data[:_PREVIEW]), redacted),
        figures=_figures(after, event.end - event.start),
        text=partial(_text_of, event.data, redacted),  # no closure: of 60,000 events each object counts
        style="failed" if event.kind == "cut" else "",
    )


def _text_of(data: bytes, redacted: tuple[Redaction, ...]) -> str:
    return masked(decode(data), redacted)


def _decoded_text(data: bytes, encoding: str, redacted: tuple[Redaction, ...]) -> str:
    plain = PlainBody().feed(data, encoding)
    return _text_of(
        data if plain is None else plain, redacted
    )  # what cannot be read stands as it came, as a chunk does
