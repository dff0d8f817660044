"""The fields of the filter: an entry for each, with its help, the values that it takes, and how it tests a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tui_host.capture.ladder.row import KINDS, STATES
from tui_host.capture.ladder.rows import CHOICES, UNKNOWN_TIME, LadderRows, RowTable
from tui_host.capture.record import MISSING

Claim: TypeAlias = Callable[[int], bool]
"""Returns whether the row with a number has something."""
RowFact: TypeAlias = Callable[[LadderRows], Claim]

_TELLING_LETTERS = 4
"""Shortest part by which one of this program's words matches: shorter parts occur in too many words."""
_STATUS = re.compile(r"\d{3}|\dxx")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterField:
    """A field of the filter: `name:value`, or `name>number` and `name<number`.

    Attributes:
        help: What it finds.
        test: Returns the test for a value in lower case; None for a number.
        number: Returns what gives a row's number, below 0 where it has none; None for a value, and for what must be read.
        mistake: Returns what is wrong with a value, or with what stands in place of a number; empty if nothing is.
        values: Returns the values that complete the field.
    """

    help: str
    test: Callable[[str, LadderRows], Claim] | None = None
    number: Callable[[LadderRows], Callable[[int], float]] | None = None
    mistake: Callable[[str], str] = lambda _: ""
    values: Callable[[LadderRows], Iterable[str]] = lambda _: ()

    @property
    def sign(self) -> str:
        """What stands behind the name."""
        return ">" if self.test is None else ":"


def _is(name: str, *choices: str) -> RowFact:
    """Return what tells whether a row is one of some lanes, kinds or states."""
    wanted = {place for place, choice in enumerate(CHOICES[name]) if choice in choices}

    def fact(ladder: LadderRows) -> Claim:
        column = ladder.rows.columns[name]
        return lambda number: column[number] in wanted

    return fact


def _has(name: str) -> RowFact:
    """Return what tells whether a flag of a row is set, or whether it has a shared text."""

    def fact(ladder: LadderRows) -> Claim:
        column = ladder.rows.columns[name]
        return lambda number: column[number] != 0

    return fact


def _result(ladder: LadderRows) -> Claim:
    answer, error = ladder.rows.columns["answer"], ladder.rows.columns["error"]
    return lambda number: answer[number] != 0 and not error[number]


def _notification(ladder: LadderRows) -> Claim:
    is_frame, ids = _is("kind", "frame")(ladder), ladder.rows.own["rpc_id"]
    return lambda number: is_frame(number) and not ids[number]


def _events(ladder: LadderRows) -> Claim:
    is_response, events = _is("kind", "response")(ladder), ladder.rows.columns["events"]
    return lambda number: events[number] > 1 and is_response(number)


def _failed(ladder: LadderRows) -> Claim:
    """What failed is an error, or has no answer."""
    states, error = _is("state", "failed", "unanswered")(ladder), ladder.rows.columns["error"]
    return lambda number: states(number) or error[number] != 0


_OUTCOMES: Mapping[str, RowFact] = {
    "error": _has("error"),
    "result": _result,
    "malformed": _has("malformed"),
    "inferred": _has("inferred"),
    "maybe": _has("maybe"),
    "stderr": _is("kind", "line"),
}
_KINDS: Mapping[str, RowFact] = {
    **{kind: _is("kind", kind) for kind in KINDS},
    **_OUTCOMES,
    "notification": _notification,
}
_STATES: Mapping[str, RowFact] = {**{state: _is("state", state) for state in STATES}, "failed": _failed}
_SHOWN_WORDS: Mapping[str, RowFact] = {
    **_OUTCOMES,
    **{state: _STATES[state] for state in ("cut", "failed", "unanswered")},
    "redacted": _has("redacted"),
    MISSING: _has("missing"),
    "events": _events,
}
"""Our words on the lines of rows."""


def shown_facts(word: str, ladder: LadderRows) -> Sequence[Claim]:
    """Return our words about a row in which a word stands."""
    facts = [
        fact(ladder)
        for words, fact in _SHOWN_WORDS.items()
        if word in words.split() or (len(word) >= _TELLING_LETTERS and word in words)
    ]
    return [*facts, _status(word, ladder)] if word.isdecimal() else facts


def hits(rows: RowTable, value: str) -> bytearray:
    """Return for each text that rows share whether it contains the value."""
    return bytearray(value in text.casefold() for text in rows.texts)


def _contains(name: str) -> Callable[[str, LadderRows], Claim]:
    def test(value: str, ladder: LadderRows) -> Claim:
        matches, column = hits(ladder.rows, value), ladder.rows.columns[name]
        return lambda number: matches[column[number]] != 0

    return test


def has_tool(value: str, ladder: LadderRows) -> Claim:
    """Return a test for the tool of a frame, a decision, or a call of the row."""
    own, calls_of = _contains("tool")(value, ladder), ladder.rows.calls_of
    calls = {call for call, tool in ladder.tools.items() if value in tool.casefold()}
    if not calls:
        return own
    return lambda number: own(number) or not calls.isdisjoint(calls_of(number))


def _server(value: str, ladder: LadderRows) -> Claim:
    """Return a test for a server, the peer of every row but a model's."""
    is_peer, is_model = _contains("peer")(value, ladder), _is("lane", "llm")(ladder)
    return lambda number: is_peer(number) and not is_model(number)


