"""A vendor on the loopback interface, in a process of its own: answers `/COUNT/DIALECT/…` with so many events of 175 bytes.

Each event is a chunk of its own and is flushed by itself, as vendors do it. Prints its port.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache

from tui_host.errors import JSON

SIZE = 175
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"
WORDS = ("some ", "words ", "of an ", "answer ", "in 中文 ", "and `code`,\\n")


def _openai(piece: str) -> bytes:
    return (
        f'data: {{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"gpt-5",'
        f'"choices":[{{"index":0,"delta":{{"content":"{piece}"}},"finish_reason":null}}]}}\n\n'
    ).encode()


def _responses(piece: str) -> bytes:
    kind = "response.output_text.delta"
    return (
        f'event: {kind}\ndata: {{"type":"{kind}","item_id":"msg_1","output_index":0,"content_index":0,'
        f'"delta":"{piece}","sequence_number":7}}\n\n'
    ).encode()


def _anthropic(piece: str) -> bytes:
    return (
        f'event: content_block_delta\ndata: {{"type":"content_block_delta","index":0,'
        f'"delta":{{"type":"text_delta","text":"{piece}"}}}}\n\n'
    ).encode()


def _gemini(piece: str) -> bytes:
    return (
        f'data: {{"candidates":[{{"content":{{"parts":[{{"text":"{piece}"}}],"role":"model"}},"index":0}}],'
        f'"modelVersion":"gemini-3-pro","responseId":"r1"}}\n\n'
    ).encode()


def _ollama(piece: str) -> bytes:
    return (
        f'{{"model":"qwen3:8b","created_at":"2026-01-01T00:00:00.123456789Z",'
        f'"message":{{"role":"assistant","content":"{piece}"}},"done":false}}\n'
    ).encode()


def _event(value: JSON) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def _named(value: dict[str, JSON]) -> bytes:
    return f"event: {value['type']}\n".encode() + _event(value)


_MESSAGE: dict[str, JSON] = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m"}
_FORMS: Mapping[str, tuple[Callable[[str], bytes], list[bytes], list[bytes]]] = {
    "openai": (
        _openai,
        [],
        [
            _event({"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
            b"data: [DONE]\n\n",
        ],
    ),
    "openai-responses": (
        _responses,
        [
            _named(
                {
                    "type": "response.output_item.added",
                    "output_index": 0,
                    "item": {"id": "msg_1", "type": "message", "role": "assistant", "content": []},
                }
            )
        ],
        [_named({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}})],
    ),
    "anthropic": (
        _anthropic,
        [
            _named({"type": "message_start", "message": _MESSAGE}),
            _named({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ],
        [
            _named({"type": "content_block_stop", "index": 0}),
            _named({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            _named({"type": "message_stop"}),
        ],
    ),
    "gemini": (
        _gemini,
        [],
        [_event({"candidates": [{"content": {"parts": [], "role": "model"}, "finishReason": "STOP"}]})],
    ),
    "ollama": (
        _ollama,
        [],
        [b'{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n'],
    ),
}
DIALECTS = tuple(_FORMS)


def padded(form: Callable[[str], bytes], piece: str) -> bytes:
    """An event of exactly the size: what it lacks is said."""
    missing = SIZE - len(form(piece))
    return form(piece + "x" * missing)


@lru_cache(maxsize=2)
def pieces(dialect: str, count: int) -> list[bytes]:
    """The chunks of a whole answer, each framed as HTTP wants it."""
    form, before, after = _FORMS[dialect]
    events = [padded(form, word) for word in WORDS]
    body = [*before, *(events[number % len(events)] for number in range(count)), *after]
    return [b"%x\r\n%b\r\n" % (len(event), event) for event in body]


def serve(connection: socket.socket) -> None:
    """Answer every request of one client."""
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = connection.makefile("rb")
        while line := reader.readline():
            _, count, dialect, *_ = line.split()[1].decode().split("/")
            length = 0
            while (header := reader.readline()).strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            reader.read(length)
            answer = pieces(dialect, int(count))
            kind = b"application/x-ndjson" if dialect == "ollama" else b"text/event-stream"
            try:
                connection.sendall(HEAD % kind)
                for piece in answer:
                    connection.sendall(piece)
                connection.sendall(b"0\r\n\r\n")
            except OSError:
                return  # the client has what it wants


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
