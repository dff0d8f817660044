"""The tabs of a row or heading, and the page of each: answers from their register, and what stands on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui_host.answers.pages import sheet_of, tabs_for, tabs_of_row
from tui_host.answers.wires import Section
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import lasted
from tui_host.capture.short_units import short_time
from tui_host.capture.visible import line
from tui_host.tui.widgets.lines.json_lines import looks_like_json
from tui_host.tui.widgets.pages.text_page import TextPage

if TYPE_CHECKING:
    from tui_host.tui.sources.live import SessionSource
    from tui_host.tui.widgets.pages.tree_page import Page

OF_SECTIONS = tabs_for("session", "turn")
"""The tabs of a heading."""
COMING = "coming"
"""Exchange of the coming request: `host.request_preview.PREVIEW`, which is imported late."""
ANSWERS = frozenset(tabs_for("request", "call"))
"""The tabs of a row that depend on other rows."""
TEXTS = frozenset({"Raw", "Frame", "Decision", "Headers"})
"""The tabs whose pages are one text, in which places are found."""
_OF_KINDS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "llm": ("Parts", "Raw", "Headers", "Events"),
        "mcp": ("Events", "Headers", "Timing"),
        "frame": ("Frame", "Raw", "Timing"),
        "decision": ("Decision", "Raw"),
        "vendor": ("Raw",),
    }
)
"""The tabs by kind of row; a request and its response by their lane."""
_OF_EXCHANGES: Mapping[str, str] = MappingProxyType({"frame": "Headers", "fault": "Events"})
"""A further tab of what came over HTTP."""
_WHAT: Mapping[str, str] = MappingProxyType(
    {"line": "standard error", "end": "end of the connection", "vendor": "the vendor's own tool"}
)
_BAR = 24
_PREVIEW = 300
NOT_KNOWN = "unknown: the capture does not say"


def tabs_of(row: Row | Section | None) -> Sequence[str]:
    """Return the tabs of a row or heading, the default first."""
    if row is None:
        return ()
    if isinstance(row, Section):
        is_turn = row.is_session or row.turn  # what is of no turn has no time of its own
        return OF_SECTIONS if is_turn else ("Servers", *OF_SECTIONS[:-1])
    tabs = [*_OF_KINDS.get(row.lane if row.kind in {"request", "response"} else row.kind, ("Raw", "Timing"))]
    if row.exchange and row.kind in _OF_EXCHANGES:
        tabs.append(_OF_EXCHANGES[row.kind])
    return (*tabs, *tabs_of_row(row))


def about(row: Row | Section | None, source: SessionSource | None) -> str:
    """Describe a row or heading in a few words: `LLM 3 request`, `lab #4 result`."""
    if row is None or source is None:
        return ""
    if isinstance(row, Section):
        return row.words
    what: str = row.kind
    match row.kind:
        case "request" | "response" if row.lane == "mcp":
            what = f"{line(row.method, 20)} {row.status or ''}".rstrip()
        case "frame" if row.answer:
            what = "error" if row.error else "result"
        case "frame":
            what = line(row.method, 40)
        case "line":
            what = "stderr"
        case "request" | "response":
            what = "" if row.exchange == COMING else what
        case _:
            return what
    return f"{source.called(row)} {what}".rstrip()


def what_of(row: Row) -> str:
    """Describe a row's bytes, for copying."""
    return f"{row.kind} body" if row.kind in {"request", "response"} else _WHAT.get(row.kind, row.kind)


def state_of(tab: str, source: SessionSource, row: Row) -> tuple[object, ...]:
    """Return the state of what a page depends on besides its row."""
    match tab:
        case "Events" | "Timing":
            number = source.ladder.partner(row.number)
            return () if number is None else (source.ladder.rows[number],)
        case "Parts" | "Changes":
            return (source.row_marks.revision,)
        case "Chain":
            return (source.ladder.revision,)
        case _:
            return ()


