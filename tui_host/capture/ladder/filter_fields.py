"""The terms of the filter: an entry for each field, with its help, the values that it takes, and how it tests rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import TypeAlias

from tui_host.capture.ladder.row import KINDS, LANES, STATES
from tui_host.capture.ladder.rows import UNKNOWN_TIME, LadderRows

WORD, QUOTED, TOKENS = "", '"', "tokens"
"""The fields of what must be read: a word in any value or in what a row shows, a text in its body, and its tokens."""


@dataclass(frozen=True, slots=True)
class Term:
    """A condition on a row."""

    field: str
    value: str  # in lower case, but for a quoted text
    sign: str = ":"  # `:` for equal or containing, `<` and `>` for numbers
    number: float = 0  # the value of a comparison

    @property
    def is_text(self) -> bool:
        """Whether it is a word or a quoted text."""
        return self.field in {WORD, QUOTED}

    @property
    def numbers(self) -> range:
        """The whole numbers that a comparison allows."""
        return range(floor(self.number) + 1, 1 << 62) if self.sign == ">" else range(ceil(self.number))


Verdict: TypeAlias = "bool | None"
Test: TypeAlias = Callable[[int], Verdict]
"""Returns whether the row with a number matches; None while unknown."""
TermReader: TypeAlias = Callable[[Term, int], "int | None"]
"""Returns whether a row shows a word, whether its body has a text, or its tokens (0 without any); None while unknown."""


class WantedTexts:
    """Texts to find in the bytes of bodies, in any case, also where JSON writes them with escapes.

    Attributes:
        overlap: Bytes that two pieces of a body must share, so that no text is cut in two.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._forms = {text: tuple(dict.fromkeys(_forms(text))) for text in texts if text}
        self.texts = frozenset(self._forms)  # the texts, as the filter has them
        self.overlap = max((len(form) for forms in self._forms.values() for form in forms), default=1) - 1

    def contained(self, data: bytes) -> frozenset[str]:
        """Return the texts in some bytes."""
        lowered = data.lower()
        return frozenset(text for text, forms in self._forms.items() if any(map(lowered.__contains__, forms)))


def _forms(text: str) -> Iterator[bytes]:
    """Yield the bytes that a text may have; `bytes.lower` changes the letters of ASCII alone."""
    for variant in (text.lower(), text.upper()):
        for written in (variant, *(json.dumps(variant, ensure_ascii=escaped)[1:-1] for escaped in (False, True))):
            yield written.encode("utf-8", "backslashreplace").lower()


_Claim: TypeAlias = Callable[[int], bool]
_Condition: TypeAlias = "Mapping[str, Container[object]] | _Claim"
"""One or two columns with the values that a row must have there, or else a test of rows.

What many rows share is looked at once, when a test is made: for each of 100,000 rows it does no more than look up a number.
"""
_FRAME, _LINE, _RESPONSE = (KINDS.index(kind) for kind in ("frame", "line", "response"))
_STATES: Mapping[str, Sequence[_Condition]] = {
    **{state: ({"state": {number}},) for number, state in enumerate(STATES)},
    "failed": ({"error": {1}}, {"state": {STATES.index("failed"), STATES.index("unanswered")}}),
}
_FACTS: Mapping[str, Sequence[_Condition]] = {
    **{flag: ({flag: {1}},) for flag in ("error", "inferred", "maybe", "redacted")},
    **{state: _STATES[state] for state in ("cut", "unanswered", "failed")},
    "result": ({"answer": {1}, "error": {0}},),
    "malformed": ({"malformed": range(1, 1 << 31)},),
    "stderr": ({"kind": {_LINE}},),
}
"""Words on the lines of rows, each with what it says: one of these must hold."""
_KINDS: Mapping[str, Sequence[_Condition]] = {
    **{kind: ({"kind": {number}},) for number, kind in enumerate(KINDS)},
    **{name: _FACTS[name] for name in ("error", "result", "malformed", "inferred", "maybe", "stderr")},
    "notification": ({"kind": {_FRAME}, "rpc_id": {""}},),
}
_LLM, _HOST, _MCP = map(LANES.index, ("llm", "host", "mcp"))
_WAYS: Mapping[str, Sequence[_Condition]] = {
    way: ({"outward": {number}, "lane": {_LLM, _MCP}},) for number, way in enumerate(("in", "out"))
}


