"""Answers of models over a real socket: captured, decoded and folded to a message, against bare bytes and a vendor's client."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx

from tests.bench.answering_peer import DIALECTS, SIZE
from tests.bench.measure import Table, at_least, at_most, peer, say, with_package
from tests.bench.on_pty import HERE
from tui_host.capture.record import Place
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Ask, Message, Text
from tui_host.llm.model_client import ModelClient
from tui_host.llm.protocols.native import Native
from tui_host.settings.schema import Provider, Template

PLACE = Place(session="20261121-134501-x7k2q", turn=1, step=1)
QUESTION = Message(role="user", parts=(Text(text="hello"),))
KEY = "sk-1234567890abcdef"
OPENAI = "openai==3.52.0"


@dataclass(frozen=True, slots=True)
class Took:
    """What one answer took, in seconds: of the clock, and of this process's CPU, the store's thread included."""

    wall: float
    cpu: float


def address(port: int, dialect: str, count: int) -> str:
    return f"http://127.0.0.1:{port}/{count}/{dialect}"


class Ours:
    """The whole way of the program: its client with its tap, a recorder with a store on the disk, decoder, reader, fold."""

    def __init__(self, folder: Path, memory: Memory | None = None) -> None:
        self._store = Store.open(folder / "tui-host.db")
        self._recorder = Recorder(
            self._store, Redactor([("KEY", KEY)]), capture=f"c{time.time_ns()}", memory=memory or Memory()
        )

    async def read(self, port: int, dialect: str, count: int) -> Fold:
        provider = Provider(
            name="mine",
            dialect=dialect,
            base_url=Template(text=address(port, dialect, count), literal=True),
            api_key=Template(text=KEY, literal=True),
        )
        client = ModelClient(self._recorder, {})
        fold = Fold(provider="mine", model="m", call_id=str)
        ask = Ask(model="m", messages=(QUESTION,))
        try:
            async with client.stream(provider, ask, place=PLACE, reader=Native().reader(())) as stream:
                async for events in stream.batches():
                    for event in events:
                        fold.add(event)
        finally:
            await client.aclose()
        return fold

    async def took(self, port: int, dialect: str, count: int) -> Took:
        began, worked = time.perf_counter(), time.process_time()
        fold = await self.read(port, dialect, count)
        message = fold.message(turn=1)
        assert self._recorder.flush(60)
        took = Took(time.perf_counter() - began, time.process_time() - worked)
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
    rest = b""
    read = 0
    async with (
        opened as client,
        client.stream("POST", address(port, dialect, count), json={"messages": []}) as response,
    ):
        async for data in response.aiter_bytes():
            *events, rest = (rest + data).split(mark)
            for event in events:
                _, _, text = event.partition(field) if field else ("", "", event)
                if text != b"[DONE]":
                    json.loads(text)
                read += 1
    took = Took(time.perf_counter() - began, time.process_time() - worked)
    assert read >= count
    return took


@contextmanager
def vendors_client() -> Generator[Callable[[int, int], Took] | None]:
    """OpenAI's own client in a process and an environment of its own; None where it cannot be had."""
    command = with_package(OPENAI, "python", str(HERE / "openai_reader.py"))
    if command is None:
        yield None
        return
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told, asked = process.stdout, process.stdin

        def read(port: int, count: int) -> Took:
            asked.write(f"{address(port, 'openai', count)}\n")
            asked.flush()
            wall, cpu, _ = told.readline().split()
            return Took(float(wall), float(cpu))

        yield read if told.readline() else None
        process.kill()


def compare(table: Table, what: str, ours: Sequence[Took], theirs: Sequence[Took], goal: float) -> None:
    table.ratio(
        f"{what}: CPU of one event", [t.cpu for t in ours], [t.cpu for t in theirs], at_least(goal), swapped=True
    )
    table.ratio("  by the clock", [t.wall for t in ours], [t.wall for t in theirs], swapped=True)


def per_event(took: Took, count: int) -> Took:
    return Took(took.wall / count, took.cpu / count)


def rates(table: Table, port: int, folder: Path) -> None:
    rounds, count = (3, 4_000) if table.is_quick else (7, 20_000)
    reading = Ours(folder)
    for dialect in DIALECTS:
        ours, theirs = list[Took](), list[Took]()
        for number in range(rounds + 1):
            found = anyio.run(reading.took, port, dialect, count), anyio.run(bare, port, dialect, count)
            if number:  # the first is for warming up
                ours.append(per_event(found[0], count))
                theirs.append(per_event(found[1], count))
        compare(table, f"{dialect}, against bytes, a splitter and json.loads", ours, theirs, 0.7)
    with vendors_client() as vendor:
        if vendor is None:
            say(f"  ({OPENAI} cannot be had here, so nothing is measured against it)")
        else:
            ours, theirs = list[Took](), list[Took]()
            for number in range(rounds + 1):
                found = anyio.run(reading.took, port, "openai", count), vendor(port, count)
                if number:
                    ours.append(per_event(found[0], count))
                    theirs.append(per_event(found[1], count))
            compare(table, f"openai, against the vendor's client ({OPENAI})", ours, theirs, 4)
    reading.close()


def held(port: int, folder: Path, dialect: str, count: int) -> tuple[int, int]:
    """Bytes that the program holds at most while such an answer comes, beside the records, and those of the answer.

    The recorder's window is what was captured, so it is kept as small as can be.
    """
    reading = Ours(folder, Memory(window_bytes=0))

    async def read() -> None:
        await reading.read(port, dialect, 10)
        gc.collect()
        tracemalloc.start()
        tracemalloc.reset_peak()
        fold = await reading.read(port, dialect, count)
        assert fold.stop == "end"

    anyio.run(read)
    gc.collect()
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    reading.close()
    return now, peak


def growth(table: Table, port: int, folder: Path) -> None:
    few, many = (1_000, 10_000) if table.is_quick else (10_000, 100_000)
    reading = Ours(folder)
    for dialect in DIALECTS:
        anyio.run(reading.took, port, dialect, few)
        short = [per_event(anyio.run(reading.took, port, dialect, few), few).cpu for _ in range(5)]
        long = [per_event(anyio.run(reading.took, port, dialect, many), many).cpu for _ in range(2)]
        table.ratio(f"{dialect}: an event of {many:,}, against one of {few:,}", long, short, at_most(1.2))
    reading.close()
    for dialect in DIALECTS:
        now, peak = held(port, folder, dialect, many)
        table.figure(f"{dialect}: held for {many:,} events", peak, "B", at_most(20e6), note=f"now {now:,}")


def run(table: Table) -> None:
    table.heading("model-streams", f"events of {SIZE} bytes over a socket, recorded on the disk, folded to a message")
    with tempfile.TemporaryDirectory() as name, peer(HERE / "answering_peer.py") as port:
        rates(table, port, Path(name))
        growth(table, port, Path(name))
