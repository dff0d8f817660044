"""Tests rows against a query: by their values, their shown text and their bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, assert_never

from tui_host.capture.ladder.filter_language import Both, Either, Field, Not, Query, Quoted, Word
from tui_host.capture.ladder.row_table import (
    ANSWER,
    ERROR,
    INFERRED,
    KINDS,
    MISSING,
    OUTWARD,
    REDACTED,
    STATES,
    UNTOLD,
    LadderRows,
    RowTable,
)
from tui_host.capture.record import MISSING as NOT_THERE

_TELLING = 4
"""Shortest part, in letters, by which one of this program's words matches: shorter parts occur in too many words."""
Verdict: TypeAlias = "bool | None"
Test: TypeAlias = Callable[[int], Verdict]
"""Returns whether the row with a number matches; None while unknown."""


Claim: TypeAlias = Callable[[int], bool]
_Make: TypeAlias = Callable[[str, LadderRows], Claim]


class RowTexts(Protocol):
    """Reads the texts of rows; every answer may be None while it is unknown."""

    def shows(self, number: int, word: str) -> Verdict:
        """Whether the shown text of a row contains a word in lower case."""
        ...

    def contains(self, number: int, text: str) -> Verdict:
        """Whether the body of a row contains a text."""
        ...

    def tokens(self, number: int) -> int | None:
        """Return the tokens of a request or an answer; 0 for other rows."""
        ...


class ValuesOnly:
    """Reads no texts: words match by values alone."""

    def shows(self, number: int, word: str) -> Verdict:
        """Return False."""
        del number, word
        return False

    def contains(self, number: int, text: str) -> Verdict:
        """Return False."""
        del number, text
        return False

    def tokens(self, number: int) -> int | None:
        """Return 0."""
        del number
        return 0


def row_test(query: Query | None, rows: LadderRows, texts: RowTexts | None) -> Test:
    """Return a test for rows, valid for one revision of the ladder; without `texts`, what must be read is unknown."""
    match query:
        case None:
            return lambda _: True
        case Word():
            return _word(query.text, rows, texts)
        case Quoted():
            text = query.text
            return (lambda _: None) if texts is None else lambda number: texts.contains(number, text)
        case Field():
            return _tokens(query, texts) if query.name == "tokens" else _field(query, rows)
        case Not():
            return _opposite(row_test(query.part, rows, texts))
        case Both() | Either():
            tests = [row_test(part, rows, texts) for part in sorted(query.parts, key=_cost)]
            return _combined(tests, decisive=isinstance(query, Either))
        case _:
            assert_never(query)


def needs_values(query: Query | None) -> bool:
    """Whether the values of a row may decide, before anything is read."""
    match query:
        case Quoted():
            return False
        case Field():
            return query.name != "tokens"
        case Not():
            return needs_values(query.part)
        case Both() | Either():
            return any(map(needs_values, query.parts))
        case _:
            return True


def _cost(query: Query) -> int:
    """Return what decides first: values, then shown texts, then bodies."""
    match query:
        case Field():
            return 3 if query.name == "tokens" else 0
        case Word():
            return 1
        case Quoted():
            return 2
        case Not():
            return _cost(query.part)
        case _:
            return max(map(_cost, query.parts))


def _opposite(test: Test) -> Test:
    def opposite(number: int) -> Verdict:
        verdict = test(number)
        return None if verdict is None else not verdict

    return opposite


def _combined(tests: Sequence[Test], *, decisive: bool) -> Test:
    """Return a test that takes the value of the first decisive part, or is unknown as long as a part is."""

    def combined(number: int) -> Verdict:
        verdict: Verdict = not decisive
        for test in tests:
            part = test(number)
            if part is decisive:
                return decisive
            if part is None:
                verdict = None
        return verdict

    return combined


