"""What comes again around a call: values of its result later, values of its arguments before, and the call itself. All searches are bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui_host.answers.bodies import first_data, reading
from tui_host.answers.chain_values import MOST_BYTES, changes, leaves, member_range, parsed, typed_in
from tui_host.answers.outlines import fold_of, marks_of, outlined
from tui_host.capture.json.narrowing import short
from tui_host.capture.json.reading import read_object
from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row
    from tui_host.errors import JSON

_ROWS = 2000  # rows before and after a call that are looked at
_CALLS = 30
_ANSWERS = 6
_BYTES = 256 << 10  # larger frames and answers are not looked through
_SHOWN = 3
_SHORTEST = 6  # characters of a value that is recognized
_LONGEST = 200
_MOST_VALUES = 200
_WITH_DIGIT = re.compile(r"[^\W_][\w.:/@-]{4,198}[^\W_]")


def earlier_results(wires: Wires, rows: Sequence[Row], arguments: JSON, typed: str) -> Steps[tuple[str, ...]]:
    """Return in words which strings of a call's arguments stand in an earlier result, and were not typed."""
    strings = [text for text in leaves(arguments) if _SHORTEST <= len(text) <= _LONGEST][:_MOST_VALUES]
    wanted = [text for text in strings if text not in typed]
    lines: dict[str, str] = {}
    first = rows[0].number
    for row in _frames(wires, rows, range(first - 1, max(-1, first - _ROWS), -1), answers=True):
        if len(lines) >= min(_SHOWN, len(wanted)):
            break
        partner = wires.ladder.partner(row.number)
        asked = row if partner is None else wires.ladder.rows[partner]
        words = "\n".join(leaves(parsed(first_data(wires, row))))
        own = "" if partner is None else "\n".join(leaves(parsed(first_data(wires, asked))))
        for text in wanted:
            if text not in lines and text in words and text not in own:
                origin = f"{row.peer}.{asked.tool or row.tool} ({wires.called(row)})"
                lines[text] = f"{wires.hide(short(text, 60))} came from {origin}"
        yield "looking at earlier results"
    return tuple(lines.values())[:_SHOWN]


def later_uses(
    wires: Wires, rows: Sequence[Row], result: Sequence[JSON], arguments: JSON, typed: str
) -> Steps[tuple[str, ...]]:
    """Return in words which values of a result come again in calls and answers, though neither asked for nor typed."""
    given = "\n".join([typed, *leaves(arguments)])
    wanted = [text for text in _values_of(result) if text not in given]
    if not wanted:
        return ()
    lines: dict[str, str] = {}
    last = next((row for row in reversed(rows) if row.kind == "frame"), rows[-1]).number
    behind = range(last + 1, min(len(wires.ladder.rows), last + _ROWS))
    for row in _frames(wires, rows, behind, answers=False):
        words = "\n".join(leaves(_arguments(wires, row)))
        for text in (yield from _untyped(wires, row, wanted, words)):
            again = f"{row.peer}.{row.tool} (turn {row.turn})"
            lines.setdefault(text, f"{wires.hide(short(text, 60))} comes again in {again}")
        yield "looking at later calls"
    answers = 0
    for row in (wires.ladder.rows[number] for number in behind):
        if row.kind != "response" or row.lane != "llm" or row.status >= 400 or row.size > _BYTES:
            continue
        dialect, answers = wires.dialect(row), answers + 1
        if dialect is None or answers > _ANSWERS:
            break
        body = yield from reading(wires, row)
        fold = yield from fold_of(wires, row, body, dialect)
        for text in (yield from _untyped(wires, row, wanted, fold.text)):
            lines.setdefault(text, f"{wires.hide(short(text, 60))} comes again in the answer {wires.called(row)}")
    return tuple(lines.values())[:_SHOWN]


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
        differences = changes(arguments, _arguments(wires, row))
        if differences and not (has_failed and row.turn == rows[0].turn):
            continue
        words = f"differs in {differences}" if differences else "with the same arguments"
        yield row, f"asked again as call {line(min(row.calls), 60)}, {words}"
        count += 1
        if count == _SHOWN:
            return


def _arguments(wires: Wires, row: Row) -> JSON:
    """Return the arguments that a decision or a call's frame is about."""
    data = first_data(wires, row)
    if row.kind == "decision":
        return read_object(data).get("asked")
    span = member_range(data, "params", "arguments")
    return None if span is None else parsed(data[slice(*span)])


def _frames(wires: Wires, rows: Sequence[Row], numbers: range, *, answers: bool) -> Iterator[Row]:
    """Yield the frames of other calls: what was asked, or the answers."""
    own = {row.number for row in rows}
    count = 0
    for number in numbers:
        row = wires.ladder.rows[number]
        is_call = row.kind == "frame" and row.method == "tools/call" and row.answer == answers
        if is_call and row.outward != answers and number not in own and row.size <= _BYTES:
            count += 1
            yield row
        if count >= _CALLS:
            return


def _values_of(value: JSON) -> Sequence[str]:
    """Return the values of a result that may come again: its texts, also those in JSON, and words with a digit in them."""
    values: dict[str, None] = {}
    for text in leaves(value):
        inner = parsed(text) if text[:1] in {"{", "["} else None
        for leaf in leaves(inner) if inner is not None else (text,):
            if _SHORTEST <= len(leaf) <= _LONGEST:
                values[leaf] = None
            words = (match[0] for match in _WITH_DIGIT.finditer(leaf[:20_000]))
            values.update((word, None) for word in words if any(map(str.isdigit, word)))
            if len(values) >= _MOST_VALUES:
                return list(values)[:_MOST_VALUES]
    return list(values)


def _untyped(wires: Wires, row: Row, wanted: Sequence[str], words: str) -> Steps[Sequence[str]]:
    """Return the values in the words of a row that the person did not write in the request before it."""
    present = [text for text in wanted if text in words]
    longest = [text for text in present if not any(text != other and text in other for other in present)]
    above = (wires.ladder.rows[number] for number in range(row.number - 1, max(-1, row.number - _ROWS), -1))
    request = next((row for row in above if row.kind == "request" and row.lane == "llm"), None) if longest else None
    dialect = None if request is None else wires.dialect(request)
    if request is None or dialect is None or request.size > MOST_BYTES:
        return longest
    body = yield from reading(wires, request)
    typed = typed_in(outlined(wires, request, body.data, dialect), marks_of(wires, request))
    return [text for text in longest if text not in typed]
