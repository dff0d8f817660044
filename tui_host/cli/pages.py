"""The pages of the inspector as values and as text: for `sessions show --time` and the like, and for `mcp`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from tui_host.answers.bill_page import bill_of, bill_sheet
from tui_host.answers.call_chain import chain_of
from tui_host.answers.chain_page import sheet_of
from tui_host.answers.changes_page import WHOLE_TEXT, changes_of, changes_sheet
from tui_host.answers.look import looks_of, looks_sheet
from tui_host.answers.outlines import taken
from tui_host.answers.recorded_wires import RecordedWires
from tui_host.answers.request_weights import requests_of
from tui_host.answers.section import Section, turn_section
from tui_host.answers.servers_page import servers_of, servers_page
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.answers.steps import Steps, made
from tui_host.answers.time_page import time_of, time_page
from tui_host.answers.tools_page import tool_costs, tools_page
from tui_host.capture.visible import line
from tui_host.cli.columns import cells
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.answers.chain_steps import CallChain
    from tui_host.capture.exports import Exported
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.settings.schema import Settings

Session: TypeAlias = "tuple[RecordedWires, SessionInfo]"

_LABEL_CHARACTERS = 400
_LABEL_CELLS = 100  # that labels take before the figures
_NAMED_CALLS = 20


def wires_of(source: Exported, info: SessionInfo, settings: Settings) -> RecordedWires:
    """Read the records of a session."""
    return RecordedWires((record for record, _ in source.session_records(info.id)), settings.providers, user=info.user)


def page(
    session: Session, name: str, given: Sequence[str] = (), others: Callable[[str], Session] | None = None
) -> tuple[object, Sheet]:
    """Return the page `name` about the turn, the call or the requests `given`, as a value and as a sheet.

    `others` reads another session, whose request is `SESSION:3`. Raises StoreError if there is no such turn, call or request.
    """
    wires, info = session
    whole = Section(is_session=True)
    match name:
        case "time":
            section = _section(wires, info, given[0]) if given else whole
            return time_of(wires, section), made(time_page(wires, section))
        case "changes":
            return _changes(session, given, others)
        case "look":
            looks = looks_of(wires)
            return {"look": looks}, looks_sheet(looks)
        case "bill":
            rows = [_request(session, given[0])] if given else requests_of(wires, whole)
            return made(bill_of(wires, rows)), made(bill_sheet(wires, rows))
        case "tools":
            return made(tool_costs(wires, whole)), made(tools_page(wires, whole))
        case "servers":
            return {"servers": made(servers_of(wires))}, made(servers_page(wires, whole))
        case _:
            chains = made(_chains(wires, given[0]))
            if not chains:
                raise StoreError(f"has no call {line(given[0], 60)}", info.id, _calls(wires))
            return chains[0], sheet_of(chains)


def _changes(session: Session, given: Sequence[str], others: Callable[[str], Session] | None) -> tuple[object, Sheet]:
    asked: list[tuple[Session, Row]] = []
    for words in given:
        name, _, number = words.rpartition(":")
        its_session = others(name) if name and others is not None else session
        asked.append((its_session, _request(its_session, number)))
    (first_wires, first_info), first = asked[0]
    (wires, info), row = asked[-1]
    earlier = wires.before(row) if len(asked) == 1 else first
    if first_info.id != info.id:
        earlier = taken(first_wires, first, first_info.id)
    changes = None if earlier is None else made(changes_of(wires, row, earlier))
    return changes, made(changes_sheet(wires, row, earlier))


def _request(session: Session, words: str) -> Row:
    """Return a request to a model by its number (`3` is LLM 3), or by the id of its exchange."""
    ladder = session[0].ladder
    row = ladder.numbers.request(int(words)) if words.isdecimal() else None
    row = row or next((row for row in ladder.rows if row.kind == "request" and row.exchange == words), None)
    if row is None:
        count = len(ladder.numbers.requests)
        remedy = f"its requests are 1 to {count}" if count else "it has no requests to a model"
        raise StoreError(f"has no request {line(words, 40)}", session[1].id, remedy)
    return row


def _chains(wires: RecordedWires, call: str) -> Steps[Sequence[CallChain]]:
    chain = yield from chain_of(wires, call)
    return () if chain is None else (chain,)


def _calls(wires: RecordedWires) -> str:
    """Return the numbers of the session's calls in words."""
    calls = list(dict.fromkeys(call for row in wires.ladder.rows for call in sorted(row.calls)))
    more = f" and {len(calls) - _NAMED_CALLS:,} more" if len(calls) > _NAMED_CALLS else ""
    return f"its calls are {line(', '.join(calls[:_NAMED_CALLS]), 400)}{more}" if calls else "it has no calls"


def _section(wires: RecordedWires, info: SessionInfo, turn: str) -> Section:
    section = turn_section(wires.ladder, int(turn)) if turn.isdecimal() else None
    if section is None:
        raise StoreError(f"has no turn {line(turn, 40)}", info.id, f"its turns are 1 to {info.turns}")
    return section


def sheet_text(sheet: Sheet) -> str:
    """Return a page as plain text, every line open, figures in columns."""
    lines = list(_walk(sheet.lines, 0))
    heads = [f"{'  ' * depth}{line(entry.label, _LABEL_CHARACTERS)}" for depth, entry in lines]
    room = min(max(map(cells, heads), default=0), _LABEL_CELLS)
    columns = zip_longest(*(entry.figures for _, entry in lines), fillvalue="")
    widths = [max(map(cells, column)) for column in columns]
    written = [line(sheet.what, _LABEL_CHARACTERS), *sheet.notes]
    for (_, entry), head in zip(lines, heads, strict=True):
        figures = "  ".join(f"{figure:>{wide}}" for figure, wide in zip(entry.figures, widths, strict=False))
        rest = "  ".join(filter(None, (figures, entry.mark, entry.note)))
        written.append(f"{head}{' ' * (room - cells(head))}  {rest}" if rest else head)
    return "\n".join(written if lines else [*written, sheet.empty])


def _walk(lines: Sequence[SheetLine], depth: int) -> Iterator[tuple[int, SheetLine]]:
    for entry in lines:
        if entry.key != WHOLE_TEXT:  # that opens in the app only
            yield depth, entry
            yield from _walk(entry.children, depth + 1)
