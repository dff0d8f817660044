"""A live connection to a server: a single task enters, uses and leaves the SDK's client.

Cancel scopes must be left in the task that entered them, so every other task calls methods of `Connection`.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import anyio
import mcp_types
from anyio import to_thread
from mcp.client._transport import Transport as ClientTransport
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tui_host.capture.connection_end import CLOSED
from tui_host.capture.json.narrowing import as_json
from tui_host.capture.record import current_place
from tui_host.errors import ServerError, TuiHostError
from tui_host.servers.catalog import Progress, ServerStatus, State, Tool, ToolOutput, describe
from tui_host.servers.client_session import introduce, new_client, silence_sdk
from tui_host.servers.login_services import LoginServices
from tui_host.servers.outgoing_request import OutgoingRequest
from tui_host.servers.plain_requests import Reply, send_request
from tui_host.servers.repair import Repair
from tui_host.servers.server_endpoint import Endpoint, resolve_endpoint
from tui_host.servers.server_faults import reason_of
from tui_host.servers.server_lists import Lists
from tui_host.servers.server_news import News
from tui_host.servers.server_requests import ServerRequests
from tui_host.servers.server_status import StatusPublisher
from tui_host.servers.tool_call import ConnectedClient, call_request, send_call
from tui_host.servers.transports import Wire, stdio_transport

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.guard.child_process import Process
    from tui_host.servers.shared_state import Shared
    from tui_host.settings.schema import ServerSpec, Transport


LEAVE_SECONDS = 2.5
STREAM_SECONDS = 3600.0
"""Longest pause between the bytes of an answer."""
TRIED_AS_SSE = frozenset({400, 404, 405})
"""Statuses with which a server of the older transport answers a POST. Source: MCP 2025-11-25, Transports, Backwards compatibility."""


class Connection:
    """A connection from start to end. Call `run` once, in a task of its own; to reconnect, make a new object.

    Args:
        spec: The configured server.
        shared: What all connections of a pool use.
        subscriptions: Number of updates of each subscribed resource; continued here.

    Attributes:
        spec: The configured server.
        is_session_lost: The server forgot our session, so a new connection may take over.
        ready_since: Monotonic seconds since when the server was ready, None before.
        early: The server's process, if started while the SDK was still being imported; None once taken.
        requests: Answers what the server asks.
        settled: Set once the server is ready, or will not be.
        replaceable: Set once the connection takes no further calls, because it ended or its session was lost.
    """

    def __init__(self, spec: ServerSpec, shared: Shared, *, subscriptions: dict[str, int] | None = None) -> None:
        self.spec = spec
        self.is_session_lost = False
        self.ready_since: float | None = None
        self.early: Process | None = None
        self.settled = anyio.Event()
        self.replaceable = anyio.Event()
        self._environment = shared.environment
        self._recorder = recorder = shared.recorder
        self._guard = shared.guard
        self._changed = changed = shared.changed
        status = ServerStatus(
            name=spec.name, state="connecting", detail="starting", transport=spec.transport, command=describe(spec)
        )
        self._publisher = StatusPublisher(status, recorder.redactor.text, changed)
        self._login = LoginServices(
            spec=spec,
            environment=shared.environment,
            logins=shared.answering.logins,
            answerer=shared.answering.answerer,
            learn=recorder.redactor.add,
            waiting=self._waiting,
            notice=self._publisher.notice,
        )
        self._lists = Lists(spec, self._publisher)
        self._news = News(self._publisher, {} if subscriptions is None else subscriptions)
        self.requests = ServerRequests(spec, self._publisher, shared.answering)
        self._wire: Wire | None = None
        self._client: ClientSession | None = None
        self._scope: anyio.CancelScope | None = None
        self._stopping = False
        self._pending = 0
        self._began_ns = 0
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
    def is_refused(self) -> bool:
        """Whether nothing accepted a connection at the server's address."""
        return self._wire is not None and self._wire.gate is not None and self._wire.gate.is_refused

    @property
    def has_outdated_tools(self) -> bool:
        """Whether the server announced changed tools, and has not listed them since."""
        return self._news.is_outdated("tools")

    @property
    def is_listing_again(self) -> bool:
        """Whether the connection is about to list changed tools."""
        return self._news.is_reading_again("tools")

    @property
    def is_listed(self) -> bool:
        """Whether every list of the server has been read."""
        return self._lists.is_read

    @property
    def status(self) -> ServerStatus:
        """The current status with counters and the last lines of standard error, without secrets."""
        return self._publisher.snapshot(self._wire)

    async def run(self) -> None:
        """Connect, serve and disconnect. Faults of the server end up in the status and are never raised."""
        self._began_ns = time.monotonic_ns() if self.early is None else self.early.started_ns
        try:
            await self._run()
        finally:
            self.settled.set()
            self.replaceable.set()

    async def _run(self) -> None:
        try:
            endpoint = resolve_endpoint(self.spec, self._environment)
        except TuiHostError as error:
            self._publisher.publish("failed", str(error))
            return
        await self._run_client(endpoint, self.spec.transport)
        if endpoint.may_be_sse and self._is_refused_as_sse():
            before = self._publisher.status
            await self._run_client(endpoint, "sse")
            if self._publisher.state == "failed":  # no SSE server either: the first answer says more
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
        client, wire = self._usable()
        level = self.spec.log_level if self._publisher.status.era == "stateless" else ""
        request = call_request(tool, arguments_json, log_level=level)
        token = current_place.set(place)
        self._pending += 1
        try:
            outgoing = OutgoingRequest(tool=tool, arguments=arguments_json)
            return await send_call(
                ConnectedClient(client, wire, self.requests),
                request,
                outgoing,
                seconds=seconds,
                longest=self.spec.timeout_max,
                on_progress=on_progress,
            )
        finally:
            current_place.reset(token)
            self._answered(wire)

    async def request(self, send: Callable[[ClientSession], Awaitable[Reply]], *, seconds: float) -> Reply:
        """Send a request that is no call, such as a ping or a completion.

        Args:
            send: Sends the request by the client.
            seconds: Time limit; 0 for none.

        Raises:
            ServerError: There is no answer, or the server refuses.
        """
        client, wire = self._usable()
        self._pending += 1
        try:
            return await send_request(client, wire, send, seconds=seconds)
        finally:
            self._answered(wire)

    async def subscribe(self, client: ClientSession, uri: str) -> None:
        """Ask the server to announce changes of a resource; to be sent by `request`."""
        await self._news.subscribe(client, uri)

    async def unsubscribe(self, client: ClientSession, uri: str) -> None:
        """End a subscription; to be sent by `request`."""
        await self._news.unsubscribe(client, uri)

    def _usable(self) -> tuple[ClientSession, Wire]:
        """Return client and wire; raises if there is no connection."""
        client, wire = self._client, self._wire
        if client is None or wire is None or wire.cause or self._publisher.state == "lost":
            what = (
                f"it is not connected: {self._publisher.shown(self._publisher.status.detail) or self._publisher.state}"
            )
            raise ServerError(what, self.spec.name, sent=False)
        return client, wire

    def _answered(self, wire: Wire) -> None:
        """Note that a request has been answered, or never will be."""
        self._pending -= 1
        if self._publisher.state == "lost" and not self._pending:
            self._halted.set()
        if wire.gate is not None and wire.gate.is_session_lost:
            self.is_session_lost = True
            self.replaceable.set()
            if not self._pending:
                self._halted.set()  # not earlier: answers to other calls may still come

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
            login=self._login,
            refused_connection=self._refused,
        )
        wire.repair.refuse, wire.repair.logged = self.requests.refusal, self._publisher.log.add
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
        wire.record_end(self._publisher.status.detail or CLOSED)

    @asynccontextmanager
    async def _connected(self, endpoint: Endpoint, wire: Wire, kind: Transport) -> AsyncGenerator[ClientSession]:
        silence_sdk()
        async with (
            self._transport(endpoint, wire, kind) as (read, write),
            new_client(read, write, self.requests, heard=self._notified) as client,
        ):
            await introduce(client, self.spec.mode)
            yield client

    @contextmanager
    def _waiting(self, detail: str) -> Generator[None]:
        """Stop the time limits of the call or of connecting, and show what is waited for."""
        scope, before = self._scope, self._publisher.status
        if scope is None or before.state != "connecting":
            with self.requests.stopped(current_place.get().call or ""):
                yield
            return
        left = scope.deadline - anyio.current_time()
        scope.deadline = math.inf
        self._publisher.publish("connecting", detail)
        try:
            yield
        finally:
            scope.deadline = anyio.current_time() + left
            if self._publisher.state == "connecting":
                self._publisher.publish("connecting", before.detail)

    def _transport(self, endpoint: Endpoint, wire: Wire, kind: Transport) -> ClientTransport:
        if kind == "stdio":
            if endpoint.command is None:
                raise ServerError("there is no command to start", self.spec.name)
            early, self.early = self.early, None
            return stdio_transport(endpoint.command, wire, early)
        # The call's own limit is shorter, save while the person answers a question of the server.
        read_seconds = STREAM_SECONDS if self.spec.timeout else None
        return _behind_url(endpoint, wire, kind, read_seconds=read_seconds)

    async def _serve(self, client: ClientSession, wire: Wire, scope: anyio.CancelScope) -> None:
        """Initialize, list the tools, then wait until the connection ends."""
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
            ready_ms = (time.monotonic_ns() - self._began_ns) / 1e6
            self._publisher.update(replace(self._publisher.status, ready_ms=ready_ms))
            self._publisher.publish("ready", "")
            self.ready_since = time.monotonic()
            self.settled.set()
            group.start_soon(self._lists.read_others, client)
            group.start_soon(self._news.follow, "tools", partial(self._lists.read_tools, client, wire.repair))
            group.start_soon(self._news.follow, "resources", partial(self._lists.read_resources, client))
            group.start_soon(self._news.follow, "prompts", partial(self._lists.read_prompts, client))
            if self._publisher.status.era == "stateless":
                group.start_soon(self._news.listen_to_lists, client)
                group.start_soon(self._news.listen_to_resources, client)
            else:
                group.start_soon(self._news.subscribe_again, client)
                group.start_soon(self._set_log_level, client)

    async def set_log_level(self, level: str) -> None:
        """Ask the server for log messages of a level and of those more severe, from now on."""
        self.spec = replace(self.spec, log_level=level)
        if self._client is not None:
            await self._set_log_level(self._client)

    async def _set_log_level(self, client: ClientSession) -> None:
        """Ask for the wanted level, once for the connection; in the stateless era each call asks for itself."""
        declared = client.server_capabilities
        level = self.spec.log_level
        if not level or self._publisher.status.era == "stateless" or declared is None or declared.logging is None:
            return
        try:
            params = mcp_types.SetLevelRequestParams.model_validate({"level": level})
            await client.send_request(mcp_types.SetLevelRequest(params=params), mcp_types.EmptyResult)
        except MCPError as error:
            self._publisher.notice(f"the level of its log could not be set: {reason_of(error)[0]}")

    async def set_roots(self, roots: tuple[str, ...]) -> bool:
        """Share other folders; returns False if the server must be connected again, because none were shared before."""
        if not self.spec.roots:
            return False
        self.requests.roots = roots
        if self._client is not None and self._publisher.status.era == "stateful":
            await self._client.send_notification(mcp_types.RootsListChangedNotification())
        return True

    async def _halt(self, scope: anyio.CancelScope) -> None:
        await self._halted.wait()
        self._client = None
        scope.cancel()

    async def _notified(self, message: mcp_types.ServerNotification | Exception) -> None:
        if isinstance(message, mcp_types.ElicitCompleteNotification):
            self.requests.visited(message.params.elicitation_id)
        elif not isinstance(message, Exception):
            self._news.take(message)

    def _lost(self) -> None:
        """Publish that the wire has ended, just before the pending requests fail."""
        wire = self._wire
        if wire is not None and not self._stopping and self._publisher.state == "ready":
            self._publisher.publish("lost", wire.cause)
        self._halted.set()

    def _refused(self, reason: str) -> None:
        """Publish that nothing accepts connections at the server's address any more. Calls under way are still waited for."""
        if not self._stopping and self._publisher.state == "ready":
            self._publisher.publish("lost", reason)
            if not self._pending:
                self._halted.set()

    def _failed(self, error: BaseException, wire: Wire) -> None:
        if self._publisher.state == "connecting":
            answer = wire.gate.last if wire.gate is not None else None
            what, remedy = reason_of(error, answer=answer, cause=wire.cause)
            words = f"{what} ({remedy})" if remedy else what
            self._publisher.publish("lost" if self.is_refused else "failed", words)

    def _ended(self, wire: Wire, limit: float) -> None:
        """Publish how the connection ended, unless that was published before."""
        if self._stopping:
            self._publisher.publish("stopped", "")
        elif self.is_session_lost:
            self._publisher.publish("connecting", "the server had forgotten the session")
        elif self._publisher.state == "connecting":
            self._publisher.publish("failed", wire.cause or f"no answer to initialize within {limit:g} s")
        elif self._publisher.state == "ready":
            self._publisher.publish("lost", wire.cause or "the connection was lost")

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
