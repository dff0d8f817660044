"""One try to connect to a server, and what comes of it: a single task enters, uses and leaves the SDK's client.

Cancel scopes must be left in the task that entered them, so every other task calls methods of `McpConnection`.
"""

from __future__ import annotations

import json
import logging
import math
import time
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

import anyio
import mcp_types
from anyio import to_thread
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from typing_extensions import override

from tui_host.capture.connection_end import CLOSED, connection_end
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.record import current_place
from tui_host.errors import JSON, ServerError
from tui_host.servers.call import FAULTS, ServerCall
from tui_host.servers.catalog import GET_PROMPT, READ, CallProgress, ServerStatus, Tool, describe, identity
from tui_host.servers.client import ServerClient
from tui_host.servers.lists import CHANGED, ServerLists
from tui_host.servers.outgoing_request import OutgoingRequest
from tui_host.servers.server_endpoint import resolve_endpoint
from tui_host.servers.server_faults import WireError, innermost, reason_of
from tui_host.servers.server_requests import ServerRequests
from tui_host.servers.stdio import stdio_transport
from tui_host.servers.tool_definitions import reader
from tui_host.servers.wire import Wire

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.servers.dispatcher import Peer
    from tui_host.servers.wire import Shared
    from tui_host.settings.schema import Mode, ServerSpec, Transport

