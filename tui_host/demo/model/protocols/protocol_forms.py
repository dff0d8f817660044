"""What a protocol in plain text is to the model: how it reads what the host wrote, and writes what it wants."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tui_host.demo.model.narrow import is_object
from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.request_content import Call, Tool

_THINKING = re.compile(r"<(thinking|think)>.*?</\1>", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A call that stands in an answer's text.

    Attributes:
        is_whole: Whether it has the form that the protocol demands.
    """

    name: str
    arguments: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What a user message tells of the calls before it.

    Attributes:
        texts: By the place of the call.
        rest: What else it says.
    """

    texts: tuple[str, ...]
    rest: str = ""


class Grammar(Protocol):
    """One protocol."""

    @property
    def several(self) -> bool:
        """Whether an answer may ask for several calls."""
        ...

    @property
    def opening(self) -> str:
        """How a call begins, to be mentioned in prose."""
        ...

    def tools(self, prompt: str) -> tuple[Tool, ...]:
        """The tools that a system prompt lists."""
        ...

    def question(self, text: str) -> str:
        """What the person said, in a user message that the host may have put something around."""
        ...

    def attempts(self, text: str) -> list[Attempt]:
        """The calls in an answer of the model."""
        ...

    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        """What a user message tells of these calls; None if it has not the form of results."""
        ...

    def call(self, call: AskedCall) -> str:
        """A call, complete, in its place in the text."""
        ...

    def unclosed(self, call: AskedCall) -> str:
        """The same, broken off before its end."""
        ...

    def invented(self, call: AskedCall) -> str:
        """A result such as the host would give, which models make up."""
        ...

    def asking(self, calls: str, text: str, thought: str) -> str:
        """An answer that asks for calls, with what is said and thought before them."""
        ...

    def ending(self, text: str, thought: str) -> str:
        """An answer that ends the turn."""
        ...


def spoken(text: str) -> str:
    """An answer's text without what was thought, and without fences unless one holds all of it."""
    plain = _THINKING.sub("", text).strip()
    whole = _FENCE.fullmatch(plain)
    return whole[1] if whole else _FENCE.sub("", plain)


def is_arguments(text: str) -> bool:
    """Whether it is an object in JSON."""
    try:
        return is_object(json.loads(text))
    except (ValueError, RecursionError):
        return False


def joined(*texts: str) -> str:
    """The texts that are not empty, a blank line between them."""
    return "\n\n".join(text for text in texts if text)
