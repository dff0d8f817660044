"""One live link to a server: one task that owns one client from enter to exit; everybody else talks to that task.

Source: mcp-host.md, «One task owns one Client», «Timeouts and cancellation»; threats.md, PRO-03, STD-*, HTP-*.
"""

from __future__ import annotations

import importlib.metadata
import logging
import math
import time
import warnings
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import anyio
import mcp_types
from anyio import to_thread
from mcp.client._transport import Transport as ClientTransport
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tui_host.capture.context import current_place
from tui_host.errors import ServerError, TuiHostError
from tui_host.servers.calls import call_request, send_call
from tui_host.servers.catalog import Progress, Resource, ServerStatus, State, Tool, ToolOutput
from tui_host.servers.definitions import changes, read_resources, read_tools, reader
from tui_host.servers.description import describe, identity
from tui_host.servers.endpoint import Endpoint, resolve_endpoint
from tui_host.servers.faults import reason_of, words_of_answer
from tui_host.servers.flight import Flight
from tui_host.servers.guard import Guard
from tui_host.servers.handshake import introduce
from tui_host.servers.listing import Fetch, read_pages
from tui_host.servers.repair import Repair
from tui_host.servers.structure import as_json
from tui_host.servers.transports import Wire, stdio_transport

if TYPE_CHECKING:
    from tui_host.capture.process import Process
    from tui_host.capture.record import Place
    from tui_host.capture.recorder import Recorder
    from tui_host.settings.schema import ServerSpec, Transport

LIST_SECONDS = 30.0
LEAVE_SECONDS = 2.5
DEBOUNCE_SECONDS = 1.0
LISTEN_AGAIN_SECONDS = 30.0
STDERR_LINES = 20
NOTICES = 30
TRIED_AS_SSE = frozenset({400, 404, 405})
"""What a server that knows only the older transport says to a POST. Source: MCP 2025-11-25, Transports, Backwards compatibility."""


