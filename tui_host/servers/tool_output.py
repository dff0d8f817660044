"""Reads tool results and resources of any shape without losing content.

Source: MCP 2025-11-25 and 2026-07-28, Server features, Tools, Tool result; Resources, Reading Resources.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tui_host.capture.json.narrowing import as_json, is_array, items, mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.servers.catalog import Content, PromptMessage, PromptOutput, ToolOutput


def read_output(result: Mapping[str, object], warning: str = "") -> ToolOutput:
    """Read a `CallToolResult` as received; `warning` says what was odd about its bytes."""
    raw, warnings = mapping(as_json(result)), [warning]
    structured, has_structured = raw.get("structuredContent"), "structuredContent" in raw  # null is a value
    content = _read_all(items(raw.get("content")), _read_block, warnings)
    if not is_array(raw.get("content")) and not has_structured:
        warnings.append("the result is malformed: it has no content, and is shown as JSON")
        content = [_as_text(raw)]
    return ToolOutput(
        content=tuple(content or ([_as_text(structured)] if has_structured else [])),
        is_error=raw.get("isError") is True,
        structured=structured,
        has_structured=has_structured,
        raw=raw,
        warning=_joined(warnings),
    )


def read_contents(result: Mapping[str, object], warning: str = "") -> ToolOutput:
    """Read a `ReadResourceResult` as received; `warning` says what was odd about its bytes."""
    raw, warnings = mapping(as_json(result)), [warning]
    content = _read_all(items(raw.get("contents")), _read_resource, warnings)
    if not is_array(raw.get("contents")):
        warnings.append("the resource's contents are malformed and shown as JSON")
        content = [_as_text(raw)]
    return ToolOutput(content=tuple(content), raw=raw, warning=_joined(warnings))


def read_any(result: Mapping[str, JSON]) -> ToolOutput:
    """Read a `CallToolResult` or a `ReadResourceResult`, whichever it is."""
    return read_contents(result) if "contents" in result and "content" not in result else read_output(result)


def read_messages(result: Mapping[str, JSON], warning: str = "") -> PromptOutput:
    """Read a `GetPromptResult` as received; `warning` says what was odd about its bytes."""
    messages, warnings = items(result.get("messages")), [warning]
    contents = _read_all(messages, lambda message: _read_block(mapping(message).get("content")), warnings)
    if not is_array(result.get("messages")):
        warnings.append("the prompt is malformed: it has no messages")
    roles = [text_or_empty(mapping(message).get("role")) or "user" for message in messages]
    return PromptOutput(
        messages=tuple(
            PromptMessage(role=role, content=content) for role, content in zip(roles, contents, strict=True)
        ),
        description=text_or_empty(result.get("description")),
        raw=result,
        warning=_joined(warnings),
    )


def _read_all(values: Sequence[JSON], read: Callable[[JSON], Content | None], warnings: list[str]) -> list[Content]:
    """Read each value; one that cannot be read is kept as JSON, with a warning."""
    contents: list[Content] = []
    for value in values:
        content = read(value)
        if content is None:
            warnings.append("part of the result is malformed and shown as JSON")
            content = _as_text(value)
        contents.append(content)
    return contents


def _joined(warnings: list[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, warnings)))


def _as_text(value: JSON) -> Content:
    return Content(kind="text", text=_spelled(value))


def _read_block(block: JSON) -> Content | None:
    if not isinstance(block, Mapping):
        return None
    annotations = block.get("annotations")
    content = _read_kind(block)
    if content is None or not isinstance(annotations, Mapping):
        return content
    return replace(content, annotations=tuple(annotations.items()))


def _read_kind(block: Mapping[str, JSON]) -> Content | None:
    kind = text_or_empty(block.get("type"))
    match kind:
        case "":
            return None
        case "text":
            text = block.get("text")
            return _text_content("text", text) if isinstance(text, str) else None
        case "image" | "audio" as medium:
            data, media_type = block.get("data"), block.get("mimeType")
            if not isinstance(data, str):
                return None
            name = media_type if isinstance(media_type, str) else "unknown type"
            size = _decoded_size(data)
            words = f"{medium}, {name}, {size:,} bytes"
            return Content(kind=medium, text=words, media_type=name, data=data, size=size)
        case "resource":
            return _read_resource(block.get("resource"))
        case "resource_link":
            uri = text_or_empty(block.get("uri"))
            name = text_or_empty(block.get("title")) or text_or_empty(block.get("name")) or uri
            size = block.get("size")
            return Content(
                kind="resource_link",
                text=name,
                media_type=text_or_empty(block.get("mimeType")),
                uri=uri,
                size=size if isinstance(size, int) and size >= 0 else None,
            )
        case _:
            return _text_content(kind, _spelled(block))


def _text_content(kind: str, text: str, media_type: str = "", uri: str = "") -> Content:
    return Content(kind=kind, text=text, media_type=media_type, uri=uri, size=len(text.encode("utf-8", "replace")))


def _decoded_size(data: str) -> int:
    """Return the number of bytes that base64 stands for."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def _read_resource(resource: JSON) -> Content | None:
    if not isinstance(resource, Mapping):
        return None
    uri, media_type = text_or_empty(resource.get("uri")), text_or_empty(resource.get("mimeType"))
    text, blob = resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        return _text_content("resource", text, media_type, uri)
    if isinstance(blob, str):
        size = _decoded_size(blob)
        words = f"resource, {media_type or 'unknown type'}, {size:,} bytes"
        return Content(kind="resource", text=words, media_type=media_type, data=blob, uri=uri, size=size)
    return None


def _spelled(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)
