"""`native`: the dialect's own function calling. Adds nothing to the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from tui_host.llm.events import ModelEvent
from tui_host.llm.messages import Message, Text, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.tool_protocol import Injected, Prepared

NO_RESULT = "No result: the turn was stopped before this call had ended."


class Native:
    """Calls and results go to the dialect unchanged."""

    name: str = "native"
    reads_resources: bool = False

    def __init__(self, template: str = "") -> None:
        del template  # the prompt stays empty

    def prepare(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Prepared:
        """Return the messages with a result directly after every call, which vendors demand."""
        prepared = answered(messages)
        own: tuple[Injected, ...] = ()
        if prepared and prepared[0].role == "system":
            size = sum(len(part.text) for part in prepared[0].parts if isinstance(part, Text))
            own = (Injected(message=0, start=0, end=size, words=""),)
        return Prepared(messages=tuple(prepared), tools=tools if isinstance(tools, tuple) else tuple(tools), own=own)

    def reader(self, tools: Sequence[ToolSpec]) -> _Identity:
        """Make a reader that leaves the text as it is."""
        del tools
        return _Identity()

    def results(self, results: Sequence[ToolResult], *, turn: int) -> tuple[Message, ...]:
        """Make messages of the role `tool`."""
        return (Message(role="tool", parts=tuple(results), turn=turn),) if results else ()

    def answer(self, message: Message) -> str | None:
        """Return the text unchanged."""
        text = "".join(part.text for part in message.parts if isinstance(part, Text))
        return text or None

    def command(self, message: Message) -> str:
        """Return nothing: this protocol has no commands."""
        del message
        return ""

    def spoken(self, name: str, tools: Sequence[ToolSpec]) -> str:
        """Return the name itself."""
        del tools
        return name

    def correction(self, reasons: Sequence[str], tools: Sequence[ToolSpec]) -> str:
        """Tell the model about unreadable calls. The exact form is the vendor's own and cannot be shown."""
        del tools
        return f"Your call could not be read: {'; '.join(reasons)}. Nothing of it was run."


class _Identity:
    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        return [event]

    def finish(self) -> list[ModelEvent]:
        return []


def answered(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with each call's result directly after the message with the call."""
    results = {
        part.call.id: part
        for message in messages
        if message.role == "tool"
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    ordered: list[Message] = []
    for message in messages:
        if message.role == "tool":
            continue  # written after its calls
        ordered.append(message)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if calls:
            parts = tuple(results.get(call.id) or _missing(call) for call in calls)
            ordered.append(Message(role="tool", parts=parts, turn=message.turn))
    return ordered


def _missing(call: ToolCall) -> ToolResult:
    return ToolResult(call=call, content=(Text(text=NO_RESULT),), is_error=True)
