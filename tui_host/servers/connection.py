"""A live connection to a server: a single task enters, uses and leaves the SDK's client.

Cancel scopes must be left in the task that entered them, so every other task calls methods of `Connection`.
"""

from __future__ import annotations

import importlib.metadata
import logging
import math
import warnings
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import anyio
import mcp_types
from anyio import to_thread
from mcp.client._probe import negotiate_auto
from mcp.client._transport import Transport as ClientTransport
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tui_host.capture.conversation_context import current_place
from tui_host.capture.json.narrowing import as_json
from tui_host.errors import ServerError, TuiHostError
from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import Progress, ServerStatus, State, Tool, ToolOutput, describe
from tui_host.servers.outgoing_request import OutgoingRequest
from tui_host.servers.repair import Repair
from tui_host.servers.server_endpoint import Endpoint, resolve_endpoint
from tui_host.servers.server_faults import reason_of
from tui_host.servers.server_lists import Lists, announces
from tui_host.servers.server_status import StatusPublisher
from tui_host.servers.tool_call import call_request, send_call
from tui_host.servers.transports import Wire, stdio_transport
from tui_host.settings.schema import Mode

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.capture.recorder import Recorder
    from tui_host.guard.child_process import Process
    from tui_host.settings.schema import ServerSpec, Transport


async def introduce(client: ClientSession, mode: Mode) -> None:
    """Negotiate the protocol version: by a probe that falls back to `initialize`, by `initialize` alone, or not at all.

    Raises:
        MCPError: The server refuses, or shares no version with us.
    """
    match mode:
        case "auto":
            await negotiate_auto(client)
        case "legacy":
            await client.initialize()
        case _:
            client.adopt(_unasked(mode))


def _unasked(version: str) -> mcp_types.DiscoverResult:
    """Return the discovery result to assume for a server that is not asked, from the version alone."""
    return mcp_types.DiscoverResult(
        supported_versions=[version],
        capabilities=mcp_types.ServerCapabilities(),
        result_type="complete",
        ttl_ms=0,
        cache_scope="public",
    )


LEAVE_SECONDS = 2.5
TRIED_AS_SSE = frozenset({400, 404, 405})
"""Statuses with which a server of the older transport answers a POST. Source: MCP 2025-11-25, Transports, Backwards compatibility."""


