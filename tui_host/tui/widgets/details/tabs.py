"""The tabs of a row or heading, and the page of each: answers from their register, and what stands on the wire."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tui_host.answers.names import UnknownNameError, rows_named
from tui_host.answers.pages import sheet_of, tabs_for, tabs_of_row
from tui_host.answers.wires import Section
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import line
from tui_host.tui.widgets.lines.json_lines import looks_like_json
from tui_host.tui.widgets.pages.text_page import TextPage

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tui_host.tui.sources.live import SessionSource
    from tui_host.tui.widgets.pages.tree_page import Page

OF_SECTIONS = tabs_for("session", "turn")  # the tabs of a heading
COMING = "coming"  # exchange of the coming request: `host.request_preview.PREVIEW`, which is imported late
ANSWERS = frozenset(tabs_for("request", "call"))  # the tabs of a row that depend on other rows
TEXTS = frozenset({"Raw", "Frame", "Decision", "Headers"})
"""The tabs whose pages are one text, in which places are found."""
_OF_KINDS = {
    "llm": ("Parts", "Raw", "Headers", "Events"),
    "mcp": ("Events", "Headers"),
    "frame": ("Frame", "Raw"),
    "decision": ("Decision", "Raw"),
}
"""The tabs by kind of row; a request and its response by their lane. All others are raw."""
_OF_EXCHANGES = {"frame": "Headers", "fault": "Events"}  # a further tab of what came over HTTP


def tabs_of(row: Row | Section | None) -> Sequence[str]:
    """Return the tabs of a row or heading, the default first."""
    if row is None:
        return ()
    if isinstance(row, Section):
        is_turn = row.is_session or row.turn  # what is of no turn has no time of its own
        return OF_SECTIONS if is_turn else ("Servers", *OF_SECTIONS[:-1])
    tabs = [*_OF_KINDS.get(row.lane if row.kind in {"request", "response"} else row.kind, ("Raw",))]
    if row.exchange and row.kind in _OF_EXCHANGES:
        tabs.append(_OF_EXCHANGES[row.kind])
    return (*tabs, *tabs_of_row(row))


def row_with(tab: str, source: SessionSource, name: str) -> Row:
    """Return what is called so, of a call's rows the first with a tab: `LLM 1`, `lab #4`, `1.1.2`; unnamed, the last row with it."""
    rows = rows_named(source, name) if name else reversed(source.ladder.rows)
    for row in rows:
        if tab in tabs_of(row):
            return row
    tabs = ", ".join(tabs_of(rows[0])) if isinstance(rows, Sequence) else ""
    raise UnknownNameError(f"{line(name, 60) or 'the session'} has no {tab}", "", f"it has {tabs}" if tabs else "")


def about(row: Row | Section | None, source: SessionSource | None) -> str:
    """Describe a row or heading in a few words: `LLM 3 request`, `lab #4 result`."""
    if row is None or source is None:
        return ""
    if isinstance(row, Section):
        return row.words
    match row.kind:
        case "request" | "response" if row.lane == "mcp":
            what = f"{line(row.method, 20)} {row.status or ''}"
        case "request" | "response":
            what = "" if row.exchange == COMING else row.kind
        case "frame" if row.answer:
            what = "error" if row.error else "result"
        case "frame":
            what = line(row.method, 40)
        case "line":
            what = "stderr"
        case _:
            return row.kind
    return f"{source.called(row)} {what}".rstrip()


def page_of(
    tab: str, source: SessionSource, row: Row | Section, flipped: set[str], beginning: Future[Page] | None = None
) -> Page:
    """Make the page of a tab, in a thread: bytes as they are, a frame or a decision indented, else a sheet as a tree.

    Of a long text `beginning` gets the beginning first. The modules are imported with the first page.
    """
    from tui_host.answers.bodies import body_of, heads_text, is_text, missing_words
    from tui_host.tui.widgets.details.events_tab import events_sheet
    from tui_host.tui.widgets.pages.page_lines import FIRST
    from tui_host.tui.widgets.pages.parts_page import parts_sheet
    from tui_host.tui.widgets.pages.tree_page import TreePage

    if isinstance(row, Section) or tab not in TEXTS:
        if isinstance(row, Row) and tab in {"Parts", "Events"}:
            return TreePage(parts_sheet(source, row) if tab == "Parts" else events_sheet(source, row), flipped)
        return TreePage(sheet_of(tab, source, row), flipped)
    if tab == "Headers":
        return TextPage("headers", heads_text(source, row) or "none", form="headers")
    what = about(row, source)
    if row.missing:
        return TextPage(what, missing_words(row), form="plain")
    body, form, before, last = body_of(source, row), "raw", "", "not JSON: shown as received"
    pieces = body.pieces()
    text = next(pieces, "")
    if tab == "Raw":
        is_ending = row.kind == "fault" and row.exchange and not row.size  # how an exchange ended, in our words
        form, last = "plain" if is_ending else "raw", ""
        if row.mono_ns is not None and row.time_ns:  # neither in some files nor of a coming request
            when = datetime.fromtimestamp(row.time_ns // 1000 / 1e6, tz=UTC)
            last = f"first byte: {when:%Y-%m-%d %H:%M:%S.%f} UTC"
    elif is_text(body.data) and looks_like_json(text):
        form, before, last = "json", "indented for reading · ", ""
    if (more := next(pieces, "")) and beginning is not None:
        notes = f"{before}{body.notes[0]}", *body.notes[1:], "reading on: this is the beginning", last
        beginning.set_result(TextPage(what, text, form=form, notes=notes))
        time.sleep(FIRST)  # so that it is painted before the thread goes on
    notes = body.with_hidden().notes
    return TextPage(what, "".join((text, more, *pieces)), form=form, notes=(f"{before}{notes[0]}", *notes[1:], last))
