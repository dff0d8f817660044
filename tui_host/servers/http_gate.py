"""The gate between the SDK's HTTP client and the wire: size limits, faults turned into answers, and the last check of a call.

A network fault that leaves a transport as an exception makes the SDK tear down the whole connection, so each fault becomes our
own answer to the one failed request. The recording transport stands below the gate: the capture holds only real traffic.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Callable

import anyio
import httpx2
from mcp_types import INTERNAL_ERROR
from typing_extensions import override

from tui_host.capture.content_codings import CodingError, decoder
from tui_host.capture.json.narrowing import is_object
from tui_host.capture.json.scan import PARTS_LIMIT, parts_of
from tui_host.errors import JSON, ServerError
from tui_host.servers.frame_mending import mend
from tui_host.servers.http_failure import fault_words, first_words, has_forgotten_session
from tui_host.servers.outgoing_request import HttpAnswer, OutgoingRequest, check_frame, current_request

_BLANK_LINE = re.compile(rb"\n\n|\n\r\n|\r\r")


class BoundedEvents(httpx2.AsyncByteStream):
    """Passes whole events on unchanged. An event that is too large or has too many parts is replaced by an error, and ends the stream."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int, instead: Callable[[str], bytes]) -> None:
        self._inner = inner
        self._limit = limit
        self._instead = instead

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        held: list[bytes] = []
        size = 0
        tail = b""  # a blank line may be split between two pieces
        async for chunk in self._inner:
            seam = tail + chunk
            ends = [match.end() for match in _BLANK_LINE.finditer(seam)]
            tail = seam[-2:]
            if not ends:
                held.append(chunk)
                size += len(chunk)
                if size > self._limit:
                    yield self._instead(f"an event has more than {self._limit >> 20} MB")
                    return
                continue
            cut = ends[-1] - (len(seam) - len(chunk))
            block = b"".join([*held, chunk[:cut]])
            held, size = [chunk[cut:]], len(chunk) - cut
            reason = _too_many(block)
            yield mend(block)[0] if reason is None else self._instead(reason)
            if reason is not None:
                return
        rest = b"".join(held)
        if rest:
            reason = _too_many(rest)
            yield mend(rest)[0] if reason is None else self._instead(reason)

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


def too_many(parts: int) -> str:
    """Write the error message for an answer with too many parts."""
    return f"the answer has {parts:,} parts or more; {PARTS_LIMIT:,} are read"


def _too_many(block: bytes) -> str | None:
    """Say why a block of whole events cannot be passed on, None if it can. Events are counted separately."""
    if parts_of(block) > PARTS_LIMIT:
        most = max(map(parts_of, _BLANK_LINE.split(block)))
        if most > PARTS_LIMIT:
            return too_many(most)
    if _lines_of(block) > PARTS_LIMIT:
        most = max(map(_lines_of, _BLANK_LINE.split(block)))
        if most > PARTS_LIMIT:
            return f"an event has {most:,} lines; {PARTS_LIMIT:,} are read"
    return None


def _lines_of(block: bytes) -> int:
    return max(block.count(b"\n"), block.count(b"\r"))


