"""A vendor on the loopback interface, in a process of its own: answers `/COUNT/DIALECT/…` with so many events of 175 bytes.

Each event is a chunk of its own and is flushed by itself, as vendors do it. `/COUNT/openai/calls/…` asks for two calls first, and
answers so once it is told their results. Keeps no request. Prints its port.
"""

from __future__ import annotations

import socket
import sys
import threading
from functools import lru_cache

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
CALLS = (
    b'data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":['
    b'{"index":0,"id":"a","type":"function","function":{"name":"quick__echo","arguments":"{\\"city\\":\\"Paris\\"}"}},'
    b'{"index":1,"id":"b","type":"function","function":{"name":"quick__echo","arguments":"{\\"city\\":\\"Oslo\\"}"}}'
    b']},"finish_reason":null}]}\n\n'
    b'data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
)
"""An answer that asks for two calls."""
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


def serve(connection: socket.socket) -> None:
    """Answer every request of one client."""
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = connection.makefile("rb")
        while line := reader.readline():
            _, count, dialect, *more = line.split()[1].decode().split("/")
            length = 0
            while (header := reader.readline()).strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            body = reader.read(length)
            answer = pieces(dialect, int(count))
            if more[:1] == ["calls"] and body.rfind(b'"role":"tool"') < body.rfind(b'"role":"user"'):
                answer = [b"%x\r\n%b\r\n" % (len(CALLS), CALLS)]
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
