"""Parses JSON with comments and trailing commas, and keeps the position of every value.

Texts are never rewritten as a whole: an edit replaces a range, and every other character stays. Comments and trailing
commas are first blanked out at equal length, so that `json` checks the rest, and positions are those of the file. Source: RFC 8259;
for comments and trailing commas, Visual Studio Code's "JSON with Comments".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tui_host.errors import JSON

DEPTH = 200
"""Deepest nesting to accept; no host's file has ten levels."""

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/|^\ufeff", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\]]|[^\s{{}}\[\],:\"]+", re.DOTALL)


class BrokenJsonError(ValueError):
    """The text is not JSON. `line` and `column` of the fault count from 1."""

    def __init__(self, what: str, text: str, at: int) -> None:
        super().__init__(what)
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)


@dataclass(slots=True, kw_only=True)
class PlacedValue:
    """A value and its position; `end` is the position after it.

    Attributes:
        value: The value without positions, None for JSON's `null`.
        members: The members of an object; of a key that occurs more than once the last, as JSON readers do.
        elements: The elements of an array.
        key_start: The position of the key, if the value is a member of an object.
    """

    start: int
    end: int = 0
    value: JSON = None
    members: dict[str, PlacedValue] = field(default_factory=dict[str, "PlacedValue"])
    elements: list[PlacedValue] = field(default_factory=list["PlacedValue"])
    key_start: int = 0


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


def after_space(text: str, at: int) -> int:
    """Return the position after any space and comments."""
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def parse(text: str) -> PlacedValue | None:
    """Parse a text; None if it contains only space and comments.

    Raises:
        BrokenJsonError: The text is not JSON, even if comments and trailing commas are allowed.
    """
    plain = _TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
    if not plain.strip(" \t\r\n"):
        return None
    try:
        json.loads(plain, parse_int=float, parse_constant=_refuse)  # a longer integer than Python reads is JSON too
    except json.JSONDecodeError as error:
        raise BrokenJsonError(error.msg, text, error.pos) from None
    except (ValueError, RecursionError) as error:
        raise BrokenJsonError(str(error), text, 0) from None
    tokens = _TOKEN.finditer(plain)
    return _value(plain, tokens, next(tokens))


def _value(plain: str, tokens: Iterator[re.Match[str]], token: re.Match[str], depth: int = 0) -> PlacedValue:
    """Read the value that begins with a token of a text that is valid JSON; commas and colons are no tokens."""
    if depth > DEPTH:
        raise BrokenJsonError("nested too deeply", plain, token.start())
    node = PlacedValue(start=token.start(), end=token.end())
    # The loops and the calls below read from one iterator, so each loop goes on behind the value that a call has read.
    if token[0] == "{":
        for key in tokens:
            if key[0] == "}":
                node.end = key.end()
                break
            member = _value(plain, tokens, next(tokens), depth + 1)
            member.key_start = key.start()
            node.members[str(json.loads(key[0]))] = member
        node.value = {name: member.value for name, member in node.members.items()}
    elif token[0] == "[":
        for element in tokens:
            if element[0] == "]":
                node.end = element.end()
                break
            node.elements.append(_value(plain, tokens, element, depth + 1))
        node.value = [element.value for element in node.elements]
    else:
        node.value = _scalar(token[0])
    return node


def _scalar(token: str) -> JSON:
    try:
        return json.loads(token)
    except ValueError:  # an integer has more digits than Python converts; its text stays unchanged
        return float(token)


def _blank(match: re.Match[str]) -> str:
    """Replace a comment or a comma by as many spaces; strings stay."""
    return match[0] if match[0].startswith('"') else re.sub(r"[^\r\n]", " ", match[0])


def _refuse(constant: str) -> JSON:
    raise ValueError(f"{constant} is no JSON")
