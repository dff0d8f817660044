"""Servers behind URLs: streamable HTTP, and the older transport of HTTP with SSE.

The SDK's transports are not used: there a fault of the network ends the connection, what a server refuses over SSE is never heard, and of
a refusal neither status nor words nor `retry-after` are left. Here the sender of a request waits in its own task until the answer has
come, or a reason why none will. Imported in a thread with the first server behind a URL: httpx2 costs 3 MiB and 0.1 s.

Source: MCP 2024-11-05, 2025-11-25 and 2026-07-28, Transports.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus
from mcp.shared.dispatcher import as_request_id
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import METHOD_NOT_FOUND, RequestId
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tui_host.capture.content_codings import CodingError, codings_of
from tui_host.capture.frames.frame_heads import read_frame
from tui_host.capture.http.httpx2_tap import Httpx2Transport
from tui_host.capture.http.observer import Observer
from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import current_place
from tui_host.capture.stdio.lines import Lines
from tui_host.errors import JSON, ServerError
from tui_host.guard.child_process import Process
from tui_host.servers.dispatcher import OutgoingMessage, Peer, peer_over
from tui_host.servers.http_failure import (
    REFUSAL_BYTES,
    fault_words,
    first_words,
    kind_of,
    read_body,
    refusal_error,
    seconds_to_wait,
)
from tui_host.servers.outgoing_request import HttpAnswer, HttpState
from tui_host.servers.server_faults import WireError, closed
from tui_host.servers.stdio import running

if TYPE_CHECKING:
    from tui_host.servers.server_endpoint import Endpoint
    from tui_host.servers.wire import Wire

CONNECT_SECONDS = 30.0
START_SECONDS = 30.0  # until a bundled program has printed its URL
NOTIFICATION_SECONDS = 15.0  # a server that never answers one must not hold up its sender
LEAVE_SECONDS = 2.0
BODY_LIMIT = 64 << 20
REDIRECTS = 5
TRANSIENT = frozenset({429, 502, 503, 504})
TRIES = 4
DEFAULT_WAIT_SECONDS, LEAST_WAIT_SECONDS = 1.0, 0.1
LONGEST_WAIT_SECONDS = 30.0  # the person is told of a longer one
STEADY_SECONDS = 1.0  # proxies cut idle streams: one that lasted is no failure
FAILURES = 3
SESSION = "mcp-session-id"

_EVENTS, _JSON = "text/event-stream", "application/json"
# A gateway that gave up waiting knows nothing of their effect: only the server's own word sends them again.
_EFFECTS = frozenset({"tools/call", "tasks/update"})
_BEFORE_SENDING = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_FAULTS = (httpx2.TransportError, OSError, CodingError)
_trusting = cache(httpx2.create_ssl_context)  # what is trusted is read from the disk, once for all servers
ReadAnswer: TypeAlias = Callable[[OutgoingMessage, httpx2.Response], Awaitable[None]]
SendRequest: TypeAlias = Callable[[httpx2.Request], Awaitable[httpx2.Response]]


@asynccontextmanager
async def http_transport(
    endpoint: Endpoint, wire: Wire, kind: Literal["http", "sse"], *, read_seconds: float | None
) -> AsyncGenerator[Peer]:
    """Connect to a server behind a URL. `read_seconds` is the longest pause between bytes of an answer; None for no limit."""
    headers = {"User-Agent": "tui-host", **endpoint.headers}
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=read_seconds)
    async with _address(endpoint, wire) as url, anyio.create_task_group() as group:
        is_ours = endpoint.command is not None  # and so on this machine, without TLS and login
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_ours else await to_thread.run_sync(_trusting)
        inner = httpx2.AsyncHTTPTransport(verify=verify)
        observer = Observer(wire.recorder, wire="mcp", peer=wire.server, connection=wire.id)
        tap = Httpx2Transport(observer, inner)
        async with httpx2.AsyncClient(transport=tap, headers=headers, timeout=timeout) as http:
            send = partial(http.send, stream=True)
            link = (StreamableHttp if kind == "http" else SseHttp)(url, wire.gate, http, group, send)
            if not is_ours and "authorization" not in http.headers:
                from tui_host.servers.authorization.server_login import ServerLogin

                # The older transport is refused at its stream already.
                methods = {"POST"} if kind == "http" else {"POST", "GET"}
                link.send_request = ServerLogin(url, wire, http, inner, methods).send
            async with peer_over(wire, link.send) as link.peer:
                if isinstance(link, SseHttp):
                    await group.start(link.listen)
                try:
                    yield link.peer
                finally:
                    if isinstance(link, StreamableHttp):
                        await link.leave()
                    group.cancel_scope.cancel()


@dataclass(eq=False)
class HttpLink:
    """What both transports share: requests with the login, redirects within the origin alone, refusals and faults in words."""

    url: str
    gate: HttpState
    _http: httpx2.AsyncClient
    _group: TaskGroup
    send_request: SendRequest
    peer: Peer = field(init=False)
    named: str = (
        ""  # the address for messages, in words, where the server has named it: then its answers come elsewhere
    )

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: Mapping[str, str], data: bytes | None = None
    ) -> AsyncGenerator[httpx2.Response]:
        """Send a request and yield the response, whose body is still to be read."""
        request = self._http.build_request(method, url, headers=headers, content=data)
        response = await self.send_request(request)
        try:
            for _ in range(REDIRECTS):
                onward = response.next_request
                if onward is None or onward.method != request.method:
                    break
                # To the same server alone the headers belong.
                here, there = request.url, onward.url
                is_same_origin = (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)
                if not is_same_origin or here.userinfo != there.userinfo:
                    break
                await response.aclose()
                request, response = onward, await self.send_request(onward)
            yield response
        finally:
            await response.aclose()

    async def post(self, message: OutgoingMessage, url: str, headers: Mapping[str, str], read: ReadAnswer) -> None:
        """POST a message, and let `read` take the answer. What goes wrong is told to the one who waits, never raised."""
        for tries in range(1, TRIES + 1):
            try:
                async with self.open("POST", url, {**headers, **message.headers}, message.data) as response:
                    wait = self.wait(response, message.frame.get("method"))
                    if wait is None or tries == TRIES:
                        await read(message, response)
                        return
            except _FAULTS as error:
                words = self.note_fault(error)
                if message.request is not None:
                    message.request.is_sent = not isinstance(error, _BEFORE_SENDING)
                self.fail(message, closed(words, HttpAnswer(status=0, words=words)))
                return
            except WireError as error:  # the login failed
                self.fail(message, error)
                return
            await anyio.sleep(wait)

    def wait(self, response: httpx2.Response, method: JSON = None) -> float | None:
        """Return how many seconds to wait before a request is made again, None if it is not to be made again."""
        said = seconds_to_wait(response)
        if response.status_code not in TRANSIENT or (said or 0) > LONGEST_WAIT_SECONDS:
            return None
        if method in _EFFECTS and (said is None or response.status_code in {502, 504}):
            return None
        return DEFAULT_WAIT_SECONDS if said is None else said

    async def tell(self, message: OutgoingMessage, response: httpx2.Response) -> None:
        """Tell the one who waits what came in place of an answer: the server's own error, or status and first words."""
        body, status = await read_body(response, REFUSAL_BYTES), response.status_code
        if self.named and response.is_success:
            return  # it is no answer
        if message.request is None:
            return  # a notification that the server does not want says nothing about the session
        is_first = message.frame.get("method") in {"initialize", "server/discover"}
        answer = self.answer_of(response, body, is_first=is_first)
        error = mapping(read_object(body).get("error"))
        if SESSION in response.request.headers:
            answer.is_session_lost = status == 404 and error.get("code") != METHOD_NOT_FOUND
            if status == 400:
                # Not the 404 of the specification, but what the examples of the TypeScript SDK answer after a restart.
                words = first_words(body).lower()
                answer.is_session_lost = "session" in words or "not initialized" in words
            self.gate.is_session_lost |= answer.is_session_lost
        self.fail(message, refusal_error(answer, error if isinstance(error.get("code"), int) else None))

    def answer_of(self, response: httpx2.Response, body: bytes, *, is_first: bool) -> HttpAnswer:
        """Return a refusal in words. One of the first requests that may pass means a server that is away for a while."""
        words, status = first_words(body), response.status_code
        if is_first and status in TRANSIENT:
            self.gate.is_refused, self.gate.retry_seconds = True, seconds_to_wait(response) or 0.0
        if kind_of(response) == "text/html" and status < 500:
            words = f"it answered text/html: a login page, or the wrong URL? {words}".strip()
        if response.next_request is not None:
            onward = response.next_request.url.copy_with(query=None, fragment=None, userinfo=b"")
            words = f"it points to {onward}"
        words = ", ".join(filter(None, (words, self.named)))
        return HttpAnswer(status=status, words=words, retry_after=response.headers.get("retry-after", ""))

    def fail(self, message: OutgoingMessage, error: WireError) -> None:
        """Give the one who waits the reason why no answer comes, unless it has come."""
        if message.request is not None:
            self.peer.resolve(message.frame.get("id"), error)

    def note_fault(self, error: Exception) -> str:
        """Return the words for a fault. Where nothing accepts connections, the owner of the connection learns of it."""
        words = fault_words(error)
        if isinstance(error, httpx2.ConnectError):
            self.gate.is_refused = True
            self.peer.wire.refused(words)
        return words

    def take(self, event: SseEvent) -> None:
        if event.kind == "event" and event.event == "message" and event.data:
            self.peer.take(event.data, read_frame(event.data), current_place.get())


