"""What a tool protocol is: how the model learns of tools, asks for one, and is told the result. Pure, over any dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tui_host.llm.events import ModelEvent
from tui_host.llm.messages import Message, ToolResult, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """Text that was put into a message, by the protocol or by the person's own system prompt.

    Attributes:
        message: The message's place in `Prepared.messages`.
        start: First character of it in the message's text.
        end: One past its last.
        words: What it is for («lists the tools»), or where it is from («profile translator»).
    """

    message: int
    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A result's place in the text of a message, for protocols that tell results in words.

    Attributes:
        call: The id of the call whose result it is.
        message: The message's place in `Prepared.messages`.
        start: First character of the result in the message's text.
        end: One past its last.
        note: What is worth knowing of it, empty for nothing.
    """

    call: str
    message: int
    start: int
    end: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The conversation as it goes to the dialect.

    Attributes:
        messages: The messages, oldest first.
        tools: What the vendor's own function calling is told of; empty for protocols of plain text.
        stop_sequences: Where the answer should end.
        injected: What the protocol put in, for the inspector.
        own: Where the person's own system prompt stands, None without one.
        told: Where the results stand, oldest first; empty where they are messages of their own.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    stop_sequences: tuple[str, ...] = ()
    injected: tuple[Injected, ...] = ()
    own: Injected | None = None
    told: tuple[Told, ...] = ()


class Reader(Protocol):
    """Reads the calls out of one answer: events in, events out, with the byte spans that they came with."""

    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        """What this event becomes; text that may be the beginning of a call is held back."""
        ...

    def finish(self) -> list[ModelEvent]:
        """What was still held back."""
        ...


class ToolProtocol(Protocol):
    """How tools are spoken of. One object for all turns: it keeps nothing between calls."""

    @property
    def name(self) -> str:
        """As in the configuration."""
        ...

    @property
    def reads_resources(self) -> bool:
        """Whether it has a form of its own in which a resource is asked for; only then is what reads them offered."""
        ...

    def prepare(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Prepared:
        """The conversation and the tools in the form that this protocol sends."""
        ...

    def reader(self, tools: Sequence[ToolSpec]) -> Reader:
        """A reader for one answer, which may ask for these tools."""
        ...

    def results(self, results: Sequence[ToolResult], *, turn: int) -> tuple[Message, ...]:
        """What goes into the conversation for the results of one step, in the order of the calls."""
        ...

    def answer(self, message: Message) -> str | None:
        """What counts as the answer in a turn's last message; None if there is none."""
        ...

    def command(self, message: Message) -> str:
        """The command that a turn's last message invites the person to run, to be shown and never run; empty for none."""
        ...

    def spoken(self, name: str, tools: Sequence[ToolSpec]) -> str:
        """A tool's name in words, in the form that the model was told it, or wrote it.

        Args:
            name: The name by which calls have it, of a tool that there is not too.
            tools: What a model may know by name.
        """
        ...

    def correction(self, reasons: Sequence[str], tools: Sequence[ToolSpec]) -> str:
        """What the model is told of an answer whose calls cannot be read: what was wrong, and the exact form."""
        ...
