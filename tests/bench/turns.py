"""What a long session costs a host in memory: 300 turns of two calls and 4 kB of text each, and what stays once it is left.

Run as a module, it is the process that is measured: the host alone, with a provider in a process of its own.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import anyio

from tests.bench.measure import Table, at_most, peer
from tests.bench.on_pty import HERE
from tests.host.test_host import asked, configured
from tui_host.chat.stored_messages import message_to_text
from tui_host.host.host import Host

EVENTS = 300
"""Of an answer: 4 kB of text."""


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


async def measured(folder: Path, port: int, turns: int, *, is_traced: bool) -> dict[str, int]:
    """Bytes at each third of the turns, and once the session is left: of the heap where it is traced, else resident."""
    server = f'[servers.quick]\ncommand = {json.dumps(sys.executable)}\nargs = ["-I", "-S", {json.dumps(str(HERE / "quick_server.py"))}]\n'
    settings = configured(folder, f"http://127.0.0.1:{port}/{EVENTS}/openai/calls/v1", servers=server)
    host, sizes = Host(settings, allow_all=True), dict[str, int]()

    async def note(name: str) -> None:
        assert host.recorder is not None
        assert await anyio.to_thread.run_sync(host.recorder.flush, 60)
        gc.collect()
        sizes[name] = tracemalloc.get_traced_memory()[0] if is_traced else resident()

    async with anyio.create_task_group() as group:
        group.start_soon(host.serve)
        await host.ready()
        assert host.pool is not None
        await host.pool.settled(60)
        first, session = host.sessions.new(), host.sessions.new()
        await asked(host, first, "what is loaded once?")
        host.leave(first)
        del first
        if is_traced:
            tracemalloc.start()
        await note("before")
        for turn in range(1, turns + 1):
            await asked(host, session, f"question {turn}")
            if turn % (turns // 3) == 0:
                await note(f"turn {turn}")
        sizes["texts"] = sum(len(message_to_text(message)) for message in session.messages) // turns
        host.leave(session)
        assert not host.sessions
        del session
        await note("left")
        host.stop()
    return sizes


def child(turns: int, *, is_traced: bool) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder, peer(HERE / "answering_peer.py") as port:
        command = [sys.executable, "-m", "tests.bench.turns", folder, str(port), str(turns), str(int(is_traced))]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def run(table: Table) -> None:
    turns = 90 if table.is_quick else 300
    table.heading("turns", f"{turns} turns of two calls and 4 kB of text in a session, the host alone")
    heap, process = child(turns, is_traced=True), child(turns, is_traced=False)
    third, last = f"turn {turns // 3}", f"turn {turns}"
    for name in heap:
        if name != "texts":
            table.figure(
                f"heap since the start, {name}",
                heap[name] - heap["before"],
                "B",
                note=f"resident {process[name] >> 20} MiB",
            )
    a_turn = (heap[last] - heap[third]) / (turns - turns // 3)
    table.figure("heap a turn", a_turn, "B")
    table.figure("  beyond the text of its messages, which is on the disk", a_turn - heap["texts"], "B", at_most(5000))
    table.figure("heap that stays once the session is left", heap["left"] - heap["before"], "B", at_most(1 << 20))


if __name__ == "__main__":
    place, port_number, count, traced = sys.argv[1:]
    sys.stdout.write(
        json.dumps(anyio.run(lambda: measured(Path(place), int(port_number), int(count), is_traced=traced == "1")))
    )
