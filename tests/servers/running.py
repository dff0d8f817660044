"""Pools of real server processes, and what a test wants to know of them."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import anyio
import pytest

from tests.kit.mcp_http import mcp_http
from tests.kit.mcp_server import mcp_server, tool
from tests.kit.peer import Answer, Peer, peer, until
from tests.kit.program import zygote
from tests.servers.hostile import hostile_server
from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import ServerError
from tui_host.guard.child_process import ChildCommand
from tui_host.servers import server_endpoint
from tui_host.servers.catalog import CallProgress, ServerStatus, Tool, ToolOutput, Turning
from tui_host.servers.pool import Pool
from tui_host.servers.server_endpoint import child_environment
from tui_host.servers.server_questions import Answering
from tui_host.settings.schema import ServerSpec, Template

SDK_SERVER = Path(__file__).parent / "sdk_server.py"
FORKED_SERVER = Path(__file__).parent / "forked_server.py"
FINE: Mapping[str, object] = {"tools": [tool("echo")], "on": {"tools/call": [{"text": "fine"}]}}
"""A server whose one tool says that all is fine."""
END_SECONDS = 45
"""The Contract has six; a machine that does much else takes more, and a pool that waits for a server takes for ever."""


class Running:
    def __init__(self, pool: Pool, recorder: Recorder, told: list[tuple[str, Turning]]) -> None:
        self.pool = pool
        self.recorder = recorder
        self.told = told

    def status(self, name: str) -> ServerStatus:
        return next(status for status in self.pool.statuses() if status.name == name)

    def tool(self, server: str, name: str) -> Tool:
        return next(tool for tool in self.status(server).tools if tool.name == name)

    def limit(self, name: str, seconds: float) -> None:
        """From now on, let the server be silent for so long: connecting took as long as it took."""
        server = self.pool.server(name)
        server.spec = replace(server.spec, timeout=seconds)
        if server.connection is not None:
            server.connection.spec = server.spec

    async def call(
        self,
        server: str,
        tool: str = "echo",
        arguments: bytes = b"{}",
        *,
        call: str = "call_1",
        on_progress: Callable[[CallProgress], None] = lambda _: None,
    ) -> ToolOutput:
        place = Place(session="s", turn=1, step=1, call=call)
        known = self.tool(server, tool)
        return await self.pool.call(
            server, tool, arguments, place=place, fingerprint=known.fingerprint, on_progress=on_progress
        )

    async def call_and_lose(self, server: str, tool: str, arguments: bytes) -> None:
        with pytest.raises(ServerError):
            await self.call(server, tool, arguments)

    async def until(self, is_so: Callable[[], bool], seconds: float = 90) -> None:
        await until(is_so, seconds)

    def records(self, server: str, **fields: object) -> list[Record]:
        found = [record for record in self.recorder.since(0, limit=10**9) if record.peer == server]
        return [record for record in found if all(getattr(record, name) == value for name, value in fields.items())]

    def lines(self, server: str, direction: str) -> list[bytes]:
        return [record.data for record in self.records(server, kind="frame", direction=direction)]


def over_stdio(name: str, argv: Sequence[str], **more: object) -> ServerSpec:
    command, *words = (Template(text=word, literal=True) for word in argv)
    return replace(ServerSpec(name=name, command=command, args=tuple(words)), **more)


def hostile(name: str, mode: str, argument: str = "", *, timeout: float = 60.0) -> ServerSpec:
    return over_stdio(name, hostile_server(mode, argument).argv, timeout=timeout)


def scripted(name: str, script: Mapping[str, object], **more: object) -> ServerSpec:
    return over_stdio(name, mcp_server(script).argv, **more)


@asynccontextmanager
async def started(
    *specs: ServerSpec,
    settle: float = 90,
    environment: Mapping[str, str] | None = None,
    answering: Answering | None = None,
) -> AsyncGenerator[Running]:
    """A pool of these servers, settled; every way out stops it and checks that this was quick."""
    recorder = Recorder(None, Redactor([]), capture="c")
    told: list[tuple[str, Turning]] = []
    pool = Pool(
        {spec.name: spec for spec in specs},
        recorder,
        environment or dict(os.environ),
        answering=answering or Answering(),
        turned=lambda name, turning, _: told.append((name, turning)),
    )
    running = Running(pool, recorder, told)
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run)
        try:
            await pool.settled(settle)
            yield running
        finally:
            with anyio.CancelScope(shield=True), anyio.fail_after(END_SECONDS):
                await pool.stop_all()


def remote(name: str, url: str, **more: object) -> ServerSpec:
    return replace(ServerSpec(name=name, transport="http", url=Template(text=url, literal=True)), **more)


@asynccontextmanager
async def behind_url(**by_hand: Answer) -> AsyncGenerator[tuple[Peer, Running]]:
    """The server that says that all is fine, over HTTP, with what it answers otherwise, and a pool with it alone, as `raw`."""
    async with (
        peer(always=mcp_http(FINE, **by_hand), path="/mcp") as there,
        started(remote("raw", there.url)) as running,
    ):
        yield there, running


def made_with_sdk(name: str, **more: object) -> ServerSpec:
    return over_stdio(name, sdk_command("stdio"), **{"timeout": 240, **more})  # its imports take long on a busy machine


@cache
def _zygote() -> Path:
    """The socket of a process that forks servers, for all tests of this process."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tui-host-"))
    return stack.enter_context(zygote(Path(folder), "servers")).place


def sdk_command(*words: object, program: Path | str = SDK_SERVER) -> list[str]:
    return [sys.executable, "-S", "-E", str(FORKED_SERVER), str(_zygote()), str(program), *map(str, words)]


def fork_bundled_servers() -> None:
    """From now on start the bundled servers of this process so too; their own command is tried in `tests/demo`."""

    def bundled(spec: ServerSpec, environment: Mapping[str, str]) -> ChildCommand:
        words = [str(spec.bundled)] if spec.transport == "stdio" else [str(spec.bundled), "--http", "--lifeline"]
        command = sdk_command(*words, program="tui_host.demo.servers.__main__")
        return ChildCommand(argv=tuple(command), environment=child_environment(spec, environment), cwd=None)

    setattr(server_endpoint, "_bundled", bundled)  # noqa: B010 - a function is replaced


def sdk_configured(name: str, *, program: Path = SDK_SERVER) -> str:
    command, *words = sdk_command("stdio", program=program)
    return f"[servers.{name}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(words)}\n"


@contextmanager
def listening(kind: str, port: int = 0) -> Generator[tuple[str, subprocess.Popen[bytes]]]:
    """The SDK's server over HTTP; ends with the block, or when its process is terminated and waited for."""
    command = sdk_command(kind, port)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"], process
        finally:
            process.kill()
