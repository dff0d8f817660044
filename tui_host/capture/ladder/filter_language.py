"""Reads the language of the filter: words, fields and quoted texts, joined by blanks, `or`, `not` and parentheses."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.capture.ladder.filter_fields import FIELDS, QUOTED, WORD, RowTexts, Term, Test, Verdict, term_test
from tui_host.capture.ladder.rows import LadderRows

MOST_COMPLETIONS = 20
_JOINERS = {"and", "or", "not", "AND", "OR", "NOT"}
_TOKEN = re.compile(r'(?P<field>\w+[:<>])?"(?P<quoted>[^"]*)"?(?=[\s)]|$)|(?P<bracket>[()])|(?P<word>\S+)')
_FIELD = re.compile(r"(\w+)([:<>])(.*)", re.DOTALL)
_LIKE_FIELD = re.compile(r"([^\W\d_]+):[^/]")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)b?")
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions of which all or one must be met, or one that must not."""

    join: Literal["and", "or", "not"]
    parts: tuple[Query, ...]


Query: TypeAlias = "Term | Group"


@dataclass(frozen=True, slots=True)
class Reading:
    """A filter as read.

    Attributes:
        query: The condition; None if every row matches.
        mistakes: A sentence for each unfinished or wrong term, which is left out of the condition.
    """

    query: Query | None
    mistakes: Sequence[str] = ()

    @property
    def texts(self) -> Sequence[str]:
        """The words and quoted texts that a matching row may contain, without those behind `not`."""
        return [term.value for term in terms(self.query) if term.is_text]

    @property
    def hints(self) -> Sequence[str]:
        """The mistakes, and a sentence for each word that is written like a field but is none: `bogus:1`, not `http://`."""
        words = [term.value for term in terms(self.query, negated=True) if term.field == WORD]
        names = [match[1] for match in map(_LIKE_FIELD.match, words) if match is not None]
        return (*self.mistakes, *(f"{name}: is no field, so this is searched as a word" for name in names))

    @property
    def whole_texts(self) -> Sequence[str]:
        """The words and quoted texts of a filter of nothing else, all of them needed; empty for other filters."""
        is_all = isinstance(self.query, Term) or (self.query is not None and self.query.join == "and")
        every = list(terms(self.query, negated=True)) if is_all else []
        is_flat = isinstance(self.query, Term) or (self.query is not None and len(every) == len(self.query.parts))
        return [term.value for term in every] if is_flat and all(term.is_text for term in every) else ()


def terms(query: Query | None, *, negated: bool = False) -> Iterator[Term]:
    """Yield the terms of a query; those behind `not` only if asked for."""
    if isinstance(query, Term):
        yield query
    elif query is not None and (negated or query.join != "not"):
        for part in query.parts:
            yield from terms(part, negated=negated)


def row_test(query: Query | None, ladder: LadderRows, texts: RowTexts | None = None) -> Test:
    """Return a test for rows, valid for one revision of the ladder; without `texts`, what must be read is unknown."""
    if query is None:
        return lambda _: True
    if isinstance(query, Term):
        return term_test(query, ladder, texts)
    tests = [row_test(part, ladder, texts) for part in sorted(query.parts, key=_cost)]
    if query.join == "not":
        return _opposite(*tests)
    return _combined(tests, decisive=query.join == "or")


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


def needs_values(query: Query | None) -> bool:
    """Whether the values of a row may decide, before anything is read."""
    return query is None or any(term.cost < 2 for term in terms(query, negated=True))


def _cost(query: Query) -> int:
    return max(term.cost for term in terms(query, negated=True))


