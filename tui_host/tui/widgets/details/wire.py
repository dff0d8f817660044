"""The tabs that show what was on the wire: raw bytes, headers, events, frames, times, decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice

from tui_host.capture.ending import read_ending
from tui_host.capture.figures import short_size, short_time
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import MISSING, Head, Record, Redaction, lasted
from tui_host.capture.sse import SseDecoder, SseEvent
from tui_host.capture.visible import decode, line
from tui_host.tui.masks import masked
from tui_host.tui.widgets.lines.jsonlines import looks_like_json
from tui_host.tui.widgets.pages.body import Body, missing_words, reading
from tui_host.tui.widgets.pages.making import Steps
from tui_host.tui.widgets.pages.page import Page
from tui_host.tui.widgets.pages.source import InspectorSource
from tui_host.tui.widgets.pages.text import Form, TextPage
from tui_host.tui.widgets.pages.tree import Entry, TreePage

_BAR = 24
_PREVIEW = 300
NOT_KNOWN = "not known: what was captured does not tell it"


def what_of(row: Row) -> str:
    """What a row's bytes are, in words, for copying."""
    match row.kind:
        case "request" | "response":
            return f"{row.kind} body"
        case "frame":
            return "frame"
        case "decision":
            return "decision"
        case "line":
            return "standard error"
        case "fault":
            return "fault"


def raw_page(source: InspectorSource, row: Row) -> Steps[Page]:
    """The bytes as they are."""
    if row.missing:
        return TextPage(what_of(row), missing_words(row), form="plain")
    body = yield from reading(source, row)
    is_ending = row.kind == "fault" and row.exchange and not row.size  # how an exchange ended, in our words
    form: Form = "plain" if is_ending else "raw"
    return TextPage(what_of(row), body.text, form=form, notes=(" · ".join(body.notes[:1]), *body.notes[1:]))


def frame_page(source: InspectorSource, row: Row) -> Steps[Page]:
    """A frame, re-indented if it is JSON."""
    body = yield from reading(source, row)
    return _pretty("frame", body, unless=row.kind != "frame")


def decision_page(source: InspectorSource, row: Row) -> Steps[Page]:
    """What was decided, and on which arguments."""
    body = yield from reading(source, row)
    return _pretty("decision", body, above=line(row.words, _PREVIEW))


def _pretty(what: str, body: Body, *, unless: bool = False, above: str = "") -> Page:
    text = body.text
    if unless or not body.is_text or not looks_like_json(text):
        return TextPage(what, text, notes=(above, *body.notes, "not JSON: shown as it came"))
    return TextPage(what, text, form="json", notes=(above, f"re-indented · {body.notes[0]}", *body.notes[1:]))


def headers_page(source: InspectorSource, row: Row) -> Page:
    """The head of the row's direction; both heads for a frame inside an exchange."""
    first = source.record((row.capture, row.seq))
    records: Iterable[Record] = [first] if first is not None else []
    if row.kind not in {"request", "response"}:
        records = (record for page in source.pages_of(row) for record in page)
    found = ((record.draft.head, record) for record in records if record.draft.head is not None)
    blocks = ["\n".join(_head_lines(head, record)) for head, record in islice(found, 2)]
    return TextPage("headers", "\n\n".join(blocks) or "none", form="headers")


def _head_lines(head: Head, record: Record) -> Sequence[str]:
    first = f"{head.method} {head.url}" if head.method else str(head.status or "")
    lines = [*filter(None, [first]), *(f"{name}: {value}" for name, value in head.headers)]
    return [masked(text.replace("\n", "␊"), record.draft.redacted) for text in lines]


def events_page(source: InspectorSource, row: Row, flipped: set[str]) -> Page:
    """All that happened in an exchange, each thing with its time and size; each opens to what it says."""
    pages = source.pages_of(row)
    first = next(pages, ())
    is_answered = any(record.draft.kind == "response" for record in first)
    is_plain = is_answered and not any(_is_event_stream(record) for record in first)
    notes = ["no stream of events: the chunks as they came"] if is_plain and len(first) > 2 else []
    entries = _entries(chain([first], pages))
    return TreePage("events", entries, flipped=flipped, notes=notes, empty="nothing came yet")


def _entries(pages: Iterable[Sequence[Record]]) -> Iterator[Entry]:
    decoder: SseDecoder | None = None
    start: int | None = None
    for record in (record for page in pages for record in page):
        draft = record.draft
        start = record.mono_ns if start is None else start
        after = _milliseconds(lasted(start, record.mono_ns))
        if draft.kind == "response":
            decoder = SseDecoder() if _is_event_stream(record) and not draft.encoding else None
        if decoder is None or draft.kind not in {"chunk", "end", "error"} or draft.encoding:
            yield _record_entry(record, after)
            continue
        for event in decoder.feed(draft.data) if draft.kind == "chunk" else decoder.finish():
            yield _event_entry(event, record, after)
        if draft.kind != "chunk":
            yield _record_entry(record, after)


