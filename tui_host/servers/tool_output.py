"""Reads tool results and resources of any shape without losing content.

Source: MCP 2025-11-25 and 2026-07-28, Server features, Tools, Tool result; Resources, Reading Resources.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from tui_host.capture.json.narrowing import as_json, is_array, is_object, text_or_empty
from tui_host.errors import JSON
from tui_host.servers.catalog import Content, PromptMessage, PromptOutput, ToolOutput

_WORDS = 500


def read_output(result: Mapping[str, object], warning: str = "") -> ToolOutput:
    """Read the output of a call.

    Args:
        result: The `CallToolResult` as received.
        warning: What was odd about its bytes.
    """
    raw = as_json(result)
    warnings = [warning] if warning else []
    blocks = result.get("content")
    structured = as_json(result.get("structuredContent"))
    has_structured = "structuredContent" in result  # null is a value
    content: list[Content] = []
    if is_array(blocks):
        for block in blocks:
            read_block = _read_block(block)
            if read_block is None:
                warnings.append("part of the result is malformed and shown as JSON")
                read_block = Content(kind="text", text=_spelled(as_json(block)))
            content.append(read_block)
    elif not has_structured:
        warnings.append("the result is malformed: it has no content, and is shown as JSON")
        content.append(Content(kind="text", text=_spelled(raw)))
    if not content and has_structured:
        content.append(Content(kind="text", text=_spelled(structured)))
    return ToolOutput(
        content=tuple(content),
        is_error=result.get("isError") is True,
        structured=structured,
        has_structured=has_structured,
        raw=raw,
        warning="; ".join(dict.fromkeys(warnings)),
    )


def read_contents(result: Mapping[str, object], warning: str = "") -> ToolOutput:
    """Read the contents of a resource.

    Args:
        result: The `ReadResourceResult` as received.
        warning: What was odd about its bytes.
    """
    raw = as_json(result)
    contents = result.get("contents")
    blocks = [_read_resource(content_item) for content_item in contents] if is_array(contents) else [None]
    warnings = [warning] if warning else []
    if None in blocks:
        warnings.append("the resource's contents are malformed and shown as JSON")
        return ToolOutput(content=(Content(kind="text", text=_spelled(raw)),), raw=raw, warning="; ".join(warnings))
    return ToolOutput(
        content=tuple(content_item for content_item in blocks if content_item is not None),
        raw=raw,
        warning="; ".join(warnings),
    )


def read_any(result: Mapping[str, JSON]) -> ToolOutput:
    """Read a `CallToolResult` or a `ReadResourceResult`, whichever it is."""
    return read_contents(result) if "contents" in result and "content" not in result else read_output(result)


def read_messages(result: Mapping[str, JSON], warning: str = "") -> PromptOutput:
    """Read a filled-in prompt.

    Args:
        result: The `GetPromptResult` as received.
        warning: What was odd about its bytes.
    """
    messages = result.get("messages")
    warnings = [warning] if warning else []
    read: list[PromptMessage] = []
    for message in messages if is_array(messages) else ():
        content = _read_block(message.get("content")) if is_object(message) else None
        if content is None:
            warnings.append("part of the prompt is malformed and shown as JSON")
            content = Content(kind="text", text=_spelled(as_json(message)))
        read.append(
            PromptMessage(
                role=(text_or_empty(message.get("role")) if is_object(message) else "") or "user", content=content
            )
        )
    if not is_array(messages):
        warnings.append("the prompt is malformed: it has no messages")
    return PromptOutput(
        messages=tuple(read),
        description=text_or_empty(result.get("description")),
        raw=result,
        warning="; ".join(dict.fromkeys(warnings)),
    )


def _read_block(block: object) -> Content | None:
    if not is_object(block):
        return None
    annotations = as_json(block.get("annotations"))
    content = _read_kind(block)
    if content is None or not isinstance(annotations, Mapping):
        return content
    return replace(content, annotations=tuple(annotations.items()))


def _read_kind(block: Mapping[str, object]) -> Content | None:
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
            return _text_content(kind, _spelled(as_json(block)))


def _text_content(kind: str, text: str, media_type: str = "", uri: str = "") -> Content:
    return Content(kind=kind, text=text, media_type=media_type, uri=uri, size=len(text.encode("utf-8", "replace")))


def _decoded_size(data: str) -> int:
    """Return the number of bytes that base64 stands for."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def _read_resource(resource: object) -> Content | None:
    if not is_object(resource):
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