def read_filter(text: str) -> Reading:
    """Read a filter. A term that is unfinished or wrong never removes rows: only a sentence tells of it."""
    parser = _Parser(text)
    parts = [parser.either()]
    while parser.tokens:  # a bracket that closes nothing
        parser.tokens.popleft()
        parts.append(parser.either())
    return Reading(_joined("and", parts), tuple(dict.fromkeys(parser.mistakes)))


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = deque(_tokens(text))
        self.mistakes: list[str] = []

    def either(self) -> Query | None:
        parts = [self._both()]
        while self._joiner() == "or":
            self.tokens.popleft()
            parts.append(self._both())
        return _joined("or", parts)

    def _both(self) -> Query | None:
        parts: list[Query | None] = []
        while self.tokens and self._joiner() not in {"or", ")"}:
            parts.append(self._one())
        return _joined("and", parts)

    def _one(self) -> Query | None:
        joiner, (kind, text) = self._joiner(), self.tokens.popleft()
        if joiner == "not":
            is_typed = self.tokens and self._joiner() not in {"or", ")"}
            part = self._one() if is_typed else None
            return None if part is None else Group("not", (part,))
        if joiner == "(":
            query = self.either()
            if self._joiner() == ")":
                self.tokens.popleft()
            return query
        if kind == "quoted":
            return Term(QUOTED, text) if text.strip() else None
        return self._term(text) if kind == "term" else None

    def _joiner(self) -> str:
        """Return the joiner or bracket that comes next, in lower case; empty for a term."""
        return self.tokens[0][1].lower() if self.tokens and self.tokens[0][0] == "joiner" else ""

    def _term(self, text: str) -> Query | None:
        match = _FIELD.fullmatch(text)
        field = FIELDS.get(match[1].lower()) if match is not None else None
        if match is None or field is None:
            return Term(WORD, text.casefold())
        name, sign, value = match[1].lower(), match[2], match[3].casefold()
        number = _NUMBER.fullmatch(value)
        if field.sign == ">" and (sign == ":" or number is None):
            self.mistakes.append(f"{name}{'<' if sign == '<' else '>'} {field.must_be}")
        elif field.sign == ">" and number is not None:
            return Term(name, value, sign, float(number[1]) * _UNITS[number[2]])
        elif sign != ":":
            self.mistakes.append(f"{name} takes a colon, such as {name}:{value or '…'}")
        elif value and not re.fullmatch(field.pattern, value, re.DOTALL):
            self.mistakes.append(f"{name}: {field.must_be}")
        elif value:
            return Term(name, value)
        return None


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return the terms, joiners and brackets, each with `quoted`, `term` or `joiner`."""
    tokens: list[tuple[str, str]] = []
    place, depth = 0, 0
    while match := _TOKEN.search(text, place):
        place = match.end()
        if match["quoted"] is not None:
            field = match["field"]
            tokens.append(("term", f"{field}{match['quoted']}") if field else ("quoted", match["quoted"]))
            continue
        word: str = match["bracket"] or match["word"]
        closing = 0
        if match["word"]:  # brackets belong to a word unless they close what stands before it
            while closing < depth and len(word) > 1 and word.endswith(")"):
                word, closing = word[:-1], closing + 1
        tokens.append(("joiner" if word in _JOINERS or match["bracket"] else "term", word))
        tokens += [("joiner", ")")] * closing
        depth = max(0, depth + (word == "(") - (word == ")") - closing)
    return tokens


def _joined(join: Literal["and", "or"], parts: Sequence[Query | None]) -> Query | None:
    queries = tuple(part for part in parts if part is not None)
    if len(queries) > 1:
        return Group(join, queries)
    return queries[0] if queries else None


def completions(text: str, ladder: LadderRows) -> Sequence[tuple[str, str]]:
    """Return completions of the last term by fields and values that occur, each as the word to show and the whole filter."""
    start = max(text.rfind(" "), text.rfind("(")) + 1
    if text.count('"') % 2:
        return ()
    before, term = text[:start], text[start:]
    name, colon, begun = term.partition(":")
    if not colon:
        names = [f"{name}{field.sign}" for name, field in FIELDS.items()]
        return [(name, before + name) for name in names if name.startswith(term.lower())]
    field, folded = FIELDS.get(name.lower()), begun.casefold()
    values = field.values(ladder) if field is not None else ()
    values = [value for value in values if folded in value.casefold() and value != begun]
    values.sort(key=lambda value: not value.casefold().startswith(folded))
    quoted = (f'"{value}"' if " " in value else value for value in values)
    whole = [f"{before}{name}:{value}" for value in quoted]
    return list(zip(values, whole, strict=True))[:MOST_COMPLETIONS]
