"""Tabs of what stands on the wire: raw bytes, frame, decision, headers, timing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from tui_host.answers.bodies import heads_text, missing_words, reading
from tui_host.answers.steps import made
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import lasted
from tui_host.capture.short_units import short_time
from tui_host.capture.visible import line
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.lines.json_lines import looks_like_json
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.json_page import JsonPage
from tui_host.tui.widgets.pages.text_page import TextPage

_BAR = 24
_PREVIEW = 300
NOT_KNOWN = "unknown: the capture does not say"
_WHAT = {
    "decision": "decision",
    "frame": "frame",
    "line": "standard error",
    "fault": "fault",
    "end": "end of the connection",
    "vendor": "the vendor's own tool",
}


def what_of(row: Row) -> str:
    """Describe a row's bytes, for copying."""
    return _WHAT.get(row.kind, f"{row.kind} body")


def text_page(tab: str, source: SessionSource, row: Row, begin: Callable[[Page], None]) -> Page:
    """Return the bytes as they are, or a frame or a decision indented; of a long one the beginning first."""
    if row.missing:
        return TextPage(what_of(row), missing_words(row), form="plain")
    body = made(reading(source, row))
    is_ending = row.kind == "fault" and row.exchange and not row.size  # how an exchange ended, in our words

    def page(text: str, notes: Sequence[str]) -> Page:
        if tab == "Raw":
            return TextPage(what_of(row), text, form="plain" if is_ending else "raw", notes=notes)
        above = line(row.words, _PREVIEW) if tab == "Decision" else ""
        if not body.is_text or not looks_like_json(text):
            return TextPage(what_of(row), text, notes=(above, *notes, "not JSON: shown as received"))
        return JsonPage(what_of(row), text, notes=(above, f"indented for reading · {notes[0]}", *notes[1:]))

    pieces: list[str] = []
    for piece in body.pieces():
        pieces.append(piece)
        if len(pieces) == 2:
            begin(page(pieces[0], (*body.notes, "reading on: this is the beginning")))
    return page("".join(pieces), made(body.with_hidden()).notes)


def headers_page(source: SessionSource, row: Row) -> Page:
    """The head of the row's direction; both heads for a frame inside an exchange."""
    return TextPage("headers", heads_text(source, row) or "none", form="headers")


def timing_page(source: SessionSource, row: Row) -> Page:
    """When a row came, and how long it and its exchange took."""
    number = source.ladder.partner(row.number)
    partner = source.ladder.rows[number] if number is not None else None
    asked, answered = (partner, row) if partner is not None and partner.number < row.number else (row, partner)
    began_ns = source.started_mono_ns(row)
    where = "in the turn" if row.turn else "since the first byte of the session"
    waited = came = together = None
    if answered is not None:
        waited = lasted(asked.end_mono_ns, answered.mono_ns)
        came = lasted(answered.mono_ns, answered.end_mono_ns)
        together = lasted(asked.mono_ns, answered.end_mono_ns)
    bar = "" if waited is None or came is None else f"{_bar(waited, came)} "
    times = (
        (where, lasted(began_ns, row.mono_ns), "{seconds:.6f} s"),
        ("last byte", lasted(began_ns, row.end_mono_ns), "{seconds:.6f} s"),
        ("took", lasted(row.mono_ns, row.end_mono_ns), "{short}"),
        ("waited", waited, "{short} for the answer's first byte"),
        ("came in", came, "{short}"),
        ("together", together, f"{bar}{{short}}"),
    )
    lines = [f"first byte: {NOT_KNOWN if row.mono_ns is None else _wall(row.time_ns)}"]
    for what, time_ns, words in times:
        if time_ns is not None:
            lines.append(f"{what}: {words.format(short=short_time(time_ns / 1e6), seconds=time_ns / 1e9)}")
    if answered is None and row.state == "open":
        lines.append("answer: none yet")
    elif answered is None and row.state == "unanswered":
        lines.append(f"no answer{f': {line(row.ending, 120)}' if row.ending else ''}")
    if row.events > 1:
        lines.append(f"{'events' if row.kind == 'response' else 'times'}: {row.events:,}")
    return TextPage("timing", "\n".join(lines), form="headers")


def _bar(waited: int, came: int) -> str:
    first = min(_BAR, max(0, round(_BAR * waited / max(1, waited + came))))
    return "[" + "." * first + "#" * (_BAR - first) + "]"


def _wall(time_ns: int) -> str:
    moment = datetime.fromtimestamp(time_ns // 1_000_000_000, tz=UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{time_ns % 1_000_000_000 // 1000:06d} UTC"