def _is_event_stream(record: Record) -> bool:
    head = record.draft.head
    if head is None or record.draft.kind != "response":
        return False
    return "event-stream" in head.value("content-type").lower()


def _milliseconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6


def _figures(after: float | None, size: int) -> tuple[str, str]:
    return "" if after is None else f"+{short_time(after)}", short_size(size) if size else ""


def _record_entry(record: Record, after: float | None) -> Entry:
    draft = record.draft
    match draft.kind:
        case "request" | "response":
            head = draft.head or Head()
            label = f"{head.method} {head.url}" if head.method else f"{draft.kind} {head.status or ''}".rstrip()
            label = masked(label, draft.redacted)
        case "end" | "error":
            ending = read_ending(draft.data)
            label = f"end: {ending.reason}" + (f": {ending.error[:_PREVIEW]}" if ending.error else "")
        case _:
            label = f"{draft.kind} {masked(decode(draft.data[:_PREVIEW]), draft.redacted)}"
    is_body = bool(draft.data) and draft.kind not in {"end", "error"}
    text = partial(_text_of, draft.data, draft.redacted) if is_body else None
    size = len(draft.data) if is_body else 0
    style = "failed" if draft.kind == "error" or draft.malformed not in {None, MISSING} else "what"
    return Entry(key=f"{record.seq}", label=label, figures=_figures(after, size), text=text, style=style)


def _event_entry(event: SseEvent, record: Record, after: float | None) -> Entry:
    redacted = record.draft.redacted
    names = {"event": "", "comment": "comment ", "other": "no data ", "cut": "cut off "}
    name = names[event.kind] + (f"{event.event} " if event.event not in {"", "message"} else "")
    return Entry(
        key=f"{record.seq}:{event.start}",
        label=name + masked(decode(event.data[:_PREVIEW]), redacted),
        figures=_figures(after, event.end - event.start),
        text=partial(_text_of, event.data, redacted),  # no closure: of 60,000 events each object counts
        style="failed" if event.kind == "cut" else "",
    )


def _text_of(data: bytes, redacted: tuple[Redaction, ...]) -> str:
    return masked(decode(data), redacted)


def timing_page(source: InspectorSource, row: Row) -> Page:
    """When it began and ended, and how long one waited for it."""
    number = source.ladder.partner(row.number)
    partner = source.ladder.rows[number] if number is not None else None
    asked, answered = (partner, row) if partner is not None and partner.number < row.number else (row, partner)
    began_ns = source.started_mono_ns(row)
    lines = [f"first byte: {NOT_KNOWN if row.mono_ns is None else _wall(row.time_ns)}"]
    lines += _took("in the turn", lasted(began_ns, row.mono_ns), _seconds)
    lines += _took("last byte", lasted(began_ns, row.end_mono_ns), _seconds)
    lines += _took("took", lasted(row.mono_ns, row.end_mono_ns))
    if answered is not None:
        waited = lasted(asked.end_mono_ns, answered.mono_ns)
        came = lasted(answered.mono_ns, answered.end_mono_ns)
        bar = "" if waited is None or came is None else f"{_bar(waited, came)} "
        lines += _took("waited", waited, lambda time: f"{_short(time)} for the first byte of the answer")
        lines += _took("came in", came)
        lines += _took("together", lasted(asked.mono_ns, answered.end_mono_ns), lambda time: f"{bar}{_short(time)}")
    elif row.state == "open" or (row.kind in {"request", "frame"} and row.rpc_id and not row.answer):
        lines.append("answer: none yet")
    if row.events > 1:
        lines.append(f"pieces: {row.events:,}")
    return TextPage("timing", "\n".join(lines), form="headers")


def _bar(waited: int, came: int) -> str:
    whole = max(1, waited + came)
    first = min(_BAR, max(0, round(_BAR * waited / whole)))
    return "[" + "." * first + "#" * (_BAR - first) + "]"


def _wall(time_ns: int) -> str:
    moment = datetime.fromtimestamp(time_ns // 1_000_000_000, tz=UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{time_ns % 1_000_000_000 // 1000:06d} UTC"


def _short(nanoseconds: int) -> str:
    return short_time(nanoseconds / 1e6)


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.6f} s"


def _took(what: str, nanoseconds: int | None, words: Callable[[int], str] = _short) -> Sequence[str]:
    """The line that tells a time; none where it is not known."""
    return [] if nanoseconds is None else [f"{what}: {words(nanoseconds)}"]
