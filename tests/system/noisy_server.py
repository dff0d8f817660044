"""An MCP server over stdio that says noise wherever it may say anything. Standard library alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TypeGuard

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.system.noise import said

Message = dict[str, object]


def is_object(value: object) -> TypeGuard[Message]:
    return isinstance(value, dict)


def send(message: Message) -> None:
    # As it is where JSON permits, so that C1 and bidi marks stand on the wire as bytes.
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n")
    sys.stdout.buffer.flush()


def complain(place: str) -> None:
    for line in said(place).split("\n"):
        sys.stderr.buffer.write(line.encode() + b"\x9b2J\xff\n")
    sys.stderr.buffer.flush()


TOOLS: list[Message] = [
    {
        "name": "look",
        "title": said("title"),
        "description": said("description"),
        "inputSchema": {
            "type": "object",
            "title": said("schema"),
            "properties": {"what": {"type": "string", "description": said("property")}},
        },
        "annotations": {"title": said("hint"), "readOnlyHint": True},
    },
    {"name": said("name"), "description": "named badly", "inputSchema": {"type": "object"}},
]


def answer(message: Message) -> None:
    number, method = message.get("id"), message.get("method")
    if method == "initialize":
        result: Message = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": said("server"), "version": said("version"), "title": said("server title")},
            "instructions": said("instructions"),
        }
        send({"id": number, "result": result})
    elif method == "tools/list":
        complain("listing")
        send({"id": number, "result": {"tools": TOOLS}})
    elif method == "tools/call":
        complain("calling")
        send({"method": "notifications/message", "params": {"level": "info", "data": said("log")}})
        sys.stdout.buffer.write(said("junk").encode() + b"\n")
        content = [
            {"type": "text", "text": said("result")},
            {"type": "resource_link", "uri": "http://x/" + said("uri"), "name": said("link")},
        ]
        send({"id": number, "result": {"content": content, "structuredContent": {said("key"): said("value")}}})
    elif method is not None and number is not None:
        send({"id": number, "error": {"code": -32601, "message": said("error"), "data": said("data")}})


def main() -> None:
    complain("starting")
    for line in sys.stdin.buffer:
        message: object = json.loads(line)
        if is_object(message):
            answer(message)


main()
