"""Memory of the app, idle, once all that it imports late is there; beside it that of all its processes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.bench.measure import Table, at_most
from tests.bench.on_pty import BARE, PLACEHOLDER, OnPty, app_command, running
from tests.bench.start import THREE_SERVERS

READY = "● orders"
"""What the header says of the last of the bundled servers once it is connected: the SDK is loaded then."""


def settled(program: OnPty, *texts: str) -> None:
    """Wait until it shows this, and then until it is at rest."""
    program.until(PLACEHOLDER, *texts)
    program.watch(1.5)


def settled_at_once(program: OnPty) -> None:
    """The same of a program that has been there for long."""
    program.until(PLACEHOLDER)
    program.settle(0.2)


def run(table: Table) -> None:
    rounds = 1 if table.is_quick else 3
    ours, theirs, trees, bares, counts = list[float](), list[float](), list[float](), list[float](), list[int]()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        for _ in range(rounds):
            with running(BARE, home) as bare, running(app_command(home, THREE_SERVERS), home) as app:
                settled(app, READY)
                settled_at_once(bare)
                ours.append(app.memory_bytes())
                theirs.append(bare.memory_bytes())
                counts.append(app.descendants())
                trees.append(app.tree_bytes())
                bares.append(bare.tree_bytes())
    table.heading("memory", "idle, SDK loaded, resident")
    table.ratio("the app's own process", ours, theirs, at_most(2.4), unit="B")
    table.ratio(f"with its {counts[-1]} processes, three servers among them (proportional)", trees, bares, unit="B")
