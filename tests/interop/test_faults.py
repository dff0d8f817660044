"""What becomes of a call, a host and its children when one of them is killed: servers of others, started as a person starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.interop.asking import Program, stdio_server
from tests.interop.comparison import compare_pipes
from tests.interop.exported import array_of, chosen, object_of
from tests.interop.others import EVERYTHING, HOME, TIME, npx, uvx
from tests.system.terminal import Family
from tests.tap.stdio_taps import until

pytestmark = pytest.mark.timeout(300)

LONG = 'call everything.trigger-long-running-operation {"duration":600,"steps":600}'


def in_the_call(folder: Path) -> tuple[Program, subprocess.Popen[bytes], Family]:
    """`ask` in the middle of a call that takes ten minutes, and all its descendants: npx and uvx each start a program that starts another."""
    program = Program(
        folder,
        stdio_server("everything", npx(EVERYTHING), tee=folder / "everything", env={"HOME": HOME}),
        stdio_server("time", uvx(TIME), env={"HOME": HOME}),
    )
    process = program.start("ask", LONG, "--json", "--yes")
    told = (folder / "everything").glob
    until(lambda: any(b"notifications/progress" in path.read_bytes() for path in told("*/stdout")), 120)
    family = Family(process.pid)
    family.look()
    return program, process, family


def those_of(family: Family) -> list[int]:
    """npx, its shell, the server: the innermost last."""
    return sorted(pid for pid, words in family.look().items() if "mcp-server-everything" in words)


def test_a_server_killed_in_a_call_ends_it_with_the_cause_and_its_words_are_kept(tmp_path: Path) -> None:
    program, process, family = in_the_call(tmp_path)
    os.kill(those_of(family)[-1], signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    call = object_of(array_of(object_of(json.loads(out))["calls"])[0])
    assert (call["decision"], call["is_error"], call["result"]) == ("approved", True, None)

    lines = program.export()
    told = object_of(json.loads(chosen(lines, wire="llm", kind="request")[1].data))
    said = str(object_of(array_of(told["messages"])[-1])["content"])
    assert "exited 137 during the call; the tool may have run" in said
    assert b"Starting default (STDIO) server...\n" in {line.data for line in chosen(lines, kind="line")}
    compare_pipes(lines, "everything", tmp_path / "everything", goes_on=True)
    assert family.living() == set()


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", -9)])
def test_a_host_that_a_signal_ends_in_a_call_leaves_no_child_not_even_those_of_npx_and_no_gap(
    tmp_path: Path, name: str, code: int
) -> None:
    program, process, family = in_the_call(tmp_path)
    assert len(those_of(family)) > 1
    process.send_signal(signal.Signals[name])
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    if name != "SIGKILL":
        assert object_of(json.loads(out))["stop"] == "stopped"
    until(lambda: family.living() == set(), 12 if name == "SIGKILL" else 0)
    compare_pipes(program.export(), "everything", tmp_path / "everything", goes_on=True)
