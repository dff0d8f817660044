"""JSON with places, as editors write it: comments, trailing commas and a byte-order mark are let stand.

A text is never written anew: what has to change is replaced between two places, and every other character stays.
Source: RFC 8259; for comments and trailing commas, Visual Studio Code's "JSON with Comments".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

DEPTH = 200
"""Levels of nesting that are read; no host's file has ten."""

# No possessive group round what may give back: Python 3.11 before .5 matches those wrongly.
_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null")


class BrokenJsonError(ValueError):
    """A text that is no JSON.

    Attributes:
        line: Where, from 1 on.
        column: Where in it, from 1 on.
    """

    def __init__(self, what: str, text: str, at: int) -> None:
        super().__init__(what)
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A string, a number, true, false or null.

    Attributes:
        start: Its first character.
        end: One past its last.
        value: What it says.
    """

    start: int
    end: int
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An array; `start` is its bracket, `end` one past the other."""

    start: int
    end: int
    elements: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A key, where it begins, and its value."""

    start: int
    key: str
    value: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """An object; `start` is its brace, `end` one past the other."""

    start: int
    end: int
    members: tuple[Member, ...]

    def member(self, key: str) -> Member | None:
        """The member of that name; of several the last, as every reader takes it."""
        return next((member for member in reversed(self.members) if member.key == key), None)


Node: TypeAlias = Scalar | Array | Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What to put between two places of a text."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with some edits, which do not overlap; all else as it was."""
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        pieces += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join((*pieces, text[at:]))


def parse(text: str) -> Node | None:
    """Read a text; None where nothing but space and comments is in it.

    Raises:
        BrokenJsonError: It is no JSON, not even with comments and trailing commas.
    """
    reader = _Reader(text)
    at = reader.space(1 if text.startswith("\ufeff") else 0)
    if at == len(text):
        return None
    node = reader.value(at, 0)
    end = reader.space(node.end)
    if end < len(text):
        raise BrokenJsonError("something after its end", text, end)
    return node


def after_space(text: str, at: int) -> int:
    """The first place from there on that is neither space nor comment."""
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _scalar(text: str) -> int | float | bool | None:
    try:
        return json.loads(text)
    except ValueError:  # an integer of more digits than Python reads; in its text it stays as it is
        return float(text)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def space(self, at: int) -> int:
        return after_space(self._text, at)

    def value(self, at: int, depth: int) -> Node:
        if depth > DEPTH:
            raise BrokenJsonError("nested too deeply", self._text, at)
        match self._text[at : at + 1]:
            case "{":
                return self._object(at, depth)
            case "[":
                return self._array(at, depth)
            case '"':
                string, end = self._string(at)
                return Scalar(start=at, end=end, value=string)
            case _:
                found = _SCALAR.match(self._text, at)
                if found is None:
                    raise BrokenJsonError("a value is missing", self._text, at)
                return Scalar(start=at, end=found.end(), value=_scalar(found[0]))

    def _string(self, at: int) -> tuple[str, int]:
        found = _STRING.match(self._text, at)
        if found is None:
            raise BrokenJsonError("a string has no end, or a control character in it", self._text, at)
        if "\\" not in found[0]:
            return found[0][1:-1], found.end()  # reading each through `json` takes most of the time for a long file
        try:
            return str(json.loads(found[0])), found.end()
        except ValueError:
            raise BrokenJsonError("a string has an escape that JSON does not know", self._text, at) from None

    def _object(self, start: int, depth: int) -> Object:
        members: list[Member] = []
        at = self.space(start + 1)
        while not self._text.startswith("}", at):
            if not self._text.startswith('"', at):
                raise BrokenJsonError("a key in quotes, or }, is missing", self._text, at)
            key, end = self._string(at)
            colon = self.space(end)
            if not self._text.startswith(":", colon):
                raise BrokenJsonError(": is missing", self._text, colon)
            value = self.value(self.space(colon + 1), depth + 1)
            members.append(Member(start=at, key=key, value=value))
            at = self._next(value.end, "}")
        return Object(start=start, end=at + 1, members=tuple(members))

    def _array(self, start: int, depth: int) -> Array:
        elements: list[Node] = []
        at = self.space(start + 1)
        while not self._text.startswith("]", at):
            value = self.value(at, depth + 1)
            elements.append(value)
            at = self._next(value.end, "]")
        return Array(start=start, end=at + 1, elements=tuple(elements))

    def _next(self, at: int, bracket: str) -> int:
        """Where the next member or the closing bracket is."""
        at = self.space(at)
        if self._text.startswith(",", at):
            return self.space(at + 1)
        if self._text.startswith(bracket, at):
            return at
        raise BrokenJsonError(f", or {bracket} is missing", self._text, at)
