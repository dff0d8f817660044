"""The app on a pseudo-terminal: its start, what it costs at rest, and how soon it paints, against stock Textual where there is such."""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, TypeAlias

from tests.bench.apps import mixed, tokens_of
from tests.bench.kept import sessions_in
from tests.bench.measure import HERE, QUICK_SERVER, Goal, Table, at_least, at_most, interleaved, percentile, say
from tests.bench.terminal import PLACEHOLDER, OnPty, app, bench_app, running
from tests.kit.mcp_server import mcp_server, tool
from tests.system.terminal import NO_SERVERS
from tui_host.errors import JSON

BARE = (sys.executable, str(HERE / "bare_app.py"))
THREE_SERVERS = ""
"""Nothing configured: the bundled servers are there."""
READY = "● orders"
"""What the header says of the last of the bundled servers once it is connected: the SDK is loaded then."""
KEY, F3, F5, ENTER, ESCAPE, END, BACKSPACE = "§", "\x1bOR", "\x1b[15~", "\r", "\x1b", "\x1b[F", "\x7f"


def started(command: Sequence[str], home: Path) -> tuple[float, float, float]:
    """Seconds to the first frame, to a key that is pressed then, and CPU seconds to the first frame."""
    with running(command, home) as program:
        frame = program.until(PLACEHOLDER)
        cpu = program.cpu_seconds()
        program.type(KEY)
        return frame - program.started, program.until(KEY) - program.started, cpu


def start(table: Table) -> None:
    rounds = 3 if table.is_quick else 11
    quick = "".join(
        f"[servers.s{number}]\ncommand = {json.dumps(QUICK_SERVER[0])}\nargs = {json.dumps(QUICK_SERVER[1:])}\n"
        for number in range(20)
    )
    with tempfile.TemporaryDirectory() as name:
        usual, large = Path(name, "usual"), Path(name, "large")
        sessions_in(usual / "data", *[4] * 100)
        sessions_in(large / "data", *[4] * 100, 2000)
        commands = BARE, app(usual, THREE_SERVERS), app(large, quick)
        found = [[started(command, Path(name)) for command in commands] for _ in range(rounds + 1)]
    bare, with_three, with_twenty = zip(*found[1:], strict=True)  # the first round warms what is read from the disk
    table.heading("start", "from exec, against a bare Textual app")
    for what, times, most in (
        ("three servers, a hundred sessions", with_three, 1.25),
        ("twenty servers, a session of 2,000 messages kept", with_twenty, 1.4),
    ):
        for place, event in enumerate((f"first frame: {what}", f"first key: {what}", "  CPU to the first frame")):
            ours, theirs = ([each[place] for each in some] for some in (times, bare))
            table.ratio(event, ours, theirs, at_most(most) if place < 2 else None)


def memory(table: Table) -> None:
    ours, theirs, trees, bares = list[float](), list[float](), list[float](), list[float]()
    count = 0
    with tempfile.TemporaryDirectory() as name:
        for _ in range(1 if table.is_quick else 3):
            with running(BARE, Path(name)) as bare, running(app(Path(name), THREE_SERVERS), Path(name)) as program:
                settle(program, bare)
                ours.append(program.memory_bytes())
                theirs.append(bare.memory_bytes())
                trees.append(program.tree_bytes())
                bares.append(bare.tree_bytes())
                count = program.descendants()
    table.heading("memory", "idle, three bundled servers, SDK loaded, resident")
    table.ratio("the app's own process", ours, theirs, at_most(2.4), unit="B")
    table.ratio(f"with its {count} processes, the servers among them (proportional)", trees, bares, unit="B")


def settle(program: OnPty, bare: OnPty) -> None:
    """Wait until both are at rest; the bare one has long been there."""
    program.until(PLACEHOLDER, READY)
    program.watch(1.5)
    bare.until(PLACEHOLDER)
    bare.settle(0.2)


