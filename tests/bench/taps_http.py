"""What a relay before a model's API adds to each event of an answer, all of it recorded, against mitmdump that streams."""

import re
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measure import Table, at_most, say
from tests.interop.others import serving
from tests.ports import unused_port

MITMPROXY = "mitmproxy==11.0.2"
# As it comes it holds a whole event stream back.
STREAMING = """\
def requestheaders(flow):
    flow.request.stream = True
def responseheaders(flow):
    flow.response.stream = True
"""
PAUSE_SECONDS = 0.001
_STAMP = re.compile(rb'"at":(\d+)')


@dataclass(frozen=True, slots=True)
class Added:
    """Seconds from an event's sending to its receipt, the median of one answer; and the relay's CPU for one."""

    delay: float
    cpu: float


def _answer(connection: socket.socket, count: int) -> None:
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not connection.recv(1 << 16):
            return  # a look whether somebody listens
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head)
        for _ in range(count):
            time.sleep(PAUSE_SECONDS)
            event = b'data: {"at":%d,"choices":[{"delta":{"content":"hello"}}]}\n\n' % time.monotonic_ns()
            connection.sendall(b"%x\r\n%s\r\n" % (len(event), event))
        connection.sendall(b"0\r\n\r\n")


@contextmanager
def upstream(count: int) -> Generator[int]:
    """A server whose answers are so many events with the time of their sending; its port."""

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_answer, args=(connection, count), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def processor_seconds(process: int) -> float:
    """Seconds that a process had the processor, its children's aside."""
    return sum(int(each.read_text().split()[0]) for each in Path(f"/proc/{process}/task").glob("*/schedstat")) / 1e9


def _innermost(process: int) -> int:
    """The process that a launcher has started, through however many."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(child) for task in tasks for child in task.read_text().split()]
    return _innermost(children[0]) if children else process


def measured(port: int, process: int, count: int) -> Added:
    delays: list[float] = []
    worked = processor_seconds(process)
    with socket.create_connection(("127.0.0.1", port)) as client:
        head = b"POST /v1 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n" % port
        client.sendall(head + b"Content-Length: 2\r\n\r\n{}")
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            data = client.recv(1 << 16)
            came = time.monotonic_ns()
            delays += [(came - int(stamp)) / 1e9 for stamp in _STAMP.findall(data)]
    assert len(delays) == count
    return Added(statistics.median(delays), (processor_seconds(process) - worked) / count)


def run(table: Table) -> None:
    rounds, count = (3, 300) if table.is_quick else (9, 1500)
    table.heading("taps-http", f"{count:,} events, one a millisecond, through a relay, against {MITMPROXY}")
    if shutil.which("uv") is None:
        say(f"  ({MITMPROXY} cannot be had here, so nothing is measured)")
        return
    with tempfile.TemporaryDirectory() as name, upstream(count) as server, ExitStack() as stack:
        script = Path(name) / "streaming.py"
        script.write_text(STREAMING)
        port, their_port, where = unused_port(), unused_port(), f"http://127.0.0.1:{server}"
        words = ["tap", "llm", "--upstream", where, "--port", str(port), "--data-dir", name]
        own = stack.enter_context(serving([sys.executable, "-m", "tui_host", *words], port)).pid
        command = ["uv", "tool", "run", "--quiet", "--from", MITMPROXY, "mitmdump", "--quiet", "--scripts", str(script)]
        command += ["--mode", f"reverse:{where}", "--listen-host", "127.0.0.1", "--listen-port", str(their_port)]
        launcher = stack.enter_context(serving([*command, "--set", f"confdir={name}"], their_port)).pid
        relays = ((server, own), (port, own), (their_port, _innermost(launcher)))
        triples = [[measured(*relay, count) for relay in relays] for _ in range(rounds)]
    ours = [relayed.delay - direct.delay for direct, relayed, _ in triples]
    theirs = [relayed.delay - direct.delay for direct, _, relayed in triples]
    table.ratio("an event: delay added", ours, theirs, at_most(0.5))
    own_cpu, their_cpu = [relayed.cpu for _, relayed, _ in triples], [relayed.cpu for *_, relayed in triples]
    table.ratio("  CPU of the relay for it", own_cpu, their_cpu, at_most(0.5))
