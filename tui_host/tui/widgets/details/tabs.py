"""The tabs of a row or heading, and the page of each: answers from their register, and what stands on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui_host.answers.section import Section
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.tui.sources.live import SessionSource
    from tui_host.tui.widgets.pages.detail_page import Page

OF_SECTIONS = ("Time", "Bill", "Tools", "Servers")
"""The tabs of a heading: the keys of `answers.pages.SECTION_PAGES`, which is imported with the first page."""
COMING = "coming"
"""Exchange of the coming request: `host.request_preview.PREVIEW`, which is imported late."""
ANSWERS = frozenset({"Chain", "Changes"})
"""The tabs of a row that depend on other rows: the keys of `answers.pages.ROW_PAGES`."""
OF_BOTH_HALVES = frozenset({"Events", "Timing"})
OF_ALL_ROWS = frozenset({*OF_SECTIONS, "Chain"})
OF_MARKS = frozenset({"Parts", "Changes"})
TEXTS = frozenset({"Raw", "Frame", "Decision", "Headers"})
"""The tabs whose pages are one text, in which places are found."""

_OF_KINDS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "llm": ("Parts", "Raw", "Headers", "Events"),
        "mcp": ("Events", "Headers", "Timing"),
        "frame": ("Frame", "Raw", "Timing"),
        "decision": ("Decision", "Raw"),
        "vendor": ("Raw",),
        "line": ("Raw", "Timing"),
        "end": ("Raw", "Timing"),
        "fault": ("Raw", "Timing"),
    }
)
"""The tabs by kind of row; a request and its response by their lane."""
_OF_EXCHANGES = MappingProxyType({"frame": ("Headers",), "fault": ("Events",)})
"""Further tabs of rows that came over HTTP."""


def tabs_of(row: Row | Section | None) -> Sequence[str]:
    """Return the tabs of a row or heading, the default first."""
    if row is None:
        return ()
    if isinstance(row, Section):
        is_turn = row.is_session or row.turn  # what is of no turn has no time of its own
        return OF_SECTIONS if is_turn else ("Servers", *OF_SECTIONS[:-1])
    tabs = [*_OF_KINDS[row.lane if row.kind in {"request", "response"} else row.kind]]
    if row.exchange:
        tabs += _OF_EXCHANGES.get(row.kind, ())
    if row.calls:
        tabs.append("Chain")
    if row.kind == "request" and row.lane == "llm":
        tabs.append("Changes")
        if row.exchange == COMING:  # a recorded request has its bill on its step's heading
            tabs.append("Bill")
    return tuple(tabs)


def about(row: Row | Section | None, source: SessionSource | None) -> str:
    """Describe a row or heading in a few words: `LLM 3 request`, `lab #4 result`."""
    if row is None or source is None:
        return ""
    if isinstance(row, Section):
        return row.words
    method, name = line(row.method, 40), source.called(row)
    match row.kind:
        case "request" | "response" if row.lane == "mcp":
            return f"{name} {line(row.method, 20)} {row.status or ''}".rstrip()
        case "request" | "response":
            return name if row.exchange == COMING else f"{name} {row.kind}"
        case "frame" if row.answer:
            return f"{name} {'error' if row.error else 'result'}"
        case "frame":
            return f"{name} {method}"
        case "line":
            return f"{name} stderr"
        case _:
            return row.kind


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
    from tui_host.answers.bill_page import bill_sheet
    from tui_host.answers.pages import ROW_PAGES, SECTION_PAGES
    from tui_host.answers.steps import made
    from tui_host.tui.widgets.details import events_tab, wire_tabs
    from tui_host.tui.widgets.pages.parts_page import parts_page
    from tui_host.tui.widgets.pages.tree_page import TreePage

    if isinstance(row, Section):
        return TreePage.of(made(SECTION_PAGES[tab](source, row)), flipped)
    match tab:
        case "Bill":
            return TreePage.of(made(bill_sheet(source, [row])), flipped)
        case "Parts":
            return made(parts_page(source, row, flipped))
        case "Events":
            return events_tab.events_page(source, row, flipped)
        case "Headers":
            return wire_tabs.headers_page(source, row)
        case "Timing":
            return wire_tabs.timing_page(source, row)
        case "Raw" | "Frame" | "Decision":
            return wire_tabs.text_page(tab, source, row, begin)
        case _:
            return TreePage.of(made(ROW_PAGES[tab](source, row)), flipped)
