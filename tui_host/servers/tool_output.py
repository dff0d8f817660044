"""Reads tool results, resources and prompts of any shape without losing content.

Source: MCP 2025-11-25 and 2026-07-28, Server features, Tools, Tool result; Resources, Reading Resources.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from tui_host.capture.json.narrowing import as_json, items, mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.servers.catalog import ContentBlock, PromptMessage, PromptOutput, ToolOutput


def read_output(result: Mapping[str, object], warning: str = "") -> ToolOutput:
    """Read a `CallToolResult` as received; `warning` says what was odd about its bytes."""
    raw, warnings = mapping(as_json(result)), [warning]
    structured, has_structured = raw.get("structuredContent"), "structuredContent" in raw  # null is a value
    content = _read_all(raw.get("content"), _read_block, warnings)
    if not isinstance(raw.get("content"), list) and not has_structured:
        warnings.append("the result is malformed: it has no content, and is shown as JSON")
        content = [_as_json_text(raw)]
    return ToolOutput(
        content=tuple(content or ([_as_json_text(structured)] if has_structured else [])),
        is_error=raw.get("isError") is True,
        structured=structured,
        has_structured=has_structured,
        raw=raw,
        warning="; ".join(filter(None, warnings)),
    )


def read_contents(result: Mapping[str, object], warning: str = "") -> ToolOutput:
    """Read a `ReadResourceResult` as received."""
    raw, warnings = mapping(as_json(result)), [warning]
    content = _read_all(raw.get("contents"), _read_resource, warnings)
    if not isinstance(raw.get("contents"), list):
        warnings.append("the resource's contents are malformed and shown as JSON")
        content = [_as_json_text(raw)]
    return ToolOutput(content=tuple(content), raw=raw, warning="; ".join(filter(None, warnings)))


def read_messages(result: Mapping[str, JSON], warning: str = "") -> PromptOutput:
    """Read a `GetPromptResult` as received."""
    warnings, listed = [warning], [mapping(message) for message in items(result.get("messages"))]
    contents = _read_all([message.get("content") for message in listed], _read_block, warnings)
    if not isinstance(result.get("messages"), list):
        warnings.append("the prompt is malformed: it has no messages")
    roles = [text_or_empty(message.get("role")) or "user" for message in listed]
    return PromptOutput(
        messages=tuple(PromptMessage(role=role, content=each) for role, each in zip(roles, contents, strict=True)),
        description=text_or_empty(result.get("description")),
        raw=result,
        warning="; ".join(filter(None, warnings)),
    )


def _read_all(values: JSON, read: Callable[[JSON], ContentBlock | None], warnings: list[str]) -> list[ContentBlock]:
    """Read each value; one that cannot be read is kept as JSON, with a warning."""
    contents = [read(value) for value in items(values)]
    if None in contents:
        warnings.append("part of the result is malformed and shown as JSON")
    return [content or _as_json_text(value) for content, value in zip(contents, items(values), strict=True)]


def _read_block(value: JSON) -> ContentBlock | None:
    block = mapping(value)
    kind, data = text_or_empty(block.get("type")), block.get("text" if block.get("type") == "text" else "data")
    uri, size = text_or_empty(block.get("uri")), block.get("size")
    match kind:
        case "text" | "image" | "audio" if not isinstance(data, str):
            return None
        case "text":
            content = _text_content(kind, str(data))
        case "image" | "audio":
            content = _data_content(kind, str(data), text_or_empty(block.get("mimeType")))
        case "resource":
            content = _read_resource(block.get("resource"))
        case "resource_link":
            content = ContentBlock(
                kind=kind,
                text=text_or_empty(block.get("title")) or text_or_empty(block.get("name")) or uri,
                media_type=text_or_empty(block.get("mimeType")),
                uri=uri,
                size=size if isinstance(size, int) and size >= 0 else None,
            )
        case _:
            content = replace(_as_json_text(block), kind=kind) if kind else None
    annotations = tuple(mapping(block.get("annotations")).items())
    return replace(content, annotations=annotations) if content is not None and annotations else content


def _read_resource(value: JSON) -> ContentBlock | None:
    resource = mapping(value)
    uri, media_type = text_or_empty(resource.get("uri")), text_or_empty(resource.get("mimeType"))
    text, blob = resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        return replace(_text_content("resource", text), media_type=media_type, uri=uri)
    return _data_content("resource", blob, media_type, uri) if isinstance(blob, str) else None


def _as_json_text(value: JSON) -> ContentBlock:
    return _text_content("text", json.dumps(value, ensure_ascii=False))


def _text_content(kind: str, text: str) -> ContentBlock:
    return ContentBlock(kind=kind, text=text, size=len(text.encode("utf-8", "replace")))


def _data_content(kind: str, data: str, media_type: str, uri: str = "") -> ContentBlock:
    size = len(data) * 3 // 4 - data[-2:].count("=")  # the bytes that base64 stands for
    words = f"{kind}, {media_type or 'unknown type'}, {size:,} bytes"
    return ContentBlock(kind=kind, text=words, media_type=media_type, data=data, uri=uri, size=size)
