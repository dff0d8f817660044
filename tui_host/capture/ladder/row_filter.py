"""The filter of the list: words, fields and quoted texts, joined by blanks, `or`, `not` and parentheses, and how they test rows."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Literal, TypeAlias

from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import FIRST_TEXTS, KINDS, STATES, UNKNOWN_TIME

WORD, QUOTED, TOKENS = "", '"', "tokens"
"""The fields of what must be read: a word in any value or in what a row shows, a text in its body, and its tokens."""
MOST_COMPLETIONS = 20
_COSTS = {WORD: 1, QUOTED: 2, TOKENS: 3}
"""What is to be read for a term: what a row shows, its body, its tokens; a row's values alone for a field."""
_JOINERS = {"and", "or", "not", "AND", "OR", "NOT", "(", ")"}
_TOKEN = re.compile(r'(?P<field>\w+[:<>])?"(?P<quoted>[^"]*)"?(?=[\s)]|$)|(?P<word>[()]|\S+)')
_FIELD = re.compile(r"(\w+)([:<>])(.*)", re.DOTALL)
_LIKE_FIELD = re.compile(r"([^\W\d_]+):[^/]")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)b?")
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


@dataclass(frozen=True, slots=True)
class Term:
    """A condition on a row."""

    field: str
    value: str  # in lower case, but for a quoted text
    sign: str = ":"  # `:` for equal or containing, `<` and `>` for numbers
    number: float = 0  # the value of a comparison

    @property
    def is_text(self) -> bool:
        return self.field in {WORD, QUOTED}

    @property
    def numbers(self) -> range:
        """The whole numbers that a comparison allows."""
        return range(floor(self.number) + 1, 1 << 62) if self.sign == ">" else range(ceil(self.number))


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions of which all or one must be met, or one that must not."""

    join: Literal["and", "or", "not"]
    parts: tuple[Query, ...]


Query: TypeAlias = "Term | Group"
Verdict: TypeAlias = "bool | None"
Test: TypeAlias = Callable[[int], Verdict]
"""Returns whether the row with a number matches; None while unknown."""
TermReader: TypeAlias = Callable[[Term, int], "int | None"]
"""Returns whether a row shows a word, whether its body has a text, or its tokens (0 without any); None while unknown."""


class WantedTexts:
    """Texts to find in the bytes of bodies, in any case, also where JSON writes them with escapes."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._forms: dict[str, set[bytes]] = {text: set() for text in texts if text}
        for text, forms in self._forms.items():
            for case in (text.lower(), text.upper()):  # `bytes.lower` changes the letters of ASCII alone
                written = (case, json.dumps(case)[1:-1], json.dumps(case, ensure_ascii=False)[1:-1])
                forms.update(form.encode("utf-8", "backslashreplace").lower() for form in written)
        self.texts = frozenset(self._forms)  # the texts, as the filter has them

    def contained(self, data: bytes) -> frozenset[str]:
        lowered = data.lower()
        return frozenset(text for text, forms in self._forms.items() if any(map(lowered.__contains__, forms)))


# How terms test rows.

_Condition: TypeAlias = "Mapping[str, Container[object]] | Test"
"""One or two columns with the values that a row must have there, or else a test of rows.

What many rows share is looked at once, when a test is made: for each of 100,000 rows it does no more than look up a number.
"""
_Alternatives: TypeAlias = Sequence[_Condition]
"""Conditions of which one must hold."""
_NUMBERS = {text: number for number, text in enumerate(FIRST_TEXTS)}
_OF_SERVERS, _ON_WIRES = {_NUMBERS["host"], _NUMBERS["mcp"]}, {_NUMBERS["llm"], _NUMBERS["mcp"]}
_STATES: Mapping[str, _Alternatives] = {
    **{state: ({"state": {_NUMBERS[state]}},) for state in STATES},
    "failed": ({"error": {1}}, {"state": {_NUMBERS["failed"], _NUMBERS["unanswered"]}}),
}
_FACTS: Mapping[str, _Alternatives] = {
    **{flag: ({flag: {1}},) for flag in ("error", "inferred", "maybe", "redacted")},
    **{state: _STATES[state] for state in ("cut", "unanswered", "failed")},
    "result": ({"answer": {1}, "error": {0}},),
    "malformed": ({"malformed": range(1, 1 << 31)},),
    "stderr": ({"kind": {_NUMBERS["line"]}},),
}
"""Words on the lines of rows, each with what it says."""
_KINDS: Mapping[str, _Alternatives] = {
    **{kind: ({"kind": {_NUMBERS[kind]}},) for kind in KINDS},
    **{name: _FACTS[name] for name in ("error", "result", "malformed", "inferred", "maybe", "stderr")},
    "notification": ({"kind": {_NUMBERS["frame"]}, "rpc_id": {""}},),
}
_WAYS: Mapping[str, _Alternatives] = {
    way: ({"outward": {number}, "lane": _ON_WIRES},) for number, way in enumerate(("in", "out"))
}


