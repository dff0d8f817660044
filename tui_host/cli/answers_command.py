"""The pages of the inspector as text or JSON: `sessions show --time` and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from tui_host.answers.bill_page import bill_of, bill_sheet
from tui_host.answers.call_chain import chain_of
from tui_host.answers.chain_page import sheet_of
from tui_host.answers.chain_steps import CallChain
from tui_host.answers.changes_page import WHOLE_TEXT, changes_of, changes_sheet
from tui_host.answers.look import looks_of, looks_sheet
from tui_host.answers.outlines import taken
from tui_host.answers.recorded_wires import RecordedWires
from tui_host.answers.request_weights import requests_of
from tui_host.answers.section import Section, turn_section
from tui_host.answers.servers_page import servers_of, servers_page
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.answers.sheet import as_json as json_of
from tui_host.answers.steps import Steps, made
from tui_host.answers.time_page import time_of, time_page
from tui_host.answers.tools_page import tool_costs, tools_page
from tui_host.capture.visible import line
from tui_host.cli import standard_output as output
from tui_host.cli.columns import cells
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.exports import Exported
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings

Others: TypeAlias = "Callable[[str], tuple[RecordedWires, SessionInfo]]"

_LABEL = 400
"""The most characters of a label that are printed."""
_CALLS = 20
"""The most calls that an error names."""
_WIDE = 100
"""The most cells that labels take before the figures."""


def wires_of(source: Exported, info: SessionInfo, settings: Settings) -> RecordedWires:
    """Read the records of a session."""
    return RecordedWires((record for record, _ in source.session_records(info.id)), settings.providers, user=info.user)


def answer(wires: RecordedWires, info: SessionInfo, arguments: Arguments, others: Others) -> None:
    """Print the page that the arguments ask for.

    Raises:
        StoreError: If the session has no such turn, call or request.
    """
    name, *given = arguments.answer
    value, sheet = page(wires, info, name, given, others)
    if arguments.json:
        output.value(json_of(value))
    else:
        output.text(sheet_text(sheet))


def page(
    wires: RecordedWires, info: SessionInfo, name: str, given: Sequence[str] = (), others: Others | None = None
) -> tuple[object, Sheet]:
    """Return a page by its name, as a value and as a sheet.

    Args:
        wires: The session's records.
        info: The session.
        name: `time`, `changes`, `look`, `bill`, `tools`, `servers` or `chain`.
        given: The turn, the call or the requests that the page is about.
        others: Reads another session, whose request is `SESSION:3`.

    Raises:
        StoreError: If the session has no such turn, call or request.
    """
    session = Section(is_session=True)
    match name:
        case "time":
            section = _section(wires, info, given)
            return time_of(wires, section), made(time_page(wires, section))
        case "changes":
            return _changes(wires, info, given, others)
        case "look":
            looks = looks_of(wires)
            return {"look": looks}, looks_sheet(looks)
        case "bill":
            rows = [_request(wires, info, given[0])] if given else requests_of(wires, session)
            return made(bill_of(wires, rows)), made(bill_sheet(wires, rows))
        case "tools":
            return made(tool_costs(wires, session)), made(tools_page(wires, session))
        case "servers":
            return {"servers": made(servers_of(wires))}, made(servers_page(wires, session))
        case "chain":
            chain = made(_chain(wires, given[0]))
            if not chain:
                raise StoreError(f"has no call {line(given[0], 60)}", info.id, _calls(wires))
            return chain[0], sheet_of(chain)
        case _:
            raise LookupError(name)


def _changes(
    wires: RecordedWires, info: SessionInfo, given: Sequence[str], others: Others | None
) -> tuple[object, Sheet]:
    asked: list[tuple[RecordedWires, SessionInfo, Row]] = []
    for words in given:
        session, _, number = words.rpartition(":")
        its_wires, its_info = others(session) if session and others is not None else (wires, info)
        asked.append((its_wires, its_info, _request(its_wires, its_info, number)))
    first_wires, first_info, first = asked[0]
    wires, info, row = asked[-1]
    earlier = wires.before(row) if len(asked) == 1 else first
    if first_info.id != info.id:
        earlier = taken(first_wires, first, first_info.id)
    changes = None if earlier is None else made(changes_of(wires, row, earlier))
    return changes, made(changes_sheet(wires, row, earlier))


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


def _chain(wires: RecordedWires, call: str) -> Steps[Sequence[CallChain]]:
    chain = yield from chain_of(wires, call)
    return () if chain is None else (chain,)


def _calls(wires: RecordedWires) -> str:
    """Return the numbers of the session's calls in words."""
    calls = list(dict.fromkeys(call for row in wires.ladder.rows for call in sorted(row.calls)))
    more = f" and {len(calls) - _CALLS:,} more" if len(calls) > _CALLS else ""
    return f"its calls are {line(', '.join(calls[:_CALLS]), _LABEL)}{more}" if calls else "it has no calls"


def _section(wires: RecordedWires, info: SessionInfo, given: Sequence[str]) -> Section:
    """Return the turn that is given, or the whole session."""
    if not given:
        return Section(is_session=True)
    section = turn_section(wires.ladder, int(given[0])) if given[0].isdecimal() else None
    if section is None:
        raise StoreError(f"has no turn {line(given[0], 40)}", info.id, f"its turns are 1 to {info.turns}")
    return section


def sheet_text(sheet: Sheet) -> str:
    """Return a page as plain text, every line open, figures in columns."""
    lines = list(_walk(sheet.lines, 0))
    heads = [f"{'  ' * depth}{line(entry.label, _LABEL)}" for depth, entry in lines]
    room = min(max(map(cells, heads), default=0), _WIDE)
    columns = zip_longest(*(entry.figures for _, entry in lines), fillvalue="")
    widths = [max(map(cells, column)) for column in columns]
    written = [line(sheet.what, _LABEL), *sheet.notes]
    for (_, entry), head in zip(lines, heads, strict=True):
        figures = "  ".join(f"{figure:>{wide}}" for figure, wide in zip(entry.figures, widths, strict=False))
        rest = "  ".join(filter(None, (figures, entry.mark, entry.note)))
        written.append(f"{head}{' ' * (room - cells(head))}  {rest}" if rest else head)
    return "\n".join(written if lines else [*written, sheet.empty])


def _walk(lines: Sequence[SheetLine], depth: int) -> Iterator[tuple[int, SheetLine]]:
    for entry in lines:
        if entry.key == WHOLE_TEXT:
            continue  # opens in the app only
        yield depth, entry
        yield from _walk(entry.children, depth + 1)
