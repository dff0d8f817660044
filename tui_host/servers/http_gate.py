"""What stands between the SDK's HTTP client and the wire: bounds, faults told instead of raised, and the last look at a call.

A network fault that leaves a transport as an exception makes the SDK tear the whole connection down: each one ends here, as an
answer of ours to the one request that it met. Below this stands the recording transport, so the capture shows what was on the
wire and nothing that was made here. Source: mcp-host.md, sections a and c; threats.md, PRO-06, PRO-13, PRO-14 and HTP-*.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import anyio
import httpx2
from typing_extensions import override

from tui_host.capture.content_codings import CodingError, decoder
from tui_host.capture.json.narrowing import is_object
from tui_host.capture.json.scan import PARTS_LIMIT, parts_of
from tui_host.errors import JSON, ServerError
from tui_host.servers.bounded_events import BoundedEvents, too_many
from tui_host.servers.http_failure import fault_words, first_words, has_forgotten_session
from tui_host.servers.outgoing_request import Flight, HttpAnswer, check_frame, current_flight

BODY_LIMIT = 64 << 20
"""Bytes that a JSON answer, or one event, may have."""
FAULT_BYTES = 64 << 10
"""Bytes of an error's body that are read."""
NOTIFICATION_SECONDS = 15.0
"""A notification's POST may hold up those behind it for so long."""
STREAM_SECONDS = 3600.0
"""A stream for the server's own messages may be silent for so long."""
_UPSTREAM = -32000
_OF_THE_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_BEFORE_SENDING = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class HttpGate(httpx2.AsyncBaseTransport):
    """The transport that the SDK's client gets.

    Attributes:
        last: The last answer that was an error, None if there was none yet.
        is_session_lost: The server has forgotten our session.
        cut: Why we read a stream of the server's own messages no further, empty if we did.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, streaming_post: bool) -> None:
        """Put the gate before the recording transport.

        Args:
            inner: What it passes requests on to; closed with it.
            streaming_post: A request's answer comes on its own response (streamable HTTP), not on another stream (SSE).
        """
        self._inner = inner
        self._streaming_post = streaming_post
        self._gets = _HoldBack()
        self.last: HttpAnswer | None = None
        self.is_session_lost = False
        self.cut = ""

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            return await self._post(request)
        if request.method == "GET":
            return await self._get(request)
        return await _emptied(self._noted(await self._inner.handle_async_request(request), None))

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _get(self, request: httpx2.Request) -> httpx2.Response:
        """Open a stream; one that goes on with a lost answer tells the call why it could not."""
        await self._gets.wait()
        _be_patient(request)
        flight = current_flight.get() if "last-event-id" in request.headers else None
        try:
            response = self._noted(await self._inner.handle_async_request(request), flight)
        except (httpx2.TransportError, OSError) as error:
            if flight is not None:
                flight.answer = HttpAnswer(status=0, words=fault_words(error))
            raise
        if not _is_stream(response):
            return response

        def cut(reason: str) -> bytes:
            self.cut = f"sent what is not read: {reason}"
            self._tell(HttpAnswer(status=0, words=reason), flight)
            return b""

        fault = await self._bounded(response, flight, cut)
        return httpx2.Response(502, request=request) if fault else response

    async def _post(self, request: httpx2.Request) -> httpx2.Response:
        body = b"".join([part async for part in _async(request.stream)])
        request.stream = httpx2.ByteStream(body)
        frame = _frame(body)
        flight = current_flight.get()
        try:
            check_frame(body, flight)
        except ServerError as error:
            if flight is not None:
                flight.refusal = error.what
            return _error(request, frame, 400, error.what)
        if frame.method == "subscriptions/listen":
            _be_patient(request)
        if frame.id is not None:
            return await self._request(request, frame, flight)
        with anyio.move_on_after(NOTIFICATION_SECONDS):
            return await self._request(request, frame, flight)
        return _error(request, frame, 504, f"no answer for {NOTIFICATION_SECONDS:.0f} s")

    async def _request(self, request: httpx2.Request, frame: _Frame, flight: Flight | None) -> httpx2.Response:
        try:
            response = self._noted(await self._inner.handle_async_request(request), flight)
            if response.has_redirect_location and (place := _target(response)) is not None:
                self._tell(HttpAnswer(status=response.status_code, words=f"it points to {place}"), flight)
                return await _emptied(response)
            if response.status_code >= 300:
                return await self._failed(request, response, flight)
            if not self._streaming_post:
                return await _emptied(response)
            if frame.id is None or response.status_code == 202:
                return response
            if _is_stream(response):
                fault = await self._bounded(response, flight, lambda reason: _error_event(frame, reason))
                return _error(request, frame, 502, fault) if fault else response
            if _kind(response) == "application/json":
                return await self._json(request, response, frame)
            return await self._failed(request, response, flight)
        except (httpx2.TransportError, OSError, CodingError) as error:
            answer = HttpAnswer(status=0, words=fault_words(error))
            self._tell(answer, flight)
            if flight is not None and isinstance(error, _BEFORE_SENDING):
                flight.is_sent = False
            return _error(request, frame, 502, answer.words)

    async def _bounded(
        self, response: httpx2.Response, flight: Flight | None, instead: Callable[[str], bytes]
    ) -> str | None:
        """Have each event of a stream counted before the SDK reads it.

        Args:
            response: A stream; it is closed if it cannot be bounded.
            flight: The request that it answers, if it does.
            instead: What stands for an event that is not passed on.

        Returns:
            Why the stream cannot be read at all, None if it can.
        """
        stream = _async(response.stream)
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding in {"", "identity"}:
            response.stream = BoundedEvents(stream, BODY_LIMIT, instead)
            return None
        await stream.aclose()  # unpacked by the SDK it could grow beyond all bounds
        fault = f"its event stream is compressed ({coding[:40]}); we asked for identity"
        self._tell(HttpAnswer(status=response.status_code, words=fault), flight)
        return fault

    def _noted(self, response: httpx2.Response, flight: Flight | None) -> httpx2.Response:
        if flight is not None:
            flight.answer = HttpAnswer(status=response.status_code)
        if response.is_success:
            self.last = None
        return response

    def _tell(self, answer: HttpAnswer, flight: Flight | None) -> None:
        self.last = answer
        if flight is not None:
            flight.answer = answer

    async def _json(self, request: httpx2.Request, response: httpx2.Response, frame: _Frame) -> httpx2.Response:
        """Read a JSON answer here, where it may fail and be too large without harm."""
        body = await _read(response, BODY_LIMIT)
        if len(body) > BODY_LIMIT:
            return _error(request, frame, 502, f"the answer has more than {BODY_LIMIT >> 20} MB")
        parts = parts_of(body)
        if parts > PARTS_LIMIT:
            return _error(request, frame, 502, too_many(parts))
        headers = [item for item in response.headers.multi_items() if item[0].lower() not in _OF_THE_BODY]
        return httpx2.Response(
            response.status_code, headers=headers, stream=httpx2.ByteStream(body), request=request, extensions={}
        )

    async def _failed(
        self, request: httpx2.Request, response: httpx2.Response, flight: Flight | None
    ) -> httpx2.Response:
        """An answer that is no message: its first words are what a person can be told."""
        body = (await _read(response, FAULT_BYTES))[:FAULT_BYTES]
        answer = HttpAnswer(
            status=response.status_code,
            words=first_words(body),
            retry_after=response.headers.get("retry-after", ""),
        )
        self._tell(answer, flight)
        has_session = "mcp-session-id" in request.headers
        if has_session and has_forgotten_session(response.status_code, body):
            self.is_session_lost = True
        headers = {"content-type": response.headers.get("content-type", "")}
        return httpx2.Response(
            response.status_code, headers=headers, stream=httpx2.ByteStream(body), request=request, extensions={}
        )


class _Frame:
    """What of a request's body is needed to answer in the server's place."""

    __slots__ = ("id", "method")

    def __init__(self, id_: JSON, method: str) -> None:
        self.id = id_
        self.method = method


class _HoldBack:
    """Keeps a server from making us ask again and again: a stream that ends at once is opened more and more slowly."""

    def __init__(self) -> None:
        self._last = 0.0
        self._delay = 0.0

    async def wait(self) -> None:
        now = time.monotonic()
        # Held back, the next one comes later by the delay itself: that must not count as patience.
        soon = now - self._last < self._delay + 1.0 if self._last else False
        self._delay = min(max(1.0, self._delay * 2), 30.0) if soon else 0.0
        if self._delay:
            await anyio.sleep(self._delay)
        self._last = time.monotonic()


def _target(response: httpx2.Response) -> str | None:
    """Where a redirect leads, without what may be secret in it; None if nowhere, which the SDK would take for a fault."""
    try:
        place = httpx2.URL(response.headers["location"])
        return str(place.copy_with(query=None, fragment=None, userinfo=b""))
    except (httpx2.InvalidURL, ValueError):
        return None


def _frame(body: bytes) -> _Frame:
    value: JSON = json.loads(body) if body else None
    if not is_object(value):
        return _Frame(None, "")
    found, method = value.get("id"), value.get("method")
    return _Frame(found if isinstance(found, str | int) else None, method if isinstance(method, str) else "")


def _error_body(frame: _Frame, reason: str) -> bytes:
    error = {"code": _UPSTREAM, "message": reason, "data": {"tui-host": "fault"}}
    return json.dumps({"jsonrpc": "2.0", "id": frame.id, "error": error}).encode()


def _error_event(frame: _Frame, reason: str) -> bytes:
    return b"event: message\ndata: " + _error_body(frame, reason) + b"\n\n"


def _error(request: httpx2.Request, frame: _Frame, status: int, reason: str) -> httpx2.Response:
    headers = {"content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=_error_body(frame, reason), request=request)


def _be_patient(request: httpx2.Request) -> None:
    found = request.extensions.get("timeout")
    if is_object(found):
        request.extensions["timeout"] = {**found, "read": STREAM_SECONDS}


def _kind(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_stream(response: httpx2.Response) -> bool:
    return _kind(response) == "text/event-stream"


async def _emptied(response: httpx2.Response) -> httpx2.Response:
    """The same without its body, which says nothing to the SDK, and of which it would unpack whatever comes."""
    stream, size = _async(response.stream), 0
    try:
        async for chunk in stream:
            size += len(chunk)
            if size > FAULT_BYTES:
                break
    finally:
        await stream.aclose()
    headers = [item for item in response.headers.multi_items() if item[0].lower() not in _OF_THE_BODY]
    return httpx2.Response(response.status_code, headers=headers, stream=httpx2.ByteStream(b""), extensions={})


def _async(stream: object) -> httpx2.AsyncByteStream:
    if not isinstance(stream, httpx2.AsyncByteStream):
        raise TypeError("an asynchronous client has asynchronous streams")
    return stream


async def _read(response: httpx2.Response, limit: int) -> bytes:
    """The decoded body, up to one piece more than the limit."""
    stream = _async(response.stream)
    decode = decoder(response.headers.get("content-encoding"), limit=limit)
    pieces: list[bytes] = []
    size = 0
    try:
        async for chunk in stream:
            piece = decode.feed(chunk)
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                return b"".join(pieces)
        pieces.append(decode.finish())
    finally:
        await stream.aclose()
    return b"".join(pieces)
