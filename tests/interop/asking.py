"""The program's commands run as a person runs them, each in a process of its own, with a configuration of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.interop.exported import Line, array_of, object_of, read_export, text_of
from tui_host.errors import JSON

PROGRAM = (sys.executable, "-m", "tui_host")
TEE = Path(__file__).parent / "tee.py"
ASK_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What `ask --json` said.

    Attributes:
        whole: The object.
        calls: Its `calls`.
        code: The exit code.
        said: Standard error.
    """

    whole: Mapping[str, JSON]
    calls: Sequence[Mapping[str, JSON]]
    code: int
    said: str

    @property
    def session(self) -> str:
        """The session's id."""
        return text_of(self.whole["session"])


class Program:
    """The installed program with a folder for its configuration and data.

    Attributes:
        folder: Where all that belongs to it is.
    """

    def __init__(self, folder: Path, *configuration: str, **environment: str) -> None:
        self.folder = folder
        self._environment = {**os.environ, "HOME": str(folder), **environment}
        patience = "[limits]\nconnect_wait = 120\n"  # whoever starts slowly is waited for
        (folder / "config.toml").write_text("".join([*configuration, patience]))

    def command(self, *words: str) -> list[str]:
        return [*PROGRAM, *words, "--config", str(self.folder / "config.toml"), "--data-dir", str(self.folder / "data")]

    def run(self, *words: str, timeout: float = ASK_SECONDS) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(*words), env=self._environment, capture_output=True, timeout=timeout, check=False
        )

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command(*words), env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def ask(self, text: str, *options: str) -> Answer:
        done = self.run("ask", text, "--json", "--yes", *options)
        said = done.stderr.decode()
        assert done.stdout, said
        whole = object_of(json.loads(done.stdout))
        calls = [object_of(call) for call in array_of(whole["calls"])]
        return Answer(whole=whole, calls=calls, code=done.returncode, said=said)

    def export(self) -> list[Line]:
        done = self.run("sessions", "export", "last", "--format", "jsonl")
        assert done.returncode == 0, done.stderr.decode()
        return read_export(done.stdout)


def until(is_so: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"it never came: {what}"
        time.sleep(0.05)


def stdio_server(name: str, command: Sequence[str], *, tee: Path | None = None, **more: JSON) -> str:
    """A server's table; with `tee`, its streams are copied there."""
    words = [*(() if tee is None else (sys.executable, "-S", str(TEE), str(tee))), *command]
    return _table(name, {"command": words[0], "args": words[1:], **more})


def http_server(name: str, port: int, path: str = "/mcp", **more: JSON) -> str:
    return _table(name, {"url": f"http://127.0.0.1:{port}{path}", **more})


def provider(name: str, port: int, model: str, *, dialect: str = "openai", path: str = "/v1", **more: JSON) -> str:
    """What makes this provider's model the one that is asked."""
    base = json.dumps(f"http://127.0.0.1:{port}{path}")
    return f'model = "{name}/{model}"\n[providers.{name}]\ndialect = "{dialect}"\nbase_url = {base}\n{_values(more)}'


def _table(name: str, values: Mapping[str, JSON]) -> str:
    return f"[servers.{name}]\n{_values(values)}"


def _values(values: Mapping[str, JSON]) -> str:
    return "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _toml(value: JSON) -> str:
    """JSON's spelling is TOML's too, save for tables."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)
