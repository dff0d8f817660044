"""Tool calls through the host's connection, everything recorded, against the SDK's bare client; servers connected together."""

import os
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

from tests.bench.measure import QUICK_SERVER, Table, at_least, at_most
from tui_host.capture.record import Place
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.chat.call_arguments import canonical
from tui_host.errors import JSON
from tui_host.servers.pool import Pool
from tui_host.settings.schema import ServerSpec, Template

PLACE = Place(session="20261121-134501-x7k2q", turn=1, step=1, call="c1")
ARGUMENTS: dict[str, JSON] = {"city": "Paris", "days": 3, "note": "some words " * 5}
Work = Callable[[], Awaitable[None]]


@asynccontextmanager
async def pool_of(folder: Path, count: int, *words: str) -> AsyncGenerator[Pool]:
    command, *arguments = (Template(text=word, literal=True) for word in (*QUICK_SERVER, *words))
    names = [f"s{number}" for number in range(count)]
    specs = {name: ServerSpec(name=name, command=command, args=tuple(arguments)) for name in names}
    store = Store.open(folder / "tui-host.db")
    recorder = Recorder(store, Redactor([("KEY", "sk-1234567890abcdef")]), capture="c")
    pool = Pool(specs, recorder, dict(os.environ))
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run)
        await pool.settled(60)
        assert all(status.state == "ready" for status in pool.statuses())
        yield pool
        await pool.stop_all()
    assert recorder.close(300)
    assert store.close(300)


async def timed(work: Work, count: int) -> tuple[float, float]:
    """Seconds of one, out of so many in a row; and what the event loop's thread worked for it."""
    began, worked = time.perf_counter(), time.thread_time()
    for _ in range(count):
        await work()
    return (time.perf_counter() - began) / count, (time.thread_time() - worked) / count


async def calls(table: Table) -> None:
    rounds, batch, longs = (5, 20, 2) if table.is_quick else (25, 100, 7)
    with tempfile.TemporaryDirectory() as name:
        parameters = StdioServerParameters(command=QUICK_SERVER[0], args=[*QUICK_SERVER[1:]])
        async with pool_of(Path(name), 1) as pool, Client(parameters) as client:
            prints = {tool.name: tool.fingerprint for tool in pool.tools()}
            encoded = canonical(ARGUMENTS)

            async def ours(tool: str = "echo") -> None:
                await pool.call("s0", tool, encoded, place=PLACE, fingerprint=prints[tool], on_progress=lambda _: None)

            async def theirs(tool: str = "echo") -> None:
                await client.call_tool(tool, dict(ARGUMENTS))

            await timed(ours, 20)
            await timed(theirs, 20)
            short = [(await timed(ours, batch), await timed(theirs, batch)) for _ in range(rounds)]
            long = [
                (await timed(partial(ours, "long"), 1), await timed(partial(theirs, "long"), 1)) for _ in range(longs)
            ]
    own, sdk = zip(*short, strict=True)
    what = f"round trip of an `echo`, {batch} in a row"
    table.ratio(what, [each[0] for each in own], [each[0] for each in sdk], at_most(0.95))
    table.ratio("  CPU of the event loop for it", [each[1] for each in own], [each[1] for each in sdk])
    own, sdk = zip(*long, strict=True)
    what = "a result of 10 MB on one line, faster than the SDK"
    table.ratio(what, [each[0] for each in own], [each[0] for each in sdk], at_least(7), swapped=True)


async def connecting(count: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        async with pool_of(Path(name), count, "0.3"):  # seconds that many servers take to start
            return time.perf_counter() - began


async def together(table: Table) -> None:
    rounds = 2 if table.is_quick else 7
    await connecting(1)
    twenty, one = zip(*[(await connecting(20), await connecting(1)) for _ in range(rounds)], strict=True)
    table.ratio("twenty servers that start in 0.3 s, against one", twenty, one, at_most(1.8))


def run(table: Table) -> None:
    table.heading("tool-calls", "through the host's connection and onto the disk, against the SDK's client, over stdio")
    anyio.run(calls, table)
    anyio.run(together, table)