def _word(word: str, rows: LadderRows, texts: RowTexts | None) -> Test:
    in_values = _plain(word, rows)
    if texts is None:
        return lambda number: in_values(number) or None
    return lambda number: in_values(number) or texts.shows(number, word)


def _tokens(field: Field, texts: RowTexts | None) -> Test:
    if texts is None:
        return lambda _: None
    limit, is_above = field.number, field.sign == ">"

    def fits(number: int) -> Verdict:
        tokens = texts.tokens(number)
        if not tokens:
            return None if tokens is None else False
        return tokens > limit if is_above else tokens < limit

    return fits


def _field(field: Field, rows: LadderRows) -> Test:
    if field.sign != ":":
        values = _size(rows) if field.name == "size" else _milliseconds(rows)
        limit, is_above = field.number, field.sign == ">"
        return lambda number: values(number) > limit if is_above else 0 <= values(number) < limit
    return _TOKENS[field.name](field.value, rows)


def _size(rows: LadderRows) -> Callable[[int], float]:
    return rows.table.numbers["size"].__getitem__


def _milliseconds(rows: LadderRows) -> Callable[[int], float]:
    """Return the time from a question to the end of its answer; below 0 for other rows."""
    kinds, flags = rows.table.kinds, rows.table.flags
    began, ended = rows.table.times["mono_ns"], rows.table.times["end_mono_ns"]
    response, frame = KINDS.index("response"), KINDS.index("frame")

    def milliseconds(number: int) -> float:
        if kinds[number] != response and not (kinds[number] == frame and flags[number] & ANSWER):
            return -1
        partner = rows.partner(number)
        if partner is None or partner >= number or UNTOLD in {began[partner], ended[number]}:
            return -1
        return (ended[number] - began[partner]) / 1e6

    return milliseconds


def _plain(word: str, rows: LadderRows) -> Claim:
    """Return a test for a word in any value of a row."""
    table = rows.table
    hits = _hits(table, word)
    peer, method, url, malformed = (table.named[name] for name in ("peer", "method", "url", "malformed"))
    ids, words, tools = table.ids, table.words, _tool(word, rows)
    wanted = word.encode()
    plain = word.isascii()
    facts = _facts(word, rows)

    def fits(number: int) -> bool:
        if hits[peer[number]] or hits[method[number]] or hits[url[number]] or hits[malformed[number]]:
            return True
        if any(fact(number) for fact in facts):
            return True
        text = words[number]
        is_in_text = wanted in text.lower() if plain else word in text.decode().casefold()
        return is_in_text or word in ids[number].casefold() or tools(number)

    return fits


def _facts(word: str, rows: LadderRows) -> list[Claim]:
    """Return our words about a row in which a word stands."""
    table = rows.table
    flags, kinds, states, events = table.flags, table.kinds, table.states, table.small["events"]
    response = KINDS.index("response")
    said: dict[str, Claim] = {
        **{name: _kind(name, rows) for name in ("error", "result", "malformed", "inferred", "stderr")},
        "doubtful": _kind("doubtful", rows),
        "redacted": lambda number: bool(flags[number] & REDACTED),
        NOT_THERE: lambda number: bool(flags[number] & MISSING),
        "events": lambda number: events[number] > 1 and kinds[number] == response,
        "cut": lambda number: STATES[states[number]] == "cut",
        "failed": _status("failed", rows),
        "unanswered": lambda number: STATES[states[number]] == "unanswered",
    }
    facts = [test for words, test in said.items() if word in words.split() or (len(word) >= _TELLING and word in words)]
    return [*facts, _status(word, rows)] if word.isdecimal() else facts


def _hits(table: RowTable, value: str) -> bytearray:
    """Return for each text that rows share whether it contains the value."""
    return bytearray(value in text.casefold() for text in table.texts.texts)