class Connection:
    """One link from start to end. `run` once, in a task of its own; a reconnect is a new one.

    Attributes:
        spec: The configured server.
        is_session_lost: The server had forgotten our session: a new connection may go on where this one ended.
        early: Its process, where that was started while the SDK was still being imported; None once it is taken.
        is_listed: All that it lists was read, as far as it can be.
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
        self._status = ServerStatus(
            name=spec.name, state="connecting", detail="starting", transport=spec.transport, command=describe(spec)
        )
        self._wire: Wire | None = None
        self._client: ClientSession | None = None
        self._scope: anyio.CancelScope | None = None
        self._resources: tuple[Resource, ...] = ()
        self.is_listed = False
        self._stopping = False
        self._halted = anyio.Event()
        self._news = anyio.Event()
        self._shown = lru_cache(256)(recorder.redactor.text)  # the status is asked for at screen rate

    @property
    def state(self) -> State:
        """How it stands."""
        return self._status.state

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools as last listed, with those that have a problem."""
        return self._status.tools

    @property
    def offered(self) -> tuple[Tool, ...]:
        """What can be asked of it: its tools without those that have a problem, and what reads its resources if it has any."""
        tools = tuple(tool for tool in self.tools if tool.problem is None)
        if self._client is None or not self._declares(self._client, "resources"):
            return tools
        return (*tools, reader(self.spec.name, identity(self.spec), self._resources))

    @property
    def status(self) -> ServerStatus:
        """What is known now, counters and the last lines of standard error included; no secret is in it."""
        shown, status, wire = self._shown, self._status, self._wire
        status = replace(
            status,
            detail=shown(status.detail),
            server_info=shown(status.server_info),
            instructions=shown(status.instructions),
            notices=tuple(map(shown, status.notices)),
        )
        if wire is None:
            return status
        counts, tap, child = wire.repair.counts, wire.tap, wire.child
        return replace(
            status,
            frames_out=counts.out if tap is None else tap.sent,
            frames_in=counts.into if tap is None else tap.received,
            malformed=counts.malformed if tap is None else tap.malformed,
            stderr=() if child is None else tuple(map(shown, child.errors.last(STDERR_LINES))),
            exit_code=None if child is None else child.process.exit_code,
            notices=(*status.notices, *_live_notices(wire, status.detail)),
        )

    async def run(self) -> None:
        """Connect, serve, leave. A server's fault becomes the status, never an exception."""
        try:
            endpoint = resolve_endpoint(self.spec, self._environment)
        except TuiHostError as error:
            self._fail(str(error))
            return
        await self._live(endpoint, self.spec.transport)
        if endpoint.may_be_sse and self._is_refused_as_sse():
            before = self._status
            await self._live(endpoint, "sse")
            if self._status.state == "failed":  # it was no SSE server either: the first answer says more
                self._publish(before.state, before.detail)

    def stop(self) -> None:
        """Leave in order, within 5 seconds; returns at once. From now on its tools are not offered any more."""
        self._stopping = True
        if self._wire is not None:
            self._wire.is_left = True
        if self._status.state in {"connecting", "ready"}:
            self._publish("stopped", "being disconnected")
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
        """Call a tool, or read a resource, with exactly these arguments.

        Args:
            tool: Its own name; `READ` for a resource.
            arguments_json: The canonical bytes that were decided.
            place: What its records belong to.
            seconds: How long the server may give no sign of life; 0 is for ever.
            on_progress: Told of every sign.

        Raises:
            ServerError: With what happened, and whether the tool may have run.
        """
        client, wire = self._client, self._wire
        if client is None or wire is None or wire.cause:
            what = f"it is not connected: {self._shown(self._status.detail) or self._status.state}"
            raise ServerError(what, self.spec.name, sent=False)
        request = call_request(tool, arguments_json)
        token = current_place.set(place)
        try:
            flight = Flight(tool=tool, arguments=arguments_json)
            return await send_call(client, wire, request, flight, seconds=seconds, on_progress=on_progress)
        finally:
            current_place.reset(token)
            if wire.gate is not None and wire.gate.is_session_lost:
                self.is_session_lost = True
                self._halted.set()

    async def _live(self, endpoint: Endpoint, kind: Transport) -> None:
        """One client from enter to exit."""
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
        self._status = replace(self._status, connection=connection, transport=kind)
        self._publish("connecting", "waiting for initialize")
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
        """Introduce, list, then stay until somebody or something ends it."""
        scope.deadline = math.inf
        version = wire.repair.version = client.protocol_version or ""
        info, declared = client.server_info, client.server_capabilities
        self._status = replace(
            self._status,
            protocol_version=version,
            era="stateless" if version in MODERN_PROTOCOL_VERSIONS else "stateful",
            server_info="" if info is None else f"{info.name} {info.version}".strip(),
            instructions=client.instructions or "",
            capabilities=as_json(
                declared.model_dump(by_alias=True, mode="json", exclude_none=True) if declared is not None else {}
            ),
        )
        self._publish("connecting", "listing its tools")
        async with anyio.create_task_group() as group:
            group.start_soon(self._halt, group.cancel_scope)
            await self._list_tools(client, wire)
            self._client = client
            self._publish("ready", "")
            group.start_soon(self._list_others, client)
            group.start_soon(self._follow_changes, client, wire)
            if self._announces(client) and self._status.era == "stateless":
                group.start_soon(self._listen, client)

    async def _halt(self, scope: anyio.CancelScope) -> None:
        await self._halted.wait()
        self._client = None
        scope.cancel()

    async def _list_tools(self, client: ClientSession, wire: Wire) -> None:
        """Read the tools anew and say what is different from before.

        Raises:
            ServerError: The server does not answer in time.
            MCPError: It refuses.
        """
        if not self._declares(client, "tools"):
            return
        kept: list[frozenset[str]] = []

        async def fetch(params: mcp_types.PaginatedRequestParams | None) -> None:
            page = await client.list_tools(params=params)
            kept.append(frozenset(tool.name for tool in page.tools))

        seconds = self._list_seconds()
        try:
            listing = await read_pages("tools", fetch, seconds=seconds)
        except TimeoutError:
            raise ServerError(f"no answer to tools/list within {seconds:g} s", self.spec.name) from None
        tools = read_tools(
            listing.items,
            server=self.spec.name,
            identity=identity(self.spec),
            problem_of=wire.repair.problem_of,
            kept=frozenset[str]().union(*kept) if len(kept) == listing.pages else None,  # it may have refused a page
        )
        told = changes(self._status.tools, tools) if self._status.state == "ready" else ()
        broken = tuple(f"{tool.name or 'a tool without a name'}: {tool.problem}" for tool in tools if tool.problem)
        self._status = replace(self._status, tools=tools)
        self._notice(*told, *broken, *((listing.notice,) if listing.notice else ()))
        self._changed()

    async def _list_others(self, client: ClientSession) -> None:
        """Which resources and templates there are, and how many prompts; a server is ready without."""
        counts = [0, 0, 0]
        fetches: tuple[tuple[str, str, Fetch], ...] = (
            ("resources", "resources", lambda params: client.list_resources(params=params)),
            ("resources", "resourceTemplates", lambda params: client.list_resource_templates(params=params)),
            ("prompts", "prompts", lambda params: client.list_prompts(params=params)),
        )
        for number, (capability, key, fetch) in enumerate(fetches):
            if not self._declares(client, capability):
                continue
            try:
                listing = await read_pages(key, fetch, seconds=self._list_seconds())
            except (MCPError, TimeoutError, ValueError, RuntimeError) as error:
                self._notice(f"{key} cannot be listed: {reason_of(error)[0] or 'no answer'}")
                continue
            counts[number] = len(listing.items)
            if capability == "resources":
                self._resources += read_resources(listing.items, is_template=key == "resourceTemplates")
            self._status = replace(self._status, resources=(counts[0], counts[1], counts[2]))
            self._changed()
        self.is_listed = True
        self._changed()

    async def _follow_changes(self, client: ClientSession, wire: Wire) -> None:
        """List again after `list_changed`, once for as many as come within a second."""
        while True:
            await self._news.wait()
            await anyio.sleep(DEBOUNCE_SECONDS)
            self._news = anyio.Event()
            try:
                await self._list_tools(client, wire)
            except (MCPError, ServerError, ValueError, RuntimeError) as error:
                self._notice(f"the tools could not be listed again: {reason_of(error)[0]}")

    async def _listen(self, client: ClientSession) -> None:
        """In the stateless era changes come on a stream that is asked for; a stream that was lost may have missed some."""
        delay = 1.0
        while True:
            try:
                async with listen(client, tools_list_changed=True) as changes_of_tools:
                    delay = 1.0
                    async for _ in changes_of_tools:
                        self._news.set()
            except MCPError as error:
                if error.code == mcp_types.METHOD_NOT_FOUND:
                    return
            except (SubscriptionLost, TimeoutError):
                pass
            await anyio.sleep(delay)
            delay = min(delay * 2, LISTEN_AGAIN_SECONDS)
            self._news.set()

    async def _notified(self, message: mcp_types.ServerNotification | Exception) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._news.set()

    def _lost(self) -> None:
        """The wire has ended, a moment before those who wait for answers learn it."""
        wire = self._wire
        if wire is not None and not self._stopping and self._status.state == "ready":
            self._publish("failed", wire.cause)
        self._halted.set()

    def _failed(self, error: BaseException, wire: Wire) -> None:
        if self._status.state == "connecting":
            answer = wire.gate.last if wire.gate is not None else None
            what, remedy = reason_of(error, answer=answer, cause=wire.cause)
            self._fail(f"{what} ({remedy})" if remedy else what)

    def _ended(self, wire: Wire, limit: float) -> None:
        """Say how it ended where nobody has yet."""
        if self._stopping:
            self._publish("stopped", "")
        elif self.is_session_lost:
            self._publish("connecting", "the server had forgotten the session")
        elif self._status.state == "connecting":
            self._fail(wire.cause or f"no answer to initialize within {limit:g} s")
        elif self._status.state == "ready":
            self._fail(wire.cause or "the connection was lost")

    def _is_refused_as_sse(self) -> bool:
        answer = self._wire.gate.last if self._wire is not None and self._wire.gate is not None else None
        was_refused = self._status.state == "failed" and not self._status.protocol_version
        return was_refused and answer is not None and answer.status in TRIED_AS_SSE

    def _declares(self, client: ClientSession, name: str) -> bool:
        if self.spec.mode == "2026-07-28":
            return True  # adopted without asking: what it declares is not known
        return getattr(client.server_capabilities, name, None) is not None

    def _announces(self, client: ClientSession) -> bool:
        declared = client.server_capabilities
        return declared is not None and declared.tools is not None and bool(declared.tools.list_changed)

    def _list_seconds(self) -> float:
        if not self.spec.timeout:
            return math.inf
        return self.spec.timeout if self.spec.timeout > 60 else min(LIST_SECONDS, self.spec.timeout)

    def _fail(self, detail: str) -> None:
        self._publish("failed", detail)

    def _publish(self, state: State, detail: str) -> None:
        since = self._status.since_mono_ns if state == self._status.state else time.monotonic_ns()
        self._status = replace(self._status, state=state, detail=detail, since_mono_ns=since)
        self._changed()

    def _notice(self, *sentences: str) -> None:
        if sentences:
            told = dict.fromkeys((*self._status.notices, *sentences))
            self._status = replace(self._status, notices=tuple(told)[-NOTICES:])
            self._changed()


