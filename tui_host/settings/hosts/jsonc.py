"""Parses JSON with comments and trailing commas, and keeps the position of every value, so that edits replace ranges.

Source: RFC 8259; for comments and trailing commas, Visual Studio Code's "JSON with Comments".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tui_host.errors import JSON, SettingsError

COMMA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*,", re.DOTALL)  # behind any space and comments
_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/|^\ufeff", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\]]|[^\s{{}}\[\],:\"]+", re.DOTALL)


@dataclass(slots=True, kw_only=True)
class PlacedValue:
    """A value and its position; of a key that occurs more than once, `members` has the last value, as JSON readers do."""

    start: int
    end: int
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


def parse(text: str, where: str) -> PlacedValue:
    """Parse the text of a file; only space and comments are null. `where` names the file if it is no JSON."""
    # Blanked out at equal length, comments and commas leave positions as they are in the file, and `json` checks the rest.
    plain = _TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
    if not plain.strip(" \t\r\n"):
        return PlacedValue(start=0, end=0)
    remedy = "fix it first; nothing was written"
    try:
        json.loads(plain)
        tokens = _TOKEN.finditer(plain)
        return _value(tokens, next(tokens))
    except json.JSONDecodeError as error:
        place = f"{where}: line {error.lineno}, column {error.colno}"
        raise SettingsError(f"not JSON: {error.msg}", place, remedy) from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, and nesting without end
        raise SettingsError(f"not JSON: {error}", where, remedy) from None


def _value(tokens: Iterator[re.Match[str]], token: re.Match[str]) -> PlacedValue:
    node = PlacedValue(start=token.start(), end=token.end())
    # The loops and the calls below read from one iterator, so each loop goes on behind the value that a call has read.
    if token[0] == "{":
        for key in tokens:
            node.end = key.end()
            if key[0] == "}":
                break
            member = _value(tokens, next(tokens))
            member.key_start = key.start()
            node.members[str(json.loads(key[0]))] = member
        node.value = {name: member.value for name, member in node.members.items()}
    elif token[0] == "[":
        for element in tokens:
            node.end = element.end()
            if element[0] == "]":
                break
            node.elements.append(_value(tokens, element))
        node.value = [element.value for element in node.elements]
    else:
        node.value = json.loads(token[0])
    return node


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\r\n]", " ", match[0])
