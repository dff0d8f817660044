"""What the app costs while nobody does anything: CPU time, and what it paints."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measure import Table, at_most
from tests.bench.memory import READY, settled, settled_at_once
from tests.bench.on_pty import BARE, OnPty, app_command, running
from tests.bench.start import THREE_SERVERS


@dataclass(frozen=True, slots=True)
class Cost:
    """What a program had cost at a moment."""

    seconds: float
    cpu_seconds: float
    written: int
    writes: int


def cost_of(program: OnPty) -> Cost:
    return Cost(time.perf_counter(), program.cpu_seconds(), program.written, program.writes)


def run(table: Table) -> None:
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
