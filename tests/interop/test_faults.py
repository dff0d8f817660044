"""What becomes of a call, a host and its children when one of them is killed: servers of others, started as a person starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interop.asking import Program, stdio_server, until
from tests.interop.comparison import Figures, compare_pipes
from tests.interop.exported import array_of, chosen, object_of
from tests.interop.others import EVERYTHING, HOME, TIME, npx, uvx
from tests.system.terminal import Family

pytestmark = pytest.mark.timeout(300)

LONG = 'call everything.trigger-long-running-operation {"duration":600,"steps":600}'


def with_npx(folder: Path) -> Program:
    """Two servers as they stand in many people's configurations; npx and uvx each start a program that starts another."""
    return Program(
        folder,
        stdio_server("everything", npx(EVERYTHING), tee=folder / "everything", env={"HOME": HOME}),
        stdio_server("time", uvx(TIME), env={"HOME": HOME}),
    )


def in_the_call(program: Program) -> tuple[subprocess.Popen[bytes], Family]:
    """`ask` in the middle of a call that takes ten minutes, and all its descendants."""
    process = program.start("ask", LONG, "--json", "--yes")
    until(lambda: b"notifications/progress" in heard(program.folder / "everything"), "progress of the call")
    family = Family(process.pid)
    family.look()
    return process, family


def heard(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("*/stdout"))


def those_of(family: Family) -> list[int]:
    """npx, its shell, the server: the innermost last."""
    return sorted(pid for pid, words in family.look().items() if "mcp-server-everything" in words)


def test_a_server_killed_in_a_call_ends_it_with_the_cause_and_its_words_are_kept(
    tmp_path: Path, tell: Callable[[str, Figures], None]
) -> None:
    program = with_npx(tmp_path)
    process, family = in_the_call(program)
    os.kill(those_of(family)[-1], signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    call = object_of(array_of(object_of(json.loads(out))["calls"])[0])
    assert (call["decision"], call["is_error"], call["result"]) == ("approved", True, None)

    lines = program.export()
    told = object_of(json.loads(chosen(lines, wire="llm", kind="request")[1].data))
    said = str(object_of(array_of(told["messages"])[-1])["content"])
    assert "exited 137 during the call; the tool may have run" in said
    assert b"Starting default (STDIO) server...\n" in {
        line.data for line in chosen(lines, peer="everything", kind="line")
    }
    figures = compare_pipes(lines, "everything", tmp_path / "everything", goes_on=True)
    tell(f"{EVERYTHING} under npx, stdio, killed in a call", figures)
    assert family.living() == set()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_a_signal_in_a_call_leaves_no_child_not_even_those_of_npx(
    tmp_path: Path, number: signal.Signals, code: int, tell: Callable[[str, Figures], None]
) -> None:
    program = with_npx(tmp_path)
    process, family = in_the_call(program)
    assert len(those_of(family)) > 1
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, object_of(json.loads(out))["stop"]) == (code, "stopped")
    assert family.living() == set()
    figures = compare_pipes(program.export(), "everything", tmp_path / "everything", goes_on=True)
    tell(f"{EVERYTHING} under npx, stdio, stopped in a call", figures)


def test_a_host_that_is_killed_leaves_no_child_and_no_gap(tmp_path: Path, tell: Callable[[str, Figures], None]) -> None:
    program = with_npx(tmp_path)
    process, family = in_the_call(program)
    process.kill()
    process.communicate()
    until(lambda: family.living() == set(), "the end of all children", 12)
    lines = program.export()
    assert chosen(lines, peer="everything", kind="frame", direction="out")[-1].data.startswith(
        b'{"jsonrpc":"2.0","id":'
    )
    figures = compare_pipes(lines, "everything", tmp_path / "everything", goes_on=True)
    tell(f"{EVERYTHING} under npx, stdio, host killed", figures)
