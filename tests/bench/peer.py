"""What benches speak to, in a process of its own.

- `-m tests.bench.peer streams` prints its port and answers `/COUNT/DIALECT/…` as a vendor does, with so many events of text, each a
  chunk; `/COUNT@RATE/DIALECT/…` sends so many a second
- `peer.py mcp [RATE]`, of the standard library alone, is an MCP server over stdio that answers at once, and logs so many lines a second
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from functools import lru_cache
from typing import BinaryIO

PIECE = 24
"""Characters of an event."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"
WORDS = "some words of an answer in 中文 and `code`,\n"


@lru_cache(maxsize=2)
def pieces(dialect: str, count: int) -> list[bytes]:
    """The chunks of a whole answer with so many pieces of text, each framed as HTTP wants it."""
    from tests.kit import bodies

    text = (WORDS * count)[: count * PIECE]
    events = bodies.DIALECTS[dialect].events(bodies.Answer(text), PIECE)
    return [b"%x\r\n%b\r\n" % (len(event), event) for event in events]


def requested(reader: BinaryIO) -> str | None:
    line = reader.readline()
    if not line:
        return None
    left = 0
    while (header := reader.readline()).strip():
        name, _, value = header.partition(b":")
        left = int(value) if name.lower() == b"content-length" else left
    reader.read(left)
    return line.split()[1].decode()


def serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb") as reader:
        try:
            while path := requested(reader):
                _, count, dialect, *_ = path.split("/")
                kind = b"application/x-ndjson" if dialect == "ollama" else b"text/event-stream"
                connection.sendall(HEAD % kind)
                count, _, rate = count.partition("@")
                sent, began = pieces(dialect, int(count)), time.monotonic()
                for number, piece in enumerate(sent):
                    if rate and (early := began + number / int(rate) - time.monotonic()) > 0:
                        time.sleep(early)
                    connection.sendall(piece)
                connection.sendall(b"0\r\n\r\n")
        except OSError:
            return  # the client has what it wants


def serve_streams() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


TOOLS = [
    {"name": name, "description": f"{name}.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    for name in ("echo", "long")
]
LONG = json.dumps({"content": [{"type": "text", "text": "x" * 10_000_000}]}).encode()
"""Written once: what it takes to write it is nobody's time."""


def result_of(method: str, params: dict[str, object]) -> object:
    match method:
        case "initialize":
            info = {"name": "quick", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]}
        case "ping":
            return {}
        case _:
            return None


def write(message: dict[str, object]) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def log(rate: int) -> None:
    while True:
        time.sleep(1 / rate)
        data = "The gazetteer of 2019 has no entry for this place. " * 4
        write({"method": "notifications/message", "params": {"level": "info", "data": data}})


def serve_mcp(rate: int) -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if rate and message.get("method") == "tools/list":
            threading.Thread(target=log, args=(rate,), daemon=True).start()
        if "id" not in message or "method" not in message:
            continue
        params: dict[str, object] = message.get("params") or {}
        if params.get("name") == "long":
            sys.stdout.buffer.writelines((b'{"jsonrpc":"2.0","id":%d,"result":' % message["id"], LONG, b"}\n"))
            sys.stdout.buffer.flush()
            continue
        result = result_of(message["method"], params)
        error = {"code": -32601, "message": "no such method"}
        answer = {"error": error} if result is None else {"result": result}
        write({"id": message["id"], **answer})


if __name__ == "__main__":
    if sys.argv[1] == "mcp":
        serve_mcp(int(sys.argv[2]) if sys.argv[2:] else 0)
    else:
        serve_streams()