def _call(value: str, ladder: LadderRows) -> Claim:
    """Return a test for a call by its whole id, or by turn, step and place: `1.1.2`."""
    calls_of, ending = ladder.rows.calls_of, f".{value}"
    return lambda number: any(f".{call.casefold()}".endswith(ending) for call in calls_of(number))


def _id(value: str, ladder: LadderRows) -> Claim:
    ids, wanted = ladder.rows.own["rpc_id"], {value, f'"{value}"'}
    return lambda number: ids[number].casefold() in wanted


def _direction(value: str, ladder: LadderRows) -> Claim:
    outward, is_host = ladder.rows.columns["outward"], _is("lane", "host")(ladder)
    wanted = value == "out"
    return lambda number: outward[number] == wanted and not is_host(number)


def _turn(value: str, ladder: LadderRows) -> Claim:
    """Return a test for the rows under the heading of a turn."""
    wanted = int(value)
    return lambda number: ladder.sections.turn_of(number) == wanted


def _status(value: str, ladder: LadderRows) -> Claim:
    """Return a test for an HTTP status, `4xx`, or how a row stands."""
    if value in _STATES:
        return _STATES[value](ladder)
    status = ladder.rows.columns["status"]
    if value.endswith("xx"):
        hundreds = int(value[0])
        return lambda number: status[number] // 100 == hundreds
    exact = int(value)
    return lambda number: status[number] == exact


def _size(ladder: LadderRows) -> Callable[[int], float]:
    return ladder.rows.columns["size"].__getitem__


def _milliseconds(ladder: LadderRows) -> Callable[[int], float]:
    """Return the time from a question to the end of its answer; below 0 for other rows."""
    answer, is_response = ladder.rows.columns["answer"], _is("kind", "response")(ladder)
    began, ended = ladder.rows.columns["mono_ns"], ladder.rows.columns["end_mono_ns"]

    def milliseconds(number: int) -> float:
        if not answer[number] and not is_response(number):
            return -1
        partner = ladder.partner(number)
        if partner is None or partner >= number or UNKNOWN_TIME in {began[partner], ended[number]}:
            return -1
        return (ended[number] - began[partner]) / 1e6

    return milliseconds


def _turn_mistake(value: str) -> str:
    return "" if value.isdecimal() and len(value) <= 8 else "turn: needs a number such as 3"


def _direction_mistake(value: str) -> str:
    return "" if value in {"in", "out"} else "dir: is in or out"


def _kind_mistake(value: str) -> str:
    return "" if value in _KINDS else f"kind: is one of {', '.join(_KINDS)}"


def _status_mistake(value: str) -> str:
    is_known = value in STATES or _STATUS.fullmatch(value)
    return "" if is_known else f"status: is a number such as 429 or 4xx, or {', '.join(STATES)}"


def _servers(ladder: LadderRows) -> Iterable[str]:
    columns = ladder.rows.columns
    peers = {
        peer for peer, lane in zip(columns["peer"], columns["lane"], strict=True) if CHOICES["lane"][lane] != "llm"
    }
    return sorted(ladder.rows.texts[peer] for peer in peers if peer)


def _tools(ladder: LadderRows) -> Iterable[str]:
    tools = {*ladder.tools.values(), *_named("tool")(ladder)}
    with_server = {tool.partition(".")[2] for tool in tools}
    return sorted(tool for tool in tools if tool and tool not in with_server)


def _named(name: str) -> Callable[[LadderRows], Iterable[str]]:
    return lambda ladder: sorted(ladder.rows.texts[text] for text in set(ladder.rows.columns[name]) if text)


def _numbered(name: str) -> Callable[[LadderRows], Sequence[str]]:
    return lambda ladder: [str(number) for number in sorted(set(ladder.rows.columns[name])) if number]


FIELDS: Mapping[str, FilterField] = {
    "server": FilterField(help="rows of a server", test=_server, values=_servers),
    "tool": FilterField(help="a tool's calls, decisions and frames", test=has_tool, values=_tools),
    "method": FilterField(
        help="method of a frame or an HTTP request", test=_contains("method"), values=_named("method")
    ),
    "kind": FilterField(
        help="request, response, frame, decision, error, …",
        test=lambda value, ladder: _KINDS[value](ladder),
        mistake=_kind_mistake,
        values=lambda _: _KINDS,
    ),
    "status": FilterField(
        help="429, 4xx, open, failed, cut, unanswered",
        test=_status,
        mistake=_status_mistake,
        values=lambda ladder: (*_numbered("status")(ladder), *STATES),
    ),
    "turn": FilterField(
        help="rows of a turn, such as turn:3", test=_turn, mistake=_turn_mistake, values=_numbered("turn")
    ),
    "call": FilterField(help="rows of a call, such as call:1.1.2", test=_call),
    "id": FilterField(help="id of a frame", test=_id),
    "dir": FilterField(
        help="out from the host, in to the host",
        test=_direction,
        mistake=_direction_mistake,
        values=lambda _: ("in", "out"),
    ),
    "size": FilterField(help="bytes, such as size>10k (also size<)", number=_size),
    "tokens": FilterField(help="tokens of a request or an answer, such as tokens>8k"),
    "ms": FilterField(help="milliseconds until an answer, such as ms>2000", number=_milliseconds),
}
"""The fields by name, in the order of completion."""
