"""Recorded forms of Chat Completions streams, and how to fold one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.llm.recorded import reading
from tests.llm.recorded.wire import event
from tui_host.errors import JSON
from tui_host.llm.events import ModelEvent
from tui_host.llm.fold import Fold

__all__ = ["DONE", "RECORDED", "asked", "calls", "chunk", "event", "events_of", "fold_of", "fragment"]

DONE = b"data: [DONE]\n\n"
WEATHER = ("get_weather", '{"city":"Paris"}')
TIME = ("get_time", '{"zone":"Asia/東京"}')
"""The two calls of the recorded stream: names and arguments."""


def chunk(delta: JSON = None, *, finish: str | None = None, **more: JSON) -> bytes:
    """One event with a chunk in it."""
    choice: dict[str, JSON] = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    value: dict[str, JSON] = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
        **more,
    }
    return event(value)


def fragment(
    *, index: int | None = None, wire_id: str | None = None, name: str | None = None, arguments: JSON = None
) -> dict[str, JSON]:
    """A piece of a tool call; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    found: dict[str, JSON] = {"function": function}
    if index is not None:
        found["index"] = index
    if wire_id is not None:
        found["id"] = wire_id
        found["type"] = "function"
    return found


def calls(*fragments: JSON) -> bytes:
    """A chunk with pieces of tool calls."""
    return chunk({"tool_calls": list(fragments)})


def events_of(pieces: Iterable[bytes], content_type: str = "text/event-stream") -> list[ModelEvent]:
    """All events of a response that came in these pieces."""
    return reading.events_of("openai", pieces, content_type)


def fold_of(*pieces: bytes) -> Fold:
    """A response, folded."""
    return reading.fold_of("openai", *pieces)


def asked(fold: Fold) -> Sequence[tuple[str, str]]:
    """Names and arguments of the calls."""
    return [(found.call.name, found.call.arguments) for found in fold.calls]


RECORDED = b"".join(
    [
        chunk({"role": "assistant", "content": ""}, usage=None),
        b": keep-alive\n\n",
        chunk({"reasoning_content": "Two \u2028 cities, 两个"}),
        chunk({"content": "Let me "}),
        chunk({"content": "see… 看\u0085"}),
        calls(fragment(index=0, wire_id="call_1", name="get_weather", arguments="")),
        calls(fragment(index=0, arguments='{"ci'), fragment(index=1, wire_id="call_2", name="get_time", arguments="")),
        calls(fragment(index=1, arguments='{"zone":"Asia/東京"}'), fragment(index=0, arguments='ty":"Paris"}')),
        chunk(finish="tool_calls"),
        event(
            {
                "id": "c1",
                "choices": [],
                "usage": {
                    "prompt_tokens": 120,
                    "completion_tokens": 48,
                    "total_tokens": 168,
                    "prompt_tokens_details": {"cached_tokens": 64},
                    "completion_tokens_details": {"reasoning_tokens": 16},
                },
            }
        ),
        DONE,
    ]
)
"""A whole answer: thinking, text, two calls that interleave, usage."""
