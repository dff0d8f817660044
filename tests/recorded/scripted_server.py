"""An MCP server over stdio that plays a script: the JSON file of its first argument, at the pace of its second.

The script has `name`, `tools`, and `calls`: by a tool's name the steps of its calls. The one member of a step says what it is: `wait`
so many seconds, `log` and `progress` to the client, `redefine` a tool and announce it, `result`, `exit` with 134 and these last words.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.errors import JSON

SCRIPT: dict[str, JSON] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
PACE = float(sys.argv[2])
tools = {text_or_empty(mapping(tool)["name"]): tool for tool in items(SCRIPT["tools"])}
lock = threading.Lock()


def send(message: Mapping[str, JSON]) -> None:
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False), flush=True)


def notify(method: str, params: JSON) -> None:
    send({"method": f"notifications/{method}", "params": params})


def play(number: JSON, steps: JSON) -> None:
    for step in map(mapping, items(steps)):
        match dict(step):
            case {"wait": int() | float() as seconds}:
                time.sleep(seconds * PACE)  # the pace of its work
            case {"log": words}:
                notify("message", {"level": "warning", "logger": SCRIPT["name"], "data": words})
            case {"progress": words}:
                notify("progress", {"progressToken": number, "progress": 1, "total": 2, "message": words})
            case {"redefine": tool}:
                tools[text_or_empty(mapping(tool)["name"])] = tool
                notify("tools/list_changed", {})
            case {"exit": words}:
                print(words, file=sys.stderr, flush=True)
                os._exit(134)
            case _:
                send({"id": number, **step})


def on_message(message: Mapping[str, JSON]) -> None:
    number, params = message.get("id"), mapping(message.get("params"))
    match message.get("method"):
        case "initialize":
            capabilities: JSON = {"tools": {"listChanged": True}, "logging": {}}
            server: JSON = {"name": SCRIPT["name"], "version": "1.2.0"}
            version: JSON = "2025-11-25"
            result: JSON = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server}
            send({"id": number, "result": result})
        case "tools/list":
            send({"id": number, "result": {"tools": list(tools.values())}})
        case "tools/call":
            steps = mapping(SCRIPT["calls"])[text_or_empty(params["name"])]
            threading.Thread(target=play, args=(number, steps), daemon=True).start()
        case _ if number is not None:
            send({"id": number, "result": {}})
        case _:
            pass


for line in sys.stdin:
    on_message(mapping(json.loads(line)))
