"""Reads the language of the filter: words, fields and quoted texts, joined by blanks, `or`, `not` and parentheses."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.capture.ladder.filter_fields import (
    FIELDS,
    QUOTED,
    TOKENS,
    WORD,
    Term,
    TermReader,
    Test,
    Verdict,
    term_test,
)
from tui_host.capture.ladder.rows import LadderRows

MOST_COMPLETIONS = 20
_JOINERS = {"and", "or", "not", "AND", "OR", "NOT", "(", ")"}
_TOKEN = re.compile(r'(?P<field>\w+[:<>])?"(?P<quoted>[^"]*)"?(?=[\s)]|$)|(?P<word>[()]|\S+)')
_FIELD = re.compile(r"(\w+)([:<>])(.*)", re.DOTALL)
_LIKE_FIELD = re.compile(r"([^\W\d_]+):[^/]")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)b?")
_COSTS = {WORD: 1, QUOTED: 2, TOKENS: 3}
"""What is to be read for a term: what a row shows, its body, its tokens; a row's values alone for a field."""
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions of which all or one must be met, or one that must not."""

    join: Literal["and", "or", "not"]
    parts: tuple[Query, ...]


Query: TypeAlias = "Term | Group"


@dataclass(frozen=True, slots=True)
class Reading:
    """A filter as read."""

    query: Query | None  # the condition; None if every row matches
    mistakes: Sequence[str] = ()  # a sentence for each unfinished or wrong term, which is left out of the condition

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
        is_all = isinstance(self.query, Group) and self.query.join == "and"
        parts = self.query.parts if isinstance(self.query, Group) and is_all else (self.query,)
        texts = [part.value for part in parts if isinstance(part, Term) and part.is_text]
        return texts if len(texts) == len(parts) else ()


def terms(query: Query | None, *, negated: bool = False) -> Iterator[Term]:
    """Yield the terms of a query; those behind `not` only if asked for."""
    if isinstance(query, Term):
        yield query
    elif query is not None and (negated or query.join != "not"):
        for part in query.parts:
            yield from terms(part, negated=negated)


def row_test(query: Query | None, ladder: LadderRows, read: TermReader | None = None) -> Test:
    """Return a test for rows, valid for one revision of the ladder; without `read`, what must be read is unknown."""
    if query is None:
        return lambda _: True
    if isinstance(query, Term):
        return term_test(query, ladder, read)
    tests = [row_test(part, ladder, read) for part in sorted(query.parts, key=_cost)]
    decisive = query.join == "or"

    def opposite(number: int) -> Verdict:
        verdict = tests[0](number)
        return None if verdict is None else not verdict

    def combined(number: int) -> Verdict:
        verdict: Verdict = not decisive
        for test in tests:  # the first decisive part decides; as long as a part is unknown, all may be
            part = test(number)
            if part is decisive:
                return decisive
            if part is None:
                verdict = None
        return verdict

    return opposite if query.join == "not" else combined


def needs_values(query: Query | None) -> bool:
    """Whether the values of a row may decide, before anything is read."""
    return query is None or any(_COSTS.get(term.field, 0) < 2 for term in terms(query, negated=True))


def _cost(query: Query) -> int:
    return max(_COSTS.get(term.field, 0) for term in terms(query, negated=True))


def read_filter(text: str) -> Reading:
    """Read a filter. A term that is unfinished or wrong never removes rows: only a sentence tells of it."""
    mistakes: list[str] = []
    tokens = deque(_tokens(text, mistakes))
    parts: list[Query | None] = []
    while tokens:  # more than one group where a bracket closes nothing
        parts.append(_group(tokens))
    return Reading(_joined("and", parts), tuple(dict.fromkeys(mistakes)))


def _group(tokens: deque[Term | str | None]) -> Query | None:
    """Read what stands before a closing bracket, or before the end."""
    alternatives: list[list[Query | None]] = [[]]
    negations = 0
    while tokens and (word := tokens.popleft()) != ")":
        if word == "not":
            negations += 1
            continue
        if word == "or":
            alternatives.append([])
        query = _group(tokens) if word == "(" else word
        if query is not None and not isinstance(query, str):
            for _ in range(negations):
                query = Group("not", (query,))
            alternatives[-1].append(query)
        negations = 0
    return _joined("or", [_joined("and", parts) for parts in alternatives])


def _tokens(text: str, mistakes: list[str]) -> Iterator[Term | str | None]:
    """Yield terms, joiners and brackets, and None for a term that is unfinished or wrong."""
    place, depth = 0, 0
    while match := _TOKEN.search(text, place):
        place, word, closing = match.end(), match["word"] or "", 0
        if match["field"] is not None:
            yield _term(f"{match['field']}{match['quoted']}", mistakes)
        elif match["quoted"] is not None:
            yield Term(QUOTED, match["quoted"]) if match["quoted"].strip() else None
        else:
            while closing < depth and len(word) > 1 and word.endswith(")"):  # it closes what stands before the word
                word, closing = word[:-1], closing + 1
            yield word.lower() if word in _JOINERS else _term(word, mistakes)
            yield from ")" * closing
            depth = max(0, depth + (word == "(") - (word == ")") - closing)


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
