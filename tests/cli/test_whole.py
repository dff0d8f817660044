"""The whole of it as a person has it: the program as it is installed, the demo model, a bundled server."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.desk import desk
from tests.kit.bodies import text
from tests.kit.program import Ended, Programs, plain_environment
from tui_host.errors import JSON

QUESTION = "what is (6 × 5 + 7) / 2?"


@dataclass(frozen=True, slots=True)
class Asked:
    ended: Ended
    exported: Ended


@pytest.fixture(scope="module")
def asked(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "config.toml").write_text('[limits]\nconnect_wait = 240\n[servers.math]\nbundled = "math"\n')
    places = ("--config", folder / "config.toml", "--data-dir", folder)
    ended = program.run("ask", "--json", "--allow", "math.*", QUESTION, *places)
    return Asked(ended, program.run("sessions", "export", "last", *places))


def test_the_demo_model_reckons_with_the_bundled_server(asked: Asked) -> None:
    found = asked.ended.json
    assert (asked.ended.code, found["stop"], found["steps"]) == (0, "done", 4)
    assert isinstance(found["answer"], str)
    assert "**18.5**" in found["answer"]
    calls = found["calls"]
    assert isinstance(calls, list)
    told: list[JSON] = []
    for call in calls:
        assert isinstance(call, dict)
        assert isinstance(call["result"], dict)
        told.append([call["server"], call["tool"], call["sent"], call["result"]["structuredContent"]])
    assert told == [
        ["math", "multiply", {"a": 6, "b": 5}, {"result": 30}],
        ["math", "add", {"a": 30, "b": 7}, {"result": 37}],
        ["math", "divide", {"a": 37, "b": 2}, {"result": 18.5}],
    ]
    usage = found["usage"]
    assert isinstance(usage, dict)
    for name in ("input", "output"):
        count = usage[name]
        assert isinstance(count, int)
        assert count > 0


def test_the_installed_command_asks_and_answers(program: Programs, tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("tui-host")
    with desk(program, tmp_path, text("from ", "far")) as place:
        ran = subprocess.run(
            [script, "ask", "hello", *place.places],
            capture_output=True,
            env=plain_environment(tmp_path) | {"MY_KEY": "12345678"},
            stdin=subprocess.DEVNULL,
            timeout=90,
            check=False,
        )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"from far\n", b"")