BODY_LIMIT = 64 << 20
"""Largest JSON answer or event, in bytes."""
BATCH = "it answered with several messages in one (a batch), which MCP has not had since 2025-06-18"
SESSION = "its session id has characters that no header may have"
FAULT_BYTES = 64 << 10
"""Bytes read of an error's body."""
NOTIFICATION_SECONDS = 15.0
"""Longest time that the POST of a notification may hold up the next one."""
STREAM_SECONDS = 3600.0
"""Longest silence on a stream for the server's own messages."""
LOGIN = "tui-host-login"
"""Extension of the requests of a login."""
REFUSED = "tui-host-refused"
"""Extension of a request that is not sent, since its login failed. The value is the answer in the server's place."""
FAULT = "tui-host-fault"
"""Extension of the answer in place of one that did not come. The value says why."""
LOGIN_BYTES = 1 << 20
"""Largest answer to a request of a login."""
_UPSTREAM = -32000
_VISIBLE = re.compile(rb"[\x21-\x7e]*")
"""A session id has visible ASCII characters only. Source: MCP 2025-11-25, Transports, Session Management."""
_OF_THE_BODY = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
_BEFORE_SENDING = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class HttpGate(httpx2.AsyncBaseTransport):
    """The transport given to the SDK's client.

    Attributes:
        last: The last error answer, None if there was none.
        is_session_lost: The server forgot our session.
        cut: Why we stopped reading a stream of the server's own messages, empty if we did not.
        is_refused: Nothing accepted the last attempt to connect.
    """

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        *,
        streaming_post: bool,
        of_logins: httpx2.AsyncBaseTransport,
        refused: Callable[[str], None],
    ) -> None:
        """Put the gate before the recording transport."""
        self._inner = inner
        self._of_logins = of_logins
        self._streaming_post = streaming_post
        self._gets = _HoldBack()
        self.last: HttpAnswer | None = None
        self.is_session_lost = False
        self.cut = ""
        self.is_refused = False
        self._refused = refused

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if LOGIN in request.extensions:
            return await self._login(request)
        if isinstance(refusal := request.extensions.get(REFUSED), HttpAnswer):
            self._tell(refusal, current_request.get())
            frame = _frame(await request.aread())
            return _error(request, frame, refusal.status, refusal.words, code=INTERNAL_ERROR)
        if request.method == "POST":
            return await self._post(request)
        if request.method == "GET":
            return await self._get(request)
        return await _emptied(self._noted(await self._inner.handle_async_request(request), None))

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _login(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request of a login. Never raises for a fault: it would end the connection."""
        try:
            next_one = self._of_logins if request.method == "POST" else self._inner  # what is read by GET is public
            response = await next_one.handle_async_request(request)
            body = await _read(response, LOGIN_BYTES)
        except (httpx2.TransportError, OSError, CodingError) as error:
            return httpx2.Response(502, request=request, extensions={FAULT: fault_words(error)})
        if len(body) > LOGIN_BYTES:
            fault = f"the answer has more than {LOGIN_BYTES >> 20} MB"
            return httpx2.Response(502, request=request, extensions={FAULT: fault})
        headers = [item for item in response.headers.raw if item[0].lower() not in _OF_THE_BODY]
        return httpx2.Response(
            response.status_code, headers=headers, stream=httpx2.ByteStream(body), request=request, extensions={}
        )

    async def _get(self, request: httpx2.Request) -> httpx2.Response:
        """Open a stream. If it was to resume a lost answer and fails, give the reason to the pending call."""
        await self._gets.wait()
        _be_patient(request)
        outgoing = current_request.get() if "last-event-id" in request.headers else None
        try:
            response = self._noted(await self._inner.handle_async_request(request), outgoing)
        except (httpx2.TransportError, OSError) as error:
            if outgoing is not None:
                outgoing.answer = HttpAnswer(status=0, words=fault_words(error))
            self._failed_to_connect(error)
            raise
        if not _is_stream(response):
            return response

        def cut(reason: str) -> bytes:
            self.cut = f"sent what is not read: {reason}"
            self._tell(HttpAnswer(status=0, words=reason), outgoing)
            return b""

        fault = await self._bounded(response, outgoing, cut)
        return httpx2.Response(502, request=request) if fault else response

    async def _post(self, request: httpx2.Request) -> httpx2.Response:
        body = b"".join([part async for part in _async(request.stream)])
        request.stream = httpx2.ByteStream(body)
        frame = _frame(body)
        outgoing = current_request.get()
        try:
            check_frame(body, outgoing)
        except ServerError as error:
            if outgoing is not None:
                outgoing.refusal = error.what
            return _error(request, frame, 400, error.what)
        if frame.method == "subscriptions/listen":
            _be_patient(request)
        if frame.id is not None:
            return await self._request(request, frame, outgoing)
        with anyio.move_on_after(NOTIFICATION_SECONDS):
            return await self._request(request, frame, outgoing)
        return _error(request, frame, 504, f"no answer for {NOTIFICATION_SECONDS:.0f} s")

    async def _request(
        self, request: httpx2.Request, frame: _Frame, outgoing: OutgoingRequest | None
    ) -> httpx2.Response:
        try:
            response = self._noted(await self._inner.handle_async_request(request), outgoing)
            if response.has_redirect_location and (place := _target(response)) is not None:
                self._tell(HttpAnswer(status=response.status_code, words=f"it points to {place}"), outgoing)
                return await _emptied(response)
            if response.status_code >= 300:
                return await self._failed(request, response, outgoing)
            return await self._accepted(request, response, frame, outgoing)
        except (httpx2.TransportError, OSError, CodingError) as error:
            answer = HttpAnswer(status=0, words=fault_words(error))
            self._tell(answer, outgoing)
            if outgoing is not None and isinstance(error, _BEFORE_SENDING):
                outgoing.is_sent = False
            self._failed_to_connect(error)
            return _error(request, frame, 502, answer.words)

    def _failed_to_connect(self, error: Exception) -> None:
        if isinstance(error, httpx2.ConnectError):
            self.is_refused = True
            self._refused(fault_words(error))

    async def _accepted(
        self, request: httpx2.Request, response: httpx2.Response, frame: _Frame, outgoing: OutgoingRequest | None
    ) -> httpx2.Response:
        """Pass on the answer of a server that accepted a request, as far as it can be read."""
        if not _has_valid_session(response):
            await _async(response.stream).aclose()
            self._tell(HttpAnswer(status=response.status_code, words=SESSION), outgoing)
            return _error(request, frame, 502, SESSION)
        if not self._streaming_post:
            return await _emptied(response)
        if frame.id is None or response.status_code == 202:
            return response
        if _is_stream(response):
            fault = await self._bounded(response, outgoing, lambda reason: _error_event(frame, reason))
            return _error(request, frame, 502, fault) if fault else response
        if _kind(response) == "application/json":
            return await self._json(request, response, frame, outgoing)
        return await self._failed(request, response, outgoing)

    async def _bounded(
        self, response: httpx2.Response, outgoing: OutgoingRequest | None, instead: Callable[[str], bytes]
    ) -> str | None:
        """Limit each event of a stream before the SDK parses it.

        Returns:
            Why the stream cannot be read at all, None if it can.
        """
        stream = _async(response.stream)
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding in {"", "identity"}:
            response.stream = BoundedEvents(stream, BODY_LIMIT, instead)
            return None
        await stream.aclose()  # the SDK would unpack it, to any size
        fault = f"its event stream is compressed ({coding[:40]}); we asked for identity"
        self._tell(HttpAnswer(status=response.status_code, words=fault), outgoing)
        return fault

    def _noted(self, response: httpx2.Response, outgoing: OutgoingRequest | None) -> httpx2.Response:
        if outgoing is not None:
            outgoing.answer = HttpAnswer(status=response.status_code)
        self.is_refused = False
        if response.is_success:
            self.last = None
        return response

    def _tell(self, answer: HttpAnswer, outgoing: OutgoingRequest | None) -> None:
        self.last = answer
        if outgoing is not None:
            outgoing.answer = answer

    async def _json(
        self, request: httpx2.Request, response: httpx2.Response, frame: _Frame, outgoing: OutgoingRequest | None
    ) -> httpx2.Response:
        """Read a JSON answer here, where a failure or an excessive size does no harm."""
        body = await _read(response, BODY_LIMIT)
        if len(body) > BODY_LIMIT:
            return _error(request, frame, 502, f"the answer has more than {BODY_LIMIT >> 20} MB")
        parts = parts_of(body)
        if parts > PARTS_LIMIT:
            return _error(request, frame, 502, too_many(parts))
        if body.lstrip()[:1] == b"[":
            return _error(request, frame, 502, BATCH)
        body, warning = mend(body)
        if warning and outgoing is not None:
            outgoing.warning = warning
        headers = [item for item in response.headers.raw if item[0].lower() not in _OF_THE_BODY]
        return httpx2.Response(
            response.status_code, headers=headers, stream=httpx2.ByteStream(body), request=request, extensions={}
        )

    async def _failed(
        self, request: httpx2.Request, response: httpx2.Response, outgoing: OutgoingRequest | None
    ) -> httpx2.Response:
        """Turn a response without a JSON-RPC message into an error with the first words of its body."""
        body = (await _read(response, FAULT_BYTES))[:FAULT_BYTES]
        words = first_words(body)
        if _kind(response) == "text/html" and response.status_code < 500:
            words = f"it answered text/html: a login page, or the wrong URL? {words}".strip()
        answer = HttpAnswer(
            status=response.status_code,
            words=words,
            retry_after=response.headers.get("retry-after", ""),
        )
        self._tell(answer, outgoing)
        has_session = "mcp-session-id" in request.headers
        if has_session and has_forgotten_session(response.status_code, body):
            self.is_session_lost = True
            if outgoing is not None:
                outgoing.is_session_lost = True
        headers = {name: response.headers.get(name, "") for name in ("content-type", "www-authenticate")}
        return httpx2.Response(
            response.status_code, headers=headers, stream=httpx2.ByteStream(body), request=request, extensions={}
        )


class _Frame:
    """Id and method of a request, to answer in the server's place."""

    __slots__ = ("id", "method")

    def __init__(self, id_: JSON, method: str) -> None:
        self.id = id_
        self.method = method


class _HoldBack:
    """Slows down the reopening of a stream that keeps ending at once."""

    def __init__(self) -> None:
        self._last = 0.0
        self._delay = 0.0

    async def wait(self) -> None:
        now = time.monotonic()
        # The delay itself postpones the next attempt, so it must not count as a pause.
        soon = now - self._last < self._delay + 1.0 if self._last else False
        self._delay = min(max(1.0, self._delay * 2), 30.0) if soon else 0.0
        if self._delay:
            await anyio.sleep(self._delay)
        self._last = time.monotonic()


def _target(response: httpx2.Response) -> str | None:
    """Return a redirect's target without credentials and query; None without a target, which the SDK would treat as a fault."""
    try:
        place = httpx2.URL(response.headers["location"])
        return str(place.copy_with(query=None, fragment=None, userinfo=b""))
    except (httpx2.InvalidURL, ValueError):
        return None


def _frame(body: bytes) -> _Frame:
    value: JSON = json.loads(body) if body else None
    if not is_object(value):
        return _Frame(None, "")
    request_id, method = value.get("id"), value.get("method")
    return _Frame(request_id if isinstance(request_id, str | int) else None, method if isinstance(method, str) else "")


def _error_body(frame: _Frame, reason: str, code: int = _UPSTREAM) -> bytes:
    error = {"code": code, "message": reason, "data": {"tui-host": "fault"}}
    return json.dumps({"jsonrpc": "2.0", "id": frame.id, "error": error}).encode()


def _error_event(frame: _Frame, reason: str) -> bytes:
    return b"event: message\ndata: " + _error_body(frame, reason) + b"\n\n"


def _error(request: httpx2.Request, frame: _Frame, status: int, reason: str, code: int = _UPSTREAM) -> httpx2.Response:
    headers = {"content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=_error_body(frame, reason, code), request=request)


def _be_patient(request: httpx2.Request) -> None:
    timeouts = request.extensions.get("timeout")
    if is_object(timeouts):
        request.extensions["timeout"] = {**timeouts, "read": STREAM_SECONDS}


def _kind(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _has_valid_session(response: httpx2.Response) -> bool:
    """Whether the response has no session id, or a session id that can be sent back."""
    session = next((value for name, value in response.headers.raw if name.lower() == b"mcp-session-id"), b"")
    return _VISIBLE.fullmatch(session) is not None


def _is_stream(response: httpx2.Response) -> bool:
    return _kind(response) == "text/event-stream"


async def _emptied(response: httpx2.Response) -> httpx2.Response:
    """Return the response without its body: the SDK ignores the body, and would decompress any size."""
    stream, size = _async(response.stream), 0
    try:
        async for chunk in stream:
            size += len(chunk)
            if size > FAULT_BYTES:
                break
    finally:
        await stream.aclose()
    headers = [item for item in response.headers.raw if item[0].lower() not in _OF_THE_BODY]
    return httpx2.Response(response.status_code, headers=headers, stream=httpx2.ByteStream(b""), extensions={})


def _async(stream: object) -> httpx2.AsyncByteStream:
    if not isinstance(stream, httpx2.AsyncByteStream):
        raise TypeError("an asynchronous client has asynchronous streams")
    return stream


async def _read(response: httpx2.Response, limit: int) -> bytes:
    """Return the decoded body; stops reading soon after the limit."""
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
