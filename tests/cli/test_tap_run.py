"""`tap run`: another host's command behind taps, which does, says and ends as it would without them."""

import json
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.kit.program import Programs

AGENT = (sys.executable, str(Path(__file__).with_name("agent.py")))


def test_a_host_that_is_told_by_a_variable_and_a_file_is_recorded_as_one_story_and_its_file_stays(
    program: Programs, model_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    server = {"command": sys.executable, "args": ["-m", "tui_host.demo.servers", "math"]}
    before = json.dumps({"mcpServers": {"sums": server}})
    file.write_text(before)
    words = ("tap", "run", "--data-dir", tmp_path / "data", "--llm-env", "AGENT_URL", "--mcp-config", file, "--")
    ended = program.run(*words, *AGENT, file, env={"AGENT_URL": model_url, "TMPDIR": str(tmp_path)})
    assert (ended.code, ended.text) == (7, "`add` answered `3`\n")
    last = ended.err.splitlines()[-1]
    told = re.fullmatch(r"tui-host: 1 call · [\d,]+ → [\d,]+ tokens · tui-host sessions show (\S+)", last)
    assert told is not None
    shown = program.run("sessions", "show", told[1], "--data-dir", tmp_path / "data")
    assert "**Call** `sums.add`" in shown.text
    assert "tap stdio sums" in shown.text
    assert file.read_text() == before
    assert [*tmp_path.iterdir()] == [file, tmp_path / "data"] or [*tmp_path.iterdir()] == [tmp_path / "data", file]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_signal_reaches_the_command_and_the_tap_ends_as_the_command_does(
    program: Programs, model_url: str, tmp_path: Path, number: signal.Signals
) -> None:
    words = ("tap", "run", "--data-dir", tmp_path, "--llm-env", "AGENT_URL", "--upstream", model_url, "--")
    running = program.start(*words, sys.executable, "-c", "import time\nprint('up', flush=True)\ntime.sleep(90)")
    running.until(lambda: b"up" in running.out.data, "the command")
    running.signal(number)
    ended = running.wait()
    assert (ended.code, ended.left) == (-number, ())
    assert "nothing was asked" in ended.err


def test_what_cannot_be_started_is_told_in_a_line(program: Programs, tmp_path: Path) -> None:
    words = ("tap", "run", "--data-dir", tmp_path / "data")
    known = ("--llm-env", "AGENT_URL", "--upstream", "http://127.0.0.1:9/v1")
    tries = {
        (*words, *known, "--", "no-such-host"): (1, "no-such-host: cannot be started: No such file or directory"),
        (*words, "--", "no-such-host"): (2, "unknown host no-such-host"),
        (*words, "--llm-env", "AGENT_URL", "--", "true"): (2, "AGENT_URL is not set"),
        (*words, *known): (2, "no command after --"),
    }
    for typed, (code, said) in tries.items():
        ended = program.run(*typed)
        assert (ended.code, ended.out, ended.err.count("\n")) == (code, b"", 1), typed
        assert said in ended.err
    assert not (tmp_path / "data" / "tui-host.db").exists()


def test_a_known_host_gets_servers_behind_taps_and_its_files_stay(
    program: Programs, model_url: str, tmp_path: Path
) -> None:
    server = {"command": sys.executable, "args": ["-m", "tui_host.demo.servers", "math"]}
    docs = {"type": "http", "url": f"{model_url}/mcp?key=1", "headers": {"X": "y"}}
    login = {"type": "http", "url": "https://docs.example/mcp"}
    before = json.dumps({"mcpServers": {"sums": server, "docs": docs, "login": login}})
    home, host = tmp_path / "home", tmp_path / "claude"
    home.mkdir()
    (home / ".claude.json").write_text(before)
    host.write_text(
        f"#!/bin/sh\n[ $# = 2 ] && cp ${{1#--mcp-config=}} {tmp_path}/given\n"
        f"export AGENT_URL=$ANTHROPIC_BASE_URL\nexec {' '.join(AGENT)} ${{1#--mcp-config=}}\n"
    )
    host.chmod(0o700)
    variables = {"HOME": str(home), "ANTHROPIC_BASE_URL": model_url, "HTTP_PROXY": "http://127.0.0.1:9"}
    ended = program.run("tap", "run", "--data-dir", tmp_path / "data", "--", host, "hi", env=variables)
    assert (ended.code, ended.text) == (7, "`add` answered `3`\n")
    assert "1 call · " in ended.err
    assert "tui-host: login is left unchanged" in ended.err.replace("mcpServers.", "")
    given = json.loads((tmp_path / "given").read_text())["mcpServers"]
    assert set(given) == {"sums", "docs"}
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1/mcp\?key=1", given["docs"]["url"])
    assert given["docs"]["url"] != docs["url"]
    assert [path.name for path in home.iterdir() if path.name.startswith(".claude")] == [".claude.json"]
    assert (home / ".claude.json").read_text() == before