def _with(ladder: LadderRows, part: str) -> frozenset[int]:
    """Return the numbers of the shared texts that have a part."""
    return frozenset(number for number, text in enumerate(ladder.rows.texts) if part in text.casefold())


def _of_server(ladder: LadderRows, term: Term) -> Sequence[_Condition]:
    return ({"peer": _with(ladder, term.value), "lane": {_HOST, _MCP}},)


def _of_tool(ladder: LadderRows, term: Term) -> Sequence[_Condition]:
    """Frames and decisions of a tool, and the rows of its calls."""
    tools, calls, name = ladder.tools, ladder.rows.calls, term.value
    return (
        {"tool": _with(ladder, name)},
        lambda number: any(name in tools.get(call, "").casefold() for call in calls[number]),
    )


def _of_status(_: LadderRows, term: Term) -> Sequence[_Condition]:
    first, last = (term.value.replace("x", digit) for digit in "09")
    return _STATES.get(term.value) or ({"status": range(int(first), int(last) + 1)},)


def _of_turn(ladder: LadderRows, term: Term) -> Sequence[_Condition]:
    return ({"section": {home for home, turn in ladder.sections.turns.items() if turn == int(term.value)}},)


def _of_call(ladder: LadderRows, term: Term) -> Sequence[_Condition]:
    """The rows of calls with such an id, or with such a turn, step and place: `1.1.2`."""
    calls, end = ladder.rows.calls, f".{term.value}"
    return (lambda number: any(f".{call.casefold()}".endswith(end) for call in calls[number]),)


def _of_id(ladder: LadderRows, term: Term) -> Sequence[_Condition]:
    ids, forms = ladder.rows.own["rpc_id"], {term.value, f'"{term.value}"'}
    return (lambda number: ids[number].casefold() in forms,)


def _of_duration(ladder: LadderRows, term: Term) -> Sequence[_Condition]:
    """Answers by the time from their question to their end."""
    began, ended, answers, kinds = (ladder.rows.columns[name] for name in ("mono_ns", "end_mono_ns", "answer", "kind"))
    numbers = replace(term, number=term.number * 1e6).numbers

    def test(number: int) -> bool:
        partner = ladder.partner(number) if answers[number] or kinds[number] == _RESPONSE else None
        if partner is None or partner >= number or UNKNOWN_TIME in {began[partner], ended[number]}:
            return False
        return ended[number] - began[partner] in numbers

    return (test,)


_Values: TypeAlias = Callable[[LadderRows], Iterable[str]]


def _texts_of(name: str) -> _Values:
    return lambda ladder: sorted(ladder.rows.texts[text] for text in set(ladder.rows.columns[name]) if text)


def _numbers_of(name: str, *more: str) -> _Values:
    return lambda ladder: [*(str(number) for number in sorted(set(ladder.rows.columns[name])) if number), *more]


def _servers(ladder: LadderRows) -> Iterable[str]:
    peers = set(zip(ladder.rows.columns["peer"], ladder.rows.columns["lane"], strict=True))
    return sorted({ladder.rows.texts[peer] for peer, lane in peers if peer and lane in {_HOST, _MCP}})


def _tools(ladder: LadderRows) -> Iterable[str]:
    tools = {*ladder.tools.values(), *_texts_of("tool")(ladder)} - {""}
    return sorted(tools - {tool.partition(".")[2] for tool in tools})


@dataclass(frozen=True, slots=True)
class FilterField:
    """A field of the filter: `name:value`, or `name>number` and `name<number`.

    Attributes:
        rows: Returns what the rows of a term have: one of several conditions; None for tokens, which must be read.
    """

    help: str  # what it finds
    rows: Callable[[LadderRows, Term], Sequence[_Condition]] | None = None
    values: _Values = lambda _: ()  # returns the values that complete the field
    pattern: str = ".*"  # what a value must be, as a regular expression
    must_be: str = "needs a number such as 10k"  # what is said of another value
    sign: str = ":"  # what stands behind the name


