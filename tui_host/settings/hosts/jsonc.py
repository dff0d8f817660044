"""Parses JSON with comments and trailing commas, and keeps the position of every value.

Texts are never rewritten as a whole: an edit replaces a range, and every other character stays. Source: RFC 8259; for
comments and trailing commas, Visual Studio Code's "JSON with Comments".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

DEPTH = 200
"""Deepest nesting to accept; no host's file has ten levels."""

# No possessive group around a backtracking part: Python before 3.11.5 matches those wrongly.
_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null")


class BrokenJsonError(ValueError):
    """The text is not JSON.

    Attributes:
        line: Line of the fault, from 1.
        column: Column of the fault, from 1.
    """

    def __init__(self, what: str, text: str, at: int) -> None:
        super().__init__(what)
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A string, a number, true, false or null.

    Attributes:
        start: Position of the first character.
        end: Position after the last character.
        value: The parsed value.
    """

    start: int
    end: int
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An array. `start` is the position of the opening bracket, `end` the position after the closing bracket."""

    start: int
    end: int
    elements: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of an object: its key, the key's position, and its value."""

    start: int
    key: str
    value: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """An object. `start` is the position of the opening brace, `end` the position after the closing brace."""

    start: int
    end: int
    members: tuple[Member, ...]

    def member(self, key: str) -> Member | None:
        """Return the member with a key; the last one if the key occurs more than once, as JSON readers do."""
        return next((member for member in reversed(self.members) if member.key == key), None)


Node: TypeAlias = Scalar | Array | Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Text to put in place of a range of another text."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits that do not overlap; text outside the edits stays unchanged."""
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        pieces += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join((*pieces, text[at:]))


def parse(text: str) -> Node | None:
    """Parse a text; None if it contains only space and comments.

    Raises:
        BrokenJsonError: The text is not JSON, even if comments and trailing commas are allowed.
    """
    reader = _Reader(text)
    at = reader.space(1 if text.startswith("\ufeff") else 0)
    if at == len(text):
        return None
    node = reader.value(at, 0)
    end = reader.space(node.end)
    if end < len(text):
        raise BrokenJsonError("text after the end", text, end)
    return node


def after_space(text: str, at: int) -> int:
    """Return the position after any space and comments."""
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def _scalar(text: str) -> int | float | bool | None:
    try:
        return json.loads(text)
    except ValueError:  # an integer has more digits than Python converts; its text stays unchanged
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
                scalar = _SCALAR.match(self._text, at)
                if scalar is None:
                    raise BrokenJsonError("a value is missing", self._text, at)
                return Scalar(start=at, end=scalar.end(), value=_scalar(scalar[0]))

    def _string(self, at: int) -> tuple[str, int]:
        string = _STRING.match(self._text, at)
        if string is None:
            raise BrokenJsonError("a string has no end, or contains a control character", self._text, at)
        if "\\" not in string[0]:
            return string[0][1:-1], string.end()  # avoids a slow call of `json` for each string
        try:
            return str(json.loads(string[0])), string.end()
        except ValueError:
            raise BrokenJsonError("a string has an unknown escape", self._text, at) from None

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
        """Return the position of the next member or of the closing bracket."""
        at = self.space(at)
        if self._text.startswith(",", at):
            return self.space(at + 1)
        if self._text.startswith(bracket, at):
            return at
        raise BrokenJsonError(f", or {bracket} is missing", self._text, at)
