"""The interface of a tool protocol: how a model learns about tools, calls them, and reads results, in any dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tui_host.llm.events import ModelEvent
from tui_host.llm.messages import Message, ToolResult, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """Text that the protocol or the user's system prompt added to a message.

    Attributes:
        message: The index of the message in `Prepared.messages`.
        start: First character of the text in the message's text.
        end: One past its last.
        words: The purpose («lists the tools»), or the origin («profile translator»).
    """

    message: int
    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPlace:
    """The place of a result in a message's text, for protocols that write results in words.

    Attributes:
        call: The id of the result's call.
        message: The index of the message in `Prepared.messages`.
        start: First character of the result in the message's text.
        end: One past its last.
        note: A warning about the result, empty for none.
    """

    call: str
    message: int
    start: int
    end: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The conversation for the dialect.

    Attributes:
        messages: The messages, oldest first.
        tools: The tools for the vendor's own function calling; empty for protocols of plain text.
        stop_sequences: The texts that end an answer.
        injected: The protocol's additions, for the inspector.
        own: The places of the system prompt's parts, by origin; empty without one.
        told: The places of the results, oldest first; empty if each result is a message of its own.
        given: The places of what servers' prompts and resources gave.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    stop_sequences: tuple[str, ...] = ()
    injected: tuple[Injected, ...] = ()
    own: tuple[Injected, ...] = ()
    told: tuple[ResultPlace, ...] = ()
    given: tuple[Injected, ...] = ()


class Reader(Protocol):
    """Reads calls out of an answer: events in, events out, with their byte spans."""

    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        """Read an event. Text that may begin a call is held back."""
        ...

    def finish(self) -> list[ModelEvent]:
        """Return everything still held back."""
        ...


class ToolProtocol(Protocol):
    """A way to offer tools to a model and to read its calls. A single stateless object serves all turns."""

    @property
    def name(self) -> str:
        """The name in the configuration."""
        ...

    @property
    def reads_resources(self) -> bool:
        """Whether the protocol has a form for reading resources; if not, no resource is offered."""
        ...

    def prepare(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Prepared:
        """Return the conversation and the tools in the protocol's form."""
        ...

    def reader(self, tools: Sequence[ToolSpec]) -> Reader:
        """Make a reader for an answer with calls of these tools."""
        ...

    def results(self, results: Sequence[ToolResult], *, turn: int) -> tuple[Message, ...]:
        """Return the messages with the results of a step, in the order of the calls."""
        ...

    def answer(self, message: Message) -> str | None:
        """Return the answer in a turn's last message. None if there is no answer."""
        ...

    def command(self, message: Message) -> str:
        """Return the command proposed in a turn's last message, for display only; empty if there is none."""
        ...

    def spoken(self, name: str, tools: Sequence[ToolSpec]) -> str:
        """Return a tool's name in the form that the model uses.

        Args:
            name: The name used in calls; may be an unknown tool's.
            tools: The tools that the model may know.
        """
        ...

    def correction(self, reasons: Sequence[str], tools: Sequence[ToolSpec]) -> str:
        """Tell the model about unreadable calls, with the fault and the exact form."""
        ...
