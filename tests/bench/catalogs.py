"""The servers screen with 500 tools: from a key to the filtered list, also while 10,000 notifications come; none is lost uncounted."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.catalog_server import ANNOUNCED, TOOLS
from tests.bench.measure import Table, at_least, at_most, percentile
from tests.bench.on_pty import HERE, PLACEHOLDER, OnPty, app_command, running

F3, ESCAPE, END = "\x1bOR", "\x1b", "\x1b[F"
BACKSPACE = "\x7f"
DIGITS = "0123456789"
_RECEIVED = re.compile(r"out, ([\d,]+) in")


def fitting(text: str) -> int:
    """How many tools have this in their names."""
    return sum(text in str(tool["name"]) for tool in TOOLS)


def filtered(program: OnPty, rounds: int) -> list[float]:
    """Type digits into the filter; seconds from each key to its list."""
    times: list[float] = []
    for number in range(rounds):
        first, second = DIGITS[number % 5], DIGITS[(number * 3 + 1) % 10]
        for key, words in ((first, first), (second, first + second)):
            count = fitting(words)
            program.type(key)
            times.append(program.until(f"({count} of {len(TOOLS)})", seconds=30) - program.typed)
            program.watch(0.05)
        program.type(BACKSPACE)
        program.watch(0.1)
        program.type(BACKSPACE)
        program.watch(0.1)
    return times


def received(program: OnPty) -> int:
    """How many messages of the server the screen says to have come, once all have; as far as a minute goes."""
    end = time.perf_counter() + 60
    most = 0
    while most < ANNOUNCED and time.perf_counter() < end:
        program.watch(0.2)
        for said in _RECEIVED.findall(program.painted):
            most = max(most, int(said.replace(",", "")))
    return most


def run(table: Table) -> None:
    rounds = 5 if table.is_quick else 20
    table.heading("catalogs", f"{len(TOOLS)} tools in f3, and {ANNOUNCED:,} notifications at once")
    server = f"[servers.many]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps([str(HERE / 'catalog_server.py')])}\n"
    with tempfile.TemporaryDirectory() as name, running(app_command(Path(name), server), Path(name)) as program:
        program.until(PLACEHOLDER, "many")
        program.settle(1.5)
        program.type(F3)
        program.until(f"{len(TOOLS)} tools", f"tools ({len(TOOLS)})")
        program.settle()
        program.type("/")
        program.watch(0.5)
        times = filtered(program, rounds)
        note = f"median {percentile(times, 0.5) * 1e3:.0f} ms, worst {max(times) * 1e3:.0f}"
        table.figure("from a key to the filtered list: 95 %", percentile(times, 0.95), "s", at_most(0.050), note=note)
        program.type(ESCAPE)
        program.settle()
        program.type("p")
        program.type("/")
        program.watch(0.1)
        times = filtered(program, max(3, rounds // 4))
        note = f"median {percentile(times, 0.5) * 1e3:.0f} ms"
        table.figure("the slowest key while they come", max(times), "s", at_most(0.100), note=note)
        program.type(ESCAPE)
        program.settle()
        program.type(END)
        table.figure("messages counted", received(program), "", at_least(ANNOUNCED))