@asynccontextmanager
async def _behind_url(
    endpoint: Endpoint, wire: Wire, kind: Literal["http", "sse"], *, read_seconds: float | None
) -> AsyncGenerator[TransportStreams]:
    """The transport over HTTP, whose modules come in a thread with the first such server."""
    await to_thread.run_sync(import_module, "tui_host.servers.http_transport")
    from tui_host.servers.http_transport import http_transport

    async with http_transport(endpoint, wire, kind, read_seconds=read_seconds) as streams:
        yield streams


@cache
def _ourselves() -> mcp_types.Implementation:
    """What servers are told of this client; our own metadata is read from the disk for it."""
    return mcp_types.Implementation(name="tui-host", version=importlib.metadata.version("tui-host"))


def silence_sdk() -> None:
    """Keep the SDK's logging and warnings off the terminal: what they tell is in the capture."""
    for name in ("mcp", "client", "httpx2"):
        logger = logging.getLogger(name)
        if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            logger.addHandler(logging.NullHandler())
        logger.propagate = False
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)


def _live_notices(wire: Wire, detail: str) -> list[str]:
    """What is to be known of a wire now, save what the state's own line says already."""
    counts, child = wire.repair.counts, wire.child
    told: list[str] = []
    if child is not None and child.unread_since is not None:
        told.append(f"it has not read its standard input for {time.monotonic() - child.unread_since:.0f} s")
    if child is not None and child.errors.unrecorded:
        told.append(f"{child.errors.unrecorded:,} bytes of its standard error came too fast to be recorded")
    failed = words_of_answer(wire.gate.last) if wire.gate is not None and wire.gate.last is not None else ""
    if failed and failed not in detail:
        told.append(f"the last request failed: {failed}")
    if counts.merged:
        told.append(f"{counts.merged:,} notifications came too fast; only the newest of each kind was acted upon")
    if counts.refused or wire.refused:
        told.append(f"{counts.refused + wire.refused:,} requests of the server were too many at once and were refused")
    if counts.unexpected:
        told.append(f"{counts.unexpected:,} answers came to nothing that was asked")
    return told
