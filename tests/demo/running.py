"""The demo model and the bundled servers as processes."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

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
