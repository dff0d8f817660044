"""The app on a terminal with one server of others, started by npx: a call, the server killed in a call, another start, the end."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interop.asking import TEE, Program
from tests.interop.comparison import Figures, compare_pipes
from tests.interop.exported import chosen
from tests.interop.others import EVERYTHING, HOME, npx
from tests.system.terminal import Terminal, environment_of

pytestmark = pytest.mark.timeout(300)

F3, ESCAPE, CTRL_Q = "\x1bOR", "\x1b", "\x11"
LONG = '{"duration":600,"steps":600}'


def ask(terminal: Terminal, text: str) -> None:
    """Ask for a call and approve it, once the quiet period has passed."""
    terminal.type(text)
    terminal.until_shown(text[-20:])
    terminal.type("\r")
    terminal.until_shown("Approve 1 call")
    while "Approve 1 call" in terminal.screen.text:
        approve(terminal, time.monotonic())


def approve(terminal: Terminal, asked: float) -> None:
    """Press the key when the quiet period has passed, and see whether it had; a key too many would stand in the prompt."""
    terminal.until(lambda: time.monotonic() > asked + 2)
    terminal.type("y")
    terminal.until(lambda: time.monotonic() > asked + 30 or "Approve 1 call" not in terminal.screen.text)


def test_a_server_under_npx_is_called_killed_started_again_and_left_and_all_is_exported(
    tmp_path: Path, tell: Callable[[str, Figures], None]
) -> None:
    exporter = Program(tmp_path)
    command = exporter.command()
    server = [sys.executable, "-S", str(TEE), str(tmp_path / "tee"), *npx(EVERYTHING)]
    terminal = Terminal([*command, "--", *server], environment_of(tmp_path, HOME=HOME), (140, 45), is_controlling=True)
    try:
        terminal.until_shown("● tee")
        ask(terminal, 'call tee.echo {"message":"héllo ✓"}')
        terminal.until_shown("Echo: héllo ✓", "out · 1 call")  # the turn's end: before it nothing can be sent

        ask(terminal, f"call tee.trigger-long-running-operation {LONG}")
        terminal.until_shown("notifications/progress")
        family = terminal.family.look()
        innermost = max(pid for pid, words in family.items() if "bin/mcp-server-everything" in words)
        os.kill(innermost, signal.SIGKILL)
        terminal.until_shown("✗ tee failed")
        terminal.type(F3)
        terminal.until_shown("failed: exited (137)", "Starting default (STDIO) server...", "exit code     137")
        terminal.type("r")
        terminal.until_shown("● tee", "ready")
        terminal.type(ESCAPE)
        terminal.until_shown("Ask anything")
        ask(terminal, 'call tee.get-sum {"a":2,"b":3}')
        terminal.until_shown("The sum of 2 and 3 is 5.")

        terminal.family.look()
        terminal.type(CTRL_Q)
        assert terminal.ended() == 0
        assert terminal.family.living() == set()
    finally:
        terminal.close()
        terminal.family.kill()

    lines = exporter.export()
    assert {line.connection for line in chosen(lines, peer="tee")} == {"tee#1", "tee#2"}
    tell(f"{EVERYTHING} under npx, in the app, two connections", compare_pipes(lines, "tee", tmp_path / "tee"))
