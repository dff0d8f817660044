"""The interface of a tool protocol: how a model learns about tools, calls them, and reads results, in any dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tui_host.llm.events import ModelEvent
from tui_host.llm.messages import Message, ToolResult, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """Text that the protocol, or the user's system prompt, added to a message of `Prepared`."""

    message: int
    start: int  # first character in the message's text
    end: int
    words: str
    """The purpose («lists the tools»), or the origin («profile translator»)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPlace:
    """The place of a call's result in the text of a message, for protocols that write results in words."""

    call: str
    message: int
    start: int
    end: int
    note: str = ""
    """A warning about the result, empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The conversation for the dialect; protocols of plain text leave `tools` empty."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    stop_sequences: tuple[str, ...] = ()
    injected: tuple[Injected, ...] = ()
    own: tuple[Injected, ...] = ()
    """The places of the system prompt's parts, by origin."""
    told: tuple[ResultPlace, ...] = ()
    """The places of the results, oldest first; empty if each result is a message of its own."""
    given: tuple[Injected, ...] = ()
    """The places of what servers' prompts and resources gave."""


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
    def name(self) -> str: ...

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
        """Return a tool's name, perhaps an unknown one's, in the form that the model uses."""
        ...

    def correction(self, reasons: Sequence[str], tools: Sequence[ToolSpec]) -> str:
        """Tell the model about unreadable calls, with the fault and the exact form."""
        ...
