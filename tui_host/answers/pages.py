"""The pages that answer questions. `Bill` is the function `bill_page` in the module `bill_page`, and one line of the table here.

Tabs, palette, `/bill` in the prompt, `sessions show --bill`, the tools of `tui-host mcp` and the HTML export come from the table.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from tui_host.answers.sheet import Sheet
    from tui_host.answers.wires import Section, Wires
    from tui_host.capture.ladder.row import Row

Subject: TypeAlias = "Section | Row"
Takes: TypeAlias = Literal["", "TURN", "REQUEST", "REQUESTS", "CALL"]
Holder: TypeAlias = Literal["session", "turn", "request", "call"]


class AnswerPage(NamedTuple):
    """A page that answers a question."""

    name: str  # the tab's name
    of: tuple[Holder, ...]  # the rows and headings that have the tab
    takes: Takes  # what may be named behind `/bill`
    help: str  # what it answers, for the help of the command line, the palette and other programs

    @property
    def command(self) -> str:
        return self.name.lower()


PAGES = (
    AnswerPage("Look", ("session", "turn"), "TURN", "what deserves a look: errors, retries, edits, what was not told"),
    AnswerPage("Calls", ("session", "turn"), "TURN", "the calls: who decided on each, after how long, what came of it"),
    AnswerPage("Time", ("session", "turn"), "TURN", "where the time of a turn, or of all turns, went"),
    AnswerPage("Chain", ("call",), "CALL", "the steps of a call, as 1.1.2, lab #4 or its tool: from asked to said"),
    AnswerPage("Changes", ("request",), "REQUESTS", "what changed in a request since the one before, or another one"),
    AnswerPage("Bill", ("session", "turn", "request"), "REQUEST", "what a request consists of: the largest, or LLM 3"),
    AnswerPage("Tools", ("session", "turn"), "TURN", "what each tool costs: its tokens, requests, calls and changes"),
    AnswerPage("Servers", ("session", "turn"), "", "the servers as they were: versions, connections, ends, tools"),
)
"""All pages, in the order of their tabs."""
WIRE_TABS = {
    "Parts": "what a request or an answer consists of",
    "Headers": "the headers of a request or an answer, or of the HTTP request that carried a frame",
    "Events": "all that came of an exchange, event by event",
    "Frame": "what went to a server or came from it, indented",
    "Decision": "what was decided on a call, and on which arguments",
    "Raw": "the bytes as they were sent",
}
"""The tabs of rows that are no pages, each with what it shows: `/headers LLM 1` in the prompt."""


def tabs_for(*holders: Holder) -> tuple[str, ...]:
    """Return the names of the pages that a row or heading has."""
    return tuple(page.name for page in PAGES if not {*holders}.isdisjoint(page.of))


def tabs_of_row(row: Row) -> tuple[str, ...]:
    """Return the names of a row's pages."""
    holders: list[Holder] = ["call"] if row.calls else []
    return tabs_for(*holders, "request") if row.kind == "request" and row.lane == "llm" else tabs_for(*holders)


def sheet_of(name: str, wires: Wires, subject: Subject) -> Sheet:
    """Make a page. Its module is imported with the first one: the first frame of the app needs none of them."""
    function = f"{name.lower()}_page"
    make: Callable[[Wires, Subject], Sheet] = vars(import_module(f"tui_host.answers.{function}"))[function]
    return make(wires, subject)
