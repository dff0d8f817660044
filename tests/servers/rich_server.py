"""A stdio server of the stateful era: contents of every kind, resources, prompts, completion, subscriptions."""

import base64
import struct
import zlib
from collections.abc import Mapping

from tests.kit.mcp_server import mcp_server
from tui_host.errors import JSON


def png(width: int, height: int, *, claims: tuple[int, int] | None = None) -> bytes:
    """Give a PNG of one red; its head may claim another size."""
    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", *(claims or (width, height)), 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


RED = base64.b64encode(png(4, 4)).decode()
PAGE = "<!doctype html><b>a page</b>"
NOTES = {"note://one": "the first note", "note://two": "the second note"}
COUNT: JSON = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
CONTENTS: JSON = [
    {"type": "text", "text": "here is everything"},
    {"type": "image", "data": RED, "mimeType": "image/png", "annotations": {"audience": ["user"], "priority": 0.5}},
    {"type": "audio", "data": base64.b64encode(b"RIFF0000WAVE").decode(), "mimeType": "audio/wav"},
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
    {"name": "plan", "title": "Plan a trip", "description": "Plans a trip to a city.",
     "arguments": [{"name": "city", "description": "Where to.", "required": True}, {"name": "days"}]},
    {"name": "hello", "description": "Says hello."},
]  # fmt: skip


def message(role: str, **content: JSON) -> JSON:
    return {"role": role, "content": content}


PLAN: JSON = {
    "description": "a plan",
    "messages": [
        message("user", type="text", text="Plan a trip to Bern."),
        message("user", type="image", data=RED, mimeType="image/png"),
        message("assistant", type="text", text="How long?"),
        message("user", type="resource", resource={"uri": "note://one", "text": "the first note"}),
    ],
}
HELLO: JSON = {"messages": [message("user", type="text", text="hello from the server")]}
READ: Mapping[str, JSON] = {
    **{uri: {"uri": uri, "mimeType": "text/plain", "text": text} for uri, text in NOTES.items()},
    "ui://everything/page.html": {"mimeType": "text/html;profile=mcp-app", "text": PAGE},
}
RICH = mcp_server(
    {
        "name": "rich",
        "capabilities": {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}},
        "tools": TOOLS,
        "resources": [{"uri": uri, "name": uri[7:], "size": len(text)} for uri, text in NOTES.items()],
        "templates": [{"uriTemplate": "note://by/{author}", "name": "by author"}],
        "prompts": PROMPTS,
        "on": {
            **{f"tools/call {name}": [{"result": result}] for name, result in RESULTS.items()},
            "tools/call touch": [
                {"notify": "notifications/resources/updated", "params": {"uri": "note://one"}},
                {"text": "touched"},
            ],
            **{f"resources/read {uri}": [{"result": {"contents": [content]}}] for uri, content in READ.items()},
            "prompts/get plan": [{"result": PLAN}],
            "prompts/get hello": [{"result": HELLO}],
            "completion/complete": [{"result": {"completion": {"values": ["ada", "Bern", "Berlin", "alan"]}}}],
        },
    }
)
