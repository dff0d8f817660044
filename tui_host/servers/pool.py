"""All configured servers, each kept connected by its own task. Light to import; `run` imports the SDK in a thread."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON, ServerError
from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import GET_PROMPT, READ, Progress, PromptOutput, ServerStatus, Tool, ToolOutput, Turning
from tui_host.servers.outgoing_request import canonical
from tui_host.servers.server import KILL_SECONDS, Server
from tui_host.servers.server_questions import Answering
from tui_host.servers.shared_state import Shared
from tui_host.servers.switches import Switches

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.capture.recorder import Recorder
    from tui_host.guard.child_process import Process
    from tui_host.servers.connection import Connection
    from tui_host.settings.schema import ServerSpec

Reply = TypeVar("Reply")
STOP_SECONDS = 5.0
_DECLINING = Answering()


class Pool:
    """The servers of a host. Use only from the event loop's thread.

    Args:
        guard: Ends the children if the host is killed; the pool makes its own guard if None.
        answering: Answers the requests of servers; by default every question is declined.
        for_command: A command runs, which does not last: what is said of a server names no further tries.
        turned: Called when a server went away, is back, or is tried no more: with its name and the reason.

    Attributes:
        revision: Grows with every status change.
    """

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
        self.revision = 0
        self.switches = Switches(specs.values(), self._changed)
        self._shared = Shared(
            recorder=recorder,
            environment=environment,
            guard=self.guard,
            answering=answering,
            changed=self._changed,
            turned=turned,
            for_command=for_command,
        )
        self._servers = {name: Server(spec, self._shared) for name, spec in specs.items()}
        self._without_task = list(self._servers.values())
        self._news = asyncio.Event()
        self._has_own_guard = guard is None
        self._is_running = False
        self._done = asyncio.Event()
        self._change = asyncio.Event()

    # Life.

    async def run(self) -> None:
        """Connect all enabled servers at once, and keep them connected until `stop_all`. Raises for no fault of a server."""
        self._is_running = True
        early: list[Process] = []
        try:
            await self._start_early(early)
            await asyncio.to_thread(import_sdk)
            await self._run_servers()
        finally:
            self._is_running = False
            await self._end_early(early)
            if self._has_own_guard:
                self.guard.bye()
            self._done.set()
            self._changed()

    async def _run_servers(self) -> None:
        """Run the task of each server until the pool stops, also of servers added later."""
        import anyio

        async with anyio.create_task_group() as group:
            while not self._shared.is_stopping:
                self._news.clear()
                while self._without_task:
                    group.start_soon(self._without_task.pop(0).run)
                await self._news.wait()

    async def _start_early(self, started: list[Process]) -> None:
        for server in tuple(self._servers.values()):
            process = None if self._shared.is_stopping else server.start_early()
            if process is not None:
                started.append(process)
            await asyncio.sleep(0)  # starting a process blocks for some milliseconds

    async def _end_early(self, started: Sequence[Process]) -> None:
        """End the processes that no connection has taken over."""
        import anyio

        with anyio.CancelScope(shield=True):
            for process in started:
                process.kill()
                await process.wait(KILL_SECONDS)
                for pipe in (process.stdin, process.stdout, process.stderr):
                    pipe.close()
                self.guard.remove(process.pid)

    async def stop_all(self) -> None:
        """End every connection at once, in under five seconds; `run` then returns."""
        self._shared.is_stopping = True
        self._news.set()
        for server in self._servers.values():
            server.stop()
        self._changed()
        if self._is_running:
            async with asyncio.timeout(STOP_SECONDS):
                await self._done.wait()

    # What is wanted.

    def reconnect(self, name: str) -> None:
        """End the current connection, if any, and make a new connection. Returns at once."""
        self._server(name).reconnect()
        self._changed()

    def stop(self, name: str) -> None:
        """Disconnect a server. Returns at once."""
        self._server(name).stop()
        self._changed()

    def take(self, specs: Mapping[str, ServerSpec]) -> None:
        """Take a changed configuration: connect new servers, end removed ones, reconnect changed ones. Returns at once."""
        before = self._servers
        for name in before.keys() - specs.keys():
            before[name].is_removed = True
            before[name].stop()
        self._servers = {name: before.get(name) or Server(spec, self._shared) for name, spec in specs.items()}
        for name, spec in specs.items():
            server = self._servers[name]
            if name not in before:
                self.switches.switch_instructions(name, is_on=spec.instructions)
                self._without_task.append(server)
            elif server.spec != spec:
                self.switches.switch_instructions(name, is_on=spec.instructions)
                is_as_before = replace(server.spec, enabled=spec.enabled) == spec and server.is_wanted == spec.enabled
                server.take(spec)
                if not is_as_before:
                    (server.reconnect if spec.enabled else server.stop)()
        self._news.set()
        self._changed()

    def set_changes(self, name: str, changes: Sequence[str]) -> None:
        """Set what has changed in a server's catalog since it was last connected: notices of its status."""
        self._server(name).changes = tuple(changes)
        self._changed()

    def decline_all(self, name: str) -> None:
        """Decline a server's open questions, and every further question until it is connected again."""
        connection = self._server(name).connection
        if connection is not None:
            connection.requests.decline_all()

    # What there is.

    def statuses(self) -> tuple[ServerStatus, ...]:
        """Return every server's status, in the order of the configuration."""
        return tuple(server.status for server in self._servers.values())

    def status_of(self, name: str) -> ServerStatus | None:
        """Return a server's status; None if there is no such server."""
        return self._servers[name].status if name in self._servers else None

    def is_wanted(self, name: str) -> bool:
        """Whether a server should be connected."""
        return self._server(name).is_wanted

    def is_listed(self, name: str) -> bool:
        """Whether a server's current connection has read all of its lists."""
        connection = self._server(name).connection
        return connection is not None and connection.lists.is_read

    def tools(self) -> tuple[Tool, ...]:
        """Return all tools to offer to a model: of ready servers, without a problem, switched on, and the resource readers."""
        offered = (tool for connection in self._ready() for tool in connection.offered)
        return tuple(tool for tool in offered if self.switches.is_on(tool.server, tool.name))

    def instructions(self) -> tuple[tuple[str, str], ...]:
        """Return name and instructions of each ready server whose instructions are switched on."""
        written: list[tuple[str, str]] = []
        for name, server in self._servers.items():
            if server.state == "ready" and self.switches.is_instructing(name):
                written.append((name, server.status.instructions.strip()))
        return tuple((name, text) for name, text in written if text)

    def _ready(self) -> list[Connection]:
        servers = self._servers.values()
        return [each.connection for each in servers if each.connection is not None and each.state == "ready"]

    def has_current_tools(self, server: str) -> bool:
        """Whether a server's tools are up to date: it announced no change since they were listed."""
        connection = self._server(server).connection
        return connection is None or not connection.news.is_outdated("tools")

    # Waiting.

    async def changed(self) -> None:
        """Wait for any change of a server's status."""
        await self._wait_for_change(None)

    async def settled(self, timeout: float) -> tuple[str, ...]:  # noqa: ASYNC109 - it returns then, it does not fail
        """Wait until no server is connecting, at most `timeout` seconds; returns the names of servers still connecting."""
        await self._wait_while(lambda: bool(self._connecting()), timeout)
        return self._connecting()

    async def settled_for_turn(self, seconds: float, wants: Callable[[str], bool] = bool) -> tuple[str, ...]:
        """Wait for servers before a turn: at most `seconds` from now, or from a server's start if that comes later.

        If a connection did not become ready during one turn's wait, later turns do not wait for it.

        Args:
            wants: Whether the turn uses a server, given its name.

        Returns:
            The names of servers still connecting.
        """
        end = time.monotonic() + seconds
        while (names := tuple(filter(wants, self._connecting()))) and (left := self._left(names, end, seconds)) > 0:
            await self._wait_for_change(left)
        for name in names:
            self._servers[name].waited_in_vain = self._servers[name].connection
        return names

    def _left(self, names: Sequence[str], end: float, seconds: float) -> float:
        """Return for how many more seconds to wait for any of the servers."""
        now = time.monotonic()
        left = 0.0
        for server in (self._servers[name] for name in names):
            if server.connection is None or server.connection is not server.waited_in_vain:
                started = now if server.started is None else server.started
                left = max(left, max(end, started + seconds) - now)
        return left

    async def listed(self, seconds: float) -> None:
        """Wait at most `seconds` until the resources of ready servers are listed."""
        await self._wait_while(lambda: not all(connection.lists.is_read for connection in self._ready()), seconds)

    async def listed_again(self, server: str) -> bool:
        """Wait until a server has listed its changed tools, at most its timeout; returns whether the tools are current."""
        of = self._server(server)

        def is_listing() -> bool:
            return of.connection is not None and of.connection.news.is_reading_again("tools")

        await self._wait_while(is_listing, of.spec.timeout or math.inf)
        return self.has_current_tools(server)

    async def _wait_while(self, goes_on: Callable[[], bool], seconds: float) -> None:
        """Wait for changes while something goes on, at most so many seconds."""
        end = time.monotonic() + seconds
        while goes_on() and (left := end - time.monotonic()) > 0:
            await self._wait_for_change(None if left == math.inf else left)

    async def _wait_for_change(self, seconds: float | None) -> None:
        """Wait for any change, at most `seconds`; None for no limit."""
        self._change.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._change.wait()

    # Requests.

    async def call(
        self,
        server: str,
        tool: str,
        arguments_json: bytes,
        *,
        place: Place,
        fingerprint: str,
        on_progress: Callable[[Progress], None],
    ) -> ToolOutput:
        """Call a tool with exactly the approved arguments, provided that its definition has not changed since.

        Args:
            tool: The tool's own name; `READ` reads a resource.
            arguments_json: The canonical bytes.
            fingerprint: Fingerprint of the definition that was shown.

        Raises:
            ServerError: Says what happened, and whether the tool may have run.
        """

        def approved() -> Connection:
            return self._connection_for(self._server(server), tool, fingerprint)

        async def send(connection: Connection) -> ToolOutput:
            return await connection.call(tool, arguments_json, place=place, on_progress=on_progress)

        output, is_resent = await self._sent(server, send, approved)
        return replace(output, is_resent=is_resent) if is_resent else output

    async def read(self, server: str, uri: str, *, place: Place) -> ToolOutput:
        """Read a resource because the person asked for it; raises ServerError if there is no content."""
        return await self._requested(server, READ, {"uri": uri}, place)

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str], *, place: Place) -> PromptOutput:
        """Fill in a prompt because the person asked for it; raises ServerError if the server does not."""
        from tui_host.servers.tool_output import read_messages

        output = await self._requested(server, GET_PROMPT, {"name": name, "arguments": dict(arguments)}, place)
        return read_messages(mapping(output.raw), output.warning)

    async def complete(
        self,
        server: str,
        *,
        argument: str,
        value: str,
        prompt: str = "",
        template: str = "",
        context: Mapping[str, str] | None = None,
    ) -> tuple[str, ...]:
        """Ask a server for values of an argument of a prompt or of a resource template; none if it does not complete.

        Args:
            value: What has been typed of the value.
            prompt: The prompt's name, empty for a template.
            template: The template's URI, empty for a prompt.
            context: Values of other arguments.
        """
        reference: JSON = (
            {"type": "ref/prompt", "name": prompt} if prompt else {"type": "ref/resource", "uri": template}
        )
        about: dict[str, JSON] = {"ref": reference, "argument": {"name": argument, "value": value}}
        if context:
            about["context"] = {"arguments": dict(context)}
        values, _ = await self._sent(server, lambda connection: connection.complete(about))
        return values

    async def ping(self, server: str) -> float:
        """Ask whether a server is alive; returns milliseconds until the answer, raises ServerError without one."""
        milliseconds, _ = await self._sent(server, lambda connection: connection.ping())
        return milliseconds

    async def subscribe(self, server: str, uri: str) -> None:
        """Ask a server to announce changes of a resource; raises ServerError if it does not. The status counts them."""
        await self._sent(server, lambda connection: connection.subscribe(uri))

    async def unsubscribe(self, server: str, uri: str) -> None:
        """Ask a server to announce no more changes of a resource."""
        await self._sent(server, lambda connection: connection.unsubscribe(uri))

    async def _requested(self, server: str, method: str, params: Mapping[str, JSON], place: Place) -> ToolOutput:
        """Send a request that is the person's own consent, with exactly these parameters."""
        try:
            data = canonical(params)
        except ValueError as error:
            raise ServerError(f"this cannot be written as JSON: {error}", server, sent=False) from error

        async def send(connection: Connection) -> ToolOutput:
            return await connection.call(method, data, place=place, on_progress=lambda _: None)

        output, _ = await self._sent(server, send)
        return output

    async def _sent(
        self,
        name: str,
        send: Callable[[Connection], Awaitable[Reply]],
        connection: Callable[[], Connection] | None = None,
    ) -> tuple[Reply, bool]:
        """Send a request, and send it again over a new connection if the server had forgotten the session.

        Args:
            connection: Returns the connection to send it over; by default the server's, if ready.

        Returns:
            The reply, and whether it is that of the second request.
        """
        server = self._server(name)
        of = connection or server.ready_connection
        first = of()
        try:
            return await send(first), False
        except ServerError as error:
            if not error.is_session_lost:
                raise

        def is_replacing() -> bool:
            return server.is_wanted and (server.connection in {None, first} or server.state == "connecting")

        await self._wait_while(is_replacing, server.spec.timeout or math.inf)
        return await send(of()), True

    def _connection_for(self, server: Server, tool: str, fingerprint: str) -> Connection:
        """Return the connection for an approved call, provided that the tool is on and its definition has not changed."""
        name = server.spec.name
        if not self.switches.is_on(name, tool):
            what = f"{tool} has been switched off; nothing was sent"
            raise ServerError(what, name, "o in f3 switches it on", sent=False)
        connection = server.ready_connection()
        offered = next((candidate for candidate in connection.offered if candidate.name == tool), None)
        if offered is None:
            raise ServerError(f"the server no longer has a tool {tool}; nothing was sent", name, sent=False)
        if offered.fingerprint != fingerprint:
            what = f"the definition of {tool} has changed since the call was approved; nothing was sent"
            raise ServerError(what, name, sent=False)
        return connection

    def _changed(self) -> None:
        self.revision += 1
        self._change.set()

    def _connecting(self) -> tuple[str, ...]:
        servers = self._servers.items()
        return tuple(name for name, server in servers if server.is_wanted and server.state == "connecting")

    def _server(self, name: str) -> Server:
        if name not in self._servers:
            raise ServerError(f"there is no server {name}", sent=False)
        return self._servers[name]


def import_sdk() -> None:
    """Import the SDK's client half, which takes some time, and what runs connections with it."""
    from tui_host.servers.sdk_import import put_off

    put_off()
    import_module("tui_host.servers.connection")