def idle(table: Table) -> None:
    seconds = 10.0 if table.is_quick else 40.0
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        bare = stack.enter_context(running(BARE, Path(name)))
        program = stack.enter_context(running(app(Path(name), THREE_SERVERS), Path(name)))
        settle(program, bare)
        program.watch(4.0)
        bare.watch(0.1)
        before = [(each.cpu_seconds(), each.written, each.writes) for each in (program, bare)]
        began = time.perf_counter()
        while time.perf_counter() < began + seconds:
            program.watch(0.02)
            bare.watch(0.02)
        passed = time.perf_counter() - began
        after = [(each.cpu_seconds(), each.written, each.writes) for each in (program, bare)]
    table.heading("idle", "nobody does anything; inspector open, three servers connected")
    shares = list[float]()
    goals = (at_most(0.1), None)  # nothing blinks in it, so nothing gives cause to paint
    for who, first, last, goal in zip(("tui-host", "the bare app"), before, after, goals, strict=True):
        cpu, written, writes = ((one - other) / passed for one, other in zip(last, first, strict=True))
        shares.append(100 * cpu)
        table.figure(f"CPU of {who}", shares[-1], "%")
        table.figure(f"paints of {who}, a second", writes, "", goal, note=f"{written:,.0f} bytes a second")
    table.figure("CPU above the bare app, in points", shares[0] - shares[1], "%", at_most(0.5))


# An answer that streams in.

Kind: TypeAlias = Literal["ours", "stock"]


def streamed(folder: Path, kind: Kind, source: str) -> tuple[float, Mapping[str, float]]:
    """Seconds until the end was painted, and what the app saw."""
    file, result = folder / "source.md", folder / "result.json"
    file.write_text(source)
    result.unlink(missing_ok=True)
    with running(bench_app(kind, file, result), folder) as program:
        program.settle(1.0)
        program.type("s")
        took = program.until("THE-END", seconds=600) - program.typed
        program.type("q")
        while not result.exists():
            program.watch(0.05)
        program.watch(0.2)
        return took, json.loads(result.read_text())


def streaming(table: Table) -> None:
    table.heading("streaming", "an answer as fast as it comes, against MarkdownStream; rates as the time of one token")
    source = mixed(8_000 if table.is_quick else 78_000)
    count = len(tokens_of(source))
    with tempfile.TemporaryDirectory() as name:
        ours = [streamed(Path(name), "ours", source) for _ in range(1 if table.is_quick else 3)]
        theirs, their_seen = streamed(Path(name), "stock", source)  # once: it takes half a minute
        taken = their_seen["taken"]
        if taken < count:
            say(f"  (MarkdownStream took in {taken:,.0f} of {count:,} tokens, and it gets slower with each)")
        rates = [took / seen["taken"] for took, seen in ours]
        table.ratio(f"mixed, {count:,} tokens: time of one", rates, [theirs / taken], at_least(40), swapped=True)
        note = f"MarkdownStream {their_seen['stall'] * 1000:.0f} ms"
        table.figure("  longest stall", min(seen["stall"] for _, seen in ours), "s", at_most(0.05), note=note)


# The whole screen at work.

LOADS = ((100, 20, 0.050), (300, 200, 0.050), (1000, 500, 0.075))
"""Tokens and frames a second, and how long 95 % of the keys may take."""
LETTERS = [chr(0x410 + number) for number in range(80)]
"""Cyrillic ones, each typed once: what is painted of nothing else."""


def busy(table: Table) -> None:
    keys = 12 if table.is_quick else len(LETTERS)
    table.heading("busy", "from a key to its letter on the screen; list and details open, a hundred messages before")
    with tempfile.TemporaryDirectory() as name:
        for tokens, frames, most in LOADS:
            app(Path(name), NO_SERVERS)
            times = list[float]()
            with running(bench_app("busy", tokens, frames, name), Path(name)) as program:
                program.until("get_weather", "tools/call", seconds=120)
                program.watch(2.0)
                began, cpu = time.perf_counter(), program.cpu_seconds()
                for letter in LETTERS[:keys]:
                    program.type(letter)
                    times.append(program.until(letter, seconds=120) - program.typed)
                    program.watch(random.uniform(0.05, 0.20))  # noqa: S311 - a pause
                share = (program.cpu_seconds() - cpu) / (time.perf_counter() - began)
            what = f"{tokens:,} tokens, {frames} frames a second: 95 % of keys"
            note = f"median {percentile(times, 0.5) * 1e3:.0f} ms, worst {max(times) * 1e3:.0f}, CPU {share:.0%}"
            table.figure(what, percentile(times, 0.95), "s", at_most(most), note=note)


# An earlier session.

LAST = "LAST-WORDS"


def reopened(folder: Path) -> float:
    """Seconds to open the one session that is kept here, in an app that has just come to rest."""
    with running(app(folder, NO_SERVERS), folder) as program:
        program.until(PLACEHOLDER, seconds=120)
        program.settle(1.5)
        program.type(F5)
        program.until("session 0")
        program.settle(0.5)
        program.type(ENTER)
        return program.until(LAST, seconds=300) - program.typed


