"""A live connection to a server: a single task enters, uses and leaves the SDK's client.

Cancel scopes must be left in the task that entered them, so every other task calls methods of `Connection`.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeVar

import anyio
from anyio import to_thread
from mcp.shared.exceptions import MCPError

from tui_host.capture.connection_end import CLOSED
from tui_host.capture.json.narrowing import as_json, items, mapping, text_or_empty
from tui_host.capture.record import current_place
from tui_host.errors import JSON, ServerError, TuiHostError
from tui_host.servers.call import Call, answered, call_params
from tui_host.servers.catalog import Progress, ServerStatus, State, Tool, ToolOutput, describe, identity
from tui_host.servers.client import Client, introduce, plain, silence_sdk
from tui_host.servers.dispatcher import Peer
from tui_host.servers.lists import Lists
from tui_host.servers.news import News
from tui_host.servers.outgoing_request import OutgoingRequest
from tui_host.servers.server_endpoint import Endpoint, resolve_endpoint
from tui_host.servers.server_faults import reason_of, words_of_answer
from tui_host.servers.server_questions import LoginServices
from tui_host.servers.server_requests import ServerRequests
from tui_host.servers.server_status import StatusPublisher
from tui_host.servers.stdio import stdio_transport
from tui_host.servers.wire import Wire, WireOwner

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.guard.child_process import Process
    from tui_host.servers.shared_state import Shared
    from tui_host.settings.schema import Mode, ServerSpec, Transport

Reply = TypeVar("Reply")
LEAVE_SECONDS = 2.5
STREAM_SECONDS = 3600.0
"""Longest pause between the bytes of an answer."""
STDERR_LINES = 20
TRIED_AS_SSE = frozenset({400, 404, 405})
"""Statuses with which a server of the older transport answers a POST. Source: MCP 2025-11-25, Transports, Backwards compatibility."""
RESTARTED = (
    'it ended at the probe for newer versions, and was started again with initialize; mode = "legacy" in its entry '
    "saves the first start"
)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A way to connect; `notice` is told if it works."""

    kind: Transport
    mode: Mode
    notice: str = ""


