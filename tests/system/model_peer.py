"""A provider on the loopback interface for a program in another process: raw bytes, one script for each request."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

Script = Callable[[socket.socket], None]


def head(*more: str, status: str = "200 OK", kind: str = "text/event-stream") -> bytes:
    """The head of a response whose body ends with the connection."""
    return "\r\n".join((f"HTTP/1.1 {status}", f"content-type: {kind}", *more, "connection: close", "", "")).encode()


def event(delta: dict[str, object], finish: str | None = None, model: str = "m") -> bytes:
    """One event of the Chat Completions stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    value = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def asking(name: str, arguments: str) -> dict[str, object]:
    """The delta that asks for a tool."""
    return {
        "tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}]
    }


def sending(*pieces: bytes) -> Script:
    """Send these and close."""

    def script(stream: socket.socket) -> None:
        for piece in pieces:
            stream.sendall(piece)

    return script


@contextmanager
def model(scripts: Sequence[Script]) -> Generator[str]:
    """Listens until the end of the block; each request that asks for an answer gets the next script, the last one again and again."""
    listener = socket.create_server(("127.0.0.1", 0))
    waiting = list(scripts)

    def serve() -> None:
        with suppress(OSError):  # closed at the test's end
            while True:
                stream, _ = listener.accept()
                threading.Thread(target=talk, args=(stream,), daemon=True).start()

    def talk(stream: socket.socket) -> None:
        with stream, suppress(OSError):  # the program has gone
            if b"POST" in _request(stream):
                (waiting.pop(0) if len(waiting) > 1 else waiting[0])(stream)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _request(stream: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += stream.recv(1 << 16)
    top, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in top.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    missing = sum(lengths) - len(body)
    while missing > 0:
        missing -= len(stream.recv(1 << 16))
    return top
