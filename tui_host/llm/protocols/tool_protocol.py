"""What every tool protocol does: how a model learns about tools, calls them, and reads results, in any dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from tui_host.llm.events import ModelEvent
from tui_host.llm.messages import Message, Text, ToolCall, ToolResult, ToolSpec
from tui_host.llm.request_writing import text_of

NO_RESULT = "No result: the program or the turn ended before this call had one. It may have had its effect."
Source: TypeAlias = Literal["injected", "profile", "given", "told"]
"""The tool protocol, the system prompt, a server's prompt or resource, or a call's result; links call it their relation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPlace:
    """A text inside a message of `Prepared` that nobody wrote in the chat."""

    source: Source
    message: int
    start: int  # first character in the message's text
    end: int
    words: str = ""  # the purpose («lists the tools»), the origin («profile translator»), a warning about a result
    call: str = ""  # whose result it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The conversation for the dialect; protocols of plain text leave `tools` empty."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    stop_sequences: tuple[str, ...] = ()
    places: tuple[TextPlace, ...] = ()  # with the results, oldest first, unless each is a message of its own


class Reader:
    """Reads calls out of an answer: events in, events out, with their byte spans. This one changes nothing."""

    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        return [event]

    def finish(self) -> list[ModelEvent]:
        return []


@dataclass(eq=False)
class ToolProtocol:
    """A way to offer tools to a model and to read its calls: a stateless object, made with its prompt's template.

    As it stands it is `native`: it leaves all to the dialect's own function calling and adds nothing to the prompt.
    """

    name: ClassVar[str] = "native"
    reads_resources: ClassVar[bool] = False  # without a form for reading them, no resource is offered

    _template: str = ""

    def prepare(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Prepared:
        """Return the conversation and the tools in the protocol's form."""
        prepared = tuple(answered(messages))
        own: tuple[TextPlace, ...] = ()
        if prepared and prepared[0].role == "system":
            own = (TextPlace(source="profile", message=0, start=0, end=len(text_of(prepared[0].parts))),)
        # The same tuple of tools again keeps the texts that were made of it.
        return Prepared(messages=prepared, tools=tools if isinstance(tools, tuple) else tuple(tools), places=own)

    def reader(self, tools: Sequence[ToolSpec], *, anywhere: bool = False) -> Reader:
        """Make a reader for an answer with calls of these tools; `anywhere` says whether calls may stand in prose and code."""
        del tools, anywhere
        return Reader()

    def answer(self, message: Message) -> str | None:
        """Return the answer in a turn's last message: what the protocol took out of the model's words, else the text."""
        given = [part for part in message.parts if isinstance(part, Text) and part.written]
        return text_of(given or message.parts) or None

    def spoken(self, name: str, tools: Sequence[ToolSpec]) -> str:
        """Return a tool's name, perhaps an unknown one's, in the form that the model uses."""
        del tools
        return name

    def correction(self, reasons: Sequence[str], tools: Sequence[ToolSpec]) -> str:
        del tools
        return f"Your call could not be read: {'; '.join(reasons)}. Nothing of it was run."


def answered(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with each call's result directly after the message with the call, as vendors demand."""
    told = [part for message in messages if message.role == "tool" for part in message.parts]
    results = {part.call.id: part for part in told if isinstance(part, ToolResult)}
    ordered: list[Message] = []
    for message in messages:
        if message.role == "tool":
            continue  # written after its calls
        ordered.append(message)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        missing = (Text(text=NO_RESULT),)
        parts = (results.get(call.id) or ToolResult(call=call, content=missing, is_error=True) for call in calls)
        if calls:
            ordered.append(Message(role="tool", parts=tuple(parts), turn=message.turn))
    return ordered