def _with(ladder: Ladder, part: str) -> frozenset[int]:
    """Return the numbers of the shared texts that have a part."""
    return frozenset(number for number, text in enumerate(ladder.rows.texts) if part in text.casefold())


def _of_value(ladder: Ladder, field: str, term: Term) -> _Alternatives | None:
    """Return what the rows with a value of a field have; None for a field that must be read."""
    value, calls = term.value, ladder.rows.calls
    alternatives: _Alternatives | None
    match field:
        case "server":
            alternatives = ({"peer": _with(ladder, value), "lane": _OF_SERVERS},)
        case "tool":  # frames and decisions of the tool, and the rows of its calls
            tools = ladder.tools
            alternatives = (
                {"tool": _with(ladder, value)},
                lambda number: any(value in tools.get(call, "").casefold() for call in calls[number]),
            )
        case "method":
            alternatives = ({"method": _with(ladder, value)},)
        case "kind":
            alternatives = _KINDS[value]
        case "status":
            first, last = (value.replace("x", digit) for digit in "09")
            alternatives = _STATES.get(value) or ({"status": range(int(first), int(last) + 1)},)
        case "turn":
            alternatives = ({"section": {home for home, turn in ladder.sections.turns.items() if turn == int(value)}},)
        case "step":
            alternatives = ({"step": {int(value)}},)
        case "llm":  # the request to a model with such a number, and its answer
            requests = ladder.numbers.requests[int(value) - 1 : int(value)]
            alternatives = ({half for first in requests for half in (first, ladder.partner(first))}.__contains__,)
        case "call":  # the rows of calls with such an id, or with such a turn, step and place: `1.1.2`
            alternatives = (lambda number: any(f".{call.casefold()}".endswith(f".{value}") for call in calls[number]),)
        case "id":
            ids, forms = ladder.rows.own["rpc_id"], {value, f'"{value}"'}
            alternatives = (lambda number: ids[number].casefold() in forms,)
        case "dir":
            alternatives = _WAYS[value]
        case "size":
            alternatives = ({"size": term.numbers},)
        case "ms":
            alternatives = (_duration_test(ladder, replace(term, number=term.number * 1e6).numbers),)
        case _:
            alternatives = None
    return alternatives


def _duration_test(ladder: Ladder, numbers: range) -> Test:
    """Return a test for answers by the nanoseconds from their question to their end."""
    began, ended, answers, kinds = (ladder.rows.columns[name] for name in ("mono_ns", "end_mono_ns", "answer", "kind"))

    def test(number: int) -> bool:
        partner = ladder.partner(number) if answers[number] or kinds[number] == _NUMBERS["response"] else None
        if partner is None or partner >= number or UNKNOWN_TIME in {began[partner], ended[number]}:
            return False
        return ended[number] - began[partner] in numbers

    return test


@dataclass(frozen=True, slots=True)
class FilterField:
    """A field of the filter: `name:value`, or `name>number` and `name<number`."""

    help: str  # what it finds
    pattern: str = ".*"  # what a value must be, as a regular expression
    must_be: str = "needs a number such as 10k"  # what is said of another value
    sign: str = ":"  # what stands behind the name
    choices: Iterable[str] = ()  # the values that complete it, beside those that occur


_COUNT = r"\d{1,8}", "needs a number such as 3"
_STATUS = rf"\d{{3}}|\dxx|{'|'.join(STATES)}", f"is a number such as 429 or 4xx, or {', '.join(STATES)}"
_KIND = "|".join(_KINDS), f"is one of {', '.join(_KINDS)}"
FIELDS: Mapping[str, FilterField] = {
    "server": FilterField("rows of a server"),
    "tool": FilterField("a tool's calls, decisions and frames"),
    "method": FilterField("method of a frame or an HTTP request"),
    "kind": FilterField("request, response, frame, decision, error, …", *_KIND, choices=_KINDS),
    "status": FilterField("429, 4xx, open, failed, cut, unanswered", *_STATUS, choices=STATES),
    "turn": FilterField("rows of a turn, such as turn:3", *_COUNT),
    "step": FilterField("rows of a step in any turn, such as step:2", *_COUNT),
    "llm": FilterField("request and answer of LLM 13: llm:13", *_COUNT),
    "call": FilterField("rows of a call, such as call:1.1.2"),
    "id": FilterField("id of a frame"),
    "dir": FilterField("out from the host, in to the host", "|".join(_WAYS), "is in or out", choices=_WAYS),
    "size": FilterField("bytes, such as size>10k (also size<)", sign=">"),
    TOKENS: FilterField("tokens of a request or an answer, such as tokens>8k", sign=">"),
    "ms": FilterField("milliseconds until an answer, such as ms>2000", sign=">"),
}
"""The fields by name, in the order of completion."""


