"""What a relay before a stdio server adds, everything recorded: against a direct connection, and against the smallest relay."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.bench.measure import Table, at_most, interleaved, percentile
from tests.bench.on_pty import HERE

SERVER = (
    sys.executable,
    "-S",
    "-E",
    "-c",
    "import os\nwhile data := os.read(0, 65536):\n    while data: data = data[os.write(1, data):]",
)
"""Answers with what it was told."""
MESSAGE = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}\n'
LINE = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + b"lorem ipsum " * 80_000 + b'"}}\n'


def bare() -> list[str]:
    return [sys.executable, "-S", "-E", str(HERE / "bare_relay.py"), *SERVER]


def tap(folder: Path) -> list[str]:
    script = Path(sys.executable).with_name("tui-host")
    program = [str(script)] if script.exists() else [sys.executable, "-m", "tui_host"]
    return [*program, "--data-dir", str(folder), "tap", "stdio", "bench", "--", *SERVER]


class Talk:
    """A host's side of a server's pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._input, self._output = process.stdin, process.stdout

    def trip(self) -> float:
        """Seconds from a message to its answer."""
        began = time.perf_counter()
        os.write(self._input.fileno(), MESSAGE)
        left = len(MESSAGE)
        while left:
            left -= len(os.read(self._output.fileno(), 65536))
        return time.perf_counter() - began

    def lines(self, count: int) -> float:
        """Seconds until so many lines of a megabyte have gone there and come back."""

        def write() -> None:
            for _ in range(count):
                rest = memoryview(LINE)
                while rest:
                    rest = rest[os.write(self._input.fileno(), rest) :]

        began = time.perf_counter()
        writing = threading.Thread(target=write)
        writing.start()
        left = len(LINE) * count
        while left:
            left -= len(os.read(self._output.fileno(), 1 << 20))
        writing.join()
        return time.perf_counter() - began


@contextmanager
def talk(command: Sequence[str]) -> Generator[Talk]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0) as process:
        yield Talk(process)


def start(command: Sequence[str]) -> float:
    """Seconds from the start to the first answer."""
    began = time.perf_counter()
    with talk(command) as server:
        server.trip()
        return time.perf_counter() - began


def memory(pid: int) -> int:
    """Bytes that a process holds of its own, where the system tells."""
    status = Path(f"/proc/{pid}/status")
    return int(status.read_text().partition("VmRSS:")[2].split()[0]) << 10 if status.exists() else 0


def run(table: Table) -> None:
    table.heading("taps-stdio", "a relay before a stdio server, everything recorded")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        rounds = 5 if table.is_quick else 15
        ours, theirs = interleaved(rounds, lambda: start(tap(folder)), lambda: start(bare()))
        table.ratio("start to the first answer (baseline: the smallest relay)", ours, theirs)
        more = min(ours) - min(theirs)
        table.figure("the same, more than the smallest relay", more * 1000, "ms", at_most(30), note="of the best")
        talks = [stack.enter_context(talk(command)) for command in (tap(folder), bare(), SERVER)]
        for each in talks:
            each.trip()
        time.sleep(1)  # what is imported in the background has come
        trips: list[list[float]] = [[], [], []]
        for _ in range(rounds * 4):
            for each, found in zip(talks, trips, strict=True):
                found += [each.trip() for _ in range(100)]
        tapped, relayed, direct = trips
        table.ratio(
            "a round trip (baseline: the smallest relay)",
            [statistics.median(tapped)],
            [statistics.median(relayed)],
            at_most(1.5),
        )
        table.ratio("99 % of round trips (the same)", [percentile(tapped, 0.99)], [percentile(relayed, 0.99)])
        for what, share in (("median", 0.5), ("99 %", 0.99)):
            own, base = percentile(tapped, share), percentile(direct, share)
            table.ratio(f"a round trip, {what} (baseline: direct)", [own], [base])
            more = percentile(relayed, share) - base
            table.ratio(f"  added to it, {what} (baseline: the smallest relay)", [own - base], [more])
        count = 16 if table.is_quick else 64
        ours, theirs = interleaved(2, lambda: talks[0].lines(count), lambda: talks[1].lines(count))
        small = memory(talks[0].pid)
        table.ratio(f"{count} MB there and back (baseline: the smallest relay)", ours, theirs)
        talks[0].lines(count * 4)
        grown = memory(talks[0].pid) / small if small else 1.0
        table.figure("the relay's memory after six times as much", grown, "×", at_most(1.2))
