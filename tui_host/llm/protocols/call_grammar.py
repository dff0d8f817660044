"""What a tool protocol's grammar reads out of a block of text. Source: tool-protocols.md, section 1."""

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
    """Looks for a block's closing tag, not taking one that stands inside a JSON string for it.

    Args:
        closing: The closing tag.
        json_from: What the JSON value in it begins behind; empty where the block begins with it, None where it has none.
        json_to: What the JSON value ends before.
    """

    def __init__(self, closing: str, *, json_from: str | None = None, json_to: str = "") -> None:
        self._closing = closing
        self._before = _either(closing, json_from) if json_from else _either(closing)
        self._outside = _either('"', json_to or closing)
        self._plain = _either(closing)
        self._longest = max(len(closing), len(json_from or ""), len(json_to))
        self._state = "before" if json_from else "behind" if json_from is None else "outside"
        self._tail = ""
        self._done = 0  # characters before the tail

    def feed(self, text: str) -> int:
        """Where the block ends in all that came, behind its closing tag; -1 while it does not."""
        text = self._tail + text
        position = 0
        while True:
            match self._state:
                case "before":
                    found = self._before.search(text, position)
                case "outside":
                    found = self._outside.search(text, position)
                case "string":
                    found = _IN_STRING.search(text, position)
                case _:
                    found = self._plain.search(text, position)
            if found is None:
                break
            position = found.end()
            if self._state != "string" and found[0] == self._closing:
                return self._done + position
            self._state = self._behind(found[0])
        kept = self._longest - 1 if self._state != "string" else int(text.endswith("\\"))
        cut = max(position, len(text) - kept)
        self._done += cut
        self._tail = text[cut:]
        return -1

    def _behind(self, found: str) -> str:
        if self._state == "string":
            return "outside" if found == '"' else "string"
        if found == '"':
            return "string"
        return "outside" if self._state == "before" else "behind"


def _either(*texts: str) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(text) for text in texts))


_OUTSIDE = re.compile(r'["{}\[\]]')


class Balance:
    """Finds where a JSON object or array ends while it comes, by its brackets outside strings."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_string = False
        self._tail = ""
        self._done = 0  # characters before the tail

    def feed(self, text: str) -> int:
        """Where it ends in all that came; -1 while it does not."""
        text = self._tail + text
        position = 0
        while found := (_IN_STRING if self._is_string else _OUTSIDE).search(text, position):
            position = found.end()
            match found[0]:
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
    """A call: the name by which the model was told of the tool, the arguments as it wrote them, and its own words if known."""

    name: str
    arguments: str
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadText:
    """A text that is the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadQuestion:
    """A question to the person, with the answers that the model proposes."""

    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """Meant as a call, and none that can be run: what is wrong, for the model."""

    reason: str


Read: TypeAlias = ReadCall | ReadText | ReadQuestion | Broken


class TagGrammar(Protocol):
    """A grammar whose calls stand between tags."""

    @property
    def tags(self) -> Mapping[str, Sequence[str]]:
        """The tags' names, each with what may follow its opening (white space apart): anything else makes it text."""
        ...

    @property
    def several(self) -> bool:
        """Whether an answer may hold more than one."""
        ...

    @property
    def streamed(self) -> Mapping[str, str]:
        """The tags that hold the answer, each with the element it stands in: shown as it comes."""
        ...

    @property
    def results(self) -> Sequence[str]:
        """The tags that the host tells results in: a model that writes one behind its call has made it up."""
        ...

    @property
    def heard(self) -> Sequence[str]:
        """The tags of thinking in which hosts other than ours run a call all the same: they take them off for the eye alone."""
        ...

    def ending(self, tag: str) -> Ending:
        """What finds the end of a block of this tag."""
        ...

    def read(self, tag: str, inside: str, tools: Sequence[ToolSpec]) -> Read:
        """What stands between the tags."""
        ...


def read_arguments(text: str) -> str | Broken:
    """Arguments that are a JSON object, as they were written; else what is wrong with them, and where."""
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
    """Why a text is no JSON: what is wrong, where, and the characters around it."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    near = text[max(0, error.pos - _AROUND // 2) : error.pos + _AROUND // 2]
    return f"{error.msg}, line {error.lineno}, column {error.colno}, near {near!r}"


def _no_constant(word: str) -> JSON:
    raise ValueError(f"{word} is no JSON value")


def element(text: str, name: str, *, holds_json: bool = False, is_last: bool = False) -> tuple[str, int] | None:
    """What stands in an element, and where the text goes on behind it; None where there is none.

    Values are taken as they are: no entity is decoded, and any markup may stand in them.

    Args:
        text: Where to look.
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
    """The values of several elements in any order: what stands inside one is not taken for another.

    Args:
        text: Where to look.
        names: Their tags.
        json_in: The one that holds JSON.
    """
    found: dict[str, str] = {}
    while starts := [(at, name) for name in names if name not in found and (at := text.find(f"<{name}>")) >= 0]:
        _, name = min(starts)
        value = element(text, name, holds_json=name == json_in)
        if value is None:
            break
        found[name], text = value[0], text[value[1] :]
    return found
