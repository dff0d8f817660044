"""The program's commands run as a person runs them, each in a process of its own, with a configuration of the test's own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.interop.comparison import Line, array_of, object_of, read_export
from tui_host.errors import JSON

PROGRAM = (sys.executable, "-m", "tui_host")
TEE = Path(__file__).parent / "tee.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What `ask --json` said: the object, its `calls`, the exit code, standard error."""

    whole: Mapping[str, JSON]
    calls: Sequence[Mapping[str, JSON]]
    code: int
    said: str


class Program:
    def __init__(self, folder: Path, *configuration: str, **environment: str) -> None:
        self.folder = folder
        self._environment = {**os.environ, "HOME": str(folder), **environment}
        patience = "[limits]\nconnect_wait = 120\n"  # whoever starts slowly is waited for
        (folder / "config.toml").write_text("".join([*configuration, patience]))

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        places = ("--config", str(self.folder / "config.toml"), "--data-dir", str(self.folder / "data"))
        pipe = subprocess.PIPE
        return subprocess.Popen([*PROGRAM, *words, *places], env=self._environment, stdout=pipe, stderr=pipe)

    def run(self, *words: str) -> tuple[int, bytes, str]:
        with self.start(*words) as process:
            out, err = process.communicate(timeout=120)
            return process.returncode, out, err.decode()

    def ask(self, text: str, *options: str) -> Answer:
        code, out, said = self.run("ask", text, "--json", "--yes", *options)
        assert out, said
        whole = object_of(json.loads(out))
        return Answer(whole=whole, calls=[object_of(call) for call in array_of(whole["calls"])], code=code, said=said)

    def export(self) -> list[Line]:
        code, out, said = self.run("sessions", "export", "last", "--format", "jsonl")
        assert code == 0, said
        return read_export(out)


def stdio_server(name: str, command: Sequence[str], *, tee: Path | None = None, **more: JSON) -> str:
    """A server's table; with `tee`, its streams are copied there."""
    words = [*(() if tee is None else (sys.executable, "-S", str(TEE), str(tee))), *command]
    return f"[servers.{name}]\n{_values({'command': words[0], 'args': words[1:], **more})}"


def http_server(name: str, port: int, path: str = "/mcp", **more: JSON) -> str:
    return f"[servers.{name}]\n{_values({'url': f'http://127.0.0.1:{port}{path}', **more})}"


def provider(name: str, port: int, model: str, *, dialect: str = "openai", path: str = "/v1", **more: JSON) -> str:
    values = {"dialect": dialect, "base_url": f"http://127.0.0.1:{port}{path}", **more}
    return f'model = "{name}/{model}"\n[providers.{name}]\n{_values(values)}'


def _values(values: Mapping[str, JSON]) -> str:
    return "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _toml(value: JSON) -> str:
    """JSON's spelling is TOML's too, save for tables."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)
