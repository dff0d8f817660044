"""Reads the language of the filter: words, fields and quoted texts, joined by blanks, `or`, `not` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tui_host.capture.ladder.filter_fields import FIELDS
from tui_host.capture.ladder.rows import LadderRows

MOST_COMPLETIONS = 20
_JOINERS = {"and", "or", "not", "AND", "OR", "NOT"}
_TOKEN = re.compile(r'(?P<field>\w+[:<>])?"(?P<quoted>[^"]*)"?(?=[\s)]|$)|(?P<bracket>[()])|(?P<word>\S+)')
_FIELD = re.compile(r"(\w+)([:<>])(.*)", re.DOTALL)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)b?")
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


@dataclass(frozen=True, slots=True)
class Word:
    """A word in lower case, in any value or in the shown text of a row."""

    text: str


@dataclass(frozen=True, slots=True)
class Quoted:
    """A text in the body of a row."""

    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """A condition on one value of a row.

    Attributes:
        name: The name of the field.
        sign: `:` for equal or containing, `<` and `>` for numbers.
        value: The value in lower case.
        number: The value of a comparison.
    """

    name: str
    sign: str
    value: str
    number: float = 0


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a query."""

    part: Query


@dataclass(frozen=True, slots=True)
class Both:
    """All parts together."""

    parts: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part."""

    parts: tuple[Query, ...]


Leaf: TypeAlias = "Word | Quoted | Field"
Query: TypeAlias = "Leaf | Not | Both | Either"


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
        return [part.text for part in leaves(self.query) if isinstance(part, Word | Quoted)]

    @property
    def hints(self) -> Sequence[str]:
        """The mistakes, and a sentence for each word that is written like a field but is none: `bogus:1`, not `http://`."""
        words = [_FIELD.fullmatch(part.text) for part in leaves(self.query, negated=True) if isinstance(part, Word)]
        names = [
            word[1] for word in words if word and word[1].isalpha() and word[2] == ":" and word[3][:1] not in {"", "/"}
        ]
        return (*self.mistakes, *(f"{name}: is no field, so this is searched as a word" for name in names))

    @property
    def whole_texts(self) -> Sequence[str]:
        """The words and quoted texts of a filter of nothing else, all of them needed; empty for other filters."""
        parts = self.query.parts if isinstance(self.query, Both) else (self.query,)
        texts = [part.text for part in parts if isinstance(part, Word | Quoted)]
        return texts if len(texts) == len(parts) else ()


def leaves(query: Query | None, *, negated: bool = False) -> Iterator[Leaf]:
    """Yield the words, quoted texts and fields of a query; those behind `not` only if asked for."""
    match query:
        case None:
            return
        case Not():
            if negated:
                yield from leaves(query.part, negated=True)
        case Both() | Either():
            for part in query.parts:
                yield from leaves(part, negated=negated)
        case _:
            yield query


def read_filter(text: str) -> Reading:
    """Read a filter. A term that is unfinished or wrong never removes rows: only a sentence tells of it."""
    parser = _Parser(text)
    parts = [parser.either()]
    while parser.place < len(parser.tokens):  # a bracket that closes nothing
        parser.place += 1
        parts.append(parser.either())
    return Reading(_joined(Both, parts), tuple(dict.fromkeys(parser.mistakes)))


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.place = 0
        self.mistakes: list[str] = []

    def either(self) -> Query | None:
        parts = [self._both()]
        while self._word() == "or":
            self.place += 1
            parts.append(self._both())
        return _joined(Either, parts)

    def _both(self) -> Query | None:
        parts: list[Query | None] = []
        while self.place < len(self.tokens) and self._word() not in {"or", ")"}:
            parts.append(self._one())
        return _joined(Both, parts)

    def _one(self) -> Query | None:
        word, (kind, text) = self._word(), self.tokens[self.place]
        self.place += 1
        match word:
            case "not":
                if self.place == len(self.tokens) or self._word() in {"or", ")"}:
                    return None  # still being typed
                part = self._one()
                return None if part is None else Not(part)
            case "(":
                query = self.either()
                self.place += self._word() == ")"
                return query
            case "and":
                return None
            case _ if kind == "quoted":
                return Quoted(text) if text.strip() else None
            case _:
                return self._term(text)

    def _word(self) -> str:
        """Return the joiner or bracket at the present place, in lower case; empty for a term."""
        kind, text = self.tokens[self.place] if self.place < len(self.tokens) else ("term", "")
        return "" if kind else text.lower()

    def _term(self, text: str) -> Query | None:
        match = _FIELD.fullmatch(text)
        field = FIELDS.get(match[1].lower()) if match is not None else None
        if match is None or field is None:
            return Word(text.casefold())
        name, sign, value = match[1].lower(), match[2], match[3].casefold()
        if field.sign == ">":
            return self._comparison(name, sign, value)
        if sign != ":":
            self.mistakes.append(f"{name} takes a colon, such as {name}:{value or '…'}")
            return None
        if not value:
            return None
        if mistake := field.mistake(value):
            self.mistakes.append(mistake)
            return None
        return Field(name, ":", value)

    def _comparison(self, name: str, sign: str, value: str) -> Query | None:
        number = _NUMBER.fullmatch(value)
        if sign == ":" or number is None:
            sign = ">" if sign == ":" else sign
            self.mistakes.append(f"{name}{sign} needs a number such as {'2000' if name == 'ms' else '10k'}")
            return None
        return Field(name, sign, value, float(number[1]) * _UNITS[number[2]])


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return the terms, joiners and brackets, each with `quoted`, `term` or nothing before a bracket or joiner."""
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
        tokens.append(("" if word in _JOINERS or match["bracket"] else "term", word))
        tokens += [("", ")")] * closing
        depth = max(0, depth + (word == "(") - (word == ")") - closing)
    return tokens


def _joined(join: type[Both | Either], parts: Sequence[Query | None]) -> Query | None:
    queries = tuple(part for part in parts if part is not None)
    if len(queries) > 1:
        return join(queries)
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
