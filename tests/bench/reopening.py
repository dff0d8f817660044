"""An earlier session opened again: from the key that chooses it to its last words on the screen."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bench.kept import sessions_in
from tests.bench.measure import Table, at_least, at_most, interleaved
from tests.bench.on_pty import HERE, PLACEHOLDER, app_command, running
from tests.system.terminal import NO_SERVERS

LAST = "LAST-WORDS"
F5, ENTER = "\x1b[15~", "\r"


def reopened(folder: Path) -> float:
    """Seconds to open the one session that is kept here, in an app that has just come to rest."""
    with running(app_command(folder, NO_SERVERS), folder) as program:
        program.until(PLACEHOLDER, seconds=120)
        program.settle(1.5)
        program.type(F5)
        program.until("session 0")
        program.settle(0.5)
        program.type(ENTER)
        return program.until(LAST, seconds=300) - program.typed


def as_widgets(messages: int, folder: Path) -> float:
    """The same of so many `Markdown` widgets."""
    with running((sys.executable, str(HERE / "widgets_app.py"), str(messages), LAST), folder) as program:
        program.until(PLACEHOLDER)
        program.settle(0.5)
        program.type("s")
        return program.until(LAST, seconds=900) - program.typed


def run(table: Table) -> None:
    rounds, long = (1, 200) if table.is_quick else (5, 2000)
    table.heading("reopening", "a session of earlier, from the key to its last words painted")
    with tempfile.TemporaryDirectory() as name:
        empty, usual, huge, wired = (Path(name, each) for each in ("empty", "usual", "huge", "wired"))
        sessions_in(empty / "data", 2, last=LAST)
        sessions_in(usual / "data", long, last=LAST)
        sessions_in(huge / "data", 10 * long, last=LAST)
        sessions_in(wired / "data", long, last=LAST, has_wires=True)
        folders = (empty, usual, huge, wired)
        nothing, some, many, with_wires = interleaved(
            rounds, *(lambda folder=folder: reopened(folder) for folder in folders)
        )
        widgets = [as_widgets(long, Path(name))]  # once: it takes half a minute
    table.ratio(f"{long:,} messages faster than as Markdown widgets", some, widgets, at_least(100), swapped=True)
    table.ratio(f"{long:,} messages, against a session of two", some, nothing, at_most(2))
    table.ratio(f"{10 * long:,} messages, against {long:,}", many, some, at_most(2))
    table.ratio(f"{long:,} messages with their wires, against a session of two", with_wires, nothing, at_most(2))
