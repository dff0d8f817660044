"""A stdio server of the stateful era, written as plain JSON: contents of every kind, resources, prompts, completion, subscriptions."""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from collections.abc import Callable, Mapping

from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.errors import JSON


def png(width: int, height: int, *, claims: tuple[int, int] | None = None) -> bytes:
    """Give a PNG of one red; its head may claim another size."""
    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", *(claims or (width, height)), 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


RED = base64.b64encode(png(4, 4)).decode()
SOUND = base64.b64encode(b"RIFF0000WAVE").decode()
PAGE = "<!doctype html><b>a page</b>"
NOTES = {"note://one": "the first note", "note://two": "the second note"}
COUNT: JSON = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
CONTENTS: JSON = [
    {"type": "text", "text": "here is everything"},
    {"type": "image", "data": RED, "mimeType": "image/png", "annotations": {"audience": ["user"], "priority": 0.5}},
    {"type": "audio", "data": SOUND, "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "note://one", "mimeType": "text/plain", "text": "the first note"}},
    {"type": "resource_link", "uri": "note://two", "name": "two", "size": 15},
    {"type": "hologram", "depth": 3},
]
RESULTS: dict[str, JSON] = {
    "everything": {"content": CONTENTS, "structuredContent": {"count": "many"}},
    "nothing": {"content": [{"type": "text", "text": "null"}], "structuredContent": None},
    "missing": {"content": [{"type": "text", "text": "no count"}]},
}
PAGED: JSON = {"ui": {"resourceUri": "ui://everything/page.html"}}
TOOLS: JSON = [
    {"name": "everything", "inputSchema": {"type": "object"}, "outputSchema": COUNT, "_meta": PAGED},
    {"name": "nothing", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
    {"name": "missing", "inputSchema": {"type": "object"}, "outputSchema": COUNT},
    {"name": "touch", "inputSchema": {"type": "object"}},
]
PROMPTS: JSON = [
    {
        "name": "plan",
        "title": "Plan a trip",
        "description": "Plans a trip to a city.",
        "arguments": [{"name": "city", "description": "Where to.", "required": True}, {"name": "days"}],
    },
    {"name": "hello", "description": "Says hello."},
]


def filled(params: Mapping[str, JSON]) -> JSON:
    if params["name"] == "hello":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "hello from the server"}}]}
    resource: JSON = {"type": "resource", "resource": {"uri": "note://one", "text": "the first note"}}
    return {
        "description": "a plan",
        "messages": [
            {
                "role": "user",
                "content": {"type": "text", "text": f"Plan a trip to {mapping(params['arguments'])['city']}."},
            },
            {"role": "user", "content": {"type": "image", "data": RED, "mimeType": "image/png"}},
            {"role": "assistant", "content": {"type": "text", "text": "How long?"}},
            {"role": "user", "content": resource},
        ],
    }


def read(params: Mapping[str, JSON]) -> JSON:
    uri = text_or_empty(params["uri"])
    if uri.startswith("ui://"):
        return {"contents": [{"uri": uri, "mimeType": "text/html;profile=mcp-app", "text": PAGE}]}
    text = NOTES.get(uri, f"note of {uri.removeprefix('note://by/')}")
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}


def complete(params: Mapping[str, JSON]) -> JSON:
    is_prompt = mapping(params["ref"])["type"] == "ref/prompt"
    begun = text_or_empty(mapping(params["argument"])["value"]).lower()
    values = ["Berlin", "Bern", "Paris"] if is_prompt else ["ada", "alan"]
    return {"completion": {"values": [value for value in values if value.lower().startswith(begun)]}}


def called(params: Mapping[str, JSON]) -> JSON:
    if params["name"] == "touch":
        send({"method": "notifications/resources/updated", "params": {"uri": "note://one"}})
    return RESULTS.get(text_or_empty(params["name"]), {"content": [{"type": "text", "text": "touched"}]})


ANSWERS: Mapping[str, JSON | Callable[[Mapping[str, JSON]], JSON]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}},
        "serverInfo": {"name": "rich", "version": "1"},
    },
    "tools/list": {"tools": TOOLS},
    "tools/call": called,
    "resources/list": {"resources": [{"uri": uri, "name": uri[7:], "size": len(text)} for uri, text in NOTES.items()]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "note://by/{author}", "name": "by author"}]},
    "resources/read": read,
    "resources/subscribe": {},
    "resources/unsubscribe": {},
    "prompts/list": {"prompts": PROMPTS},
    "prompts/get": filled,
    "completion/complete": complete,
    "ping": {},
}


def send(message: Mapping[str, JSON]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    for line in sys.stdin:
        message = mapping(json.loads(line))
        if "id" not in message or "method" not in message:
            continue
        answer = ANSWERS.get(text_or_empty(message["method"]))
        if answer is None:
            send({"id": message["id"], "error": {"code": -32601, "message": "unknown method"}})
        else:
            result = answer(mapping(message.get("params"))) if callable(answer) else answer
            send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