Reply = TypeVar("Reply")
LEAVE_SECONDS = 2.5
STREAM_SECONDS = 3600.0  # longest pause between the bytes of an answer
STDERR_LINES = 20
TRIED_AS_SSE = frozenset({400, 404, 405})
"""Statuses with which a server of the older transport answers a POST. Source: MCP 2025-11-25, Transports, Backwards compatibility."""
RESTARTED = (
    'it ended at the probe for newer versions, and was started again with initialize; mode = "legacy" in its entry '
    "saves the first start"
)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to connect. `notice` is told if it works; `failure`, the words of a first way, if this fails too."""

    kind: Transport
    mode: Mode
    notice: str = ""
    failure: str = ""


class McpConnection(Wire):
    """A connection from start to end, as configured or by another `way`. Call `run` once, in a task of its own."""

    def __init__(self, spec: ServerSpec, shared: Shared, way: Way | None, *, subscriptions: dict[str, int]) -> None:
        knows_handshake_alone = spec.mode == "auto" and identity(spec) in shared.handshake_only
        self._way = way or Way(spec.transport, "legacy" if knows_handshake_alone else spec.mode)
        status = ServerStatus(
            name=spec.name,
            state="connecting",
            detail="starting",
            transport=self._way.kind,
            command=describe(spec),
            subscriptions=tuple(subscriptions.items()),
        )
        super().__init__(spec, shared, status)
        self.other_way: Way | None = None  # of which the failure of this one told
        self.ready_since: float | None = None  # monotonic seconds
        self.settled = anyio.Event()  # the server is ready, or will not be
        self.replaceable = anyio.Event()  # no further calls: the connection has ended, or its session was lost
        self.lists = ServerLists(self, subscriptions)
        self.requests = ServerRequests(self)
        self.answer = self.requests.answer
        self._began = time.monotonic()
        self._peer: Peer | None = None
        self._client: ServerClient | None = None
        self._scope: anyio.CancelScope | None = None
        self._serving: anyio.CancelScope | None = None
        self._pending = 0
        self._is_end_recorded = False

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The callable tools: those without a problem, plus the resource reader if the server has resources."""
        status, client = self.known, self._client
        tools = tuple(tool for tool in status.tools if tool.problem is None)
        if client is None or not self.lists.declares(client, "resources"):
            return tools
        return (*tools, reader(self.server, identity(self.spec), (*status.resources, *status.templates)))

    @property
    def status(self) -> ServerStatus:
        """The status with its log and with what is true at this moment, without secrets."""
        live: dict[str, object] = {}
        notices = [*self.known.notices]
        child, peer = self.child, self._peer
        counts = peer if self.tap is None else self.tap
        if counts is not None:
            live |= {"frames_out": counts.sent, "frames_in": counts.received, "malformed": counts.malformed}
        if child is not None:
            live |= {"stderr": child.errors.last(STDERR_LINES), "exit_code": child.process.exit_code}
            if child.input.unread_since is not None:
                seconds = time.monotonic() - child.input.unread_since
                notices.append(f"has not read its standard input for {seconds:.0f} s")
            if child.errors.unrecorded:
                notices.append(f"{child.errors.unrecorded:,} bytes of standard error came too fast to be recorded")
        if peer is not None and peer.refused:
            notices.append(f"{peer.refused:,} requests of the server were refused: too many at once")
        if self._log is None:  # else the same value again, so that a screen sees that no line was added
            self._log = tuple(self._lines)
        status = replace(self.known, **live)
        return replace(
            status,
            detail=self.shown(status.detail),
            server_info=self.shown(status.server_info),
            instructions=self.shown(status.instructions),
            stderr=tuple(map(self.shown, status.stderr)),
            notices=tuple(map(self.shown, notices)),
            log=self._log,
            log_counts=tuple(self._counts.items()),
        )

    # The connection's own task.

    async def run(self) -> None:
        """Connect, serve and disconnect. Faults of the server end up in the status and are never raised."""
        # The SDK's log messages and warnings stay off the terminal; the capture has all the facts.
        for name in ("mcp", "client", "httpx2"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
        limit = self.spec.timeout or math.inf
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + limit) as self._scope:
                try:
                    await self._connect(self._scope)
                except Exception as error:  # noqa: BLE001 - whatever a server made the SDK raise is that server's state
                    self._failed(error)
            if self.is_left:
                self.publish("stopped", "")
            elif self.gate.is_session_lost:
                self.publish("connecting", "the server had forgotten the session")
            elif self.known.state == "connecting" and self.other_way is None:
                self.publish("failed", self.cause or f"no answer to initialize within {limit:g} s")
            elif self.known.state == "ready":
                self.publish("lost", self.cause or "the connection was lost")
            self._record_end(self.known.detail or CLOSED)
        finally:
            self._client = None
            self.lists.awaits_tools = False
            self.settled.set()
            self.replaceable.set()

    async def _connect(self, scope: anyio.CancelScope) -> None:
        """Connect, list the tools, then follow what the server announces until the connection ends."""
        endpoint = resolve_endpoint(self.spec, self.shared.environment)
        self.id = self.recorder.new_connection(self.server)
        self.update(connection=self.id)
        self.publish("connecting", "waiting for initialize")
        if self._way.kind == "stdio":
            transport = stdio_transport(endpoint, self)
        else:
            # Imported in a thread, with the first server behind a URL.
            await to_thread.run_sync(import_module, "tui_host.servers.http")
            from tui_host.servers.http import http_transport

            # The call's own limit is shorter, save while the person answers a question of the server.
            read_seconds = STREAM_SECONDS if self.spec.timeout else None
            transport = http_transport(endpoint, self, self._way.kind, read_seconds=read_seconds)
        async with transport as self._peer, ServerClient(self._peer, self.requests) as client:
            await client.introduce(self._way.mode)
            scope.deadline = math.inf
            info = client.server_info
            self.update(
                protocol_version=client.protocol_version or "",
                era="stateless" if client.is_stateless else "stateful",
                server_info="" if info is None else f"{info.name} {info.version}".strip(),
                instructions=client.instructions or "",
                capabilities=client.declared,
            )
            self.publish("connecting", "listing its tools")
            async with anyio.create_task_group() as group:
                self._serving = group.cancel_scope
                await self.lists.read_tools(client)
                self._client = client
                if self._way.notice:
                    self.shared.handshake_only.add(identity(self.spec))
                    self.notice(self._way.notice)
                self.ready_since = time.monotonic()
                self.update(ready_ms=(self.ready_since - self._began) * 1000)
                self.publish("ready", "")
                self.settled.set()
                group.start_soon(self.lists.read_others, client)
                group.start_soon(self.lists.follow, client)
                if client.is_stateless:
                    group.start_soon(self.lists.listen, client)
                else:
                    group.start_soon(self.lists.subscribe_again, client)
                    group.start_soon(self._set_log_level, client)
            scope.deadline = anyio.current_time() + LEAVE_SECONDS

    async def _set_log_level(self, client: ServerClient) -> None:
        if self.spec.log_level and "logging" in client.declared:
            try:
                await client.ask("logging/setLevel", {"level": self.spec.log_level})
            except (MCPError, ServerError) as error:
                self.notice(f"the level of its log could not be set: {reason_of(error)[0]}")

    def _failed(self, error: BaseException) -> None:
        """Publish why the server could not be connected, or choose the other way that the failure tells of."""
        if self.known.state != "connecting":
            return
        what, remedy = reason_of(error, self.cause)
        words = f"{what} ({remedy})" if remedy else what
        way, fault = self._way, innermost(error)
        answer = fault.answer if isinstance(fault, WireError) else None
        if not self.is_left and not self.known.protocol_version:
            # A transport that was not configured may be the older one.
            is_http = way.kind == "http" and self.spec.url is not None
            if is_http and answer is not None and answer.status in TRIED_AS_SSE:
                self.other_way = Way("sse", way.mode, failure=words)
            # Older Rust and Go SDKs end at any request before `initialize`. Our probe was all that this program has read.
            is_probed = way.kind == "stdio" and way.mode == "auto" and bool(self.cause)
            if is_probed and self.tap is not None and self.tap.sent == 1:
                self.other_way = Way("stdio", "legacy", notice=RESTARTED, failure=words)
        if self.other_way is None:
            self.publish("lost" if self.gate.is_refused else "failed", way.failure or words)

    def _record_end(self, reason: str) -> None:
        is_used = self._way.kind != "stdio" or (self.tap is not None and self.tap.sent > 0)
        if self.id and is_used and not self._is_end_recorded:
            self._is_end_recorded = True
            self.recorder.append(connection_end(self.server, self.id, reason))

    def stop(self) -> None:
        """Ask the connection to end within 5 seconds and withdraw its tools. Returns at once."""
        self.is_left = True
        if self.replaceable.is_set():
            self.publish("stopped", "")
        elif self.known.state in {"connecting", "ready"}:
            self.publish("stopped", "being disconnected")
        if self._client is None and self._scope is not None:
            self._scope.cancel()
        self._halt()

    def _halt(self) -> None:
        self._client = None
        if self._serving is not None:
            self._serving.cancel()

    @override
    @contextmanager
    def waiting(self, detail: str) -> Generator[None]:
        scope, before = self._scope, self.known
        if scope is None or before.state != "connecting":
            with self.requests.stopped(current_place.get().call or ""):
                yield
            return
        left = scope.deadline - anyio.current_time()
        scope.deadline = math.inf
        self.publish("connecting", detail)
        try:
            yield
        finally:
            scope.deadline = anyio.current_time() + left
            if self.known.state == "connecting":
                self.publish("connecting", before.detail)

    # Requests.

    async def call(
        self,
        tool: str,
        arguments_json: bytes,
        *,
        place: Place,
        on_progress: Callable[[CallProgress], None] = lambda _: None,
    ) -> tuple[Mapping[str, JSON], str]:
        """Call a tool with exactly the approved bytes; returns the result as received, and what was odd about its bytes."""
        with self._usable() as client:
            arguments: JSON = json.loads(arguments_json)
            if not isinstance(arguments, Mapping):
                raise ServerError("the arguments of a call must be an object", sent=False)
            if tool == READ and not text_or_empty(arguments.get("uri")):
                raise ServerError("reading a resource needs its uri, as text", sent=False)
            is_method = tool in {READ, GET_PROMPT}
            params: dict[str, JSON] = dict(arguments) if is_method else {"name": tool, "arguments": arguments}
            if client.is_stateless and self.spec.log_level:
                params["_meta"] = {mcp_types.LOG_LEVEL_META_KEY: self.spec.log_level}
            outgoing = OutgoingRequest(tool=tool, arguments=arguments_json)
            token = current_place.set(place)
            try:
                call = ServerCall(client, self.requests, outgoing, params, on_progress)
                return await call.run(seconds=self.spec.timeout, longest=self.spec.timeout_max), outgoing.warning
            finally:
                current_place.reset(token)

    async def complete(self, params: Mapping[str, JSON]) -> tuple[str, ...]:
        async with self._answering() as client:
            if "completions" not in client.declared:
                return ()
            result = await client.ask("completion/complete", params)
        values = items(mapping(result.get("completion")).get("values"))
        return tuple(value for value in values if isinstance(value, str))

    async def subscribe(self, uri: str, *, is_on: bool) -> None:
        """Begin or end to hear of the changes of a resource."""
        async with self._answering() as client:
            await self.lists.subscribe(client, uri, is_on=is_on)

    @asynccontextmanager
    async def _answering(self) -> AsyncGenerator[ServerClient]:
        """Yield the client for a request within the timeout; every failure leaves the block as a ServerError."""
        with self._usable() as client:
            try:
                with anyio.fail_after(self.spec.timeout or None):
                    yield client
            except TimeoutError:
                raise ServerError(f"no answer within {self.spec.timeout:g} s", self.server) from None
            except FAULTS as error:
                what, remedy = reason_of(error, self.cause)
                words = self.recorder.redactor.text(what)
                lost = self.gate.is_session_lost
                raise ServerError(words, self.server, remedy, is_session_lost=lost) from error

    @contextmanager
    def _usable(self) -> Generator[ServerClient]:
        client, status = self._client, self.known
        if client is None or self.cause or status.state == "lost":
            what = self.shown(status.detail) or status.state
            raise ServerError(f"it is not connected: {what}", self.server, sent=False)
        self._pending += 1
        try:
            yield client
        finally:
            self._pending -= 1
            if self.gate.is_session_lost:
                self.replaceable.set()
            if not self._pending and (self.gate.is_session_lost or self.known.state == "lost"):
                self._halt()  # not earlier: answers to other calls may still come

    # What happens on the wire.

    @override
    def heard(self, method: str, params: Mapping[str, JSON]) -> None:
        match method:
            case "notifications/message":
                self.log(params)
            case "notifications/elicitation/complete":
                self.requests.visited(text_or_empty(params.get("elicitationId")))
            case "notifications/resources/updated":
                self.lists.count(text_or_empty(params.get("uri")))
            case _ if method in CHANGED:
                self.lists.mark([CHANGED[method]])
            case _:
                pass

    @override
    def end(self, cause: str) -> None:
        if not self.cause:
            self.cause = cause
            self._record_end(cause)
            if not self.is_left and self.known.state == "ready":
                self.publish("lost", cause)
            self._halt()
            self.shared.changed()

    @override
    def refused(self, reason: str) -> None:
        if not self.is_left and self.known.state == "ready":
            self.publish("lost", reason)
            if not self._pending:
                self._halt()
