"""What a relay adds, everything recorded: before a stdio server against the smallest relay, before an HTTP one against mitmdump."""

from __future__ import annotations

import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from operator import sub
from pathlib import Path

from tests.bench.measure import HERE, Table, at_least, at_most, interleaved, peer, percentile, say, with_package

ECHO = "import os\nwhile data := os.read(0, 65536):\n    while data: data = data[os.write(1, data):]"
SERVER = (sys.executable, "-S", "-E", "-c", ECHO)
"""Answers with what it was told."""
MESSAGE = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}\n'
LINE = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + b"lorem ipsum " * 80_000 + b'"}}\n'
SMALLEST = (sys.executable, "-S", "-E", str(HERE / "bare_relay.py"), *SERVER)


def tap(folder: Path, *words: str) -> list[str]:
    script = Path(sys.executable).with_name("tui-host")
    program = [str(script)] if script.exists() else [sys.executable, "-m", "tui_host"]
    return [*program, "--data-dir", str(folder), "tap", *words]


# stdio.


class Talk:
    """A host's side of a server's pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._input, self._output = process.stdin.fileno(), process.stdout.fileno()

    def trip(self) -> float:
        """Seconds from a message to its answer."""
        began = time.perf_counter()
        os.write(self._input, MESSAGE)
        self._take(len(MESSAGE))
        return time.perf_counter() - began

    def lines(self, count: int) -> float:
        """Seconds until so many lines of a megabyte have gone there and come back."""

        def write() -> None:
            rest = memoryview(LINE * count)
            while rest:
                rest = rest[os.write(self._input, rest) :]

        began = time.perf_counter()
        writing = threading.Thread(target=write)
        writing.start()
        self._take(len(LINE) * count)
        writing.join()
        return time.perf_counter() - began

    def _take(self, left: int) -> None:
        while left:
            left -= len(os.read(self._output, min(left, 1 << 20)))


@contextmanager
def talk(command: Sequence[str]) -> Generator[Talk]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        yield Talk(process)


def first_answer(command: Sequence[str]) -> float:
    """Seconds from the start to the first answer."""
    began = time.perf_counter()
    with talk(command) as server:
        server.trip()
        return time.perf_counter() - began


def stdio(table: Table) -> None:
    table.heading(
        "taps-stdio", "a relay before a stdio server, everything recorded; the baseline is the smallest relay"
    )
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        ours = tap(Path(name), "stdio", "bench", "--", *SERVER)
        rounds, count = (5, 16) if table.is_quick else (15, 64)
        own, base = interleaved(rounds, lambda: first_answer(ours), lambda: first_answer(SMALLEST))
        table.ratio("start to the first answer", own, base)
        table.figure("  more than the smallest, of the best", (min(own) - min(base)) * 1000, "ms", at_most(30))
        talks = [stack.enter_context(talk(command)) for command in (ours, SMALLEST, SERVER)]
        for each in talks:
            each.trip()
        time.sleep(1)  # what is imported in the background has come
        trips: list[list[float]] = [[], [], []]
        for _ in range(rounds * 4):
            for each, found in zip(talks, trips, strict=True):
                found += [each.trip() for _ in range(100)]
        for what, share, goal in (("a round trip, median", 0.5, at_most(1.5)), ("99 % of round trips", 0.99, None)):
            tapped, relayed, direct = (percentile(found, share) for found in trips)
            table.ratio(what, [tapped], [relayed], goal)
            table.ratio("  added to the direct way", [tapped - direct], [relayed - direct])
        own, base = interleaved(2, lambda: talks[0].lines(count), lambda: talks[1].lines(count))
        small = memory_of(talks[0].pid, "VmRSS")
        table.ratio(f"{count} MB there and back", own, base)
        talks[0].lines(count * 4)
        table.figure("memory after six times as much", memory_of(talks[0].pid, "VmRSS") / small, "×", at_most(1.2))


# HTTP.

MITMPROXY = "mitmproxy==11.0.2"
STREAMING = (
    "def requestheaders(flow): flow.request.stream = True\ndef responseheaders(flow): flow.response.stream = True\n"
)
"""As it comes it holds a whole event stream back."""
START_SECONDS = 120.0
BIG = 100 << 20
SMALL = b'{"model":"m","messages":[{"role":"user","content":"hello"}]}'
BLOCK = 400
"""Measurements of which a share is told at a time, and the median of these: what stops the whole machine meets few blocks."""
_STAMP = re.compile(rb'"at":(\d+)')
_PORT = re.compile(rb"http://127\.0\.0\.1:(\d+)")


@contextmanager
def our_relay(port: int, folder: Path) -> Generator[tuple[int, int]]:
    """The tap; its port and its process."""
    words = tap(folder, "llm", "--upstream", f"http://127.0.0.1:{port}", "--port", "0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        found = _PORT.search(process.stdout.readline())
        assert found is not None
        try:
            yield int(found[1]), process.pid
        finally:
            process.terminate()


@contextmanager
def mitmdump(port: int, folder: Path) -> Generator[int | None]:
    """Its port; None where it cannot be had."""
    command = with_package(MITMPROXY, "mitmdump", "--quiet")
    if command is None:
        yield None
        return
    script = folder / "streaming.py"
    script.write_text(STREAMING)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own: int = listener.getsockname()[1]
    options = ["--mode", f"reverse:http://127.0.0.1:{port}", "--listen-host", "127.0.0.1", "--listen-port", str(own)]
    options += ["--scripts", str(script), "--set", f"confdir={folder}"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*command, *options], stdout=quiet, stderr=quiet) as process:
        try:
            end = time.monotonic() + START_SECONDS
            while not (is_there := listens(own)) and process.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
            yield own if is_there else None
        finally:
            process.terminate()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def memory_of(process: int, name: str) -> int:
    """Bytes that a process holds, as the kernel's line of this name has it."""
    return int(Path(f"/proc/{process}/status").read_text().partition(f"{name}:")[2].split()[0]) << 10


