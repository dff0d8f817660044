"""What becomes of a call, a host and its children when one of them is killed: servers of others, started as a person starts them."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.interop.asking import Program, stdio_server
from tests.interop.comparison import compare_pipes
from tests.interop.exported import object_of
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


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGKILL", -9)])
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
