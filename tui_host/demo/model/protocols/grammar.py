"""A plain-text tool protocol on the model's side: reads the host's words, and writes the model's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tui_host.demo.model.json_values import is_object, parsed
from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.protocols.listed_tools import offered_in
from tui_host.demo.model.request_content import Call, Tool

_THINKING = re.compile(r"<(thinking|think)>.*?</\1>", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A call in the text of an answer.

    Attributes:
        is_whole: Whether the call has the form that the protocol demands.
    """

    name: str
    arguments: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results in a user message.

    Attributes:
        texts: The texts in the order of the calls.
        rest: What else the message says.
    """

    texts: tuple[str, ...]
    rest: str = ""


class Grammar(Protocol):
    """A tool protocol.

    Attributes:
        several: Whether an answer may ask for several calls.
        opening: How a call begins, to be mentioned in prose.
    """

    several: bool = False
    opening: str

    def tools(self, prompt: str) -> tuple[Tool, ...]:
        """Read the tools in a system prompt."""
        return offered_in(prompt)

    def question(self, text: str) -> str:
        """Take the person's words out of a user message."""
        return text

    def attempts(self, text: str) -> list[Attempt]:
        """Find the calls in an answer of the model."""
        ...

    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        """Read the results of calls from a user message. None if the message has another form."""
        ...

    def call(self, call: AskedCall) -> str:
        """Write a call."""
        ...

    def unclosed(self, call: AskedCall) -> str:
        """Write a call without its end."""
        ...

    def invented(self, call: AskedCall) -> str:
        """Write a result as the host would, since models make results up."""
        ...

    def asking(self, calls: str, text: str, thought: str) -> str:
        """Write an answer with calls, after words and thinking."""
        return joined(thought, text, calls)

    def ending(self, text: str, thought: str) -> str:
        """Write the answer at the end of a turn."""
        return joined(thought, text)


def spoken(text: str) -> str:
    """Return an answer's text without thinking, and without fences unless a fence holds all of the text."""
    plain = _THINKING.sub("", text).strip()
    whole = _FENCE.fullmatch(plain)
    return whole[1] if whole else _FENCE.sub("", plain)


def is_arguments(text: str) -> bool:
    """Tell whether a text is a JSON object."""
    return is_object(parsed(text))


def joined(*texts: str) -> str:
    """Join the non-empty texts with blank lines."""
    return "\n\n".join(text for text in texts if text)
