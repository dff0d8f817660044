"""An MCP server with 500 tools; it answers a ping, and then announces 10,000 things at once. Run as a script."""

from __future__ import annotations

import json
import sys

TOOLS = [
    {
        "name": f"tool_{number:03}",
        "description": "Does what this tool does, and says so in a sentence of usual length.",
        "inputSchema": {
            "type": "object",
            "properties": {f"argument_{place}": {"type": "string"} for place in "abcdef"},
        },
    }
    for number in range(500)
]
ANNOUNCED = 10_000


def result_of(method: str, params: dict[str, object]) -> dict[str, object] | None:
    """What is answered; None for a method that is not known."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": {"name": "many", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "ping":
            return {}
        case _:
            return None


def announcement(number: int) -> bytes:
    """A line of the server's log, or the news that a resource has changed."""
    if number % 2:
        message = {"method": "notifications/resources/updated", "params": {"uri": f"x://{number % 20}"}}
    else:
        message = {"method": "notifications/message", "params": {"level": "info", "data": f"line {number}"}}
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def main() -> None:
    """Answer each line until there is none."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = result_of(message["method"], message.get("params") or {})
        answer = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode() + b"\n")
        if message["method"] == "ping":
            sys.stdout.buffer.write(b"".join(map(announcement, range(ANNOUNCED))))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