def reopening(table: Table) -> None:
    rounds, long = (1, 200) if table.is_quick else (5, 2000)
    table.heading("reopening", "a session of earlier, from the key to its last words painted")
    with tempfile.TemporaryDirectory() as name:
        folders = empty, usual, huge, wired = [Path(name, each) for each in ("empty", "usual", "huge", "wired")]
        sessions_in(empty / "data", 2, last=LAST)
        sessions_in(usual / "data", long, last=LAST)
        sessions_in(huge / "data", 10 * long, last=LAST)
        sessions_in(wired / "data", long, last=LAST, has_wires=True)
        works = (lambda folder=folder: reopened(folder) for folder in folders)
        nothing, some, many, with_wires = interleaved(rounds, *works)
    for what, ours, theirs in (
        (f"{long:,} messages, against a session of two", some, nothing),
        (f"{10 * long:,} messages, against {long:,}", many, some),
        (f"{long:,} messages with their wires, against a session of two", with_wires, nothing),
    ):
        table.ratio(what, ours, theirs, at_most(2))


# The servers screen.

ANNOUNCED = 10_000
DESCRIPTION = "Does what this tool does, and says so in a sentence of usual length."
SCHEMA = {"type": "object", "properties": {f"argument_{place}": {"type": "string"} for place in "abcdef"}}
TOOLS = [tool(f"tool_{number:03}", description=DESCRIPTION, inputSchema=SCHEMA) for number in range(500)]
_RECEIVED = re.compile(r"out, ([\d,]+) in")


def many_tools(folder: Path) -> str:
    """The configuration of a server with 500 tools that answers a ping, and then announces 10,000 things at once."""
    updated = {"notify": "notifications/resources/updated", "params": {"uri": "x://1"}}
    steps: list[object] = [{"result": dict[str, JSON]()}, *[{"log": "line"}, updated] * (ANNOUNCED // 2)]
    script: dict[str, object] = {"name": "many", "tools": TOOLS, "on": {"ping": steps}}
    file = folder / "many.json"
    file.write_text(json.dumps(script))
    return mcp_server({"file": file}).table("many")


def filtered(program: OnPty, rounds: int) -> list[float]:
    """Type digits into the filter; seconds from each key to its list."""
    times: list[float] = []
    for number in range(rounds):
        first, second = str(number % 5), str((number * 3 + 1) % 10)
        for key, words in ((first, first), (second, first + second)):
            count = sum(words in str(each["name"]) for each in TOOLS)
            program.type(key)
            times.append(program.until(f"({count} of {len(TOOLS)})", seconds=30) - program.typed)
            program.watch(0.05)
        for _ in range(2):
            program.type(BACKSPACE)
            program.watch(0.1)
    return times


def received(program: OnPty) -> int:
    """How many messages of the server the screen says to have come, once all have; as far as a minute goes."""
    end, most = time.perf_counter() + 60, 0
    while most < ANNOUNCED and time.perf_counter() < end:
        program.watch(0.2)
        most = max([most, *(int(count.replace(",", "")) for count in _RECEIVED.findall(program.painted))])
    return most


def catalogs(table: Table) -> None:
    rounds = 5 if table.is_quick else 20
    table.heading("catalogs", f"{len(TOOLS)} tools in f3, and {ANNOUNCED:,} notifications at once")
    with tempfile.TemporaryDirectory() as name, running(app(Path(name), many_tools(Path(name))), Path(name)) as program:
        program.until(PLACEHOLDER, "many")
        program.settle(1.5)
        program.type(F3)
        program.until(f"{len(TOOLS)} tools", f"tools ({len(TOOLS)})")
        program.settle()
        program.type("/")
        program.watch(0.5)
        times = filtered(program, rounds)
        told_keys(table, "from a key to the filtered list: 95 %", times, percentile(times, 0.95), at_most(0.050))
        program.type(ESCAPE)
        program.settle()
        program.type("p")
        program.type("/")
        program.watch(0.1)
        times = filtered(program, max(3, rounds // 4))
        told_keys(table, "the slowest key while they come", times, max(times), at_most(0.100))
        program.type(ESCAPE)
        program.settle()
        program.type(END)
        table.figure("messages counted", received(program), "", at_least(ANNOUNCED))


def told_keys(table: Table, what: str, times: Sequence[float], figure: float, goal: Goal) -> None:
    note = f"median {percentile(times, 0.5) * 1e3:.0f} ms, worst {max(times) * 1e3:.0f}"
    table.figure(what, figure, "s", goal, note=note)
