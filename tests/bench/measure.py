"""How benches measure and tell: subject and baseline in turn, ratios of medians, one table."""

import importlib.metadata
import os
import platform
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
QUICK_SERVER = (sys.executable, "-I", "-S", str(HERE / "peer.py"), "mcp")
"""The command of an MCP server over stdio that answers at once."""
WIDTHS = (70, 14, 14, 12, 12)
SCALES = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (0.0, "ns")), "B": ((1 << 20, "MiB"), (1 << 10, "KiB"))}


@dataclass(frozen=True, slots=True)
class Goal:
    value: float
    at_least: bool = False

    def is_met(self, figure: float) -> bool:
        return figure >= self.value if self.at_least else figure <= self.value

    def told(self, unit: str) -> str:
        return f"{'≥' if self.at_least else '≤'} {amount(self.value, unit)}"


def at_most(value: float) -> Goal:
    return Goal(value)


def at_least(value: float) -> Goal:
    return Goal(value, at_least=True)


@dataclass(slots=True)
class Table:
    """What was measured, printed as it comes; quick rounds are fewer and smaller, for trying and not for telling."""

    is_quick: bool = False
    missed: list[str] = field(default_factory=list[str])

    def heading(self, name: str, what: str) -> None:
        say(f"\n{name}: {what}")
        self._row("", "tui-host", "baseline", "figure", "goal")

    def ratio(
        self,
        what: str,
        ours: Sequence[float],
        theirs: Sequence[float],
        goal: Goal | None = None,
        *,
        unit: str = "s",
        swapped: bool = False,
    ) -> None:
        """A line with two medians and ours over theirs; `swapped` is for rates out of times: theirs over ours."""
        our, their = statistics.median(ours), statistics.median(theirs)
        ratio = their / our if swapped else our / their
        spread = "; ".join(f"{amount(min(each), unit)} to {amount(max(each), unit)}" for each in (ours, theirs))
        goal_told = goal.told("×") if goal else ""
        self._row(what, amount(our, unit), amount(their, unit), f"{ratio:.3g} ×", goal_told, f"  ({spread})")
        self._judge(what, ratio, goal)

    def figure(self, what: str, value: float, unit: str, goal: Goal | None = None, *, note: str = "") -> None:
        self._row(what, "", "", amount(value, unit), goal.told(unit) if goal else "", f"  ({note})" if note else "")
        self._judge(what, value, goal)

    def _judge(self, what: str, figure: float, goal: Goal | None) -> None:
        if goal is not None and not goal.is_met(figure):
            self.missed.append(what)
            say("    ^ missed")

    def _row(self, what: str, *cells: str) -> None:
        padded = [cell.rjust(width) for cell, width in zip(cells, WIDTHS[1:], strict=False)]
        say(f"  {what.ljust(WIDTHS[0])}{''.join(padded)}{''.join(cells[4:])}".rstrip())


Bench = Callable[[Table], None]
"""Measures into a table."""


def say(text: str) -> None:
    print(text, flush=True)


def amount(value: float, unit: str) -> str:
    for size, name in SCALES.get(unit, ()):
        if abs(value) >= size:
            return f"{value / (size or 1e-9):,.3g} {name}"
    return f"{value:,.0f} {unit}" if abs(value) >= 1000 else f"{value:.3g} {unit}"


def percentile(values: Sequence[float], share: float) -> float:
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("textual", "mcp", "httpx"))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{cpu}, {os.cpu_count()} cores, {platform.system()} {platform.release()}; load {load}\n"
        f"Python {sys.version.split()[0]}, {versions}"
    )
