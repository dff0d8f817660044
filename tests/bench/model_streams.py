"""Answers of models over a real socket: captured, decoded and folded to a message, against bare bytes and a vendor's client."""

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx

from tests.bench.measure import HERE, Goal, Table, at_least, at_most, say
from tests.bench.peer import DIALECTS, SIZE
from tests.llm.asking import KEY, asked
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.llm.fold import Fold
from tui_host.settings.schema import Template

OPENAI = "openai==3.52.0"


@dataclass(frozen=True, slots=True)
class Took:
    """What one event took, in seconds: of the clock, and of this process's CPU, the store's thread included."""

    wall: float
    cpu: float


def address(port: int, dialect: str, count: int) -> str:
    return f"http://127.0.0.1:{port}/{count}/{dialect}"


class Ours:
    """The whole way of the program: its client with its tap, a recorder with a store on the disk, decoder, reader, fold."""

    def __init__(self, folder: Path, memory: Memory | None = None) -> None:
        self._store = Store.open(folder / "tui-host.db")
        secrets = Redactor([("KEY", KEY)])
        self._recorder = Recorder(self._store, secrets, capture=f"c{time.time_ns()}", memory=memory or Memory())

    async def read(self, port: int, dialect: str, count: int) -> Fold:
        key = Template(text=KEY, literal=True)
        return await asked(address(port, dialect, count), kept=self._recorder, dialect=dialect, api_key=key)

    async def took(self, port: int, dialect: str, count: int) -> Took:
        began, worked = time.perf_counter(), time.process_time()
        fold = await self.read(port, dialect, count)
        message = fold.message(turn=1)
        assert self._recorder.flush(60)
        took = Took((time.perf_counter() - began) / count, (time.process_time() - worked) / count)
        assert message.stop == "end"
        assert len(message.parts) == 1
        return took

    def close(self) -> None:
        self._recorder.close(60)
        self._store.close()


async def bare(port: int, dialect: str, count: int) -> Took:
    """`aiter_bytes`, split at blank lines (at lines where the dialect does), `json.loads` of each."""
    opened = httpx.AsyncClient(trust_env=False)  # reads the certificates, which is not what is measured
    began, worked = time.perf_counter(), time.process_time()
    mark, field = (b"\n", b"") if dialect == "ollama" else (b"\n\n", b"data: ")
    rest, read = b"", 0
    url = address(port, dialect, count)
    async with opened as client, client.stream("POST", url, json={"messages": []}) as response:
        async for data in response.aiter_bytes():
            *events, rest = (rest + data).split(mark)
            for event in events:
                text = event.partition(field)[2] if field else event
                if text != b"[DONE]":
                    json.loads(text)
                read += 1
    took = Took((time.perf_counter() - began) / count, (time.process_time() - worked) / count)
    assert read >= count
    return took


@contextmanager
def server_of_streams() -> Generator[int]:
    command = [sys.executable, "-I", str(HERE / "peer.py"), "streams"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def vendors_client() -> Generator[Callable[[int, str, int], Took] | None]:
    if shutil.which("uv") is None:
        yield None
        return
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = ["uv", "run", "--quiet", "--no-project", "--python", version, "--with", OPENAI]
    command += ["python", str(HERE / "openai_reader.py")]
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told, asked = process.stdout, process.stdin

        def read(port: int, dialect: str, count: int) -> Took:
            asked.write(f"{address(port, dialect, count)}\n")
            asked.flush()
            wall, cpu, _ = told.readline().split()
            return Took(float(wall) / count, float(cpu) / count)

        yield read if told.readline() else None
        process.kill()


def compare(table: Table, what: str, ours: Callable[[], Took], theirs: Callable[[], Took], goal: Goal) -> None:
    rounds = 3 if table.is_quick else 7
    found = [(ours(), theirs()) for _ in range(rounds + 1)][1:]
    own, other = zip(*found, strict=True)
    table.ratio(f"{what}: CPU of one", [t.cpu for t in own], [t.cpu for t in other], goal, swapped=True)
    table.ratio("  by the clock", [t.wall for t in own], [t.wall for t in other], swapped=True)


def rates(table: Table, port: int, folder: Path) -> None:
    count = 4_000 if table.is_quick else 20_000
    reading = Ours(folder)

    def ours(dialect: str) -> Callable[[], Took]:
        return lambda: anyio.run(reading.took, port, dialect, count)

    for dialect in DIALECTS:
        what = f"{dialect}, {count:,} events, against a splitter and json.loads"
        compare(table, what, ours(dialect), lambda name=dialect: anyio.run(bare, port, name, count), at_least(0.75))
    with vendors_client() as vendor:
        if vendor is None:
            say(f"  ({OPENAI} cannot be had here, so nothing is measured against it)")
        else:
            what = f"openai, {count:,} events, against the vendor's {OPENAI}"
            compare(table, what, ours("openai"), lambda: vendor(port, "openai", count), at_least(6))
    reading.close()


def held(port: int, folder: Path, dialect: str, count: int) -> int:
    """Bytes that the program holds at most while such an answer comes, beside the records: the recorder's window is as small as can be."""
    reading = Ours(folder, Memory(window_bytes=0))

    async def read() -> None:
        await reading.read(port, dialect, 10)
        gc.collect()
        tracemalloc.start()
        tracemalloc.reset_peak()
        assert (await reading.read(port, dialect, count)).stop == "end"

    anyio.run(read)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    reading.close()
    return peak


def run(table: Table) -> None:
    table.heading("model-streams", f"events of {SIZE} bytes over a socket, recorded on the disk, folded to a message")
    many = 10_000 if table.is_quick else 100_000
    with tempfile.TemporaryDirectory() as name, server_of_streams() as port:
        rates(table, port, Path(name))
        for dialect in DIALECTS:
            peak = held(port, Path(name), dialect, many)
            table.figure(f"{dialect}: held for {many:,} events", peak, "B", at_most(20e6))
