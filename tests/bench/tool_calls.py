"""Tool calls through the host's connection, everything recorded, against the SDK's bare client; servers connected together."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

from tests.bench.kept import recorder_on
from tests.bench.measure import Table, at_least, at_most
from tests.bench.on_pty import HERE
from tui_host.capture.record import Place
from tui_host.chat.call_arguments import canonical
from tui_host.errors import JSON
from tui_host.servers.pool import Pool
from tui_host.settings.schema import ServerSpec, Template

SCRIPT = str(HERE / "quick_server.py")
PLACE = Place(session="20261121-134501-x7k2q", turn=1, step=1, call="c1")
ARGUMENTS: dict[str, JSON] = {"city": "Paris", "days": 3, "note": "some words " * 5}
STARTING_SECONDS = "0.3"
"""What many servers take to start."""
Work = Callable[[], Awaitable[None]]


def spec(name: str, *words: str) -> ServerSpec:
    command = ("-I", "-S", SCRIPT, *words)
    return ServerSpec(
        name=name,
        command=Template(text=sys.executable, literal=True),
        args=tuple(Template(text=word, literal=True) for word in command),
    )


@asynccontextmanager
async def pool_of(folder: Path, *specs: ServerSpec) -> AsyncGenerator[Pool]:
    """Servers that are connected when the block begins, recorded into a store in this folder."""
    with recorder_on(folder) as recorder:
        pool = Pool({each.name: each for each in specs}, recorder, dict(os.environ))
        async with anyio.create_task_group() as group:
            group.start_soon(pool.run)
            await pool.settled(60)
            assert all(status.state == "ready" for status in pool.statuses())
            yield pool
            await pool.stop_all()


async def timed(work: Work, count: int) -> tuple[float, float]:
    """Seconds of one, out of so many in a row; and what the event loop's thread worked for it."""
    began, worked = time.perf_counter(), time.thread_time()
    for _ in range(count):
        await work()
    return (time.perf_counter() - began) / count, (time.thread_time() - worked) / count


async def calls(table: Table) -> None:
    """Both in one process, in turn."""
    rounds, batch = (5, 20) if table.is_quick else (25, 100)
    with tempfile.TemporaryDirectory() as name:
        parameters = StdioServerParameters(command=sys.executable, args=["-I", "-S", SCRIPT])
        async with pool_of(Path(name), spec("quick")) as pool, Client(parameters) as client:
            prints = {tool.name: tool.fingerprint for tool in pool.tools()}
            encoded = canonical(ARGUMENTS)

            async def ours(tool: str = "echo") -> None:
                await pool.call(
                    "quick", tool, encoded, place=PLACE, fingerprint=prints[tool], on_progress=lambda _: None
                )

            async def theirs(tool: str = "echo") -> None:
                await client.call_tool(tool, dict(ARGUMENTS))

            await timed(ours, 20)
            await timed(theirs, 20)
            short = [(await timed(ours, batch), await timed(theirs, batch)) for _ in range(rounds)]
            long = [
                (await timed(partial(ours, "long"), 1), await timed(partial(theirs, "long"), 1))
                for _ in range(2 if table.is_quick else 7)
            ]
    table.ratio("round trip of a call", [each[0] for each, _ in short], [each[0] for _, each in short], at_most(1.1))
    table.ratio("  CPU of the event loop for it", [each[1] for each, _ in short], [each[1] for _, each in short])
    ours_of_long, theirs_of_long = [each[0] for each, _ in long], [each[0] for _, each in long]
    table.ratio("a line of 10 MB, faster than the SDK", ours_of_long, theirs_of_long, at_least(5), swapped=True)


async def connecting(count: int) -> float:
    """Seconds until so many servers are ready."""
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        async with pool_of(Path(name), *(spec(f"s{number}", STARTING_SECONDS) for number in range(count))):
            return time.perf_counter() - began


def answering(count: int) -> float:
    """Seconds until so many of the same programs have answered a line, without any client: what the machine needs for them."""
    began = time.perf_counter()
    command = [sys.executable, "-I", "-S", SCRIPT, STARTING_SECONDS]
    with ExitStack() as stack:
        programs = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
            )
            for _ in range(count)
        ]
        for program in programs:
            assert program.stdin is not None
            program.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            program.stdin.close()
        for program in programs:
            assert program.stdout is not None
            assert program.stdout.readline()
        return time.perf_counter() - began


async def together(table: Table) -> None:
    rounds = 2 if table.is_quick else 7
    await connecting(1)
    found = [(await connecting(20), await connecting(1), answering(20), answering(1)) for _ in range(rounds)]
    twenty, one, bare_twenty, bare_one = zip(*found, strict=True)
    table.ratio(f"twenty servers that start in {STARTING_SECONDS} s, against one", twenty, one, at_most(1.8))
    table.ratio("  their processes alone, without a client", bare_twenty, bare_one)


def run(table: Table) -> None:
    table.heading("tool-calls", "through the host's connection and onto the disk, against the SDK's client")
    anyio.run(calls, table)
    anyio.run(together, table)
