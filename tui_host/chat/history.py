"""Makes a history that a provider takes, out of one that was cut anywhere: every call that was asked has a result."""

from __future__ import annotations

from collections.abc import Sequence

from tui_host.chat import wording
from tui_host.llm.messages import Message, ToolCall, ToolResult


def mended(messages: Sequence[Message]) -> list[Message]:
    """The messages, with a truthful result after each call that has none (the program ended before it came)."""
    whole: list[Message] = []
    waiting: dict[str, ToolCall] = {}
    for message in messages:
        if message.role != "tool":
            whole.extend(_results(waiting, message.turn))
            waiting = {part.id: part for part in message.parts if isinstance(part, ToolCall)}
        else:
            for part in message.parts:
                if isinstance(part, ToolResult):
                    waiting.pop(part.call.id, None)
        whole.append(message)
    whole.extend(_results(waiting, messages[-1].turn if messages else 0))
    return whole


def _results(waiting: dict[str, ToolCall], turn: int) -> list[Message]:
    return [
        Message(role="tool", parts=(wording.error_of(call, wording.ENDED),), turn=turn, source="host")
        for call in waiting.values()
    ]
