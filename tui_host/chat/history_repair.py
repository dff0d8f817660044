"""Makes a history that a provider takes, out of one that was cut anywhere: every call that was asked has a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui_host.chat import result_words as wording
from tui_host.llm.messages import Message, Text, ToolCall, ToolResult


def mended(messages: Sequence[Message]) -> list[Message]:
    """The messages as every provider takes them.

    Each call that has no result gets a truthful one (the program ended before it came). Several services want user and
    assistant to take turns, also after results: so where an answer never came a word of ours stands, and a note of ours to
    the model goes into the question that follows it.
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
            whole += (host_says(wording.NO_ANSWER, turn=before.turn), message)
    return whole


def untold(messages: Sequence[Message]) -> list[ToolResult]:
    """The results that no answer has followed: the next request tells them for the first time, as far as anybody knows."""
    found: list[ToolResult] = []
    for message in messages:
        if message.role == "assistant" and message.source != "host":
            found.clear()
        found += [part for part in message.parts if isinstance(part, ToolResult)]
    return found


def host_says(text: str, *, turn: int) -> Message:
    """A word of ours where an answer would stand."""
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
