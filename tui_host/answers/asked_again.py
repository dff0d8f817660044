"""Later attempts of a call: the same tool asked with the same arguments, or again after a failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui_host.answers.bodies import first_data
from tui_host.answers.chain_values import changes, member_range, parsed
from tui_host.capture.json.reading import read_object
from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row
    from tui_host.errors import JSON

_ROWS = 2000
"""Rows behind a call among which later attempts are looked for."""
_MOST = 3


def later_attempts(
    wires: Wires, rows: Sequence[Row], tool: str, arguments: JSON, *, has_failed: bool
) -> Iterator[tuple[Row, str]]:
    """Yield the rows of calls that ask for the same, in words: with the same arguments, or after a failure with others."""
    ladder = wires.ladder
    seen = {call for row in rows for call in row.calls}
    count = 0
    for number in range(rows[0].number + 1, min(len(ladder.rows), rows[-1].number + _ROWS)):
        named = ladder.rows.text("tool", number)
        if not named or not tool.endswith(named):  # most rows: none is made of them
            continue
        row = ladder.rows[number]
        is_ask = row.kind == "decision" or (row.kind == "frame" and row.method == "tools/call" and not row.answer)
        if not is_ask or f"{row.peer}.{row.tool}" != tool or not row.calls or row.calls & seen:
            continue
        seen |= row.calls
        differences = changes(arguments, _asked(wires, row))
        if differences and not (has_failed and row.turn == rows[0].turn):
            continue
        words = f"differs in {differences}" if differences else "with the same arguments"
        yield row, f"asked again as call {line(min(row.calls), 60)}, {words}"
        count += 1
        if count == _MOST:
            return


def _asked(wires: Wires, row: Row) -> JSON:
    data = first_data(wires, row)
    if row.kind == "decision":
        return read_object(data).get("asked")
    span = member_range(data, "params", "arguments")
    return None if span is None else parsed(data[slice(*span)])
