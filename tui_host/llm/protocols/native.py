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
        del template  # nothing is added to the prompt

    def prepare(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Prepared:
        """Return the messages with a result directly after every call, which vendors demand."""
        prepared = answered(messages)
        own: Injected | None = None
        if prepared and prepared[0].role == "system":
            size = sum(len(part.text) for part in prepared[0].parts if isinstance(part, Text))
            own = Injected(message=0, start=0, end=size, words="")
        return Prepared(messages=tuple(prepared), tools=tools if isinstance(tools, tuple) else tuple(tools), own=own)

    def reader(self, tools: Sequence[ToolSpec]) -> _Identity:
        """Nothing is to be read out of the text."""
        del tools
        return _Identity()

    def results(self, results: Sequence[ToolResult], *, turn: int) -> tuple[Message, ...]:
        """Make a message of the role `tool`."""
        return (Message(role="tool", parts=tuple(results), turn=turn),) if results else ()

    def answer(self, message: Message) -> str | None:
        """The text, exactly."""
        text = "".join(part.text for part in message.parts if isinstance(part, Text))
        return text or None

    def command(self, message: Message) -> str:
        """None."""
        del message
        return ""

    def spoken(self, name: str, tools: Sequence[ToolSpec]) -> str:
        """The name itself."""
        del tools
        return name

    def correction(self, reasons: Sequence[str], tools: Sequence[ToolSpec]) -> str:
        """Tell the model of unreadable calls; the vendor's form cannot be shown."""
        del tools
        return f"Your call could not be read: {'; '.join(reasons)}. Nothing of it was run."


class _Identity:
    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        return [event]

    def finish(self) -> list[ModelEvent]:
        return []


def answered(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with results directly after the message with their calls."""
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
            continue  # stands after its calls
        ordered.append(message)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if calls:
            parts = tuple(results.get(call.id) or _missing(call) for call in calls)
            ordered.append(Message(role="tool", parts=parts, turn=message.turn))
    return ordered


def _missing(call: ToolCall) -> ToolResult:
    return ToolResult(call=call, content=(Text(text=NO_RESULT),), is_error=True)