def _of_choices(choices: Mapping[str, Sequence[_Condition]], help_: str) -> FilterField:
    is_one = f"is {' or '.join(choices)}" if len(choices) == 2 else f"is one of {', '.join(choices)}"
    return FilterField(help_, lambda _, term: choices[term.value], lambda _: choices, "|".join(choices), is_one)


FIELDS: Mapping[str, FilterField] = {
    "server": FilterField("rows of a server", _of_server, _servers),
    "tool": FilterField("a tool's calls, decisions and frames", _of_tool, _tools),
    "method": FilterField(
        "method of a frame or an HTTP request",
        lambda ladder, term: ({"method": _with(ladder, term.value)},),
        _texts_of("method"),
    ),
    "kind": _of_choices(_KINDS, "request, response, frame, decision, error, …"),
    "status": FilterField(
        "429, 4xx, open, failed, cut, unanswered",
        _of_status,
        _numbers_of("status", *STATES),
        rf"\d{{3}}|\dxx|{'|'.join(STATES)}",
        f"is a number such as 429 or 4xx, or {', '.join(STATES)}",
    ),
    "turn": FilterField(
        "rows of a turn, such as turn:3", _of_turn, _numbers_of("turn"), r"\d{1,8}", "needs a number such as 3"
    ),
    "call": FilterField("rows of a call, such as call:1.1.2", _of_call),
    "id": FilterField("id of a frame", _of_id),
    "dir": _of_choices(_WAYS, "out from the host, in to the host"),
    "size": FilterField("bytes, such as size>10k (also size<)", lambda _, term: ({"size": term.numbers},), sign=">"),
    TOKENS: FilterField("tokens of a request or an answer, such as tokens>8k", sign=">"),
    "ms": FilterField(
        "milliseconds until an answer, such as ms>2000",
        _of_duration,
        must_be="needs a number such as 2000",
        sign=">",
    ),
}
"""The fields by name, in the order of completion."""


def term_test(term: Term, ladder: LadderRows, read: TermReader | None) -> Test:
    """Return a test of rows for one term; without `read`, what must be read is unknown."""
    field = FIELDS.get(term.field)
    if field is None:
        return _text_test(term, ladder, read)
    if field.rows is not None:
        return _test(ladder, field.rows(ladder, term))

    def test(number: int) -> Verdict:
        tokens = None if read is None else read(term, number)
        return None if tokens is None else tokens > 0 and tokens in term.numbers

    return test


def _text_test(term: Term, ladder: LadderRows, read: TermReader | None) -> Test:
    """Test a word in any value of a row and in our words about it, or a text in its body; both in its URL and headers."""
    text, heads = term.value.casefold(), ladder.rows.heads
    words, ids = ladder.rows.own["words"], ladder.rows.own["rpc_id"]
    having = _with(ladder, text)
    conditions: list[_Condition] = [{"url": having}]
    if term.field == WORD:
        conditions += [{name: having} for name in ("method", "peer", "malformed")]
        conditions.append(lambda number: text in words[number].casefold() or text in ids[number].casefold())
        conditions += _of_tool(ladder, term)
        conditions += _FACTS.get(text, ())
        conditions += _of_status(ladder, term) if re.fullmatch(r"\d{3}", text) else ()
    in_values = _test(ladder, conditions)

    def test(number: int) -> Verdict:
        if in_values(number) or not having.isdisjoint(heads[number]):
            return True
        verdict = None if read is None else read(term, number)
        return None if verdict is None else verdict > 0

    return test


def _test(ladder: LadderRows, conditions: Sequence[_Condition]) -> _Claim:
    """Return a test of whether one of some conditions holds."""
    claims = [_claim(ladder, condition) for condition in conditions]
    if len(claims) == 1:
        return claims[0]

    def test(number: int) -> bool:
        for claim in claims:  # noqa: SIM110 - `any` takes twice as long
            if claim(number):
                return True
        return False

    return test


def _claim(ladder: LadderRows, condition: _Condition) -> _Claim:
    if callable(condition):
        return condition
    columns: Mapping[str, Sequence[object]] = {
        **ladder.rows.columns,
        **ladder.rows.own,
        "section": ladder.sections.homes,
    }
    (column, values), *more = [(columns[name], values) for name, values in condition.items()]
    if not more:
        return lambda number: column[number] in values
    second, values_there = more[0]
    return lambda number: column[number] in values and second[number] in values_there
