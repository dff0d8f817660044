"""What a relay before an HTTP server adds, everything recorded: against a direct connection, and against mitmdump that streams."""

from __future__ import annotations

import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from operator import sub
from pathlib import Path

from tests.bench.measure import Goal, Table, at_least, at_most, interleaved, peer, percentile, say, with_package
from tests.bench.on_pty import HERE

MITMPROXY = "mitmproxy==11.0.2"
STREAMING = """\
def requestheaders(flow):
    flow.request.stream = True
def responseheaders(flow):
    flow.response.stream = True
"""
"""As it comes it holds a whole event stream back."""
START_SECONDS = 120.0
SETTLE_SECONDS = 60.0
"""In which what was passed on is recorded, at most."""
BIG = 100 << 20
SMALL = b'{"model":"m","messages":[{"role":"user","content":"hello"}]}'
BLOCK = 400
"""Measurements of which a share is told at a time, and the median of these: what stops the whole machine meets few blocks."""
_STAMP = re.compile(rb'"at":(\d+)')
_PORT = re.compile(rb"http://127\.0\.0\.1:(\d+)")


@contextmanager
def ours(port: int, folder: Path) -> Generator[tuple[int, int]]:
    """The tap; its port and its process."""
    words = ["tap", "llm", "--upstream", f"http://127.0.0.1:{port}", "--port", "0", "--data-dir", str(folder)]
    with subprocess.Popen(
        [sys.executable, "-m", "tui_host", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        found = _PORT.search(process.stdout.readline())
        assert found is not None
        try:
            yield int(found[1]), process.pid
        finally:
            process.terminate()


@contextmanager
def theirs(port: int, folder: Path) -> Generator[int | None]:
    """mitmdump; None where it cannot be had."""
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
    with subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + START_SECONDS
            is_there = False
            while not is_there and process.poll() is None and time.monotonic() < end:
                is_there = _listens(own)
            yield own if is_there else None
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        time.sleep(0.1)
        return False
    return True


def family(process: int) -> list[int]:
    """A process and its children: the relay, and what records beside it."""
    return [process, *map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]


def peak(process: int) -> float:
    """Bytes of memory that a process and its children had at most, each at its own time."""
    texts = [Path(f"/proc/{each}/status").read_text() for each in family(process)]
    return sum(int(text.partition("VmHWM:")[2].split()[0]) for text in texts) * 1024.0


def processor_time(process: int) -> float:
    """Seconds that a process had the processor, its children's aside."""
    return sum(int(each.read_text().split()[0]) for each in Path(f"/proc/{process}/task").glob("*/schedstat")) / 1e9


class Client:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = b"127.0.0.1:%d" % port

    def close(self) -> None:
        self._socket.close()

    def send(self, path: str, body: bytes = SMALL, size: int | None = None) -> None:
        """Send a request; with a size, one whose body of so many bytes follows."""
        head = b"POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self._socket.sendall(head % (path.encode(), self._host, len(body) if size is None else size) + body)

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

    def upload(self, size: int) -> float:
        """Seconds until a body of so many bytes has been sent and answered."""
        began = time.perf_counter()
        self.send("upload", b"", size)
        piece = memoryview(bytes(range(256)) * 4096)
        while size:
            self._socket.sendall(piece[:size])
            size -= min(size, len(piece))
        data = b""
        while not data.endswith(b"{}"):
            data += self._socket.recv(1 << 16)
        return time.perf_counter() - began


def settle(process: int) -> None:
    """Wait until what records beside the relay has nothing more to do."""
    *_, beside = family(process)
    end = time.monotonic() + SETTLE_SECONDS
    before, now = -1.0, processor_time(beside)
    while now - before > 0.02 and time.monotonic() < end:
        time.sleep(1)
        before, now = now, processor_time(beside)


def run(table: Table) -> None:
    table.heading("taps-http", "what a relay adds, everything recorded; the baseline is mitmdump with streaming on")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(peer(HERE / "tapped_peer.py", "-I"))
        own, process = stack.enter_context(ours(port, folder))
        other = stack.enter_context(theirs(port, folder))
        if other is None:
            say("  mitmdump cannot be had here: without it there is no baseline")
        places = [each for each in (port, own, other) if each is not None]
        _requests(table, places)
        _events(table, places)
        _big(table, places, process)


def _clients(places: Sequence[int]) -> list[Client]:
    return [Client(each) for each in places]


def _requests(table: Table, places: Sequence[int]) -> None:
    """Round trips on connections that are kept, and on new ones."""
    count = 200 if table.is_quick else 2000
    clients = _clients(places)
    for client in clients:
        [client.trip() for _ in range(20)]
    found = interleaved(count, *(client.trip for client in clients))
    _added(table, "a request", found)
    for client in clients:
        client.close()

    def fresh(place: int) -> Callable[[], float]:
        def one() -> float:
            began = time.perf_counter()
            client = Client(place)
            client.trip()
            took = time.perf_counter() - began
            client.close()
            return took

        return one

    _added(table, "a request on a new connection", interleaved(count // 4, *map(fresh, places)))


def _events(table: Table, places: Sequence[int]) -> None:
    """Short streams in turn: whatever else the machine does then meets all alike."""
    rounds, count = (10, 30) if table.is_quick else (80, 60)
    clients = _clients(places)
    found: list[list[float]] = [[] for _ in places]
    firsts: list[list[float]] = [[] for _ in places]
    for _ in range(rounds):
        for client, each, first in zip(clients, found, firsts, strict=True):
            head, took = client.events(count, 0.001)
            each.extend(took)
            first.append(head)
    _added(table, "an event", found)
    late = statistics.median(firsts[1]) - statistics.median(firsts[0])
    table.figure("first byte of an answer, later than direct", late * 1000, "ms", at_most(5))
    for client in clients:
        client.close()


def _added(table: Table, what: str, found: Sequence[Sequence[float]]) -> None:
    """What our relay adds to the direct way, and that over what the other adds."""
    for name, share in (("median", 0.5), ("99 %", 0.99)):
        base, own, *rest = ([percentile(block, share) for block in _blocks(each)] for each in found)
        table.ratio(f"{what}, {name} (baseline: direct)", own, base)
        title = f"  added to {what}, {name} (baseline: mitmdump)"
        more, *mores = (statistics.median(map(sub, each, base)) for each in (own, *rest))
        if mores:
            table.ratio(title, [more], mores, at_most(0.7))
        else:
            table.figure(title, more * 1e6, "µs")


def _blocks(values: Sequence[float]) -> list[Sequence[float]]:
    """The measurements in their order, so many at a time; a last few that are no whole block go with the one before."""
    starts = range(0, max(len(values) - BLOCK, 0) + 1, BLOCK)
    return [values[start : None if start == starts[-1] else start + BLOCK] for start in starts]


def _big(table: Table, places: Sequence[int], process: int) -> None:
    size, rounds = (BIG // 10, 2) if table.is_quick else (BIG, 20)
    clients = _clients(places)
    before, began = peak(process), processor_time(process)
    direct, ours, *rest = interleaved(rounds, *(lambda client=client: client.big(size) for client in clients))
    what = f"throughput of a body of {size >> 20} MiB"
    goal: Goal | None = at_least(3)
    if rest:
        table.ratio(what, ours, rest[0], goal, swapped=True)
    table.ratio("  the same against direct", ours, direct, swapped=True)
    table.figure("  processor time of the relay for one", (processor_time(process) - began) * 1000 / rounds, "ms")
    name = f"memory that {rounds} such %s took at most, with what records"
    table.figure(name % "bodies", peak(process) - before, "B", at_most(160 << 20))
    before = peak(process)
    direct, ours, *rest = interleaved(rounds, *(lambda client=client: client.upload(size) for client in clients))
    if rest:
        table.ratio(f"throughput of an upload of {size >> 20} MiB", ours, rest[0], swapped=True)
    table.ratio("  the same against direct", ours, direct, swapped=True)
    settle(process)
    table.figure(name % "uploads", peak(process) - before, "B", at_most(160 << 20))
    for client in clients:
        client.close()