class EventStream:
    """A stream of events that may be opened again where it broke off, from its `last_id`, as its server says."""

    last_id = ""
    failures = 0  # in a row: not opened, or ended at once without bringing anything
    retry = DEFAULT_WAIT_SECONDS

    async def events(self, response: httpx2.Response) -> AsyncGenerator[SseEvent]:
        if codings := codings_of(response.headers.get("content-encoding")):  # it could grow to any size
            raise CodingError(f"its event stream is compressed ({', '.join(codings)[:40]}); we asked for identity")
        decoder, began = SseDecoder(BODY_LIMIT), time.monotonic()
        async for chunk in response.aiter_raw():
            events = decoder.feed(chunk)
            self.last_id = decoder.last_id or self.last_id
            if decoder.retry_ms is not None:
                self.retry = max(decoder.retry_ms / 1000, LEAST_WAIT_SECONDS)
            self.failures = 0
            for event in events:
                yield event
        if time.monotonic() - began > STEADY_SECONDS:
            self.failures = 0
        for event in decoder.finish():
            yield event


class StreamableHttp(HttpLink):
    """Streamable HTTP: each message is POSTed, and the answer to a request comes in the response, as JSON or in a stream."""

    _session = ""
    _version = ""

    async def send(self, message: OutgoingMessage) -> None:
        """Send a message. The sender of a request waits for its answer, so that a cancelled sender closes the exchange."""
        method, version = message.frame.get("method"), message.headers.get(MCP_PROTOCOL_VERSION_HEADER, "")
        self._version = "" if method == "initialize" else version or self._version
        if method == "notifications/initialized" and self._session:
            # Before any call: a server may tell this stream from the rest of a broken answer by its time alone.
            self._group.start_soon(self._listen)
        if message.request is not None:
            await self.post(message, self.url, self._headers(), self._answered)
        elif method != "notifications/cancelled" or self._version not in MODERN_PROTOCOL_VERSIONS:
            # In the newer era the closed exchange is the cancellation, and no notification goes over HTTP.
            with anyio.move_on_after(NOTIFICATION_SECONDS):
                await self.post(message, self.url, self._headers(), self.tell)

    async def leave(self) -> None:
        if self._session and not self.gate.is_session_lost:
            with anyio.move_on_after(LEAVE_SECONDS), suppress(WireError, *_FAULTS):
                async with self.open("DELETE", self.url, self._headers()):
                    pass

    def _headers(self, accept: str = f"{_JSON}, {_EVENTS}", **more: str) -> dict[str, str]:
        own = {SESSION: self._session, MCP_PROTOCOL_VERSION_HEADER: self._version, **more}
        return {"Accept": accept, "Content-Type": _JSON, **{name: value for name, value in own.items() if value}}

    async def _answered(self, message: OutgoingMessage, response: httpx2.Response) -> None:
        kind = kind_of(response)
        if not response.is_success or response.status_code == 202 or kind not in {_JSON, _EVENTS}:
            await self.tell(message, response)
            return
        self.gate.is_refused, self.gate.retry_seconds = False, 0.0
        if message.frame.get("method") == "initialize":
            self._session = response.headers.get(SESSION, "")
        if kind == _JSON:
            body = await read_body(response, BODY_LIMIT)
            if len(body) > BODY_LIMIT:
                self.fail(message, closed(f"the answer has more than {BODY_LIMIT >> 20} MB"))
                return
            self.peer.take(body, read_frame(body), current_place.get())
            self.fail(message, closed("the answer is no JSON-RPC message"))
            return
        # What comes in a stream, until the answer. A broken stream goes on where its server allows that.
        stream, number = EventStream(), as_request_id(message.frame.get("id"))
        try:
            await self._follow(stream, response, number)
        except _FAULTS:
            if not stream.last_id:
                raise
        await response.aclose()
        while stream.last_id and number is not None and self.peer.unanswered(number) is not None:
            await anyio.sleep(stream.retry)
            if not await self._reopened(stream, number):
                break
        self.fail(message, closed("its event stream ended without a response"))

    async def _listen(self) -> None:
        stream = EventStream()
        while await self._reopened(stream, None):
            await anyio.sleep(stream.retry)

    async def _reopened(self, stream: EventStream, number: RequestId | None) -> bool:
        """Open a stream by GET, and follow it to its end; returns whether it may be opened again."""
        headers = self._headers(_EVENTS, **{"Last-Event-ID": stream.last_id})
        stream.failures += 1
        try:
            async with self.open("GET", self.url, headers) as response:
                wait = self.wait(response)
                if response.is_success and kind_of(response) == _EVENTS:
                    await self._follow(stream, response, number)
                elif wait is None:
                    return False
                else:
                    stream.retry = wait
        except WireError:
            return False
        except _FAULTS as error:
            self.note_fault(error)
        return stream.failures < FAILURES

    async def _follow(self, stream: EventStream, response: httpx2.Response, number: RequestId | None) -> None:
        """Take the messages of a stream until its end, or until the answer to a request."""
        async with aclosing(stream.events(response)) as events:
            async for event in events:
                self.take(event)
                if number is not None and self.peer.unanswered(number) is None:
                    return