class Connection:
    """A connection from start to end. Call `run` once, in a task of its own; a reconnect needs a new object.

    Attributes:
        spec: The configured server.
        is_session_lost: The server forgot our session, so a new connection may take over.
        early: The server's process, if started while the SDK was still being imported; None once taken.
    """

    def __init__(
        self,
        spec: ServerSpec,
        environment: Mapping[str, str],
        *,
        recorder: Recorder,
        guard: Guard,
        changed: Callable[[], None],
    ) -> None:
        self.spec = spec
        self.is_session_lost = False
        self.early: Process | None = None
        self._environment = environment
        self._recorder = recorder
        self._guard = guard
        self._changed = changed
        status = ServerStatus(
            name=spec.name, state="connecting", detail="starting", transport=spec.transport, command=describe(spec)
        )
        self._publisher = StatusPublisher(status, recorder.redactor.text, changed)
        self._lists = Lists(spec, self._publisher)
        self._wire: Wire | None = None
        self._client: ClientSession | None = None
        self._scope: anyio.CancelScope | None = None
        self._stopping = False
        self._halted = anyio.Event()

    @property
    def state(self) -> State:
        """The current state."""
        return self._publisher.state

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The callable tools: those without a problem, plus the resource reader if the server has resources."""
        return self._lists.offered(self._client)

    @property
    def is_listed(self) -> bool:
        """Whether every list of the server was read."""
        return self._lists.is_read

    @property
    def status(self) -> ServerStatus:
        """The current status with counters and the last lines of standard error, without secrets."""
        return self._publisher.snapshot(self._wire)

    async def run(self) -> None:
        """Connect, serve and disconnect. A server's fault becomes the status, never an exception."""
        try:
            endpoint = resolve_endpoint(self.spec, self._environment)
        except TuiHostError as error:
            self._publisher.publish("failed", str(error))
            return
        await self._run_client(endpoint, self.spec.transport)
        if endpoint.may_be_sse and self._is_refused_as_sse():
            before = self._publisher.status
            await self._run_client(endpoint, "sse")
            if self._publisher.state == "failed":  # it was no SSE server either: the first answer says more
                self._publisher.publish(before.state, before.detail)

    def stop(self) -> None:
        """Ask the connection to end within 5 seconds and withdraw its tools. Returns at once."""
        self._stopping = True
        if self._wire is not None:
            self._wire.is_left = True
        if self._publisher.state in {"connecting", "ready"}:
            self._publisher.publish("stopped", "being disconnected")
        self._halted.set()
        if self._client is None and self._scope is not None:
            self._scope.cancel()

    async def call(
        self,
        tool: str,
        arguments_json: bytes,
        *,
        place: Place,
        seconds: float,
        on_progress: Callable[[Progress], None],
    ) -> ToolOutput:
        """Call a tool, or read a resource, with exactly the given arguments.

        Args:
            tool: The tool's own name; `READ` for a resource.
            arguments_json: The canonical bytes that were approved.
            place: Session, turn, step and call for the records.
            seconds: Time limit between two signs of life; 0 for none.
            on_progress: Called for each progress notification.

        Raises:
            ServerError: Says what happened, and whether the tool may have run.
        """
        client, wire = self._client, self._wire
        if client is None or wire is None or wire.cause:
            what = (
                f"it is not connected: {self._publisher.shown(self._publisher.status.detail) or self._publisher.state}"
            )
            raise ServerError(what, self.spec.name, sent=False)
        request = call_request(tool, arguments_json)
        token = current_place.set(place)
        try:
            outgoing = OutgoingRequest(tool=tool, arguments=arguments_json)
            return await send_call(client, wire, request, outgoing, seconds=seconds, on_progress=on_progress)
        finally:
            current_place.reset(token)
            if wire.gate is not None and wire.gate.is_session_lost:
                self.is_session_lost = True
                self._halted.set()

    async def _run_client(self, endpoint: Endpoint, kind: Transport) -> None:
        """Run a client from enter to exit."""
        connection = self._recorder.new_connection(self.spec.name)
        wire = self._wire = Wire(
            server=self.spec.name,
            connection=connection,
            recorder=self._recorder,
            guard=self._guard,
            repair=Repair(self._changed),
            changed=self._changed,
            lost=self._lost,
        )
        self._publisher.update(replace(self._publisher.status, connection=connection, transport=kind))
        self._publisher.publish("connecting", "waiting for initialize")
        limit = self.spec.timeout or math.inf
        with anyio.CancelScope(deadline=anyio.current_time() + limit) as self._scope:
            try:
                async with self._connected(endpoint, wire, kind) as client:
                    await self._serve(client, wire, self._scope)
                    self._scope.deadline = anyio.current_time() + LEAVE_SECONDS
            except Exception as error:  # noqa: BLE001 - whatever a server made the SDK raise is that server's state
                self._failed(error, wire)
            finally:
                self._client = None
        self._ended(wire, limit)

    @asynccontextmanager
    async def _connected(self, endpoint: Endpoint, wire: Wire, kind: Transport) -> AsyncGenerator[ClientSession]:
        silence_sdk()
        async with (
            self._transport(endpoint, wire, kind) as (read, write),
            ClientSession(read, write, client_info=_ourselves(), message_handler=self._notified) as client,
        ):
            await introduce(client, self.spec.mode)
            yield client

    def _transport(self, endpoint: Endpoint, wire: Wire, kind: Transport) -> ClientTransport:
        if kind == "stdio":
            if endpoint.command is None:
                raise ServerError("there is no command to start", self.spec.name)
            early, self.early = self.early, None
            return stdio_transport(endpoint.command, wire, early)
        # The call's own limit is the shorter one: a pause in the bytes must not end it before.
        read_seconds = None if not self.spec.timeout else max(300.0, self.spec.timeout + 30)
        return _behind_url(endpoint, wire, kind, read_seconds=read_seconds)

    async def _serve(self, client: ClientSession, wire: Wire, scope: anyio.CancelScope) -> None:
        """Initialize, list the tools, then stay until the connection ends."""
        scope.deadline = math.inf
        version = wire.repair.version = client.protocol_version or ""
        info, declared = client.server_info, client.server_capabilities
        self._publisher.update(
            replace(
                self._publisher.status,
                protocol_version=version,
                era="stateless" if version in MODERN_PROTOCOL_VERSIONS else "stateful",
                server_info="" if info is None else f"{info.name} {info.version}".strip(),
                instructions=client.instructions or "",
                capabilities=as_json(
                    declared.model_dump(by_alias=True, mode="json", exclude_none=True) if declared is not None else {}
                ),
            )
        )
        self._publisher.publish("connecting", "listing its tools")
        async with anyio.create_task_group() as group:
            group.start_soon(self._halt, group.cancel_scope)
            await self._lists.read_tools(client, wire.repair)
            self._client = client
            self._publisher.publish("ready", "")
            group.start_soon(self._lists.read_others, client)
            group.start_soon(self._lists.follow, client, wire.repair)
            if announces(client) and self._publisher.status.era == "stateless":
                group.start_soon(self._lists.listen, client)

    async def _halt(self, scope: anyio.CancelScope) -> None:
        await self._halted.wait()
        self._client = None
        scope.cancel()

    async def _notified(self, message: mcp_types.ServerNotification | Exception) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._lists.mark_outdated()

    def _lost(self) -> None:
        """Publish the end of the wire, just before pending requests fail."""
        wire = self._wire
        if wire is not None and not self._stopping and self._publisher.state == "ready":
            self._publisher.publish("failed", wire.cause)
        self._halted.set()

    def _failed(self, error: BaseException, wire: Wire) -> None:
        if self._publisher.state == "connecting":
            answer = wire.gate.last if wire.gate is not None else None
            what, remedy = reason_of(error, answer=answer, cause=wire.cause)
            self._publisher.publish("failed", f"{what} ({remedy})" if remedy else what)

    def _ended(self, wire: Wire, limit: float) -> None:
        """Publish how the connection ended, unless published before."""
        if self._stopping:
            self._publisher.publish("stopped", "")
        elif self.is_session_lost:
            self._publisher.publish("connecting", "the server had forgotten the session")
        elif self._publisher.state == "connecting":
            self._publisher.publish("failed", wire.cause or f"no answer to initialize within {limit:g} s")
        elif self._publisher.state == "ready":
            self._publisher.publish("failed", wire.cause or "the connection was lost")

    def _is_refused_as_sse(self) -> bool:
        answer = self._wire.gate.last if self._wire is not None and self._wire.gate is not None else None
        was_refused = self._publisher.state == "failed" and not self._publisher.status.protocol_version
        return was_refused and answer is not None and answer.status in TRIED_AS_SSE


@asynccontextmanager
async def _behind_url(
    endpoint: Endpoint, wire: Wire, kind: Literal["http", "sse"], *, read_seconds: float | None
) -> AsyncGenerator[TransportStreams]:
    """Open an HTTP transport. Its modules are imported in a thread, with the first server behind a URL."""
    await to_thread.run_sync(import_module, "tui_host.servers.http_transport")
    from tui_host.servers.http_transport import http_transport

    async with http_transport(endpoint, wire, kind, read_seconds=read_seconds) as streams:
        yield streams


@cache
def _ourselves() -> mcp_types.Implementation:
    """Return the client info sent to servers; reads our package metadata from the disk."""
    return mcp_types.Implementation(name="tui-host", version=importlib.metadata.version("tui-host"))


def silence_sdk() -> None:
    """Keep the SDK's logging and warnings off the terminal; the capture has all of the facts."""
    for name in ("mcp", "client", "httpx2"):
        logger = logging.getLogger(name)
        if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            logger.addHandler(logging.NullHandler())
        logger.propagate = False
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
