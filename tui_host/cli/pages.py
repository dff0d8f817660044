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
from tui_host.answers.steps import made
from tui_host.answers.time_page import time_of, time_page
from tui_host.answers.tools_page import tool_costs, tools_page
from tui_host.capture.visible import line
from tui_host.cli.output import cells
from tui_host.cli.recorded import chosen
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.capture.store.store import Store
    from tui_host.settings.schema import Settings

WiresOf: TypeAlias = "Callable[[str], tuple[RecordedWires, SessionInfo]]"
"""Reads the records of a session by its name."""
_LABEL_CHARACTERS = 400
_LABEL_CELLS = 100  # that labels take before the figures


def wires_of(store: Store, settings: Settings, name: str) -> tuple[RecordedWires, SessionInfo]:
    """Find a session by its name, and read its records."""
    listed, source = chosen(store, name)
    records = (record for record, _ in source.session_records(listed.info.id))
    return RecordedWires(records, settings.providers, user=listed.info.user), listed.info


def page(read: WiresOf, session: str, name: str, given: Sequence[str] = ()) -> tuple[object, Sheet]:
    """Return the page `name` about the turn, the call or the requests `given`, as a value and as a sheet.

    The request of another session is `SESSION:3`. Raises StoreError if there is no such turn, call or request.
    """
    wires, info = read(session)
    whole = Section(is_session=True)
    match name:
        case "time":
            section = _section(wires, info, given[0]) if given else whole
            return time_of(wires, section), made(time_page(wires, section))
        case "changes":
            asked = [_named_request(read, (wires, info), words) for words in given]
            (its_wires, its_info, earlier), (wires, info, row) = asked[0], asked[-1]
            if len(asked) == 1:
                earlier = wires.before(row)
            elif its_info.id != info.id:
                earlier = taken(its_wires, earlier, its_info.id)
            changes = None if earlier is None else made(changes_of(wires, row, earlier))
            return changes, made(changes_sheet(wires, row, earlier))
        case "look":
            looks = looks_of(wires)
            return {"look": looks}, looks_sheet(looks)
        case "bill":
            rows = [_request(wires, info, given[0])] if given else requests_of(wires, whole)
            return made(bill_of(wires, rows)), made(bill_sheet(wires, rows))
        case "tools":
            return made(tool_costs(wires, whole)), made(tools_page(wires, whole))
        case "servers":
            return {"servers": made(servers_of(wires))}, made(servers_page(wires, whole))
        case _:
            if not wires.ladder.rows_of_call(given[0]):
                calls = ", ".join(dict.fromkeys(call for row in wires.ladder.rows for call in sorted(row.calls)))
                remedy = f"its calls are {line(calls, _LABEL_CHARACTERS)}" if calls else "it has no calls"
                raise StoreError(f"has no call {line(given[0], 60)}", info.id, remedy)
            chain = made(chain_of(wires, given[0]))
            return chain, sheet_of(() if chain is None else (chain,))


def _named_request(
    read: WiresOf, session: tuple[RecordedWires, SessionInfo], words: str
) -> tuple[RecordedWires, SessionInfo, Row]:
    name, _, number = words.rpartition(":")
    wires, info = read(name) if name else session
    return wires, info, _request(wires, info, number)


def _request(wires: RecordedWires, info: SessionInfo, words: str) -> Row:
    """Return a request to a model by its number (`3` is LLM 3), or by the id of its exchange."""
    numbers = wires.ladder.numbers
    row = numbers.request(int(words)) if words.isdecimal() else None
    row = row or next((row for row in wires.ladder.rows if row.kind == "request" and row.exchange == words), None)
    if row is None:
        count = len(numbers.requests)
        remedy = f"its requests are 1 to {count}" if count else "it has no requests to a model"
        raise StoreError(f"has no request {line(words, 40)}", info.id, remedy)
    return row


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
