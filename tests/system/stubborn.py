"""MCP servers that do not want to end, of the standard library alone: `stubborn.py MODE`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

MODE = sys.argv[1]
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
CHILD = "import signal, time; [signal.signal(each, signal.SIG_IGN) for each in (1, 2, 15)]; time.sleep(600)"
CHILDREN = 5


def children(*_: object) -> None:
    """Some that hold its pipes and ignore what may be ignored."""
    for _number in range(CHILDREN):
        subprocess.Popen([sys.executable, "-I", "-S", "-c", CHILD])


def send(number: object, result: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)


def serve() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize":
            server = {"name": MODE, "version": "1"}
            send(message["id"], {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server})
        elif message.get("method") == "tools/list":
            send(message["id"], {"tools": []})
            if MODE == "stopped":
                os.kill(os.getpid(), signal.SIGSTOP)


match MODE:
    case "children":
        children()
    case "reborn":
        signal.signal(signal.SIGTERM, children)
    case _:  # "deaf", "stopped"
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
serve()
while True:
    time.sleep(600)  # nobody waits for it: this is how it does not end