class Connection:
    """A connection from start to end. Call `run` once, in a task of its own; to reconnect, make a new object.

    Args:
        subscriptions: Number of updates of each subscribed resource; continued here.
        early: The server's process, if started while the SDK was still being imported.

    Attributes:
        is_session_lost: The server forgot our session, so a new connection may take over.
        ready_since: Monotonic seconds since when the server was ready, None before.
        lists, news, requests: What the server lists, announces, and asks.
        settled: Set once the server is ready, or will not be.
        replaceable: Set once the connection takes no further calls, because it ended or its session was lost.
    """

    def __init__(
        self, spec: ServerSpec, shared: Shared, *, subscriptions: dict[str, int], early: Process | None = None
    ) -> None:
        self.spec = spec
        self.is_session_lost = False
        self.ready_since: float | None = None
        self.settled = anyio.Event()
        self.replaceable = anyio.Event()
        self._shared = shared
        self._early = early
        self._began_ns = time.monotonic_ns() if early is None else early.started_ns
        redactor = shared.recorder.redactor
        status = ServerStatus(
            name=spec.name, state="connecting", detail="starting", transport=spec.transport, command=describe(spec)
        )
        self._publisher = StatusPublisher(status, redactor.text, shared.changed)
        self._login = LoginServices(
            spec=spec,
            environment=shared.environment,
            logins=shared.answering.logins,
            answerer=shared.answering.answerer,
            learn=redactor.add,
            waiting=self._waiting,
            notice=self._publisher.notice,
        )
        self.lists = Lists(spec, self._publisher)
        self.news = News(self._publisher, subscriptions)
        self.requests = ServerRequests(spec, self._publisher, shared.answering)
        self._wire: Wire | None = None
        self._peer: Peer | None = None
        self._client: Client | None = None
        self._scope: anyio.CancelScope | None = None
        self._is_stopping = False
        self._pending = 0
        self._halted = anyio.Event()

    @property
    def state(self) -> State:
        return self._publisher.state

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The callable tools: those without a problem, plus the resource reader if the server has resources."""
        return self.lists.offered(self._client)

    @property
    def is_refused(self) -> bool:
        """Whether nothing accepted a connection at the server's address."""
        return self._wire is not None and self._wire.gate is not None and self._wire.gate.is_refused

    @property
    def retry_seconds(self) -> float:
        """How long the server wants to be left alone before the next try, as far as it said."""
        return getattr(self._wire.gate, "retry_seconds", 0.0) if self._wire is not None else 0.0

    @property
    def status(self) -> ServerStatus:
        """The current status with counters and the last lines of standard error, without secrets."""
        status, wire, peer = self._publisher.redacted(), self._wire, self._peer
        if wire is None:
            return status
        if wire.tap is not None:
            status = replace(
                status, frames_out=wire.tap.sent, frames_in=wire.tap.received, malformed=wire.tap.malformed
            )
        elif peer is not None:
            counts = peer.counts
            status = replace(status, frames_out=counts.out, frames_in=counts.into, malformed=counts.malformed)
        if wire.child is not None:
            stderr = tuple(map(self._publisher.shown, wire.child.errors.last(STDERR_LINES)))
            status = replace(status, stderr=stderr, exit_code=wire.child.process.exit_code)
        return replace(status, notices=(*status.notices, *_live_notices(wire, peer, status.detail)))

    async def run(self) -> None:
        """Connect, serve and disconnect. Faults of the server end up in the status and are never raised."""
        silence_sdk()
        try:
            endpoint = resolve_endpoint(self.spec, self._shared.environment)
            knows_handshake_alone = identity(self.spec) in self._shared.handshake_only
            mode = "legacy" if self.spec.mode == "auto" and knows_handshake_alone else self.spec.mode
            first = _Attempt(self.spec.transport, mode)
            await self._attempt(endpoint, first)
            second = self._second(endpoint, first)
            if second is not None:
                before = self._publisher.status
                await self._attempt(endpoint, second)
                if self._publisher.state == "failed":  # then the first answer says more
                    self._publisher.publish(before.state, before.detail)
        except TuiHostError as error:
            self._publisher.publish("failed", str(error))
        finally:
            self.settled.set()
            self.replaceable.set()

    def _second(self, endpoint: Endpoint, first: _Attempt) -> _Attempt | None:
        """Return another way to connect, if the way in which the first failed tells of one."""
        wire = self._wire
        if self._is_stopping or wire is None or self._publisher.status.protocol_version:
            return None
        answer = wire.gate.last if wire.gate is not None else None
        if endpoint.may_be_sse and answer is not None and answer.status in TRIED_AS_SSE:
            return _Attempt("sse", first.mode)
        # Older Rust and Go SDKs end at any request before `initialize`. Our probe was all that this program has read.
        is_ended_by_probe = wire.cause and wire.tap is not None and wire.tap.sent == 1
        if first.kind == "stdio" and first.mode == "auto" and is_ended_by_probe:
            return _Attempt("stdio", "legacy", RESTARTED)
        return None

    def stop(self) -> None:
        """Ask the connection to end within 5 seconds and withdraw its tools. Returns at once."""
        self._is_stopping = True
        if self._wire is not None:
            self._wire.is_left = True
        if self._publisher.state in {"connecting", "ready"}:
            self._publisher.publish("stopped", "being disconnected")
        self._halted.set()
        if self._client is None and self._scope is not None:
            self._scope.cancel()

    # Requests.

    async def call(
        self, tool: str, arguments_json: bytes, *, place: Place, on_progress: Callable[[Progress], None]
    ) -> ToolOutput:
        """Call a tool with exactly the approved bytes; `READ` reads a resource, `GET_PROMPT` fills in a prompt.

        Raises:
            ServerError: Says what happened, and whether the tool may have run.
        """
        with self._usable() as client:
            params = call_params(tool, arguments_json, log_level=self.spec.log_level if client.is_stateless else "")
            outgoing = OutgoingRequest(tool=tool, arguments=arguments_json)
            token = current_place.set(place)
            try:
                call = Call(client, self.requests, outgoing, params=params, on_progress=on_progress)
                return await call.run(seconds=self.spec.timeout, longest=self.spec.timeout_max)
            finally:
                current_place.reset(token)

    async def ping(self) -> float:
        """Ask whether the server is alive, by `ping`, or by `server/discover` in the era without it; returns milliseconds."""
        started = time.perf_counter()

        async def send(client: Client, outgoing: OutgoingRequest) -> None:
            await client.ask("server/discover" if client.is_stateless else "ping", outgoing=outgoing)

        await self._request(send)
        return (time.perf_counter() - started) * 1000

    async def complete(self, about: Mapping[str, JSON]) -> tuple[str, ...]:
        """Ask for values of an argument, given the parameters of `completion/complete`; nothing if the server does not."""

        async def send(client: Client, outgoing: OutgoingRequest) -> tuple[str, ...]:
            declared = client.server_capabilities
            if declared is not None and declared.completions is None:
                return ()
            result = await client.ask("completion/complete", about, outgoing=outgoing)
            values = items(mapping(result.get("completion")).get("values"))
            return tuple(value for value in values if isinstance(value, str))

        return await self._request(send)

    async def subscribe(self, uri: str) -> None:
        await self._request(lambda client, _: self.news.subscribe(client, uri))

    async def unsubscribe(self, uri: str) -> None:
        await self._request(lambda client, _: self.news.unsubscribe(client, uri))

    async def _request(self, send: Callable[[Client, OutgoingRequest], Awaitable[Reply]]) -> Reply:
        """Send a request that is no call.

        Raises:
            ServerError: There is no answer, or the server refuses.
        """
        with self._usable() as client:
            return await answered(client, lambda outgoing: send(client, outgoing), seconds=self.spec.timeout)

    @contextmanager
    def _usable(self) -> Generator[Client]:
        """Provide the client for a request, and see to what waits for the last request; raises if there is no connection."""
        client, wire = self._client, self._wire
        if client is None or wire is None or wire.cause or self._publisher.state == "lost":
            what = self._publisher.shown(self._publisher.status.detail) or self._publisher.state
            raise ServerError(f"it is not connected: {what}", self.spec.name, sent=False)
        self._pending += 1
        try:
            yield client
        finally:
            self._pending -= 1
            if wire.gate is not None and wire.gate.is_session_lost:
                self.is_session_lost = True
                self.replaceable.set()
            if not self._pending and (self.is_session_lost or self.state == "lost"):
                self._halted.set()  # not earlier: answers to other calls may still come

    # The connection's own task.

    async def _attempt(self, endpoint: Endpoint, attempt: _Attempt) -> None:
        """Run a client from enter to exit."""
        connection = self._shared.recorder.new_connection(self.spec.name)
        owner = WireOwner(
            answer=self.requests.answer,
            heard=self._heard,
            changed=self._shared.changed,
            lost=self._lost,
            refused=self._refused,
        )
        wire = self._wire = Wire(
            server=self.spec.name,
            connection=connection,
            recorder=self._shared.recorder,
            guard=self._shared.guard,
            owner=owner,
            login=self._login,
        )
        self._peer, self._halted = None, anyio.Event()
        self._publisher.update(replace(self._publisher.status, connection=connection, transport=attempt.kind))
        self._publisher.publish("connecting", "waiting for initialize")
        limit = self.spec.timeout or math.inf
        with anyio.CancelScope(deadline=anyio.current_time() + limit) as self._scope:
            try:
                async with (
                    self._transport(endpoint, wire, attempt.kind) as self._peer,
                    Client(self._peer, self.requests) as client,
                ):
                    await introduce(client, attempt.mode)
                    self._scope.deadline = math.inf
                    await self._serve(client, attempt)
                    self._scope.deadline = anyio.current_time() + LEAVE_SECONDS
            except Exception as error:  # noqa: BLE001 - whatever a server made the SDK raise is that server's state
                self._failed(error, wire)
            finally:
                self._client = None
        self._ended(wire, limit)
        wire.record_end(self._publisher.status.detail or CLOSED)

    def _transport(self, endpoint: Endpoint, wire: Wire, kind: Transport) -> AbstractAsyncContextManager[Peer]:
        if kind == "stdio":
            if endpoint.command is None:
                raise ServerError("there is no command to start", self.spec.name)
            early, self._early = self._early, None
            return stdio_transport(endpoint.command, wire, early)
        # The call's own limit is shorter, save while the person answers a question of the server.
        read_seconds = STREAM_SECONDS if self.spec.timeout else None
        return _behind_url(endpoint, wire, kind, read_seconds=read_seconds)

    async def _serve(self, client: Client, attempt: _Attempt) -> None:
        """List the tools, then follow what the server announces until the connection ends."""
        self._publish_introduction(client)
        async with anyio.create_task_group() as group:
            group.start_soon(self._halt, group.cancel_scope)
            await self.lists.read_tools(client)
            self._client = client
            if attempt.notice:
                self._shared.handshake_only.add(identity(self.spec))
                self._publisher.notice(attempt.notice)
            ready_ms = (time.monotonic_ns() - self._began_ns) / 1e6
            self._publisher.update(replace(self._publisher.status, ready_ms=ready_ms))
            self._publisher.publish("ready", "")
            self.ready_since = time.monotonic()
            self.settled.set()
            group.start_soon(self.lists.read_others, client)
            group.start_soon(self.news.follow, "tools", self.lists.read_tools, client)
            group.start_soon(self.news.follow, "resources", self.lists.read_resources, client)
            group.start_soon(self.news.follow, "prompts", self.lists.read_prompts, client)
            if client.is_stateless:
                group.start_soon(self.news.listen_to_lists, client)
                group.start_soon(self.news.listen_to_resources, client)
            else:
                group.start_soon(self.news.subscribe_again, client)
                group.start_soon(self._set_log_level, client)

    def _publish_introduction(self, client: Client) -> None:
        info, declared = client.server_info, client.server_capabilities
        status = replace(
            self._publisher.status,
            protocol_version=client.protocol_version or "",
            era="stateless" if client.is_stateless else "stateful",
            server_info="" if info is None else f"{info.name} {info.version}".strip(),
            instructions=client.instructions or "",
            capabilities={} if declared is None else plain(declared),
        )
        self._publisher.update(status)
        self._publisher.publish("connecting", "listing its tools")

    async def _set_log_level(self, client: Client) -> None:
        """Ask for the wanted level, once for the connection; in the stateless era each call asks for itself."""
        declared = client.server_capabilities
        if not self.spec.log_level or declared is None or declared.logging is None:
            return
        try:
            await client.ask("logging/setLevel", {"level": self.spec.log_level})
        except (MCPError, ServerError) as error:
            self._publisher.notice(f"the level of its log could not be set: {reason_of(error)[0]}")

    async def _halt(self, scope: anyio.CancelScope) -> None:
        await self._halted.wait()
        self._client = None
        scope.cancel()

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

    # What happens on the wire.

    def _heard(self, method: str, params: Mapping[str, JSON]) -> None:
        match method:
            case "notifications/message":
                self._publisher.log.add(mapping(as_json(params)))
            case "notifications/elicitation/complete":
                self.requests.visited(text_or_empty(params.get("elicitationId")))
            case _:
                self.news.heard(method, params)

    def _lost(self, cause: str) -> None:
        """Publish that the wire has ended, just before the pending requests fail."""
        if not self._is_stopping and self._publisher.state == "ready":
            self._publisher.publish("lost", cause)
        self._halted.set()

    def _refused(self, reason: str) -> None:
        """Publish that nothing accepts connections at the server's address any more. Calls under way are still waited for."""
        if not self._is_stopping and self._publisher.state == "ready":
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
        if self._is_stopping:
            self._publisher.publish("stopped", "")
        elif self.is_session_lost:
            self._publisher.publish("connecting", "the server had forgotten the session")
        elif self._publisher.state == "connecting":
            self._publisher.publish("failed", wire.cause or f"no answer to initialize within {limit:g} s")
        elif self._publisher.state == "ready":
            self._publisher.publish("lost", wire.cause or "the connection was lost")


