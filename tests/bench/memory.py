"""What the app costs while nobody does anything: memory, beside it that of all its processes; CPU time, and what it paints."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Cost:
    """What a program had cost at a moment."""

    seconds: float
    cpu_seconds: float
    written: int
    writes: int


def cost_of(program: OnPty) -> Cost:
    return Cost(time.perf_counter(), program.cpu_seconds(), program.written, program.writes)


def run_idle(table: Table) -> None:
    seconds = 10.0 if table.is_quick else 40.0
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        with running(BARE, home) as bare, running(app_command(home, THREE_SERVERS), home) as app:
            settled(app, READY)
            settled_at_once(bare)
            app.watch(4.0)
            bare.watch(0.1)
            before = cost_of(app), cost_of(bare)
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                app.watch(0.02)
                bare.watch(0.02)
            after = cost_of(app), cost_of(bare)
    table.heading("idle", "nobody does anything; inspector open, three servers connected")
    shares = list[float]()
    goals = (at_most(0.1), None)  # nothing blinks in it, so nothing gives cause to paint
    for who, first, last, goal in zip(("tui-host", "the bare app"), before, after, goals, strict=True):
        passed = last.seconds - first.seconds
        shares.append(100 * (last.cpu_seconds - first.cpu_seconds) / passed)
        table.figure(f"CPU of {who}", shares[-1], "%")
        note = f"{(last.written - first.written) / passed:,.0f} bytes a second"
        table.figure(f"paints of {who}, a second", (last.writes - first.writes) / passed, "", goal, note=note)
    table.figure("CPU above the bare app, in points", shares[0] - shares[1], "%", at_most(0.5))
