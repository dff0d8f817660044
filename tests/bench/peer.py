"""What benches speak to, in a process of its own and of the standard library alone, so that it is fast and nobody's import is measured.

- `peer.py streams` prints its port and answers `/COUNT/DIALECT/…` as a vendor does, with so many events of 175 bytes, each a chunk;
  `/COUNT@RATE/DIALECT/…` sends so many a second
- `peer.py mcp [SECONDS [RATE]]` is an MCP server over stdio that answers at once, once so many seconds have passed, as servers that
  import much do; it logs so many lines a second
"""

import json
import socket
import sys
import threading
import time
from functools import lru_cache
from typing import BinaryIO

SIZE = 175
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"
WORDS = ("some ", "words ", "of an ", "answer ", "in 中文 ", "and `code`,\\n")
EVENTS = {
    "openai": (
        "",
        (
            'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"gpt-5",'
            '"choices":[{"index":0,"delta":{"content":"WORDS"},"finish_reason":null}]}\n\n'
        ),
        'data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    ),
    "openai-responses": (
        (
            'event: response.output_item.added\ndata: {"type":"response.output_item.added","output_index":0,'
            '"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}\n\n'
        ),
        (
            'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"msg_1",'
            '"output_index":0,"content_index":0,"delta":"WORDS","sequence_number":7}\n\n'
        ),
        (
            'event: response.completed\ndata: {"type":"response.completed",'
            '"response":{"id":"r","status":"completed","output":[]}}\n\n'
        ),
    ),
    "anthropic": (
        (
            'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message",'
            '"role":"assistant","content":[],"model":"m"}}\n\nevent: content_block_start\n'
            'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
        ),
        (
            'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
            '"delta":{"type":"text_delta","text":"WORDS"}}\n\n'
        ),
        (
            'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\nevent: message_delta\n'
            'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
            'event: message_stop\ndata: {"type":"message_stop"}\n\n'
        ),
    ),
    "gemini": (
        "",
        (
            'data: {"candidates":[{"content":{"parts":[{"text":"WORDS"}],"role":"model"},"index":0}],'
            '"modelVersion":"gemini-3-pro","responseId":"r1"}\n\n'
        ),
        'data: {"candidates":[{"content":{"parts":[],"role":"model"},"finishReason":"STOP"}]}\n\n',
    ),
    "ollama": (
        "",
        (
            '{"model":"qwen3:8b","created_at":"2026-01-01T00:00:00.123456789Z",'
            '"message":{"role":"assistant","content":"WORDS"},"done":false}\n'
        ),
        '{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n',
    ),
}
"""By the dialect: what begins an answer, an event of it, and what ends it."""
DIALECTS = tuple(EVENTS)


@lru_cache(maxsize=2)
def pieces(dialect: str, count: int) -> list[bytes]:
    """The chunks of a whole answer, each framed as HTTP wants it; an event has exactly the size: what it lacks is said."""
    before, event, after = EVENTS[dialect]
    events = [event.replace("WORDS", words).encode() for words in WORDS]
    events = [
        event.replace("WORDS", words + "x" * (SIZE - len(short))).encode()
        for words, short in zip(WORDS, events, strict=True)
    ]
    body = [before.encode(), *(events[number % len(events)] for number in range(count)), after.encode()]
    return [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in body if chunk]


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


def serve_mcp(seconds: float, rate: int) -> None:
    time.sleep(seconds)
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
        seconds, rate = [*sys.argv[2:], "0", "0"][:2]
        serve_mcp(float(seconds), int(rate))
    else:
        serve_streams()
