"""The Events tab: everything in an exchange, with times; the events of an answer with what they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from tui_host.answers.bodies import is_text
from tui_host.answers.event_words import Said, event_said
from tui_host.answers.masks import masked
from tui_host.answers.sheet import BodyPlace, Sheet, SheetLine
from tui_host.capture.content_codings import PlainBody, encoding_of
from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import MISSING, Head, Record, Redaction, lasted
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import decode, line
from tui_host.llm.answer_state import AnswerReader
from tui_host.llm.body_framing import LineDecoder
from tui_host.tui.sources.live import SessionSource

_PREVIEW = 300
_LONGEST_RUN = 1000  # events in one line: so many are drawn at once when it is opened
_NAMES = {"event": "", "comment": "comment ", "other": "no data ", "cut": "cut off "}


class _Event(NamedTuple):
    entry: SheetLine
    said: Said | None = None  # of an event of an answer
    after: float | None = None  # milliseconds since the exchange began
    size: int = 0
    number: int = 0  # its place among the events of the answer, from 1


def events_sheet(source: SessionSource, row: Row) -> Sheet:
    """Return everything in an exchange as entries with time and size, events by number; pieces that follow each other are one entry."""
    records = [record for page in source.pages_of(row) for record in page]
    dialect = source.dialect(row) if row.lane == "llm" else None
    runs: list[list[_Event]] = []
    for event in _events(records, None if dialect is None else dialect.reader()):
        said, before = event.said, runs[-1][-1].said if runs else None
        begins = said is None or before is None or not said.kind or (said.kind, said.part) != (before.kind, before.part)
        if begins or len(runs[-1]) == _LONGEST_RUN:
            runs.append([])
        runs[-1].append(event)
    heads = [record.head for record in records if record.kind == "response" and record.head is not None]
    codings = [line(coding, 40) for head in heads if (coding := encoding_of(head.headers))]
    notes = [f"{coding}, decoded; each event has the time of the chunk that completed it" for coding in codings]
    entries = [run[0].entry for run in runs]
    for at, run in enumerate(runs):
        if len(run) == 1:
            continue
        # What all say together, then each alone.
        first, last = run[0], run[-1]
        kind = "" if first.said is None else first.said.kind
        text = "".join(event.said.text for event in run if event.said is not None)
        shown, size = source.hide(text), sum(event.size for event in run)
        takes = "" if first.after is None or last.after is None else f" in {short_time(last.after - first.after)}"
        quoted = shown[:_PREVIEW] if kind == "arguments" else f'"{shown[:_PREVIEW]}"'
        label = f"assembled: {len(text.encode('utf-8', 'replace')):,} bytes of {kind} in {size:,} bytes of events"
        assembled = SheetLine(key="assembled", label=label, text=partial(str, shown), style="what")
        what, figures = f"{kind} ×{len(run):,}  {len(text):,} characters{takes}", _figures(first.after, size)
        label = f"{first.number:,}–{last.number:,}  {what}  {quoted}"
        children = assembled, *(event.entry for event in run)
        entries[at] = SheetLine(key=f"{first.entry.key}:run", label=label, figures=figures, children=children)
    return Sheet(what="events of the exchange", lines=entries, notes=notes, empty="nothing received yet")


def _events(records: Iterable[Record], reader: AnswerReader | None) -> Iterator[_Event]:
    """Turn the records of an exchange into events, and decode each chunk once; without a model nothing is said."""
    began_ns: int | None = None
    splitter: SseDecoder | LineDecoder | None = None
    body, problem, number = PlainBody(), "", 0
    for record in records:
        began_ns = record.mono_ns if began_ns is None else began_ns
        lasted_ns = lasted(began_ns, record.mono_ns)
        after = None if lasted_ns is None else lasted_ns / 1e6
        plain, split = None, list[SseEvent]()
        if record.kind == "response":
            kind = (record.head or Head()).value("content-type").lower()
            splitter = LineDecoder() if "ndjson" in kind else None  # of an answer that is no stream of events
            splitter = SseDecoder() if "event-stream" in kind else splitter
        elif record.kind == "request" and record.encoding:
            plain = PlainBody().feed(record.data, record.encoding)
        elif record.kind == "chunk":
            plain = body.feed(record.data, record.encoding)
            split = splitter.feed(plain) if splitter is not None and plain is not None else split
        elif record.kind in {"end", "error"}:
            split = splitter.finish() if splitter is not None else split
            body.finish()
        if body.problem != problem:
            problem = body.problem
            label = f"not decoded from here on: {problem}"
            yield _Event(SheetLine(key=f"{record.seq}:coding", label=label, figures=_figures(after, 0), style="failed"))
        for event in split:
            number += 1
            said = None if reader is None else event_said(reader, event)
            name = _NAMES[event.kind] + (f"{event.event} " if event.event not in {"", "message"} else "")
            words = f"{name}{decode(event.data[:_PREVIEW])}" if said is None else said.words
            label, size = masked(f"{number:,}  {words}", record.redacted), event.end - event.start
            text = partial(_text_of, event.data, record.redacted)  # no closure: of 60,000 events each object counts
            style, figures = "failed" if event.kind == "cut" else "", _figures(after, size)
            entry = SheetLine(key=f"{record.seq}:{event.start}", label=label, figures=figures, text=text, style=style)
            yield _Event(entry, said, after, size, number)
        if record.kind != "chunk" or plain is None or splitter is None:
            yield _Event(_record_entry(record, after, record.data if plain is None else plain))


def _figures(after: float | None, size: int) -> tuple[str, str]:
    return "" if after is None else f"+{short_time(after)}", short_size(size) if size else ""


def _record_entry(record: Record, after: float | None, data: bytes) -> SheetLine:
    """Return a record with its decoded bytes as an entry, with the size on the wire."""
    head, is_body = record.head or Head(), bool(record.data)
    match record.kind:
        case "request" | "response":
            label = f"{head.method} {head.url}" if head.method else f"{record.kind} {head.status or ''}".rstrip()
        case "end" | "error":
            ending, is_body = read_ending(record.data), False
            label = f"end: {ending.reason}" + (f": {ending.error[:_PREVIEW]}" if ending.error else "")
        case "chunk" if is_body and not data:
            label = "chunk that cannot be decoded alone"
        case _:
            label = f"{record.kind} {decode(data[:_PREVIEW])}"
    text, place = None, None
    if is_body and data:
        text = partial(_text_of, data, record.redacted)
        place = None if is_text(data) else partial(BodyPlace, "", data, is_decoded=False)
    label, figures = masked(label, record.redacted), _figures(after, len(record.data) if is_body else 0)
    style = "failed" if record.kind == "error" or record.malformed not in {None, MISSING} else "what"
    return SheetLine(key=f"{record.seq}", label=label, figures=figures, text=text, place=place, style=style)


def _text_of(data: bytes, redacted: tuple[Redaction, ...]) -> str:
    return masked(decode(data), redacted)
