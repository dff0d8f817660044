"""All configured servers, each kept connected by its own task. Light to import; `run` imports the SDK in a thread."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON, ServerError
from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import GET_PROMPT, READ, Progress, PromptOutput, ServerStatus, Tool, ToolOutput, Turning
from tui_host.servers.early_processes import end_early, start_early
from tui_host.servers.outgoing_request import canonical
from tui_host.servers.pool_slot import Slot
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
        specs: The configured servers by name, in order.
        recorder: Records the traffic.
        environment: Resolves references.
        guard: Ends the children if the host is killed; the pool makes its own guard if None.
        answering: Answers the requests of servers; by default every question is declined.
        for_command: A command runs, which does not last: what is said of a server names no further tries.

    Attributes:
        guard: Knows every running process.
        revision: Grows with every status change.
        switches: Which tools may be offered, and whose instructions are sent.
        turned: Called when a server went away, is back, or is tried no more: with its name and the reason.
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
    ) -> None:
        self.guard = guard or Guard()
        self.revision = 0
        self.switches = Switches(specs.values(), self._changed)
        self.turned: Callable[[str, Turning, str], None] = lambda _name, _turning, _reason: None
        self._slots = {name: Slot(spec, for_command=for_command) for name, spec in specs.items()}
        self._shared = Shared(
            recorder=recorder,
            environment=environment,
            guard=self.guard,
            changed=self._changed,
            answering=answering,
            turned=lambda name, turning, reason: self.turned(name, turning, reason),  # noqa: PLW0108 - set later
        )
        self._added = list(self._slots.values())
        self._news = asyncio.Event()
        self._has_own_guard = guard is None
        self._is_running = False
        self._done = asyncio.Event()
        self._change = asyncio.Event()

    async def run(self) -> None:
        """Connect all enabled servers at once, and keep them connected until `stop_all`. Raises for no fault of a server."""
        self._is_running = True
        early: list[Process] = []
        try:
            await start_early(self._shared, tuple(self._slots.values()), early)
            supervise = await asyncio.to_thread(import_supervisor)
            if not self._shared.is_stopping:
                await supervise(self._shared, self._added, self._news)
        finally:
            self._is_running = False
            await end_early(self._shared, early)
            if self._has_own_guard:
                self.guard.bye()
            self._done.set()
            self._changed()

    def statuses(self) -> tuple[ServerStatus, ...]:
        """Return every server's status, in the order of the configuration."""
        return tuple(slot.status for slot in self._slots.values())

    def status_of(self, name: str) -> ServerStatus | None:
        """Return a server's status; None if there is no such server."""
        return self._slots[name].status if name in self._slots else None

    def reconnect(self, name: str) -> None:
        """End the current connection, if any, and make a new connection. Returns at once."""
        slot = self._slot(name)
        slot.is_wanted = True
        slot.reconnection.reset()
        slot.waited_in_vain = None
        slot.is_restarting = slot.connection is not None
        slot.stop()
        slot.mark_connecting()
        slot.wake.set()
        self._changed()

    def start(self, name: str) -> None:
        """Connect a server that has no connection. Returns at once."""
        if self._slot(name).connection is None:
            self.reconnect(name)

    def stop(self, name: str) -> None:
        """Disconnect a server. Returns at once."""
        slot = self._slot(name)
        slot.is_wanted = slot.is_restarting = False
        if slot.early is not None:
            slot.early.signal_group(signal.SIGKILL)  # `run` waits for the process to end
            slot.early = None
        slot.stop()
        slot.wake.set()
        self._changed()

    def take(self, specs: Mapping[str, ServerSpec]) -> None:
        """Take a changed configuration: connect new servers, end removed ones, reconnect changed ones. Returns at once."""
        for name in self._slots.keys() - specs.keys():
            self._slots[name].is_removed = True
            self.stop(name)
        slots: dict[str, Slot] = {}
        for name, spec in specs.items():
            slot = slots[name] = self._slots.get(name) or Slot(spec)
            if self._slots.get(name) is None or slot.spec != spec:
                self.switches.switch_instructions(name, is_on=spec.instructions)
            if name not in self._slots:
                self._added.append(slot)
            elif slot.spec != spec:
                is_as_before = replace(slot.spec, enabled=spec.enabled) == spec and slot.is_wanted == spec.enabled
                slot.take(spec)
                if not is_as_before:
                    (self.reconnect if spec.enabled else self.stop)(name)
        self._slots = slots
        self._news.set()
        self._changed()

    def is_wanted(self, name: str) -> bool:
        """Whether a server should be connected."""
        return self._slot(name).is_wanted

    def is_listed(self, name: str) -> bool:
        """Whether a server's current connection has read all of its lists."""
        connection = self._slot(name).connection
        return connection is not None and connection.is_listed

    def set_changes(self, name: str, changes: Sequence[str]) -> None:
        """Set what has changed in a server's catalog since it was last connected: notices of its status."""
        self._slot(name).changes = tuple(changes)
        self._changed()

    async def settled(self, timeout: float) -> tuple[str, ...]:  # noqa: ASYNC109 - it returns then, it does not fail
        """Wait until no server is connecting, at most `timeout` seconds.

        Returns:
            The names of servers still connecting.
        """
        end = time.monotonic() + timeout
        while (names := self._connecting()) and (left := end - time.monotonic()) > 0:
            await self._wait_for_change(left)
        return names

    async def settled_for_turn(self, seconds: float, wants: Callable[[str], bool] = bool) -> tuple[str, ...]:
        """Wait for servers before a turn: at most `seconds` from now, or from a server's start if that comes later.

        If a connection did not become ready during one turn's wait, later turns do not wait for it.

        Args:
            seconds: The longest wait.
            wants: Whether the turn uses a server, given its name.

        Returns:
            The names of servers still connecting.
        """
        end = time.monotonic() + seconds
        while (names := tuple(filter(wants, self._connecting()))) and (left := self._left(names, end, seconds)) > 0:
            await self._wait_for_change(left)
        for name in names:
            self._slots[name].waited_in_vain = self._slots[name].connection
        return names

    async def changed(self) -> None:
        """Wait for any change of a server's status."""
        await self._wait_for_change(None)

    async def _wait_for_change(self, seconds: float | None) -> None:
        """Wait for any change, at most `seconds`; None for no limit."""
        self._change.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._change.wait()

    def _left(self, names: Sequence[str], end: float, seconds: float) -> float:
        """Return for how many more seconds to wait for any of the servers."""
        now = time.monotonic()
        left = 0.0
        for slot in (self._slots[name] for name in names):
            if slot.connection is None or slot.connection is not slot.waited_in_vain:
                started = now if slot.started is None else slot.started
                left = max(left, max(end, started + seconds) - now)
        return left

    def tools(self) -> tuple[Tool, ...]:
        """Return all tools to offer to a model: of ready servers, without a problem, switched on, and the resource readers."""
        offered = (tool for connection in self._ready() for tool in connection.offered)
        return tuple(tool for tool in offered if self.switches.is_on(tool.server, tool.name))

    def instructions(self) -> tuple[tuple[str, str], ...]:
        """Return name and instructions of each ready server whose instructions are switched on."""
        names = [
            name for name, slot in self._slots.items() if slot.state == "ready" and self.switches.is_instructing(name)
        ]
        written = ((name, self._slots[name].status.instructions.strip()) for name in names)
        return tuple((name, text) for name, text in written if text)

    def _ready(self) -> list[Connection]:
        states = ((slot.connection, slot.state) for slot in self._slots.values())
        return [connection for connection, state in states if connection is not None and state == "ready"]

    async def listed(self, seconds: float) -> None:
        """Wait at most `seconds` until the resources of ready servers are listed."""
        end = time.monotonic() + seconds
        while not all(connection.is_listed for connection in self._ready()) and (left := end - time.monotonic()) > 0:
            await self._wait_for_change(left)

    def has_current_tools(self, server: str) -> bool:
        """Whether a server's tools are up to date: it announced no change since they were listed."""
        connection = self._slot(server).connection
        return connection is None or not connection.has_outdated_tools

    async def listed_again(self, server: str) -> bool:
        """Wait until a server has listed its changed tools, at most its timeout; returns whether the tools are current."""
        slot = self._slot(server)
        with suppress(TimeoutError):
            async with asyncio.timeout(slot.spec.timeout or None):
                while slot.connection is not None and slot.connection.is_listing_again:
                    await self._wait_for_change(None)
        return self.has_current_tools(server)

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
            server: The server's configured name.
            tool: The tool's own name; `READ` reads a resource.
            arguments_json: The canonical bytes.
            place: Session, turn, step and call for the records.
            fingerprint: Fingerprint of the definition that was shown.
            on_progress: Called for each progress notification.

        Raises:
            ServerError: Says what happened, and whether the tool may have run.
        """
        slot = self._slot(server)

        async def send(connection: Connection) -> ToolOutput:
            return await connection.call(
                tool, arguments_json, place=place, seconds=slot.spec.timeout, on_progress=on_progress
            )

        output, is_resent = await self._sent(slot, lambda: self._connection_for(slot, tool, fingerprint), send)
        return replace(output, is_resent=is_resent)

    async def read(self, server: str, uri: str, *, place: Place) -> ToolOutput:
        """Read a resource because the person asked for it.

        Args:
            server: The server's configured name.
            uri: The resource.
            place: Session and turn for the records.

        Raises:
            ServerError: There is no content.
        """
        return await self._requested(server, READ, {"uri": uri}, place)

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str], *, place: Place) -> PromptOutput:
        """Fill in a prompt because the person asked for it.

        Args:
            server: The server's configured name.
            name: The prompt's own name.
            arguments: The values by name.
            place: Session and turn for the records.

        Raises:
            ServerError: The server does not fill it in.
        """
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
        """Ask a server for values of an argument of a prompt or of a resource template.

        Args:
            server: The server's configured name.
            argument: The argument's name.
            value: What has been typed of the value.
            prompt: The prompt's name, empty for a template.
            template: The template's URI, empty for a prompt.
            context: Values of other arguments.

        Returns:
            The values; none if the server does not complete.
        """
        from tui_host.servers.plain_requests import complete

        about = partial(
            complete, argument=argument, value=value, prompt=prompt, template=template, context=context or {}
        )
        return await self._plain(server, lambda _: about)

    async def ping(self, server: str) -> float:
        """Ask whether a server is alive.

        Returns:
            Milliseconds until the answer.

        Raises:
            ServerError: There is no answer.
        """
        from tui_host.servers.plain_requests import ping

        return await self._plain(server, lambda _: ping)

    async def subscribe(self, server: str, uri: str) -> None:
        """Ask a server to announce changes of a resource; they are counted in `ServerStatus.subscriptions`.

        Raises:
            ServerError: The server does not do that.
        """
        await self._plain(server, lambda connection: partial(connection.subscribe, uri=uri))

    async def unsubscribe(self, server: str, uri: str) -> None:
        """Ask a server to announce no more changes of a resource.

        Raises:
            ServerError: There is no answer.
        """
        await self._plain(server, lambda connection: partial(connection.unsubscribe, uri=uri))

    async def _requested(self, server: str, method: str, params: Mapping[str, JSON], place: Place) -> ToolOutput:
        """Send a request that is the person's own consent, with exactly these parameters."""
        slot = self._slot(server)
        try:
            data = canonical(params)
        except ValueError as error:
            raise ServerError(f"this cannot be written as JSON: {error}", server, sent=False) from error

        async def send(connection: Connection) -> ToolOutput:
            return await connection.call(
                method, data, place=place, seconds=slot.spec.timeout, on_progress=lambda _: None
            )

        output, _ = await self._sent(slot, slot.ready_connection, send)
        return output

    async def _plain(self, server: str, request: Callable[[Connection], Callable[..., Awaitable[Reply]]]) -> Reply:
        """Send a request that is no call."""
        slot = self._slot(server)

        async def send(connection: Connection) -> Reply:
            return await connection.request(request(connection), seconds=slot.spec.timeout)

        reply, _ = await self._sent(slot, slot.ready_connection, send)
        return reply

    async def _sent(
        self, slot: Slot, connection: Callable[[], Connection], send: Callable[[Connection], Awaitable[Reply]]
    ) -> tuple[Reply, bool]:
        """Send a request over the slot's connection, and again over its successor if the server had forgotten the session.

        Returns:
            The reply, and whether it is that of the second request.
        """
        first = connection()
        try:
            return await send(first), False
        except ServerError as error:
            if not error.is_session_lost:
                raise
        await self._replaced(slot, first)
        return await send(connection()), True

    def _connection_for(self, slot: Slot, tool: str, fingerprint: str) -> Connection:
        """Return the connection for an approved call, provided that the tool is on and its definition has not changed."""
        if not self.switches.is_on(slot.spec.name, tool):
            what = f"{tool} has been switched off; nothing was sent"
            raise ServerError(what, slot.spec.name, "o in f3 switches it on", sent=False)
        return slot.connection_for(tool, fingerprint)

    async def _replaced(self, slot: Slot, lost: Connection) -> None:
        """Wait for the connection that replaces one whose session was lost, but no longer than the server's timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(slot.spec.timeout or None):
                while slot.is_wanted and (slot.connection in {None, lost} or slot.state == "connecting"):
                    await self._wait_for_change(None)

    def spec_of(self, name: str) -> ServerSpec:
        """Return a server's entry as it holds now, with what was set for this run."""
        return self._slot(name).spec

    async def set_log_level(self, name: str, level: str) -> None:
        """Ask a server for log messages of a level of `LOG_LEVELS` and of those more severe, until the program ends."""
        slot = self._slot(name)
        slot.spec = replace(slot.spec, log_level=level)
        if slot.connection is not None:
            await slot.connection.set_log_level(level)
        self._changed()

    async def set_roots(self, name: str, roots: Sequence[str]) -> None:
        """Tell a server of other folders (full paths) until the program ends; connect it again if it was to know of none before."""
        slot = self._slot(name)
        slot.spec = replace(slot.spec, roots=tuple(roots))
        if slot.connection is not None and not await slot.connection.set_roots(slot.spec.roots) and roots:
            self.reconnect(name)
        self._changed()

    def decline_all(self, name: str) -> None:
        """Decline a server's open questions, and every further question until it is connected again."""
        connection = self._slot(name).connection
        if connection is not None:
            connection.requests.decline_all()

    async def stop_all(self) -> None:
        """End every connection at once, in under five seconds; `run` then returns."""
        self._shared.is_stopping = True
        self._news.set()
        for name in self._slots:
            self.stop(name)
        if self._is_running:
            async with asyncio.timeout(STOP_SECONDS):
                await self._done.wait()

    def _changed(self) -> None:
        self.revision += 1
        self._change.set()

    def _connecting(self) -> tuple[str, ...]:
        return tuple(name for name, slot in self._slots.items() if slot.is_wanted and slot.state == "connecting")

    def _slot(self, name: str) -> Slot:
        if name not in self._slots:
            raise ServerError(f"there is no server {name}", sent=False)
        return self._slots[name]


def import_supervisor() -> Callable[[Shared, list[Slot], asyncio.Event], Awaitable[None]]:
    """Import the SDK, which takes some time, and return the function that runs all connections."""
    from tui_host.servers.sdk_import import put_off

    put_off()
    from tui_host.servers.supervisor import supervise_all

    return supervise_all