def family(process: int) -> list[int]:
    """A process and its children: the relay, and what records beside it."""
    return [process, *map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]


def peak(process: int) -> int:
    """Bytes of memory that a process and its children had at most, each at its own time."""
    return sum(memory_of(each, "VmHWM") for each in family(process))


class Client:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = b"127.0.0.1:%d" % port

    def send(self, path: str) -> None:
        head = b"POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        self._socket.sendall(head % (path.encode(), self._host, len(SMALL), SMALL))

    def trip(self) -> float:
        """Seconds of one request and its answer."""
        began = time.perf_counter()
        self.send("echo")
        data = b""
        while not data.endswith(b"{}"):
            data += self._socket.recv(1 << 16)
        return time.perf_counter() - began

    def events(self, count: int, pause: float) -> tuple[float, list[float]]:
        """Seconds to the first byte of an answer, and from each event's sending to its receipt."""
        began = time.perf_counter()
        self.send(f"events/{count}/{pause}")
        data = self._socket.recv(1 << 16)
        first = time.perf_counter() - began
        took: list[float] = []
        while True:
            now = time.monotonic_ns()
            took += [(now - int(stamp)) / 1e9 for stamp in _STAMP.findall(data)]
            if data.endswith(b"0\r\n\r\n"):
                return first, took
            data = self._socket.recv(1 << 16)

    def big(self, size: int) -> float:
        """Seconds for a body of so many bytes."""
        began = time.perf_counter()
        self.send(f"big/{size}")
        data = self._socket.recv(1 << 16)
        got = len(data) - data.index(b"\r\n\r\n") - 4
        buffer = bytearray(1 << 20)
        while got < size:
            got += self._socket.recv_into(buffer)
        return time.perf_counter() - began


def http(table: Table) -> None:
    table.heading("taps-http", "what a relay adds, everything recorded; the baseline is mitmdump with streaming on")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(peer("bodies"))
        own, process = stack.enter_context(our_relay(port, folder))
        other = stack.enter_context(mitmdump(port, folder))
        if other is None:
            say("  mitmdump cannot be had here: without it there is no baseline")
        places = [each for each in (port, own, other) if each is not None]
        requests(table, places)
        events(table, places)
        large_bodies(table, places, process)


def requests(table: Table, places: Sequence[int]) -> None:
    """Round trips on connections that are kept."""
    count = 200 if table.is_quick else 2000
    clients = [Client(each) for each in places]
    for client in clients:
        for _ in range(20):
            client.trip()
    added(table, "a request", interleaved(count, *(client.trip for client in clients)))


def events(table: Table, places: Sequence[int]) -> None:
    """Short streams in turn: whatever else the machine does then meets all alike."""
    rounds, count = (10, 30) if table.is_quick else (80, 60)
    clients = [Client(each) for each in places]
    found: list[list[float]] = [[] for _ in places]
    firsts: list[list[float]] = [[] for _ in places]
    for _ in range(rounds):
        for client, each, first in zip(clients, found, firsts, strict=True):
            head, took = client.events(count, 0.001)
            each.extend(took)
            first.append(head)
    added(table, "an event", found)
    late = statistics.median(firsts[1]) - statistics.median(firsts[0])
    table.figure("first byte of an answer, later than direct", late * 1000, "ms", at_most(5))


def added(table: Table, what: str, found: Sequence[Sequence[float]]) -> None:
    """What our relay adds to the direct way, and that over what the other adds."""
    for name, share in (("median", 0.5), ("99 %", 0.99)):
        base, own, *rest = ([percentile(block, share) for block in blocks(each)] for each in found)
        table.ratio(f"{what}, {name} (baseline: direct)", own, base)
        more, *mores = (statistics.median(map(sub, each, base)) for each in (own, *rest))
        if mores:
            table.ratio("  added to it (baseline: mitmdump)", [more], mores, at_most(0.7))
        else:
            table.figure("  added to it", more * 1e6, "µs")


def blocks(values: Sequence[float]) -> list[Sequence[float]]:
    """The measurements in their order, so many at a time; a last few that are no whole block go with the one before."""
    starts = range(0, max(len(values) - BLOCK, 0) + 1, BLOCK)
    return [values[start : None if start == starts[-1] else start + BLOCK] for start in starts]


def large_bodies(table: Table, places: Sequence[int], process: int) -> None:
    size, rounds = (BIG // 10, 2) if table.is_quick else (BIG, 20)
    clients = [Client(each) for each in places]
    before = peak(process)
    direct, own, *rest = interleaved(rounds, *(partial(client.big, size) for client in clients))
    if rest:
        table.ratio(f"throughput of a body of {size >> 20} MiB", own, rest[0], at_least(3), swapped=True)
    table.ratio("  the same against direct", own, direct, swapped=True)
    title = f"memory that {rounds} such bodies took at most, with what records"
    table.figure(title, peak(process) - before, "B", at_most(160 << 20))
