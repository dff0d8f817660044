"""Reads tool results and resources of any shape without losing content.

Source: MCP 2025-11-25 and 2026-07-28, Server features, Tools, Tool result; Resources, Reading Resources.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tui_host.capture.json.narrowing import as_json, is_array, is_object
from tui_host.errors import JSON
from tui_host.servers.catalog import Content, ToolOutput

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
    content: list[Content] = []
    if is_array(blocks):
        for block in blocks:
            read_block = _read_block(block)
            if read_block is None:
                warnings.append("part of the result is malformed and shown as JSON")
                read_block = Content(kind="text", text=_spelled(as_json(block)))
            content.append(read_block)
    elif structured is None:
        warnings.append("the result is malformed: it has no content, and is shown as JSON")
        content.append(Content(kind="text", text=_spelled(raw)))
    if not content and structured is not None:
        content.append(Content(kind="text", text=_spelled(structured)))
    return ToolOutput(
        content=tuple(content),
        is_error=result.get("isError") is True,
        structured=structured,
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


def _read_block(block: object) -> Content | None:
    if not is_object(block):
        return None
    kind = _text(block.get("type"))
    match kind:
        case "":
            return None
        case "text":
            text = block.get("text")
            return Content(kind="text", text=text) if isinstance(text, str) else None
        case "image" | "audio" as medium:
            data, media_type = block.get("data"), block.get("mimeType")
            if not isinstance(data, str):
                return None
            name = media_type if isinstance(media_type, str) else "unknown type"
            size = len(data) * 3 // 4
            return Content(kind=medium, text=f"{medium}, {name}, {size:,} bytes", media_type=name, data=data)
        case "resource":
            return _read_resource(block.get("resource"))
        case "resource_link":
            uri = _text(block.get("uri"))
            name = _text(block.get("title")) or _text(block.get("name")) or uri
            return Content(kind="resource_link", text=name, media_type=_text(block.get("mimeType")), uri=uri)
        case _:
            return Content(kind=kind, text=_spelled(as_json(block)))


def _read_resource(resource: object) -> Content | None:
    if not is_object(resource):
        return None
    uri, media_type = _text(resource.get("uri")), _text(resource.get("mimeType"))
    text, blob = resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        return Content(kind="resource", text=text, media_type=media_type, uri=uri)
    if isinstance(blob, str):
        words = f"resource, {media_type or 'unknown type'}, {len(blob) * 3 // 4:,} bytes"
        return Content(kind="resource", text=words, media_type=media_type, data=blob, uri=uri)
    return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _spelled(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)