def row_test(query: Query | None, ladder: Ladder, read: TermReader | None = None) -> Test:
    """Return a test for rows, valid for one revision of the ladder; without `read`, what must be read is unknown."""
    if query is None:
        return lambda _: True
    if isinstance(query, Term):
        return _term_test(query, ladder, read)
    # what must be read comes last
    parts = sorted(query.parts, key=lambda part: max(_COSTS.get(term.field, 0) for term in terms(part, negated=True)))
    tests = [row_test(part, ladder, read) for part in parts]
    decisive, is_negated = query.join != "and", query.join == "not"

    def test(number: int) -> Verdict:
        verdict: Verdict = not decisive
        for test_part in tests:  # the first decisive part decides; as long as a part is unknown, all may be
            part = test_part(number)
            if part is decisive:
                verdict = decisive
                break
            if part is None:
                verdict = None
        return not verdict if is_negated and verdict is not None else verdict

    return test


def _term_test(term: Term, ladder: Ladder, read: TermReader | None) -> Test:
    """Test a field by its values. A word may be in any value and in our words about a row, a text in its URL and headers."""
    alternatives = _of_value(ladder, term.field, term)
    if alternatives is not None:
        return _test(ladder, alternatives)
    text, words, ids = term.value.casefold(), ladder.rows.own["words"], ladder.rows.own["rpc_id"]
    heads = ladder.rows.heads
    having = _with(ladder, text) if term.is_text else frozenset[int]()
    numbers = range(1, 1 << 62) if term.is_text else term.numbers
    conditions: list[_Condition] = [{"url": having}]
    if term.field == WORD:
        conditions += [{name: having} for name in ("method", "peer", "malformed")]
        conditions.append(lambda number: text in words[number].casefold() or text in ids[number].casefold())
        conditions += _of_value(ladder, "tool", term) or ()
        conditions += _FACTS.get(text, ())
        conditions += _of_value(ladder, "status", term) or () if re.fullmatch(r"\d{3}", text) else ()
    in_values = _test(ladder, conditions)

    def test(number: int) -> Verdict:
        if in_values(number) or not having.isdisjoint(heads[number]):
            return True
        verdict = None if read is None else read(term, number)
        return None if verdict is None else verdict > 0 and verdict in numbers

    return test


def _test(ladder: Ladder, conditions: _Alternatives) -> Test:
    """Return a test of whether one of some conditions holds."""
    claims = [_claim(ladder, condition) for condition in conditions]

    def test(number: int) -> bool:
        for claim in claims:  # noqa: SIM110 - `any` takes twice as long
            if claim(number):
                return True
        return False

    return claims[0] if len(claims) == 1 else test


def _claim(ladder: Ladder, condition: _Condition) -> Test:
    if callable(condition):
        return condition
    columns: dict[str, Sequence[object]] = {**ladder.rows.columns, **ladder.rows.own}
    columns["section"] = ladder.sections.homes
    (column, values), *more = [(columns[name], values) for name, values in condition.items()]
    if not more:
        return lambda number: column[number] in values
    second, values_there = more[0]
    return lambda number: column[number] in values and second[number] in values_there


# How a filter is read.


@dataclass(frozen=True, slots=True)
class Reading:
    """A filter as read."""

    query: Query | None  # the condition; None if every row matches
    mistakes: Sequence[str]  # a sentence for each unfinished or wrong term, which is left out of the condition
    hints: Sequence[
        str
    ]  # the same, and one for each word that is written like a field but is none: `bogus:1`, not `http://`
    texts: Sequence[str]  # the words and quoted texts that a matching row may contain, without those behind `not`
    whole_texts: Sequence[str]  # those of a filter of nothing else, all of them needed; empty for other filters


def terms(query: Query | None, *, negated: bool = False) -> Iterator[Term]:
    """Yield the terms of a query; those behind `not` only if asked for."""
    if isinstance(query, Term):
        yield query
    elif query is not None and (negated or query.join != "not"):
        for part in query.parts:
            yield from terms(part, negated=negated)


