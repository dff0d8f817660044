"""Filters rows by tokens and plain words in any combination."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import TypeAlias

from tui_host.capture.ladder.row_table import (
    ANSWER,
    ERROR,
    INFERRED,
    KINDS,
    MISSING,
    OUTWARD,
    REDACTED,
    STATES,
    LadderRows,
    RowTable,
)
from tui_host.capture.record import MISSING as NOT_THERE

_TELLING = 4
"""Shortest part, in letters, by which one of this program's words matches: shorter parts occur in too many words."""
Test: TypeAlias = Callable[[int], bool]
"""Returns whether the row with a number matches."""


class RowFilter:
    """Filters the rows of a ladder. After the first time, only changed rows are tested."""

    def __init__(self, rows: LadderRows) -> None:
        self._rows = rows
        self._text = ""
        self._revision = -1
        self._seen = 0
        self._kept = array("q")

    def numbers(self, text: str) -> array[int]:
        """Return the numbers of the matching rows, in order."""
        table = self._rows.table
        if text != self._text or not self._is_still_right(text):
            self._text, self._seen, self._kept = text, 0, array("q")
        tests = _tests(text, self._rows)
        fitting: Iterable[int] = range(self._seen, len(table))
        for test in tests:
            fitting = filter(test, fitting)
        self._kept.extend(fitting)
        self._seen, self._revision = len(table), self._rows.revision
        return self._kept[:]

    def _is_still_right(self, text: str) -> bool:
        """Return whether no row has changed since in a value seen by the filter."""
        old = [number for number in self._rows.changed_since(self._revision) if number < self._seen]
        if not old:
            return True
        kept = set(self._kept)
        tests = _tests(text, self._rows)
        return all((number in kept) == all(test(number) for test in tests) for number in old)


class RowTest:
    """Tests rows against a filter whose plain words may also occur in the shown text.

    Attributes:
        is_of_values: Whether the shown text is irrelevant, because there is no plain word.
    """

    def __init__(self, text: str, rows: LadderRows) -> None:
        words = text.split()
        self._tokens = [_test(word, rows) for word in words if _token(word) is not None]
        self._plain = [(word.casefold(), _test(word, rows)) for word in words if _token(word) is None]
        self.is_of_values = not self._plain

    def may_fit(self, number: int) -> bool:
        """Return whether a row matches if its shown text contains all plain words."""
        return all(test(number) for test in self._tokens)

    def fits(self, number: int, shown: str) -> bool:
        """Return whether a row with a shown text matches."""
        folded = shown.casefold()
        return all(word in folded or test(number) for word, test in self._plain)


def _tests(text: str, rows: LadderRows) -> list[Test]:
    return [_test(word, rows) for word in text.split()]


def _test(word: str, rows: LadderRows) -> Test:
    make = _token(word)
    return make(word.partition(":")[2].casefold(), rows) if make is not None else _plain(word.casefold(), rows)


def _token(word: str) -> Callable[[str, LadderRows], Test] | None:
    name, colon, value = word.partition(":")
    return _TOKENS.get(name.lower()) if colon and value else None


def _plain(word: str, rows: LadderRows) -> Test:
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


def _facts(word: str, rows: LadderRows) -> list[Test]:
    """Return our words about a row in which a word stands."""
    table = rows.table
    flags, kinds, states, events = table.flags, table.kinds, table.states, table.small["events"]
    response = KINDS.index("response")
    said: dict[str, Test] = {
        **{name: _kind(name, rows) for name in ("error", "result", "malformed", "inferred", "stderr")},
        "doubtful": _kind("doubtful", rows),
        "redacted": lambda number: bool(flags[number] & REDACTED),
        NOT_THERE: lambda number: bool(flags[number] & MISSING),
        "events": lambda number: events[number] > 1 and kinds[number] == response,
        "cut": lambda number: STATES[states[number]] == "cut",
        "failed": lambda number: STATES[states[number]] == "failed",
        "unanswered": lambda number: STATES[states[number]] == "unanswered",
    }
    facts = [test for words, test in said.items() if word in words.split() or (len(word) >= _TELLING and word in words)]
    return [*facts, _status(word, rows)] if word.isdecimal() else facts


def _hits(table: RowTable, value: str) -> bytearray:
    """Return for each text that rows share whether it contains the value."""
    return bytearray(value in text.casefold() for text in table.texts.texts)


def _tool(value: str, rows: LadderRows) -> Test:
    """Return a test for the tool of a frame, a decision, or a call of the row."""
    table = rows.table
    hits, column, calls = _hits(table, value), table.named["tool"], table.calls
    wanted = {call for call, tool in rows.tools.items() if value in tool.casefold()}

    def fits(number: int) -> bool:
        own = calls[number]
        return bool(hits[column[number]]) or (own in wanted if isinstance(own, str) else not wanted.isdisjoint(own))

    return fits


def _named(name: str) -> Callable[[str, LadderRows], Test]:
    def make(value: str, rows: LadderRows) -> Test:
        hits, column = _hits(rows.table, value), rows.table.named[name]
        return lambda number: bool(hits[column[number]])

    return make


def _id(value: str, rows: LadderRows) -> Test:
    ids = rows.table.ids
    wanted = {value, f'"{value}"'}
    return lambda number: ids[number].casefold() in wanted


def _direction(value: str, rows: LadderRows) -> Test:
    flags, lanes = rows.table.flags, rows.table.lanes
    wanted = OUTWARD if value == "out" else 0 if value == "in" else -1
    return lambda number: flags[number] & OUTWARD == wanted and lanes[number] != 1


def _kind(value: str, rows: LadderRows) -> Test:
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


def _status(value: str, rows: LadderRows) -> Test:
    """An HTTP status, `4xx`, or how a row stands: open, done, failed, cut, unanswered."""
    table = rows.table
    status, states = table.small["status"], table.states
    if value.isdecimal() and len(value) < 9:
        exact = int(value)
        return lambda number: status[number] == exact
    if value[1:] == "xx" and value[0].isdecimal():
        hundreds = int(value[0])
        return lambda number: status[number] // 100 == hundreds
    wanted = next((place for place, state in enumerate(STATES) if state == value), -1)
    return lambda number: states[number] == wanted


def _server(value: str, rows: LadderRows) -> Test:
    """Return a test for a server, the peer of every row but a model's."""
    table = rows.table
    hits, column, lanes = _hits(table, value), table.named["peer"], table.lanes
    return lambda number: bool(hits[column[number]]) and lanes[number] != 0


def _turn(value: str, rows: LadderRows) -> Test:
    """Return a test for the rows under the heading of a turn."""
    wanted = int(value) if value.isdecimal() and len(value) < 9 else -1
    return lambda number: rows.sections.turn_of(number) == wanted


_TOKENS: dict[str, Callable[[str, LadderRows], Test]] = {
    "tool": _tool,
    "method": _named("method"),
    "id": _id,
    "dir": _direction,
    "kind": _kind,
    "status": _status,
    "server": _server,
    "turn": _turn,
}
