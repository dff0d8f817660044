"""Tabs of the wire: raw bytes, headers, frame, timing, decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from tui_host.answers.bodies import Body, heads_text, missing_words, reading
from tui_host.answers.sheet import Form
from tui_host.answers.steps import Steps
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import lasted
from tui_host.capture.short_units import short_time
from tui_host.capture.visible import line
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.lines.json_lines import looks_like_json
from tui_host.tui.widgets.pages.detail_page import Beginning, Page
from tui_host.tui.widgets.pages.text_page import TextPage

_BAR = 24
_PREVIEW = 300
NOT_KNOWN = "unknown: the capture does not say"


def what_of(row: Row) -> str:
    """Describe a row's bytes, for copying."""
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
        case "end":
            return "end of the connection"
        case "vendor":
            return "the vendor's own tool"


def raw_page(source: SessionSource, row: Row) -> Steps[Page]:
    """Return the raw bytes as a page."""
    if row.missing:
        return TextPage(what_of(row), missing_words(row), form="plain")
    body = yield from reading(source, row)
    is_ending = row.kind == "fault" and row.exchange and not row.size  # how an exchange ended, in our words
    form: Form = "plain" if is_ending else "raw"

    def made(text: str, notes: Sequence[str]) -> Page:
        return TextPage(what_of(row), text, form=form, notes=notes)

    return (yield from _paged(body, made))


def _paged(body: Body, made: Callable[[str, Sequence[str]], Page]) -> Steps[Page]:
    """Make a page of a body's text and notes, of a long one its beginning first."""
    pieces: list[str] = []
    for piece in body.pieces():
        pieces.append(piece)
        if len(pieces) == 2:
            yield Beginning.of(made(pieces[0], (*body.notes, "reading on: this is the beginning")))
        yield f"{sum(map(len, pieces)):,} characters read"
    noted = yield from body.with_hidden()
    return made("".join(pieces), noted.notes)


def frame_page(source: SessionSource, row: Row) -> Steps[Page]:
    """Return a frame as a page, indented if JSON."""
    if row.missing:
        return (yield from raw_page(source, row))
    body = yield from reading(source, row)
    return (yield from _pretty("frame", body, unless=row.kind != "frame"))


def decision_page(source: SessionSource, row: Row) -> Steps[Page]:
    """Return a decision and its arguments as a page."""
    body = yield from reading(source, row)
    return (yield from _pretty("decision", body, above=line(row.words, _PREVIEW)))


def _pretty(what: str, body: Body, *, unless: bool = False, above: str = "") -> Steps[Page]:
    def made(text: str, notes: Sequence[str]) -> Page:
        if unless or not body.is_text or not looks_like_json(text):
            return TextPage(what, text, notes=(above, *notes, "not JSON: shown as received"))
        return TextPage(what, text, form="json", notes=(above, f"re-indented · {notes[0]}", *notes[1:]))

    return (yield from _paged(body, made))


def headers_page(source: SessionSource, row: Row) -> Page:
    """The head of the row's direction; both heads for a frame inside an exchange."""
    return TextPage("headers", heads_text(source, row) or "none", form="headers")


def timing_page(source: SessionSource, row: Row) -> Page:
    """Return a row's times as a page."""
    number = source.ladder.partner(row.number)
    partner = source.ladder.rows[number] if number is not None else None
    asked, answered = (partner, row) if partner is not None and partner.number < row.number else (row, partner)
    began_ns = source.started_mono_ns(row)
    lines = [f"first byte: {NOT_KNOWN if row.mono_ns is None else _wall(row.time_ns)}"]
    lines += _took(
        "in the turn" if row.turn else "since the first byte of the session", lasted(began_ns, row.mono_ns), _seconds
    )
    lines += _took("last byte", lasted(began_ns, row.end_mono_ns), _seconds)
    lines += _took("took", lasted(row.mono_ns, row.end_mono_ns))
    if answered is not None:
        waited = lasted(asked.end_mono_ns, answered.mono_ns)
        came = lasted(answered.mono_ns, answered.end_mono_ns)
        bar = "" if waited is None or came is None else f"{_bar(waited, came)} "
        lines += _took("waited", waited, lambda time: f"{_short(time)} for the answer's first byte")
        lines += _took("came in", came)
        lines += _took("together", lasted(asked.mono_ns, answered.end_mono_ns), lambda time: f"{bar}{_short(time)}")
    elif row.state in {"open", "unanswered"}:
        lines.append(_no_answer(row))
    if row.events > 1:
        lines.append(f"{'events' if row.kind == 'response' else 'times'}: {row.events:,}")
    return TextPage("timing", "\n".join(lines), form="headers")


def _no_answer(row: Row) -> str:
    because = f": {line(row.ending, 120)}" if row.ending else ""
    return "answer: none yet" if row.state == "open" else f"no answer{because}"


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
    """Return a line for a time; none for an unknown time."""
    return [] if nanoseconds is None else [f"{what}: {words(nanoseconds)}"]
