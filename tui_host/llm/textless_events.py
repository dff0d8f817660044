"""Events of a stream in which a model writes nothing: where one of these was cut off, no words are missing. Source: llm-dialects.md, sections 4 and 5."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.errors import JSON

WORDLESS = frozenset(
    {
        "ping",
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_stop",
        "response.created",
        "response.queued",
        "response.in_progress",
        "response.content_part.added",
    }
)
"""Their names, which stand in them as `type`, too."""
_BEGINS = {"content_block_start": "content_block", "response.output_item.added": "item"}
"""Events that begin a part of the answer, and their members that say of which kind it is."""
_OF_WORDS = frozenset({"text", "thinking", "message", "reasoning"})
"""Kinds of parts whose words come behind that; of a call the name would be missing."""


def is_wordless(value: JSON, name: str) -> bool:
    """Whether there are no words in an event.

    Args:
        value: What it says, or as much of that as is left.
        name: How the stream names it.
    """
    event = mapping(value)
    kind = event.get("type", name)
    if not isinstance(kind, str):
        return False
    part = mapping(event.get(_BEGINS.get(kind, "")))
    return kind in WORDLESS or said(part.get("type")) in _OF_WORDS or _says_who_speaks(event)


def _says_who_speaks(event: Mapping[str, JSON]) -> bool:
    """Whether it is the first of Chat Completions, in which the words are there, and none yet."""
    delta = mapping(mapping(next(iter(items(event.get("choices"))), None)).get("delta"))
    return "role" in delta and delta.get("content") == ""
