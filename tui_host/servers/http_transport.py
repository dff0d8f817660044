"""Streamable HTTP and SSE transports. Imported in a thread with the first server behind a URL: httpx2 costs 3 MiB and 0.1 s."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import Context
from functools import cache
from typing import Literal
from urllib.parse import urlsplit

import anyio
import httpx2
from anyio import to_thread
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import jsonrpc_message_adapter
from typing_extensions import override

from tui_host.capture.frames.frame_heads import Frame, read_frame
from tui_host.capture.http.httpx2_tap import RecordingTransport
from tui_host.capture.http.observer import Observer
from tui_host.capture.json.narrowing import is_object
from tui_host.capture.record import NOWHERE, current_place
from tui_host.capture.redact.login_exchanges import WithoutTokens
from tui_host.capture.stdio.line_splitter import LINE_LIMIT
from tui_host.capture.stdio.server_pipes import StdioChild
from tui_host.capture.stdio.stdio_tap import StdioTap
from tui_host.errors import JSON, ServerError
from tui_host.servers.dispatcher import OutgoingMessage, Peer, peer_over
from tui_host.servers.http_gate import STREAM_SECONDS, HttpGate
from tui_host.servers.server_endpoint import Endpoint
from tui_host.servers.stdio import cause_of_end, running
from tui_host.servers.wire import Wire

CONNECT_SECONDS = 30.0
START_SECONDS = 30.0
"""How long a program may take to print its URL."""


@asynccontextmanager
async def http_transport(
    endpoint: Endpoint, wire: Wire, kind: Literal["http", "sse"], *, read_seconds: float | None
) -> AsyncGenerator[Peer]:
    """Connect to a server behind a URL, over streamable HTTP or the older HTTP with SSE.

    Raises:
        ServerError: The program that should print the URL did not print it.
    """
    async with _address(endpoint, wire) as url:
        observer = Observer(wire.recorder, wire="mcp", peer=wire.server, connection=wire.connection)
        inner = httpx2.AsyncHTTPTransport(verify=await _context(url))
        without_tokens = WithoutTokens(wire.recorder, is_login=True)
        of_logins = Observer(without_tokens, wire="mcp", peer=wire.server, connection=wire.connection)
        gate = wire.gate = HttpGate(
            RecordingTransport(observer, inner),
            streaming_post=kind == "http",
            of_logins=RecordingTransport(of_logins, inner),
            refused=wire.owner.refused,
        )
        login = _login(endpoint, wire, of_logins, url, kind)
        # The SDK would unpack compressed answers to any size.
        headers = {"User-Agent": "tui-host", **endpoint.headers, "Accept-Encoding": "identity"}

        def client(
            headers: Mapping[str, str] | None = headers,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            del timeout, auth  # set by the SDK's SSE client; ours are used for both transports
            limit = httpx2.Timeout(CONNECT_SECONDS, read=read_seconds)
            return httpx2.AsyncClient(transport=gate, headers=headers, timeout=limit, auth=login)

        if kind == "http":
            async with (
                client() as http,
                streamable_http_client(url, http_client=http, max_sse_event_size=LINE_LIMIT) as (read, write),
                _over_sdk(wire, read, write.send) as peer,
            ):
                yield peer
        else:
            async with (
                sse_client(url, headers, CONNECT_SECONDS, STREAM_SECONDS, httpx_client_factory=client) as (read, write),
                _over_sdk(wire, read, write.send) as peer,
            ):
                yield peer


def _login(
    endpoint: Endpoint, wire: Wire, observer: Observer, url: str, kind: Literal["http", "sse"]
) -> httpx2.Auth | None:
    """Return what logs in at the server; None if it is not wanted, since a header is configured, or the program is our own."""
    if endpoint.command is not None:
        return None
    if any(name.lower() == "authorization" for name in endpoint.headers):
        return None
    from tui_host.servers.authorization.server_login import ServerLogin

    return ServerLogin(url, kind, wire.login, observer)


async def _context(url: str) -> ssl.SSLContext:
    """Return the TLS context: read from the disk for the first https URL, then shared."""
    if urlsplit(url).scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return await to_thread.run_sync(_trusting)


@cache
def _trusting() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


@asynccontextmanager
async def _over_sdk(
    wire: Wire,
    read: AsyncIterable[SessionMessage | Exception],
    send: Callable[[SessionMessage], Awaitable[None]],
) -> AsyncGenerator[Peer]:
    """Put our dispatcher above the SDK's transport."""

    async def sink(message: OutgoingMessage) -> None:
        metadata = ClientMessageMetadata(headers=dict(message.headers)) if message.headers else None
        await send(SessionMessage(jsonrpc_message_adapter.validate_python(message.frame), metadata=metadata))

    async def feed(peer: Peer) -> None:
        async for item in read:
            if isinstance(item, Exception):
                peer.counts.malformed += 1
                wire.owner.changed()
                continue
            sender: object = getattr(read, "last_context", None)  # of the request in whose answer the message came
            place = sender.get(current_place, NOWHERE) if isinstance(sender, Context) else NOWHERE
            value = item.message.model_dump(by_alias=True, exclude_unset=True)
            peer.counts.into += 1
            wire.owner.changed()
            peer.received(value, place)
        peer.over((wire.gate.cut if wire.gate is not None else "") or "closed the connection")

    async with peer_over(wire, sink) as peer, anyio.create_task_group() as group:
        group.start_soon(feed, peer)
        try:
            yield peer
        finally:
            group.cancel_scope.cancel()


@asynccontextmanager
async def _address(endpoint: Endpoint, wire: Wire) -> AsyncGenerator[str]:
    """Yield the server's URL. A bundled server's program is run for the duration of the connection and prints its URL."""
    if endpoint.command is None:
        yield endpoint.url
        return
    async with running(
        endpoint.command, wire, _LauncherTap(wire.recorder, peer=wire.server, connection=wire.connection)
    ) as child:
        url = _told_url(await _FirstLine().of(child))
        if url is None:
            raise ServerError("its program told no URL", wire.server, "look at its standard error")
        async with anyio.create_task_group() as group:
            group.start_soon(_watch, child, wire)
            try:
                yield url
            finally:
                group.cancel_scope.cancel()


async def _watch(child: StdioChild, wire: Wire) -> None:
    await child.over.wait()
    wire.end(await cause_of_end(child))


class _FirstLine:
    """Waits for the line with which a program announces its URL."""

    def __init__(self) -> None:
        self._line = b""
        self._came = anyio.Event()

    async def of(self, child: StdioChild) -> bytes:
        """Return the line; empty if none comes in time."""
        child.listener = self
        with anyio.move_on_after(START_SECONDS):
            async with anyio.create_task_group() as group:
                group.start_soon(self._until_over, child)
                await self._came.wait()
                group.cancel_scope.cancel()
        return self._line

    def take(self, line: bytes, frame: Frame) -> None:
        """Keep the first line, ignore the rest."""
        del frame
        if not self._came.is_set():
            self._line = line
            self._came.set()

    async def _until_over(self, child: StdioChild) -> None:
        await child.over.wait()
        self._came.set()


def _told_url(line: bytes) -> str | None:
    try:
        value: JSON = json.loads(line)
    except ValueError:
        return None
    url = value.get("url") if is_object(value) else None
    return url if isinstance(url, str) else None


class _LauncherTap(StdioTap):
    """Tap for a program without a protocol on standard output: records only standard error."""

    @override
    def into(self, line: bytes, fault: str | None) -> Frame:
        del fault
        return read_frame(line)

    @override
    def junk(self, block: bytes, lines: int) -> None:
        """Ignore unreadable output."""
