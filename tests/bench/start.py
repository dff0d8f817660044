"""From exec to the first frame, and to the first key that is painted, on a real pseudo-terminal."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.kept import sessions_in
from tests.bench.measure import Table, at_most
from tests.bench.on_pty import BARE, HERE, PLACEHOLDER, app_command, running

THREE_SERVERS = ""
"""Nothing configured: the bundled servers are there."""
KEY = "§"


def quick_servers(count: int) -> str:
    """The configuration of so many servers of the standard library."""
    command, words = json.dumps(sys.executable), json.dumps(["-I", "-S", str(HERE / "quick_server.py")])
    return "".join(f"[servers.s{number}]\ncommand = {command}\nargs = {words}\n" for number in range(count))


def started(command: Sequence[str], home: Path) -> tuple[float, float, float]:
    """Seconds to the first frame, to a key that is pressed then, and CPU seconds to the first frame."""
    with running(command, home) as program:
        frame = program.until(PLACEHOLDER)
        cpu = program.cpu_seconds()
        program.type(KEY)
        return frame - program.started, program.until(KEY) - program.started, cpu


def run(table: Table) -> None:
    rounds = 3 if table.is_quick else 11
    with tempfile.TemporaryDirectory() as name:
        usual, large = Path(name, "usual"), Path(name, "large")
        sessions_in(usual / "data", *[4] * 100)
        sessions_in(large / "data", *[4] * 100, 2000)
        commands = (
            BARE,
            app_command(usual, THREE_SERVERS),
            app_command(large, quick_servers(20)),
        )
        found: list[list[tuple[float, float, float]]] = [[], [], []]
        for number in range(rounds + 1):
            for command, times in zip(commands, found, strict=True):
                seen = started(command, Path(name))
                if number:  # the first one warms what is read from the disk
                    times.append(seen)
    bare, with_three, with_twenty = found
    table.heading("start", "from exec, against a bare Textual app")
    for what, times, most in (
        ("three servers, a hundred sessions", with_three, 1.25),
        ("twenty servers, a session of 2,000 messages kept", with_twenty, 1.4),
    ):
        for place, event in enumerate(("first frame", "first key", "  CPU to the first frame")):
            ours, theirs = ([each[place] for each in some] for some in (times, bare))
            table.ratio(f"{event}: {what}" if place < 2 else event, ours, theirs, at_most(most) if place < 2 else None)
