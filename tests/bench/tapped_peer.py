"""A server for the bench of relays, standard library alone: `python -I tapped_peer.py` prints its port.

`/echo` answers with a few bytes; `/events` sends N events, each with the moment it was sent at; `/big` sends a body with a length;
`/upload` takes one.
"""

from __future__ import annotations

import socket
import sys
import threading
import time

PIECE = bytes(range(256)) * 1024


def request_of(connection: socket.socket, held: bytearray) -> tuple[str, int] | None:
    """The next request's path and body length; the body is what follows in `held` and on the wire."""
    while (end := held.find(b"\r\n\r\n")) < 0:
        data = connection.recv(1 << 16)
        if not data:
            return None
        held += data
    head = bytes(held[:end]).decode("latin-1")
    del held[: end + 4]
    lengths = [line.partition(":")[2] for line in head.lower().split("\r\n") if line.startswith("content-length:")]
    return head.split(" ")[1], int(lengths[0]) if lengths else 0


def take_body(connection: socket.socket, held: bytearray, left: int) -> None:
    taken = min(left, len(held))
    del held[:taken]
    left -= taken
    while left:
        left -= len(connection.recv(min(left, 1 << 20)))


def serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    held = bytearray()
    with connection:
        while found := request_of(connection, held):
            path, size = found
            take_body(connection, held, size)
            _, what, *numbers = path.split("/")
            if what == "events":
                send_events(connection, int(numbers[0]), float(numbers[1]))
            elif what == "big":
                send_body(connection, int(numbers[0]))
            else:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")


def send_events(connection: socket.socket, count: int, pause: float) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(count):
        time.sleep(pause)
        event = b'data: {"id":"c1","choices":[{"delta":{"content":"%s"}}],"at":%d}\n\n' % (
            b"x" * 100,
            time.monotonic_ns(),
        )
        connection.sendall(b"%x\r\n%s\r\n" % (len(event), event))
    connection.sendall(b"0\r\n\r\n")


def send_body(connection: socket.socket, size: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n"
    connection.sendall(head % size)
    view = memoryview(PIECE)
    while size:
        piece = view[: min(size, len(PIECE))]
        connection.sendall(piece)
        size -= len(piece)


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