def read_filter(text: str) -> Reading:
    """Read a filter. A term that is unfinished or wrong never removes rows: only a sentence tells of it."""
    mistakes: list[str] = []
    tokens = deque[Term | str | None]()  # terms, joiners and brackets; None for a term that is unfinished or wrong
    depth = 0
    for match in _TOKEN.finditer(text):
        word, closing = match["word"] or "", 0
        if match["field"] is not None:
            tokens.append(_term(f"{match['field']}{match['quoted']}", mistakes))
        elif match["quoted"] is not None:
            tokens.append(Term(QUOTED, match["quoted"]) if match["quoted"].strip() else None)
        else:
            while closing < depth and len(word) > 1 and word.endswith(")"):  # it closes what stands before the word
                word, closing = word[:-1], closing + 1
            tokens.append(word.lower() if word in _JOINERS else _term(word, mistakes))
            tokens.extend(")" * closing)
            depth = max(0, depth + (word == "(") - (word == ")") - closing)
    query, told = _group(tokens, depth=0), tuple(dict.fromkeys(mistakes))
    words = [term.value for term in terms(query, negated=True) if term.field == WORD]
    names = [match[1] for match in map(_LIKE_FIELD.match, words) if match is not None]
    hints = (*told, *(f"{name}: is no field, so this is searched as a word" for name in names))
    texts = tuple(term.value for term in terms(query) if term.is_text)
    parts = query.parts if isinstance(query, Group) and query.join == "and" else (query,)
    is_of_texts = all(isinstance(part, Term) and part.is_text for part in parts)
    return Reading(query, told, hints, texts, texts if is_of_texts else ())


def _group(tokens: deque[Term | str | None], depth: int) -> Query | None:
    """Read what stands before the closing bracket, or before the end; a bracket that closes nothing is left out."""
    alternatives: list[list[Query | None]] = [[]]
    is_negated = False
    while tokens and ((word := tokens.popleft()) != ")" or depth == 0):
        if word == "not":
            is_negated = not is_negated
            continue
        if word == "or":
            alternatives.append([])
        query = _group(tokens, depth + 1) if word == "(" else word
        if query is not None and not isinstance(query, str):
            alternatives[-1].append(Group("not", (query,)) if is_negated else query)
        is_negated = False
    return _joined("or", [_joined("and", parts) for parts in alternatives])


def _joined(join: Literal["and", "or"], parts: Sequence[Query | None]) -> Query | None:
    queries = tuple(part for part in parts if part is not None)
    return Group(join, queries) if len(queries) > 1 else next(iter(queries), None)


def _term(text: str, mistakes: list[str]) -> Term | None:
    match = _FIELD.fullmatch(text)
    field = FIELDS.get(match[1].lower()) if match is not None else None
    if match is None or field is None:
        return Term(WORD, text.casefold())
    name, sign, value = match[1].lower(), match[2], match[3].casefold()
    number = _NUMBER.fullmatch(value)
    if field.sign == ">" and (sign == ":" or number is None):
        mistakes.append(f"{name}{'<' if sign == '<' else '>'} {field.must_be}")
    elif field.sign == ">" and number is not None:
        return Term(name, value, sign, float(number[1]) * _UNITS[number[2]])
    elif sign != ":":
        mistakes.append(f"{name} takes a colon, such as {name}:{value or '…'}")
    elif value and not re.fullmatch(field.pattern, value, re.DOTALL):
        mistakes.append(f"{name}: {field.must_be}")
    elif value:
        return Term(name, value)
    return None


def completions(text: str, ladder: Ladder) -> Sequence[tuple[str, str]]:
    """Return completions of the last term by fields and values that occur, each as the word to show and the whole filter."""
    start = max(text.rfind(" "), text.rfind("(")) + 1
    if text.count('"') % 2:
        return ()
    before, term = text[:start], text[start:]
    name, colon, begun = term.partition(":")
    if not colon:
        names = [f"{name}{field.sign}" for name, field in FIELDS.items()]
        return [(name, before + name) for name in names if name.startswith(term.lower())]
    field, folded, columns = name.lower(), begun.casefold(), ladder.rows.columns
    values: Iterable[str] = FIELDS[field].choices if field in FIELDS else ()
    if field in {"status", "turn", "step"}:  # those that occur, and those that it may have
        values = (*map(str, sorted(set(columns[field]) - {0})), *values)
    elif field in {"server", "tool", "method"}:
        pairs = set(zip(columns["peer" if field == "server" else field], columns["lane"], strict=True))
        is_any = field != "server"  # a model is no server
        texts = {ladder.rows.texts[text] for text, lane in pairs if text and (is_any or lane in _OF_SERVERS)}
        if field == "tool":
            texts |= {*ladder.tools.values()} - {""}
            texts -= {tool.partition(".")[2] for tool in texts}
        values = sorted(texts)
    values = [text for text in values if folded in text.casefold() and text != begun]
    values.sort(key=lambda value: not value.casefold().startswith(folded))
    quoted = (f'"{value}"' if " " in value else value for value in values)
    return [(value, f"{before}{name}:{text}") for value, text in zip(values, quoted, strict=True)][:MOST_COMPLETIONS]
