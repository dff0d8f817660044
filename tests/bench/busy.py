"""The whole screen busy: how long after a key its letter is painted, against the same screen of stock widgets."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measure import Table, at_most, percentile
from tests.bench.on_pty import HERE, app_command, running
from tests.system.terminal import NO_SERVERS

LOADS = ((100, 20, 0.050), (300, 200, 0.050), (1000, 500, 0.075))
"""Tokens and frames a second, and how long 95 % of the keys may take."""
LETTERS = [chr(0x410 + number) for number in range(80)]
"""Cyrillic ones, each typed once: what is painted of nothing else."""
MOST_SECONDS = 60.0
"""After so long there are enough keys, however few they are: stock widgets fall behind."""


@dataclass(frozen=True, slots=True)
class Seen:
    """From each key to its letter, in seconds, and the share of a core that the program took."""

    times: Sequence[float]
    cpu: float


def typed(kind: str, load: tuple[int, int], folder: Path, keys: int) -> Seen:
    """Type so many letters while it is at work."""
    app_command(folder, NO_SERVERS)
    words = (kind, *map(str, load), str(folder))
    times: list[float] = []
    with running((sys.executable, str(HERE / "busy_app.py"), *words), folder) as program:
        program.until("get_weather", "tools/call", seconds=120)
        program.watch(2.0)
        started, cpu = time.perf_counter(), program.cpu_seconds()
        for letter in LETTERS[:keys]:
            if time.perf_counter() - started > MOST_SECONDS:
                break
            program.type(letter)
            times.append(program.until(letter, seconds=120) - program.typed)
            program.watch(random.uniform(0.05, 0.20))  # noqa: S311 - a pause
        share = (program.cpu_seconds() - cpu) / (time.perf_counter() - started)
    return Seen(times, share)


def run(table: Table) -> None:
    keys = 12 if table.is_quick else len(LETTERS)
    table.heading("busy", "from a key to its letter on the screen; list and details open")
    with tempfile.TemporaryDirectory() as name:
        for tokens, frames, most in LOADS:
            ours = typed("ours", (tokens, frames), Path(name), keys)
            stock = typed("stock", (tokens, frames), Path(name), keys)
            what = f"{tokens:,} tokens, {frames} frames a second"
            tail = percentile(ours.times, 0.95)
            note = (
                f"median {percentile(ours.times, 0.5) * 1e3:.0f} ms, worst {max(ours.times) * 1e3:.0f}, CPU {ours.cpu:.0%}; stock"
                f" {percentile(stock.times, 0.5) * 1e3:.0f}, {max(stock.times) * 1e3:.0f}, {stock.cpu:.0%}"
            )
            table.figure(f"{what}: 95 % of keys", tail, "s", at_most(most), note=note)
            table.ratio("  against stock widgets", [tail], [percentile(stock.times, 0.95)], at_most(0.1))
