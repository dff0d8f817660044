"""The demo model and the bundled servers as processes, and a client that reads what they really send."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from tui_host.errors import JSON


@contextmanager
def started(*arguments: str) -> Generator[subprocess.Popen[bytes]]:
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[bytes]) -> dict[str, JSON]:
    assert process.stdout is not None
    value: JSON = json.loads(process.stdout.readline())
    assert isinstance(value, dict)
    return value


@contextmanager
def model_at(*arguments: str) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    with started("-m", "tui_host.demo.model", *arguments) as process:
        yield process, int(str(line_of(process)["url"]).rpartition(":")[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    def __init__(self, port: int, *, timeout_seconds: float = 90) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def begin(self, path: str, body: JSON) -> http.client.HTTPResponse:
        self.connection.request("POST", path, json.dumps(body))
        return self.connection.getresponse()

    def send(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Reply:
        self.connection.request(method, path, body or None, headers or {})
        response = self.connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Reply(status=response.status, headers=names, body=response.read())
