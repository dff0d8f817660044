"""Reads the language of the filter: words, fields and quoted texts, joined by blanks, `or`, `not` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.capture.ladder.row_table import KINDS, STATES

Sign: TypeAlias = Literal[":", ">", "<"]

KIND_WORDS = (*KINDS, "error", "result", "notification", "malformed", "inferred", "doubtful", "stderr")
FIELDS: Mapping[str, str] = {
    "server:": "rows of a server",
    "tool:": "a tool's calls, decisions and frames",
    "method:": "method of a frame or an HTTP request",
    "kind:": "request, response, frame, decision, error, …",
    "status:": "429, 4xx, open, failed, cut, unanswered",
    "turn:": "rows of a turn, such as turn:3",
    "call:": "rows of a call, such as call:1.1.2",
    "id:": "id of a frame",
    "dir:": "out from the host, in to the host",
    "size>": "bytes, such as size>10k (also size<)",
    "tokens>": "tokens of a request or an answer, such as tokens>8k",
    "ms>": "milliseconds until an answer, such as ms>2000",
}
"""The fields with their meaning, in the order of completion."""
_JOINERS = {"and", "or", "not", "AND", "OR", "NOT"}
_TOKEN = re.compile(r'(?P<field>\w+[:<>])?"(?P<quoted>[^"]*)"?(?=[\s)]|$)|(?P<bracket>[()])|(?P<word>\S+)')
_FIELD = re.compile(r"(\w+)([:<>])(.*)", re.DOTALL)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)b?")
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}
_STATUS = re.compile(r"\d{3}|\dxx")


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
    sign: Sign
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


Query: TypeAlias = "Word | Quoted | Field | Not | Both | Either"


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


def leaves(query: Query | None, *, negated: bool = False) -> Iterator[Word | Quoted | Field]:
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
    query = parser.either()
    while parser.place < len(parser.tokens):  # a bracket that closes nothing
        parser.place += 1
        rest = parser.either()
        query = _joined(Both, [part for part in (query, rest) if part is not None])
    return Reading(query, tuple(dict.fromkeys(parser.mistakes)))


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
        return _joined(Either, [part for part in parts if part is not None])

    def _both(self) -> Query | None:
        parts: list[Query] = []
        while self.place < len(self.tokens) and self._word() not in {"or", ")"}:
            part = self._one()
            if part is not None:
                parts.append(part)
        return _joined(Both, parts)

    def _one(self) -> Query | None:
        word, token = self._word(), self.tokens[self.place]
        self.place += 1
        if word == "not":
            if self.place == len(self.tokens) or self._word() in {"or", ")"}:
                return None  # still being typed
            part = self._one()
            return None if part is None else Not(part)
        if word == "(":
            query = self.either()
            self.place += self._word() == ")"
            return query
        return None if word == "and" else self._term(token)

    def _word(self) -> str:
        """Return the joiner or bracket at the present place, in lower case; empty for a term."""
        token = self.tokens[self.place] if self.place < len(self.tokens) else ("", "")
        return token[1].lower() if not token[0] and (token[1] in _JOINERS or token[1] in "()") else ""

    def _term(self, token: tuple[str, str]) -> Query | None:
        kind, text = token
        if kind == "quoted":
            return Quoted(text) if text.strip() else None
        match = _FIELD.fullmatch(text)
        if match is None or not any(name[:-1] == match[1].lower() for name in FIELDS):
            return Word(text.casefold())
        name, sign, value = match[1].lower(), match[2], match[3].casefold()
        if f"{name}>" in FIELDS:
            return self._comparison(name, sign, value)
        if sign != ":":
            self.mistakes.append(f"{name} takes a colon, such as {name}:{value or '…'}")
            return None
        if not value:
            return None
        if mistake := _mistake(name, value):
            self.mistakes.append(mistake)
            return None
        return Field(name, ":", value)

    def _comparison(self, name: str, sign: str, value: str) -> Query | None:
        number = _NUMBER.fullmatch(value)
        if sign == ":" or number is None:
            sign = ">" if sign == ":" else sign
            self.mistakes.append(f"{name}{sign} needs a number such as {'2000' if name == 'ms' else '10k'}")
            return None
        return Field(name, "<" if sign == "<" else ">", value, float(number[1]) * _UNITS[number[2]])


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


def _joined(join: type[Both | Either], parts: Sequence[Query]) -> Query | None:
    return join(tuple(parts)) if len(parts) > 1 else parts[0] if parts else None


def _mistake(name: str, value: str) -> str:
    """Return what is wrong with the value of a field, as a sentence; empty if nothing is."""
    match name:
        case "turn" if not value.isdecimal() or len(value) > 8:
            return "turn: needs a number such as 3"
        case "dir" if value not in {"in", "out"}:
            return "dir: is in or out"
        case "kind" if value not in KIND_WORDS:
            return f"kind: is one of {', '.join(KIND_WORDS)}"
        case "status" if value not in STATES and not _STATUS.fullmatch(value):
            return f"status: is a number such as 429 or 4xx, or {', '.join(STATES)}"
        case _:
            return ""
