"""All configured servers, each kept connected by its own task. Light to import; `run` imports the SDK in a thread."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from tui_host.errors import ServerError
from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import (
    GET_PROMPT,
    READ,
    CallProgress,
    PromptOutput,
    ServerStatus,
    Tool,
    ToolOutput,
    Turning,
)
from tui_host.servers.outgoing_request import canonical
from tui_host.servers.server import Server
from tui_host.servers.server_questions import Answering
from tui_host.servers.tool_output import read_contents, read_messages, read_output
from tui_host.servers.wire import Shared

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from tui_host.capture.record import Place
    from tui_host.capture.recorder import Recorder
    from tui_host.servers.connection import McpConnection
    from tui_host.settings.schema import ServerSpec

Reply = TypeVar("Reply")
STOP_SECONDS = 5.0
_DECLINING = Answering()


class Pool:
    """The servers of a host, by name. Use only from the event loop's thread. What the parameters mean stands at `Shared`."""

    def __init__(
        self,
        specs: Mapping[str, ServerSpec],
        recorder: Recorder,
        environment: Mapping[str, str],
        *,
        guard: Guard | None = None,
        answering: Answering = _DECLINING,
        for_command: bool = False,
        turned: Callable[[str, Turning, str], None] = lambda _name, _turning, _reason: None,
    ) -> None:
        self.guard = guard or Guard()
        self.revision = 0  # grows with every change of a server
        self._shared = Shared(
            recorder=recorder,
            environment=environment,
            guard=self.guard,
            answering=answering,
            changed=self._changed,
            turned=turned,
            for_command=for_command,
        )
        self.servers = {name: Server(spec, self._shared) for name, spec in specs.items()}
        self._group: TaskGroup | None = None
        self._has_own_guard = guard is None
        self._stopping = asyncio.Event()
        self._done: asyncio.Event | None = None  # there is one while `run` runs
        self._change = asyncio.Event()

    async def run(self) -> None:
        """Connect all enabled servers at once, and keep them connected until `stop_all`. Raises for no fault of a server."""
        import anyio

        from tui_host.servers.sdk_import import import_sdk

        self._done = done = asyncio.Event()
        try:
            await asyncio.to_thread(import_sdk)
            async with anyio.create_task_group() as self._group:
                for server in self.servers.values():
                    self._group.start_soon(server.run)
                await self._stopping.wait()
        finally:
            self._done = self._group = None
            if self._has_own_guard:
                self.guard.bye()
            done.set()
            self._changed()

    async def stop_all(self) -> None:
        """End every connection at once, in under five seconds; `run` then returns."""
        self._shared.is_stopping = True
        self._stopping.set()
        for server in self.servers.values():
            server.stop()
        if self._done is not None:
            async with asyncio.timeout(STOP_SECONDS):
                await self._done.wait()

    def take(self, specs: Mapping[str, ServerSpec], switches: Mapping[str, bool]) -> None:
        """Take a configuration, in whose specs the person's switches of servers are applied already.

        New servers are connected, removed ones ended, changed ones connected anew or disconnected. `switches` are those of
        tools too, by `SERVER.TOOL`.
        """
        before = self.servers
        for name in before.keys() - specs.keys():
            before[name].is_removed = True
            before[name].stop()
        self.servers = {name: before.get(name) or Server(spec, self._shared) for name, spec in specs.items()}
        off = [name.partition(".") for name, is_on in switches.items() if not is_on]
        for name, spec in specs.items():
            server = self.servers[name]
            server.tools_off = frozenset(tool for owner, _, tool in off if owner == name and tool)
            if name not in before and self._group is not None:
                self._group.start_soon(server.run)
            elif server.spec != spec:
                is_as_before = replace(server.spec, enabled=spec.enabled) == spec and server.is_wanted == spec.enabled
                server.spec, server.is_instructing = spec, spec.instructions
                if not is_as_before:
                    (server.reconnect if spec.enabled else server.stop)()
        self._changed()

    def server(self, name: str) -> Server:
        if name not in self.servers:
            raise ServerError(f"there is no server {name}", sent=False)
        return self.servers[name]

    def statuses(self) -> tuple[ServerStatus, ...]:
        return tuple(server.status for server in self.servers.values())

    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for server in self.servers.values() for tool in server.offered)

    def instructions(self) -> tuple[tuple[str, str], ...]:
        ready = ((name, each) for name, each in self.servers.items() if each.state == "ready" and each.is_instructing)
        written = ((name, server.status.instructions.strip()) for name, server in ready)
        return tuple((name, text) for name, text in written if text)

    def has_current_tools(self, server: str) -> bool:
        connection = self.server(server).connection
        return connection is None or connection.lists.has_current_tools

    async def changed(self) -> None:
        self._change.clear()
        await self._change.wait()

    async def settled(self, seconds: float, wants: Callable[[str], bool] = bool) -> tuple[str, ...]:
        """Wait until no server that is wanted, by name, is connecting; returns the names of those that still are."""

        def connecting() -> list[Server]:
            all_of_them = (server for name, server in self.servers.items() if server.is_wanted and wants(name))
            return [server for server in all_of_them if server.state == "connecting"]

        # A turn waits once for a connection, and no longer for one that has not begun than for one that has.
        await self._wait_while(
            lambda: any(each.connection is None or each.connection is not each.waited_in_vain for each in connecting()),
            seconds,
        )
        for server in connecting():  # nobody waits for them again
            server.waited_in_vain = server.connection
        return tuple(server.spec.name for server in connecting())

    async def listed(self, seconds: float) -> None:
        servers = self.servers.values()
        await self._wait_while(lambda: any(each.state == "ready" and not each.is_listed for each in servers), seconds)

    async def listed_again(self, server: str) -> bool:
        """Wait until a server has listed its changed tools, at most its timeout; returns whether the tools are current."""
        of = self.server(server)
        await self._wait_while(
            lambda: of.connection is not None and of.connection.lists.awaits_tools, of.spec.timeout or math.inf
        )
        return self.has_current_tools(server)

    async def _wait_while(self, goes_on: Callable[[], bool], seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                while goes_on():
                    await self.changed()

    async def call(
        self,
        server: str,
        tool: str,
        arguments_json: bytes,
        *,
        place: Place,
        fingerprint: str,
        on_progress: Callable[[CallProgress], None],
    ) -> ToolOutput:
        """Call a tool, or read a resource by `READ`, with exactly the approved bytes, if its definition is still the one shown."""
        read = read_contents if tool == READ else read_output
        tried: list[McpConnection] = []

        async def send(connection: McpConnection) -> ToolOutput:
            offered = next((candidate for candidate in connection.offered if candidate.name == tool), None)
            if tool in self.server(server).tools_off:
                what = f"{tool} has been switched off; nothing was sent"
                raise ServerError(what, server, "/mcp switches it on", sent=False)
            if offered is None:
                raise ServerError(f"the server no longer has a tool {tool}; nothing was sent", server, sent=False)
            if offered.fingerprint != fingerprint:
                what = f"the definition of {tool} has changed since the call was approved; nothing was sent"
                raise ServerError(what, server, sent=False)
            tried.append(connection)
            result, warning = await connection.call(tool, arguments_json, place=place, on_progress=on_progress)
            return replace(read(result, warning), is_resent=len(tried) > 1)

        return await self.request(server, send)

    async def read(self, server: str, uri: str, *, place: Place) -> ToolOutput:
        data = canonical({"uri": uri})
        return read_contents(*await self.request(server, lambda connection: connection.call(READ, data, place=place)))

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str], *, place: Place) -> PromptOutput:
        data = canonical({"name": name, "arguments": dict(arguments)})
        result = await self.request(server, lambda connection: connection.call(GET_PROMPT, data, place=place))
        return read_messages(*result)

    async def request(self, server: str, send: Callable[[McpConnection], Awaitable[Reply]]) -> Reply:
        """Send a request over a connection, and again over a new one if the server had forgotten the session."""
        of = self.server(server)
        tried: list[McpConnection] = []
        while True:
            connection = of.connection
            if connection is None or of.state != "ready":
                what = f"the server is not connected: {of.status.detail or of.status.state}"
                raise ServerError(what, server, "reconnect it", sent=False)
            try:
                return await send(connection)
            except ServerError as error:
                if not error.is_session_lost or tried:
                    raise
            # The next connection has not begun, or is starting.
            tried.append(connection)
            await self._wait_while(
                lambda: of.is_wanted and (of.connection in tried or of.state == "connecting"),
                of.spec.timeout or math.inf,
            )

    def _changed(self) -> None:
        self.revision += 1
        self._change.set()
