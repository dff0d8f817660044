"""Values that come again: of a result in a later argument or answer, and of an argument in an earlier result. The search is bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.answers.bodies import first_data, reading
from tui_host.answers.chain_values import (
    MOST_BYTES,
    Content,
    leaves,
    member_range,
    parsed,
    strings_of,
    typed_in,
    values_of,
)
from tui_host.answers.outlines import fold_of, marks_of
from tui_host.capture.json.narrowing import short

if TYPE_CHECKING:
    from tui_host.answers.chain_steps import CallStep
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row, RowNumbers
    from tui_host.errors import JSON

_ROWS = 2000
"""Rows before and after a call among which other calls are looked for."""
_CALLS = 30
_ANSWERS = 6
_BYTES = 256 << 10
"""Larger frames and answers are not looked through."""
_SHOWN = 3


class Repeats:
    """Looks for the values of a call in the calls and answers around.

    Args:
        rows: The rows of the call.
    """

    def __init__(self, wires: Wires, names: RowNumbers, rows: Sequence[Row]) -> None:
        self._wires = wires
        self._names = names
        self._first = rows[0].number
        frames = [row for row in rows if row.kind == "frame"]
        self._last = frames[-1].number if frames else rows[-1].number
        self._own = {row.number for row in rows}

    def marked(
        self, steps: Sequence[CallStep], result: Sequence[Content], arguments: JSON, typed: str
    ) -> Steps[tuple[CallStep, ...]]:
        """Add to the steps which of their values come from earlier results or come again later."""
        asked = [text for text in strings_of(arguments) if text not in typed]
        earlier = yield from self._earlier(asked)
        given = "\n".join([typed, *leaves(arguments)])
        values = [text for text in values_of([content.value for content in result]) if text not in given]
        later = yield from self._later(values)
        notes = {"asked": earlier, "answered": later}
        return tuple(replace(step, repeats=notes.get(step.happened, ())) for step in steps)

    def _earlier(self, wanted: Sequence[str]) -> Steps[tuple[str, ...]]:
        lines: dict[str, str] = {}
        for row in self._frames(range(self._first - 1, max(-1, self._first - _ROWS), -1), answers=True):
            if len(lines) >= min(_SHOWN, len(wanted)):
                break
            partner = self._wires.ladder.partner(row.number)
            data = first_data(self._wires, row)
            words = "\n".join(leaves(parsed(data)))
            given = first_data(self._wires, self._wires.ladder.rows[partner]) if partner is not None else b""
            own = "\n".join(leaves(parsed(given)))
            for text in wanted:
                if text not in lines and text in words and text not in own:
                    lines[text] = f"{self._shown(text)} came from {self._called(row)} ({self._names.name(row)})"
            yield "looking at earlier results"
        return tuple(lines.values())[:_SHOWN]

    def _later(self, wanted: Sequence[str]) -> Steps[tuple[str, ...]]:
        lines: dict[str, str] = {}
        rows = self._wires.ladder.rows
        if not wanted:
            return ()
        behind = range(self._last + 1, min(len(rows), self._last + _ROWS))
        for row in self._frames(behind, answers=False):
            data = first_data(self._wires, row)
            span = member_range(data, "params", "arguments")
            words = "\n".join(leaves(parsed(data[slice(*span)]))) if span is not None else ""
            for text in (yield from self._fresh(row, wanted, words)):
                lines.setdefault(text, f"{self._shown(text)} comes again in {self._called(row)} (turn {row.turn})")
            yield "looking at later calls"
        answers = 0
        for number in behind:
            row = rows[number]
            if row.kind != "response" or row.lane != "llm" or row.status >= 400 or row.size > _BYTES:
                continue
            dialect, answers = self._wires.dialect(row), answers + 1
            if dialect is None or answers > _ANSWERS:
                break
            body = yield from reading(self._wires, row)
            fold = yield from fold_of(self._wires, row, body, dialect)
            for text in (yield from self._fresh(row, wanted, fold.text)):
                lines.setdefault(text, f"{self._shown(text)} comes again in the answer {self._names.name(row)}")
        return tuple(lines.values())[:_SHOWN]

    def _fresh(self, row: Row, wanted: Sequence[str], words: str) -> Steps[Sequence[str]]:
        """Return the values in the words of a row that the person did not write before it."""
        again = _longest(wanted, words)
        typed = (yield from self._typed_before(row)) if again else ""
        return [text for text in again if text not in typed]

    def _typed_before(self, row: Row) -> Steps[str]:
        """Return what the person wrote in the request before a row."""
        rows = self._wires.ladder.rows
        above = (rows[number] for number in range(row.number - 1, max(-1, row.number - _ROWS), -1))
        request = next((each for each in above if each.kind == "request" and each.lane == "llm"), None)
        dialect = None if request is None else self._wires.dialect(request)
        if request is None or dialect is None or request.size > MOST_BYTES:
            return ""
        body = yield from reading(self._wires, request)
        return typed_in(dialect.outline(body.data, self._wires.names(request)), marks_of(self._wires, request))

    def _frames(self, numbers: range, *, answers: bool) -> Iterator[Row]:
        count = 0
        for number in numbers:
            row = self._wires.ladder.rows[number]
            is_call = row.kind == "frame" and row.method == "tools/call" and row.answer == answers
            if is_call and row.outward != answers and number not in self._own and row.size <= _BYTES:
                count += 1
                yield row
            if count >= _CALLS:
                return

    def _called(self, row: Row) -> str:
        partner = self._wires.ladder.partner(row.number) if row.answer else None
        asked = row if partner is None else self._wires.ladder.rows[partner]
        return f"{row.peer}.{asked.tool or row.tool}"

    def _shown(self, text: str) -> str:
        return self._wires.hide(short(text, 60))


def _longest(wanted: Sequence[str], words: str) -> Sequence[str]:
    """Return the values that stand in a text, without those that are part of another one."""
    present = [text for text in wanted if text in words]
    return [text for text in present if not any(text != other and text in other for other in present)]
