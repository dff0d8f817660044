"""Describes what a result contains besides plain text, and says what of it the model is not told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tui_host.capture.visible import line
from tui_host.chat.result_words import is_base64, shortened
from tui_host.errors import JSON
from tui_host.llm.outline import size_words
from tui_host.llm.request_writing import IMAGES
from tui_host.servers.catalog import Content, ToolOutput

_LONGEST = 200
KNOWN_KINDS = frozenset({"text", "image", "audio", "resource", "resource_link"})
"""Kinds of content in MCP 2025-11-25 and 2026-07-28; all other kinds are shown as JSON."""
ONLY_NAMED = "the model is told only this"
NO_STRUCTURE = "the tool has an output schema, but its result has no structured content"
UNCHECKED = "not checked: the output schema is unusable, or the check takes too long"


def content_lines(output: ToolOutput, *, is_own: bool = True) -> str:
    """Describe the contents of a result, a line each; empty for plain text alone.

    Args:
        output: The result.
        is_own: Whether this host told the model of it, so that it is known what was left out.
    """
    describe = _described if is_own else described
    lines = [describe(block) for block in output.content if block.kind != "text" or block.annotations]
    if is_own and structured_text(output):
        size = size_words(len(_spelled(output.structured).encode("utf-8", "replace")))
        lines.append(f"structured content: {size} · the model is told only the text")
    return "\n".join(lines)


def structured_text(output: ToolOutput) -> str:
    """Return the structured content as JSON; empty if there is none, or if the result's text says the same."""
    if not output.has_structured or _is_spelled_out(output):
        return ""
    return shortened(_spelled(output.structured))


def described(block: Content) -> str:
    """Describe a block of a result: kind, type, size, address, and the server's hints."""
    kind = {"resource_link": "link", "resource": "resource"}.get(block.kind, block.kind)
    if block.kind not in KNOWN_KINDS:
        kind = f"«{block.kind}», of a kind that is not known here, as JSON"
    size = "" if block.size is None else size_words(block.size)
    name = block.text if block.kind == "resource_link" and block.text != block.uri else ""
    facts = [fact for fact in (block.media_type, size, name, block.uri, *_hints(block.annotations)) if fact]
    return line(f"{kind}: {', '.join(facts)}", _LONGEST)


def _described(block: Content) -> str:
    words = described(block)
    if block.kind == "resource_link":
        return f"{words} · not read"
    if not block.data:
        return words
    if not is_base64(block.data):
        return f"{words} · not readable; {ONLY_NAMED}"
    return words if block.media_type in IMAGES else f"{words} · {ONLY_NAMED}"


def _hints(annotations: Sequence[tuple[str, JSON]]) -> list[str]:
    """Return the server's hints in words. Source: MCP 2025-11-25, Resources, Annotations."""
    hints = dict(annotations)
    audience = hints.pop("audience", None)
    names = [name for name in audience if isinstance(name, str)] if isinstance(audience, list) else []
    words = [f"for {' and '.join(names)}"] if names else []
    return [*words, *(f"{name} {value}" for name, value in hints.items() if isinstance(value, str | int | float))]


def _is_spelled_out(output: ToolOutput) -> bool:
    """Whether a text is equal to the structured content, or to its only member `result`, in which SDKs wrap plain values."""
    texts = [block.text for block in output.content if block.kind == "text"]
    inner = output.structured
    if isinstance(inner, Mapping) and list(inner) == ["result"]:
        inner = inner["result"]
    if any(_is_equal(text, value) for text in texts for value in (output.structured, inner)):
        return True
    items = inner if isinstance(inner, list) and len(inner) == len(texts) else None
    return items is not None and all(map(_is_equal, texts, items))


def _is_equal(text: str, value: JSON) -> bool:
    if isinstance(value, str) and text == value:
        return True
    try:
        return json.loads(text) == value
    except (ValueError, RecursionError):
        return False


def _spelled(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def needs_check(schema: JSON, output: ToolOutput) -> bool:
    """Whether structured content is promised. A failed call owes none. Source: MCP 2025-11-25, Tools, Output Schema."""
    return isinstance(schema, Mapping | bool) and not output.is_error
