"""The content of a request, independent of the API: read by the wires, used by the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Thinking: TypeAlias = Literal["asked", "always", "never"]
"""Whether to think before the answer: if the question asks for it, always, or never, as an option of the request says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCall:
    """A call in the conversation, or one that the model asks for. `arguments` is its text, JSON or not."""

    id: str = ""
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoMessage:
    """A message of any role."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[DemoCall, ...] = ()
    images: int = 0  # the number of images in the message
    call_id: str = ""  # the call whose result a tool message contains
    is_error: bool = False  # whether the host marked the result as an error, in APIs with such a mark


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoConversation:
    """What a request asks to be answered.

    Attributes:
        tools: The names of the offered tools. The rules know the parameters of those that they look for.
    """

    messages: tuple[DemoMessage, ...]
    tools: tuple[str, ...] = ()
    parallel: bool = True  # whether an answer may contain several calls
    thinking: Thinking = "asked"
