"""Grammars of calls in text: the ends of blocks, elements, arguments, and what was read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tui_host.errors import JSON
from tui_host.llm.messages import ToolSpec

_IN_STRING = re.compile(r'"|\\.', re.DOTALL)


class Ending:
    """Finds a block's closing tag, not counting tags inside JSON strings.

    Args:
        closing: The closing tag.
        json_from: The text before the JSON value in the block; empty if the block begins with the value, None without a value.
        json_to: The text that follows the JSON value.
    """

    def __init__(self, closing: str, *, json_from: str | None = None, json_to: str = "") -> None:
        self._closing = closing
        self._before = _either(closing, json_from) if json_from else _either(closing)
        self._outside = _either('"', json_to or closing)
        self._plain = _either(closing)
        self._longest = max(len(closing), len(json_from or ""), len(json_to))
        self._state = "before" if json_from else "behind" if json_from is None else "outside"
        self._tail = ""
        self._done = 0  # length of the text before the tail

    def feed(self, text: str) -> int:
        """Return the end of the block in all text so far, including the closing tag; -1 if unknown."""
        text = self._tail + text
        position = 0
        while True:
            match self._state:
                case "before":
                    match = self._before.search(text, position)
                case "outside":
                    match = self._outside.search(text, position)
                case "string":
                    match = _IN_STRING.search(text, position)
                case _:
                    match = self._plain.search(text, position)
            if match is None:
                break
            position = match.end()
            if self._state != "string" and match[0] == self._closing:
                return self._done + position
            self._state = self._after_call(match[0])
        kept = self._longest - 1 if self._state != "string" else int(text.endswith("\\"))
        cut = max(position, len(text) - kept)
        self._done += cut
        self._tail = text[cut:]
        return -1

    def _after_call(self, found: str) -> str:
        if self._state == "string":
            return "outside" if found == '"' else "string"
        if found == '"':
            return "string"
        return "outside" if self._state == "before" else "behind"


def _either(*texts: str) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(text) for text in texts))


_OUTSIDE = re.compile(r'["{}\[\]]')


class Balance:
    """Finds the end of a JSON object or array in growing text, by brackets outside strings."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_string = False
        self._tail = ""
        self._done = 0  # length of the text before the tail

    def feed(self, text: str) -> int:
        """Return the end of the value in all text so far; -1 if unknown."""
        text = self._tail + text
        position = 0
        while match := (_IN_STRING if self._is_string else _OUTSIDE).search(text, position):
            position = match.end()
            match match[0]:
                case '"':
                    self._is_string = not self._is_string and self._depth > 0
                case "{" | "[":
                    self._depth += 1
                case "}" | "]" if self._depth:
                    self._depth -= 1
                    if not self._depth:
                        return self._done + position
                case _:
                    pass
        kept = int(self._is_string and text.endswith("\\") and position < len(text))
        self._done += len(text) - kept
        self._tail = text[len(text) - kept :]
        return -1


_AROUND = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """A call: the tool's name as given to the model, the arguments as written, and the model's words if known."""

    name: str
    arguments: str
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadText:
    """A text that is the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadQuestion:
    """A question to the user, with proposed answers."""

    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A call too broken to run, with a reason that the model can understand."""

    reason: str


Read: TypeAlias = ReadCall | ReadText | ReadQuestion | Broken


class TagGrammar(Protocol):
    """A grammar in which calls stand between tags."""

    @property
    def tags(self) -> Mapping[str, Sequence[str]]:
        """The names of the tags, each with the text that must follow the opening tag (after white space)."""
        ...

    @property
    def several(self) -> bool:
        """Whether an answer may hold several calls."""
        ...

    @property
    def streamed(self) -> Mapping[str, str]:
        """The tags around the answer, each with the inner element to show while it streams."""
        ...

    @property
    def results(self) -> Sequence[str]:
        """The tags of results. Only the host writes results, so those in a model's answer are made up."""
        ...

    @property
    def thinking_with_calls(self) -> Sequence[str]:
        """The tags of thinking whose calls other hosts do run, since they remove the tags only for display."""
        ...

    def ending(self, tag: str) -> Ending:
        """Make a finder for the end of a tag's block."""
        ...

    def read(self, tag: str, inside: str, tools: Sequence[ToolSpec]) -> Read:
        """Read the text between the tags."""
        ...


def read_arguments(text: str) -> str | Broken:
    """Return the arguments as written if they are a JSON object, else the fault and its place."""
    text = text.strip()
    if not text:
        return "{}"
    try:
        value: JSON = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return Broken(reason=f"the arguments are not JSON: {json_fault(text, error)}")
    if not isinstance(value, dict):
        return Broken(reason=f"the arguments are no JSON object but {text[:_AROUND]!r}")
    return text


def json_fault(text: str, error: Exception) -> str:
    """Say why a text is not JSON: the fault, its place, and the characters around the place."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    near = text[max(0, error.pos - _AROUND // 2) : error.pos + _AROUND // 2]
    return f"{error.msg}, line {error.lineno}, column {error.colno}, near {near!r}"


def _no_constant(word: str) -> JSON:
    raise ValueError(f"{word} is no JSON value")


def element(text: str, name: str, *, holds_json: bool = False, is_last: bool = False) -> tuple[str, int] | None:
    """Return an element's content and the position after the element. None if absent.

    Values are returned unchanged: entities are not decoded, and values may contain markup.

    Args:
        text: The text to search.
        name: The element's tag.
        holds_json: A closing tag inside a JSON string is part of the value.
        is_last: The value ends at the last closing tag: it may hold anything.
    """
    opening, closing = f"<{name}>", f"</{name}>"
    start = text.find(opening)
    if start < 0:
        return None
    start += len(opening)
    inside = Ending(closing, json_from="").feed(text[start:]) if holds_json else -1
    end = start + inside - len(closing) if inside >= 0 else text.find(closing, start)
    if is_last:
        end = text.rfind(closing, start)
    return None if end < 0 else (text[start:end].strip(), end + len(closing))


def elements(text: str, names: Sequence[str], *, json_in: str = "") -> dict[str, str]:
    """Return the contents of several elements in any order; nested tags do not count.

    Args:
        text: The text to search.
        names: The names of the elements.
        json_in: The element that holds JSON.
    """
    values: dict[str, str] = {}
    while starts := [(at, name) for name in names if name not in values and (at := text.find(f"<{name}>")) >= 0]:
        _, name = min(starts)
        value = element(text, name, holds_json=name == json_in)
        if value is None:
            break
        values[name], text = value[0], text[value[1] :]
    return values
