"""What a tap adds before a stdio server, everything recorded; the baseline is the smallest relay."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from tests.bench.measure import Table, at_most, percentile

ECHO = "import os\nwhile data := os.read(0, 65536):\n    while data: data = data[os.write(1, data):]"
SERVER = (sys.executable, "-S", "-E", "-c", ECHO)
"""Answers with what it was told."""
SMALLEST = """
import os, subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def pump(source, target):
    while chunk := os.read(source, 65536):
        while chunk:
            chunk = chunk[os.write(target, chunk) :]
    os.close(target)
threading.Thread(target=pump, args=(0, child.stdin.fileno()), daemon=True).start()
pump(child.stdout.fileno(), 1)
os._exit(child.wait())
"""
MESSAGE = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}\n'
LARGE = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + b"lorem ipsum " * 80_000 + b'"}}\n'


@contextmanager
def talk(*command: str) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        yield process


def trip(process: subprocess.Popen[bytes], message: bytes) -> float:
    """Seconds from a message to its whole answer, which flows back while the message is written."""
    assert process.stdin is not None
    assert process.stdout is not None
    began = time.perf_counter()
    rest, left = memoryview(message), len(message)
    while left:
        rest = rest[os.write(process.stdin.fileno(), rest[:4096]) :] if rest else rest
        left -= len(os.read(process.stdout.fileno(), left))
    return time.perf_counter() - began


def first_answer(command: Sequence[str]) -> float:
    """Seconds from the start to the first answer."""
    began = time.perf_counter()
    with talk(*command) as process:
        trip(process, MESSAGE)
        return time.perf_counter() - began


def stdio(table: Table) -> None:
    table.heading("taps-stdio", "a tap before a stdio server, everything recorded; the baseline is the smallest relay")
    rounds = 10 if table.is_quick else 60
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ours = (sys.executable, "-m", "tui_host", "--data-dir", folder, "tap", "stdio", "bench", "--", *SERVER)
        smallest = (sys.executable, "-S", "-E", "-c", SMALLEST, *SERVER)
        starts = [[first_answer(command) for command in (ours, smallest)] for _ in range(rounds // 5)]
        more = min(own for own, _ in starts) - min(base for _, base in starts)
        table.figure("start to the first answer, more than the smallest", more, "s", at_most(0.03))
        own, base = (stack.enter_context(talk(*command)) for command in (ours, smallest))
        for process in (own, base):
            trip(process, MESSAGE)
        time.sleep(1)  # the recorder has started
        for what, message, count, goal in (
            ("a round trip", MESSAGE, 100, at_most(1.15)),
            ("a megabyte there and back", LARGE, 1, None),
        ):
            pairs = [(trip(own, message), trip(base, message)) for _ in range(rounds * count)]
            for share in (0.5, 0.99):
                tapped, relayed = (percentile(found, share) for found in zip(*pairs, strict=True))
                title = f"{what}, {'median' if share == 0.5 else '99 %'}"
                table.ratio(title, [tapped], [relayed], goal if share == 0.5 else None)
