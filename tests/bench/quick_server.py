"""An MCP server of the standard library alone that answers at once: what benches measure is the client.

`quick_server.py [SECONDS]` waits so long before it reads, as servers that import much do. Run as a script.
"""

from __future__ import annotations

import json
import sys
import time

TOOLS = [
    {"name": name, "description": f"{name}.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    for name in ("echo", "long")
]
LONG = "x" * 10_000_000


def result_of(method: str, params: dict[str, object]) -> dict[str, object] | None:
    """What is answered; None for a method that is not known."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "quick", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            text = LONG if params["name"] == "long" else json.dumps(params.get("arguments"))
            return {"content": [{"type": "text", "text": text}]}
        case "ping":
            return {}
        case _:
            return None


def main() -> None:
    """Answer each line until there is none."""
    time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = result_of(message["method"], message.get("params") or {})
        answer = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