class SseHttp(HttpLink):
    """The older transport: one stream brings all messages, and the first event in it says where to POST ours."""

    _endpoint = ""

    async def send(self, message: OutgoingMessage) -> None:
        """POST a message. What the server says to that is heard at once; the answer comes in the stream."""
        await self.post(message, self._endpoint, {"Content-Type": _JSON}, self.tell)

    async def listen(self, *, task_status: TaskStatus[None]) -> None:
        """Follow the stream to its end; raises WireError if it cannot be opened, or brings no address for messages."""
        cause = "closed the connection"
        try:
            async with self.open("GET", self.url, {"Accept": _EVENTS, "Cache-Control": "no-store"}) as response:
                await self._follow(response, task_status)
        except _FAULTS as error:
            cause = self.note_fault(error)
        if not self._endpoint:
            raise refusal_error(HttpAnswer(status=0, words=f"{cause}; no address for messages came"))
        self.peer.close(cause)

    async def _follow(self, response: httpx2.Response, task_status: TaskStatus[None]) -> None:
        if not response.is_success or kind_of(response) != _EVENTS:
            body = await read_body(response, REFUSAL_BYTES)
            raise refusal_error(self.answer_of(response, body, is_first=True))
        async with aclosing(EventStream().events(response)) as events:
            async for event in events:
                if event.event == "endpoint" and not self._endpoint:
                    endpoint = urljoin(self.url, event.data.decode("utf-8", "replace"))
                    # Another origin must not get what is meant for this one.
                    if urlsplit(endpoint)[:2] != urlsplit(self.url)[:2]:
                        words = f"it named an address elsewhere for messages: {endpoint.partition('?')[0][:200]}"
                        raise ServerError(words, remedy="ask whoever runs it: the address must be of the same origin")
                    self._endpoint = endpoint
                    self.named = f"from {endpoint.partition('?')[0]}, the address that the server named"
                    task_status.started()
                self.take(event)


@asynccontextmanager
async def _address(endpoint: Endpoint, wire: Wire) -> AsyncGenerator[str]:
    """Yield the server's URL. A bundled server's program is run for the duration of the connection, and prints its URL first."""
    if endpoint.command is None:
        yield endpoint.url
        return
    process, printed = Process.start(endpoint.command), b""
    try:
        with anyio.move_on_after(START_SECONDS):
            await anyio.wait_readable(process.stdout)
            printed = os.read(process.stdout.fileno(), 1 << 16)
    except BaseException:
        process.kill()
        raise
    async with running(process, wire, Lines(wire.recorder, peer=wire.server, connection=wire.id)):
        url = text_or_empty(read_object(printed).get("url"))
        if not url:
            raise ServerError("its program told no URL", wire.server, "look at its standard error")
        yield url