def _tool(value: str, rows: LadderRows) -> Claim:
    """Return a test for the tool of a frame, a decision, or a call of the row."""
    table, tools = rows.table, rows.tools
    hits, column, calls = _hits(table, value), table.named["tool"], table.calls

    def fits(number: int) -> bool:
        if hits[column[number]]:
            return True
        own = calls[number]
        if not own:
            return False
        names = [tools.get(own, "")] if isinstance(own, str) else [tools.get(call, "") for call in own]
        return any(value in name.casefold() for name in names)

    return fits


def _call(value: str, rows: LadderRows) -> Claim:
    """Return a test for a call by its whole id, or by turn, step and place: `1.1.2`."""
    table, ending = rows.table, f".{value}"
    return lambda number: any(
        call.casefold() == value or call.casefold().endswith(ending) for call in table.calls_of(number)
    )


def _named(name: str) -> _Make:
    def make(value: str, rows: LadderRows) -> Claim:
        hits, column = _hits(rows.table, value), rows.table.named[name]
        return lambda number: bool(hits[column[number]])

    return make


def _id(value: str, rows: LadderRows) -> Claim:
    ids = rows.table.ids
    wanted = {value, f'"{value}"'}
    return lambda number: ids[number].casefold() in wanted


def _direction(value: str, rows: LadderRows) -> Claim:
    flags, lanes = rows.table.flags, rows.table.lanes
    wanted = OUTWARD if value == "out" else 0 if value == "in" else -1
    return lambda number: flags[number] & OUTWARD == wanted and lanes[number] != 1


def _kind(value: str, rows: LadderRows) -> Claim:
    table = rows.table
    flags, kinds, ids = table.flags, table.kinds, table.ids
    malformed, doubtful = table.named["malformed"], table.named["doubtful"]
    frame = KINDS.index("frame")
    match value:
        case "malformed":
            return lambda number: malformed[number] != 0
        case "error":
            return lambda number: bool(flags[number] & ERROR)
        case "result":
            return lambda number: flags[number] & ANSWER != 0 and not flags[number] & ERROR
        case "notification":
            return lambda number: kinds[number] == frame and not ids[number]
        case "inferred":
            return lambda number: bool(flags[number] & INFERRED)
        case "doubtful":
            return lambda number: doubtful[number] != 0
        case "stderr":
            value = "line"
        case _:
            pass
    wanted = next((place for place, kind in enumerate(KINDS) if kind == value), -1)
    return lambda number: kinds[number] == wanted


def _status(value: str, rows: LadderRows) -> Claim:
    """An HTTP status, `4xx`, or how a row stands: open, done, failed (errors and what got no answer too), cut, unanswered."""
    table, flags = rows.table, rows.table.flags
    status, states = table.small["status"], table.states
    if value.isdecimal() and len(value) < 9:
        exact = int(value)
        return lambda number: status[number] == exact
    if value[1:] == "xx" and value[0].isdecimal():
        hundreds = int(value[0])
        return lambda number: status[number] // 100 == hundreds
    wanted = {
        place for place, state in enumerate(STATES) if state == value or (value, state) == ("failed", "unanswered")
    }
    error = ERROR if value == "failed" else 0
    return lambda number: states[number] in wanted or bool(flags[number] & error)


def _server(value: str, rows: LadderRows) -> Claim:
    """Return a test for a server, the peer of every row but a model's."""
    table = rows.table
    hits, column, lanes = _hits(table, value), table.named["peer"], table.lanes
    return lambda number: bool(hits[column[number]]) and lanes[number] != 0


def _turn(value: str, rows: LadderRows) -> Claim:
    """Return a test for the rows under the heading of a turn."""
    wanted = int(value) if value.isdecimal() and len(value) < 9 else -1
    return lambda number: rows.sections.turn_of(number) == wanted


_TOKENS: dict[str, _Make] = {
    "tool": _tool,
    "method": _named("method"),
    "id": _id,
    "dir": _direction,
    "kind": _kind,
    "status": _status,
    "server": _server,
    "turn": _turn,
    "call": _call,
}