def page_of(
    tab: str,
    source: SessionSource,
    row: Row | Section,
    flipped: set[str],
    begin: Callable[[Page], None] = lambda page: None,  # noqa: ARG005 - nobody waits
) -> Page:
    """Make the page of a tab, in a thread; of a long text `begin` gets the beginning first.

    The modules are imported with the first page.
    """
    from tui_host.answers.bodies import heads_text
    from tui_host.tui.widgets.details.events_tab import events_page
    from tui_host.tui.widgets.pages.parts_page import parts_page
    from tui_host.tui.widgets.pages.tree_page import TreePage

    if isinstance(row, Section):
        return TreePage(sheet_of(tab, source, row), flipped)
    match tab:
        case "Parts":
            return parts_page(source, row, flipped)
        case "Events":
            return events_page(source, row, flipped)
        case "Headers":
            return TextPage("headers", heads_text(source, row) or "none", form="headers")
        case "Timing":
            return TextPage("timing", "\n".join(_times(source, row)), form="headers")
        case "Raw" | "Frame" | "Decision":
            return _text_page(tab, source, row, begin)
        case _:
            return TreePage(sheet_of(tab, source, row), flipped)


def _text_page(tab: str, source: SessionSource, row: Row, begin: Callable[[Page], None]) -> Page:
    """Return the bytes as they are, or a frame or a decision indented; of a long one the beginning first."""
    from tui_host.answers.bodies import body_of, missing_words

    if row.missing:
        return TextPage(what_of(row), missing_words(row), form="plain")
    body = body_of(source, row)
    is_ending = row.kind == "fault" and row.exchange and not row.size  # how an exchange ended, in our words

    def page(text: str, notes: Sequence[str]) -> Page:
        if tab == "Raw":
            return TextPage(what_of(row), text, form="plain" if is_ending else "raw", notes=notes)
        above = line(row.words, _PREVIEW) if tab == "Decision" else ""
        if not body.is_text or not looks_like_json(text):
            return TextPage(what_of(row), text, notes=(above, *notes, "not JSON: shown as received"))
        notes = above, f"indented for reading · {notes[0]}", *notes[1:]
        return TextPage(what_of(row), text, form="json", notes=notes)

    pieces: list[str] = []
    for piece in body.pieces():
        pieces.append(piece)
        if len(pieces) == 2:
            begin(page(pieces[0], (*body.notes, "reading on: this is the beginning")))
    return page("".join(pieces), body.with_hidden().notes)


def _times(source: SessionSource, row: Row) -> Sequence[str]:
    """Say when a row came, and how long it and its exchange took."""
    number = source.ladder.partner(row.number)
    partner = source.ladder.rows[number] if number is not None else None
    asked, answered = (partner, row) if partner is not None and partner.number < row.number else (row, partner)
    began_ns = source.started_mono_ns(row)
    times = [
        (
            "in the turn" if row.turn else "since the first byte of the session",
            began_ns,
            row.mono_ns,
            "{seconds:.6f} s",
        ),
        ("last byte", began_ns, row.end_mono_ns, "{seconds:.6f} s"),
        ("took", row.mono_ns, row.end_mono_ns, "{short}"),
    ]
    if answered is not None:
        waited, came = lasted(asked.end_mono_ns, answered.mono_ns), lasted(answered.mono_ns, answered.end_mono_ns)
        times += [
            ("waited", asked.end_mono_ns, answered.mono_ns, "{short} for the answer's first byte"),
            ("came in", answered.mono_ns, answered.end_mono_ns, "{short}"),
            ("together", asked.mono_ns, answered.end_mono_ns, f"{_bar(waited, came)}{{short}}"),
        ]
    moment = f"{datetime.fromtimestamp(row.time_ns // 1_000_000_000, tz=UTC):%Y-%m-%d %H:%M:%S}"
    first = f"{moment}.{row.time_ns % 1_000_000_000 // 1000:06d} UTC"
    lines = [f"first byte: {NOT_KNOWN if row.mono_ns is None else first}"]
    for what, begin, end, words in times:
        if (time := lasted(begin, end)) is not None:
            lines.append(f"{what}: {words.format(short=short_time(time / 1e6), seconds=time / 1e9)}")
    if answered is None and row.state in {"open", "unanswered"}:
        because = f": {line(row.ending, 120)}" if row.ending else ""
        lines.append("answer: none yet" if row.state == "open" else f"no answer{because}")
    if row.events > 1:
        lines.append(f"{'events' if row.kind == 'response' else 'times'}: {row.events:,}")
    return lines


def _bar(waited: int | None, came: int | None) -> str:
    """Draw how long the first byte was waited for, and the others came in."""
    if waited is None or came is None:
        return ""
    first = min(_BAR, max(0, round(_BAR * waited / max(1, waited + came))))
    return f"[{'.' * first}{'#' * (_BAR - first)}] "
