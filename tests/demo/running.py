"""The demo model as a process, and a client that reads what it really sends."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from tui_host.demo.model.json_values import is_array, is_object
from tui_host.errors import JSON

MATH_TOOLS: list[JSON] = [
    {
        "type": "function",
        "function": {
            "name": f"math__{name}",
            "description": name,
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
        },
    }
    for name in ("add", "subtract", "multiply", "divide")
]


@contextmanager
def started(*arguments: str) -> Generator[subprocess.Popen[bytes]]:
    """A process of this Python; killed at the end if it still runs."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[bytes]) -> dict[str, object]:
    assert process.stdout is not None
    value: object = json.loads(process.stdout.readline())
    assert is_object(value)
    return value


@contextmanager
def model_at(*arguments: str) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    with started("-m", "tui_host.demo.model", *arguments) as process:
        url = line_of(process)["url"]
        assert isinstance(url, str)
        yield process, int(url.rpartition(":")[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        value: object = json.loads(self.body)
        assert is_object(value)
        return value

    @property
    def error(self) -> dict[str, object]:
        value = self.json["error"]
        assert is_object(value)
        return value


def objects(value: object) -> list[dict[str, object]]:
    assert is_array(value)
    return [item for item in value if is_object(item)]


class Client:
    """One connection, kept alive until the block ends."""

    def __init__(self, port: int, *, timeout_seconds: float = 90) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def begin(self, question: str, **more: JSON) -> http.client.HTTPResponse:
        """Asks, and leaves the answer unread."""
        messages: list[JSON] = [{"role": "user", "content": question}]
        body = json.dumps({"model": "openai", "messages": messages, **more})
        self.connection.request("POST", "/v1/chat/completions", body)
        return self.connection.getresponse()

    def send(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Reply:
        self.connection.request(method, path, body or None, headers or {})
        response = self.connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Reply(status=response.status, headers=found, body=response.read())

    def post(self, body: dict[str, JSON]) -> Reply:
        return self.send("POST", "/v1/chat/completions", json.dumps(body).encode())

    def ask(self, question: str, **more: JSON) -> Reply:
        messages: list[JSON] = [{"role": "user", "content": question}]
        return self.post({"model": "openai", "messages": messages, **more})