@asynccontextmanager
async def _behind_url(
    endpoint: Endpoint, wire: Wire, kind: Literal["http", "sse"], *, read_seconds: float | None
) -> AsyncGenerator[Peer]:
    """Open an HTTP transport. Its modules are imported in a thread, with the first server behind a URL."""
    await to_thread.run_sync(import_module, "tui_host.servers.http")
    from tui_host.servers.http import http_transport

    async with http_transport(endpoint, wire, kind, read_seconds=read_seconds) as peer:
        yield peer


def _live_notices(wire: Wire, peer: Peer | None, detail: str) -> list[str]:
    """Return notices about the wire's present state, without those that the detail line repeats."""
    notices: list[str] = []
    child = wire.child
    if child is not None and child.unread_since is not None:
        notices.append(f"has not read its standard input for {time.monotonic() - child.unread_since:.0f} s")
    if child is not None and child.errors.unrecorded:
        notices.append(f"{child.errors.unrecorded:,} bytes of standard error came too fast to be recorded")
    failed = words_of_answer(wire.gate.last) if wire.gate is not None and wire.gate.last is not None else ""
    if failed and failed not in detail:
        notices.append(f"the last request failed: {failed}")
    if peer is not None and peer.counts.refused:
        notices.append(f"{peer.counts.refused:,} requests of the server were refused: too many at once")
    if peer is not None and peer.counts.unexpected:
        notices.append(f"{peer.counts.unexpected:,} answers matched no request")
    return notices
