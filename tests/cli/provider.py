"""A provider on the loopback interface that answers by a script and keeps every request, byte for byte."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.llm.peer import head
from tests.llm.streams import DONE, calls, chunk, event, fragment
from tui_host.errors import JSON

Answer = bytes | Callable[[socket.socket], None]


@dataclass(slots=True, kw_only=True)
class Provider:
    """What came, and what is answered next."""

    url: str
    answers: list[Answer] = field(default_factory=list[Answer])
    requests: list[bytes] = field(default_factory=list[bytes])
    closed: threading.Event = field(default_factory=threading.Event)

    @property
    def bodies(self) -> list[bytes]:
        return [request.partition(b"\r\n\r\n")[2] for request in self.requests]

    def messages(self, number: int) -> list[dict[str, JSON]]:
        """What the model was told in a request."""
        value: dict[str, list[dict[str, JSON]]] = json.loads(self.bodies[number])
        return value["messages"]

    def is_asked(self, times: int = 1) -> bool:
        return len(self.requests) >= times


def text(*words: str, tokens: tuple[int, int] = (10, 5)) -> bytes:
    """An answer in words, in these pieces."""
    usage: dict[str, JSON] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    said = b"".join(chunk({"content": word}) for word in words)
    return head() + said + chunk(finish="stop") + event({"id": "c1", "choices": [], "usage": usage}) + DONE


def asks(*calls_of_it: tuple[str, str], words: str = "") -> bytes:
    """An answer that asks for calls: names and arguments."""
    fragments = [
        fragment(index=number, wire_id=f"call_{number}", name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(calls_of_it)
    ]
    said = chunk({"content": words}) if words else b""
    usage: dict[str, JSON] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    end = chunk(finish="tool_calls") + event({"id": "c1", "choices": [], "usage": usage}) + DONE
    return head() + said + calls(*fragments) + end


def hangs(begin: bytes = b"") -> Callable[[socket.socket], None]:
    """Sends this, then nothing, until the client has gone."""

    def script(link: socket.socket) -> None:
        link.sendall(begin)
        with suppress(OSError):  # the program cut it, which is what is waited for
            while link.recv(1 << 16):
                pass

    return script


@contextmanager
def provider(*answers: Answer) -> Generator[Provider]:
    """Answers one request by each of these, in order; one more than there are gets 500."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = Provider(url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1", answers=list(answers))
        thread = threading.Thread(target=_serve, args=(listener, found), daemon=True)
        thread.start()
        try:
            yield found
        finally:
            with suppress(OSError):  # it has been closed
                listener.shutdown(socket.SHUT_RDWR)
    thread.join(90)


def _serve(listener: socket.socket, found: Provider) -> None:
    while True:
        try:
            link, _ = listener.accept()
        except OSError:
            return
        with link, suppress(ConnectionError):  # the program cut it
            _answer(link, found)
        found.closed.set()


def _answer(link: socket.socket, found: Provider) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := link.recv(1 << 16)):
            return
        data += more
    top = data.partition(b"\r\n\r\n")[0]
    length = sum(int(line[15:]) for line in top.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(data) < len(top) + 4 + length:
        data += link.recv(1 << 16)
    number = len(found.requests)
    found.requests.append(data)
    answer = found.answers[number] if number < len(found.answers) else head("500 No More Answers") + b"{}"
    if isinstance(answer, bytes):
        link.sendall(answer)
    else:
        answer(link)
