"""Completes an interrupted history so that a provider accepts it: every call gets a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui_host.chat import result_words as wording
from tui_host.llm.messages import Message, Text, ToolCall, ToolResult


def complete_history(messages: Sequence[Message]) -> list[Message]:
    """Return the messages in a form that every provider accepts.

    Gives each call without a result one that says that the program ended. Several services require user and assistant
    to alternate: a host message replaces a missing answer, and a host's note joins the next question.
    """
    whole: list[Message] = []
    for message in _answered(messages):
        before = whole[-1] if whole else None
        if message.role != "user" or before is None or before.role == "assistant":
            whole.append(message)
        elif before.role == "user" and "host" in {before.source, message.source}:
            between = Text(text="\n\n")
            whole[-1] = replace(message, parts=(*before.parts, between, *message.parts))
        else:
            whole += (host_message(wording.NO_ANSWER, turn=before.turn), message)
    return whole


def new_results(messages: Sequence[Message]) -> list[ToolResult]:
    """Return the results that no answer of the model follows: the next request reports them for the first time."""
    results: list[ToolResult] = []
    for message in messages:
        if message.role == "assistant" and message.source != "host":
            results.clear()
        results += [part for part in message.parts if isinstance(part, ToolResult)]
    return results


def host_message(text: str, *, turn: int) -> Message:
    """Make a message by the host that takes the place of the model's answer."""
    return Message(role="assistant", parts=(Text(text=text),), turn=turn, source="host")


def _answered(messages: Sequence[Message]) -> list[Message]:
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
