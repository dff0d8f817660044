"""What a tool protocol's grammar reads out of a block of text. Source: tool-protocols.md, section 1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tui_host.errors import JSON
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.block_end import Ending

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
