"""The Events tab: everything in an exchange, with times; the events of an answer with what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from tui_host.answers.event_words import EventReader, Said
from tui_host.answers.masks import masked
from tui_host.answers.sheet import BodyPlace, SheetLine
from tui_host.capture.content_codings import PlainBody, encoding_of
from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import MISSING, Head, Record, Redaction, lasted
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import decode, line
from tui_host.llm.body_framing import LineDecoder
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.text_page import is_utf8
from tui_host.tui.widgets.pages.tree_page import TreePage

_PREVIEW = 300
_NAMES = {"event": "", "comment": "comment ", "other": "no data ", "cut": "cut off "}


_LONGEST_RUN = 1000
"""Events in one line: so many are drawn at once when it is opened."""


@dataclass(frozen=True, slots=True)
class _Happened:
    """An entry, and of an event of an answer what it says."""

    entry: SheetLine
    said: Said | None = None
    after: float | None = None
    size: int = 0


def events_page(source: SessionSource, row: Row, flipped: set[str]) -> Page:
    """Return everything in an exchange as entries with time and size; pieces that follow each other are one entry."""
    pages = source.pages_of(row)
    first = next(pages, ())
    notes = [_note(record, len(first)) for record in first if record.kind == "response"]
    dialect = source.dialect(row) if row.lane == "llm" else None
    happened = _EventEntries(None if dialect is None else EventReader(dialect))
    records = chain.from_iterable(chain([first], pages))
    entries = _in_runs(
        chain.from_iterable(map(happened.entries, records)), lambda text: source.marks(source.hide(text))
    )
    return TreePage("events", entries, flipped=flipped, notes=notes, empty="nothing received yet")


def _note(response: Record, count: int) -> str:
    head = response.head or Head()
    encoding = line(encoding_of(head.headers) or "", 40)
    if _splitter(response) is not None:
        return f"{encoding}, decoded; each event has the time of the chunk that completed it" if encoding else ""
    if count <= 2:
        return ""
    return "no event stream: the chunks as received" + (f", {encoding} decoded" if encoding else "")


def _in_runs(events: Iterable[_Happened], hide: Callable[[str], str]) -> Iterator[SheetLine | None]:
    """Yield entries; events that say pieces of one thing in a row as one, with None while it grows."""
    run: list[_Happened] = []
    for event in events:
        if run and not _continues(run, event.said):
            yield _run_entry(run, hide)
            run = []
        if event.said is not None and event.said.kind:
            run.append(event)
            yield None
        else:
            yield event.entry
    if run:
        yield _run_entry(run, hide)


def _continues(run: Sequence[_Happened], said: Said | None) -> bool:
    last = run[-1].said
    return said is not None and last is not None and said.continues(last) and len(run) < _LONGEST_RUN


def _run_entry(run: Sequence[_Happened], hide: Callable[[str], str]) -> SheetLine:
    """Return the entry of a run: what all say together, then each alone."""
    first, last = run[0], run[-1]
    if first.said is None or len(run) == 1:
        return first.entry
    text = "".join(event.said.text for event in run if event.said is not None)
    shown, size = hide(text), sum(event.size for event in run)
    takes = "" if first.after is None or last.after is None else f" in {short_time(last.after - first.after)}"
    quoted = shown[:_PREVIEW] if first.said.kind == "arguments" else f'"{shown[:_PREVIEW]}"'
    said = len(text.encode("utf-8", "replace"))
    assembled = SheetLine(
        key="assembled",
        label=f"assembled: {said:,} bytes of {first.said.kind} in {size:,} bytes of events",
        text=partial(str, shown),
        style="what",
    )
    return SheetLine(
        key=f"{first.entry.key}:run",
        label=f"{first.said.kind} ×{len(run):,}  {len(text):,} characters{takes}  {quoted}",
        figures=_figures(first.after, size),
        children=(assembled, *(event.entry for event in run)),
    )


class _EventEntries:
    """Turns the records of an exchange into entries, and decodes each chunk once.

    Args:
        reader: Says what the events of an answer say; None for other exchanges.
    """

    def __init__(self, reader: EventReader | None) -> None:
        self._reader = reader
        self._start: int | None = None
        self._events: SseDecoder | LineDecoder | None = None
        self._body = PlainBody()
        self._reported = ""

    def entries(self, record: Record) -> Iterator[_Happened]:
        """Return the entries of the next record."""
        self._start = record.mono_ns if self._start is None else self._start
        after = _milliseconds(lasted(self._start, record.mono_ns))
        match record.kind:
            case "chunk":
                yield from self._chunk(record, after)
            case "end" | "error":
                for event in self._events.finish() if self._events is not None else ():
                    yield self._event(event, record, after)
                self._body.finish()
                yield from self._problem(record, after)
                yield _Happened(_record_entry(record, after))
            case "response":
                self._events = _splitter(record)
                yield _Happened(_record_entry(record, after))
            case _:
                yield _Happened(_record_entry(record, after))

    def _chunk(self, record: Record, after: float | None) -> Iterator[_Happened]:
        plain = self._body.feed(record.data, record.encoding)
        yield from self._problem(record, after)
        if plain is None:
            yield _Happened(_record_entry(record, after))
        elif self._events is None:
            yield _Happened(_record_entry(record, after, plain))
        else:
            for event in self._events.feed(plain):
                yield self._event(event, record, after)

    def _event(self, event: SseEvent, record: Record, after: float | None) -> _Happened:
        said = None if self._reader is None else self._reader.said(event)
        return _Happened(_event_entry(event, record, after, said), said, after, event.end - event.start)

    def _problem(self, record: Record, after: float | None) -> Iterator[_Happened]:
        if self._body.problem != self._reported:
            self._reported = self._body.problem
            label = f"not decoded from here on: {self._reported}"
            entry = SheetLine(key=f"{record.seq}:coding", label=label, figures=_figures(after, 0), style="failed")
            yield _Happened(entry)


def _splitter(response: Record) -> SseDecoder | LineDecoder | None:
    """Return what splits an answer into events; None for an answer that is no stream of events."""
    kind = (response.head or Head()).value("content-type").lower()
    if "event-stream" in kind:
        return SseDecoder()
    return LineDecoder() if "ndjson" in kind else None


def _milliseconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6


def _figures(after: float | None, size: int) -> tuple[str, str]:
    return "" if after is None else f"+{short_time(after)}", short_size(size) if size else ""


def _record_entry(record: Record, after: float | None, plain: bytes | None = None) -> SheetLine:
    """Return a record as an entry, with the size on the wire.

    Args:
        record: The record.
        after: Milliseconds since the exchange began.
        plain: What could be read with it, None for its bytes as they are.
    """
    data = record.data if plain is None else plain
    match record.kind:
        case "request" | "response":
            head = record.head or Head()
            label = f"{head.method} {head.url}" if head.method else f"{record.kind} {head.status or ''}".rstrip()
            label = masked(label, record.redacted)
        case "end" | "error":
            ending = read_ending(record.data)
            label = f"end: {ending.reason}" + (f": {ending.error[:_PREVIEW]}" if ending.error else "")
        case "chunk" if record.data and not data:
            label = "chunk that cannot be decoded alone"
        case _:
            label = f"{record.kind} {masked(decode(data[:_PREVIEW]), record.redacted)}"
    is_body = bool(record.data) and record.kind not in {"end", "error"}
    text = partial(_text_of, data, record.redacted) if is_body and data else None
    if record.kind == "request" and text is not None and record.encoding:
        text = partial(_decoded_text, data, record.encoding, record.redacted)
    style = "failed" if record.kind == "error" or record.malformed not in {None, MISSING} else "what"
    figures = _figures(after, len(record.data) if is_body else 0)
    place = None if text is None or is_utf8(data) else partial(BodyPlace, "", data, is_decoded=False)
    return SheetLine(key=f"{record.seq}", label=label, figures=figures, text=text, place=place, style=style)


def _event_entry(event: SseEvent, record: Record, after: float | None, said: Said | None) -> SheetLine:
    redacted = record.redacted
    name = _NAMES[event.kind] + (f"{event.event} " if event.event not in {"", "message"} else "")
    label = f"{name}{decode(event.data[:_PREVIEW])}" if said is None else said.words
    return SheetLine(
        key=f"{record.seq}:{event.start}",
        label=masked(label, redacted),
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
