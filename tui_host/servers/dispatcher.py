"""JSON-RPC with one server: the one place that sees a request's method, its approved bytes and its result as received.

The SDK's client stands above and uses a `Peer` as its dispatcher; a transport stands below. A line has been recorded before it
comes here. What is wrong with one message costs that message alone: its caller learns why, and the connection goes on.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

import anyio
import mcp_types
from anyio.abc import TaskGroup, TaskStatus
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest, as_request_id, coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp_types import PARSE_ERROR, REQUEST_TIMEOUT, RequestId
from pydantic_core import from_json

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.reading import DEPTH, PARTS_LIMIT, is_deeper, parts_of
from tui_host.capture.record import NOWHERE, Place, current_place
from tui_host.errors import JSON, ServerError
from tui_host.servers.outgoing_request import OutgoingRequest, frame_bytes
from tui_host.servers.server_faults import WireError, closed

if TYPE_CHECKING:
    from tui_host.capture.frames.frame_heads import Frame
    from tui_host.servers.wire import Wire

QUESTIONS_AT_ONCE, REPLIES_AT_ONCE = 32, 1_000
"""Most unanswered questions of one server, and most replies being made, pings included, which need nobody to answer."""
PONG: Mapping[str, JSON] = {"result": {}}
TOO_MANY: Mapping[str, JSON] = {"error": {"code": -32000, "message": "too many requests at once"}}
CANCEL_SECONDS = 5.0  # longest time that telling the server of a cancellation may hold up its caller

_UNSENT = (MCPError, ServerError, OSError)
"""Why a message could not be sent: nobody waits for an answer to some, and their owner learns of the wire's end by itself."""
_SURROGATES = re.compile(
    r"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A message for the server: `data` must leave unchanged; `request` is None for a notification or an answer."""

    frame: Mapping[str, JSON]
    data: bytes
    headers: Mapping[str, str]
    request: OutgoingRequest | None


Send: TypeAlias = Callable[[OutgoingMessage], Awaitable[None]]


@dataclass(slots=True)
class Peer:
    """The server at the other end of a wire, with counts of messages. Satisfies the SDK's `Dispatcher`."""

    wire: Wire
    _sink: Send
    _group: TaskGroup
    sent: int = 0
    received: int = 0
    malformed: int = 0
    refused: int = 0
    _pending: dict[RequestId, OutgoingRequest] = field(default_factory=dict[RequestId, OutgoingRequest])
    _questions: dict[RequestId, anyio.CancelScope] = field(default_factory=dict[RequestId, anyio.CancelScope])
    _replies: int = 0
    _ids: count[int] = field(default_factory=lambda: count(1))
    _intercept: OnNotifyIntercept | None = None
    _over: anyio.Event = field(default_factory=anyio.Event)

    # What the SDK's client calls.

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        del on_request, on_notify  # the wire's owner takes what comes, as received
        self._intercept = on_notify_intercept
        task_status.started()
        await self._over.wait()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, JSON] | None,
        opts: CallOptions | None = None,
        *,
        outgoing: OutgoingRequest | None = None,
    ) -> dict[str, JSON]:
        """Send a request, and return its result as received; raises MCPError in its place, ServerError if nothing may be sent."""
        outgoing, opts = outgoing or OutgoingRequest(), opts or {}
        chosen = opts.get("request_id")
        number: RequestId = next(self._ids) if chosen is None else chosen
        sent_params = dict(params or {})
        if outgoing.on_progress is not None:
            sent_params["_meta"] = {**mapping(sent_params.get("_meta")), "progressToken": number}
        frame: dict[str, JSON] = {"jsonrpc": "2.0", "id": number, "method": method}
        if sent_params:
            frame["params"] = sent_params
        outgoing.place, outgoing.reply = current_place.get(), asyncio.get_running_loop().create_future()
        self._pending[coerce_request_id(number)] = outgoing
        try:
            await self._send(frame, opts.get("headers"), outgoing)
            async with asyncio.timeout(opts.get("timeout")):
                reply = await outgoing.reply
        except TimeoutError:
            await self._cancel(number, opts, outgoing, f"timed out after {opts.get('timeout')} s")
            raise MCPError(REQUEST_TIMEOUT, f"Request {method!r} timed out") from None
        except anyio.get_cancelled_exc_class():
            await self._cancel(number, opts, outgoing, "caller cancelled")
            raise
        finally:
            del self._pending[coerce_request_id(number)]
        if isinstance(reply, MCPError):
            raise reply
        return dict(reply)

    async def notify(self, method: str, params: Mapping[str, JSON] | None, opts: CallOptions | None = None) -> None:
        frame: dict[str, JSON] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            frame["params"] = params
        with suppress(*_UNSENT):
            await self._send(frame, (opts or {}).get("headers"))

    async def _cancel(self, number: RequestId, opts: CallOptions, outgoing: OutgoingRequest, reason: str) -> None:
        """Tell the server that nobody waits for its answer any more, unless the protocol forbids that."""
        if outgoing.is_sent and opts.get("cancel_on_abandon", True):
            with anyio.move_on_after(CANCEL_SECONDS, shield=True):
                params: dict[str, JSON] = {"requestId": number, "reason": reason}
                await self.notify("notifications/cancelled", params, {"headers": opts.get("headers", {})})

    async def _send(
        self,
        frame: Mapping[str, JSON],
        headers: Mapping[str, str] | None = None,
        outgoing: OutgoingRequest | None = None,
    ) -> None:
        if self.wire.cause or self._over.is_set():
            raise closed()
        try:
            data = frame_bytes(frame, outgoing)
        except ValueError as error:
            raise ServerError(f"the message cannot be written as JSON: {error}", sent=False) from error
        self.sent += 1
        self.wire.shared.changed()
        if outgoing is not None:
            outgoing.is_sent = True
        try:
            await self._sink(OutgoingMessage(frame=frame, data=data, headers=headers or {}, request=outgoing))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise closed() from None

    # What the transport brings.

    def take(self, line: bytes, frame: Frame, place: Place = NOWHERE) -> None:
        """Take a line, which should hold one message, given what the tap saw in it, and in whose answer it came if in any."""
        if line.isspace():
            return
        self.received += 1
        self.wire.shared.changed()
        try:
            value, warning = _parsed(line, frame)
        except (ValueError, RecursionError) as error:
            reason = str(error)
        else:
            self.malformed += bool(warning)
            if self.accept(value, place, warning):
                return
            reason = f"the answer is no JSON-RPC message: {line[:80].decode(errors='replace')}"
        self.malformed += 1
        if frame.head.id and not frame.head.method:  # the caller whose answer it should be learns why
            self.resolve(json.loads(frame.head.id), WireError(PARSE_ERROR, reason))

    def accept(self, value: JSON, place: Place = NOWHERE, warning: str = "") -> bool:
        """Take a parsed message; returns False if it is none."""
        message = mapping(value)
        method, number, params = message.get("method"), as_request_id(message.get("id")), mapping(message.get("params"))
        if isinstance(method, str) and number is not None:
            self._asked(number, method, params, place)
            return True
        if isinstance(method, str):
            if method == "notifications/progress":
                outgoing = self.unanswered(params.get("progressToken"))
                if outgoing is not None and outgoing.on_progress is not None:
                    outgoing.on_progress(params)
            elif method == "notifications/cancelled":
                withdrawn = as_request_id(params.get("requestId"))
                question = None if withdrawn is None else self._questions.pop(coerce_request_id(withdrawn), None)
                if question is not None:
                    question.cancel()
            # The SDK follows its streams of `subscriptions/listen` in the order of arrival.
            if self._intercept is None or not self._intercept(method, params):
                self.wire.heard(method, params)
            return True
        result, error = message.get("result"), message.get("error")
        if isinstance(error, Mapping):
            self.resolve(number, MCPError(*error_parts(error)))
        elif isinstance(result, Mapping) and number is not None:
            self.resolve(number, result, warning)
        else:
            return False
        return True

    def unanswered(self, number: JSON) -> OutgoingRequest | None:
        """Return the request with this id, or this token of progress, if it has no answer yet."""
        known = as_request_id(number)
        outgoing = None if known is None else self._pending.get(coerce_request_id(known))
        return None if outgoing is None or outgoing.reply is None or outgoing.reply.done() else outgoing

    def close(self, cause: str | None = None) -> None:
        """End the connection, with its cause if the wire has ended; every request that waits for an answer gets an error."""
        if cause is not None:
            self.wire.end(cause)
        self._over.set()
        for number in tuple(self._pending):
            self.resolve(number, closed())

    def resolve(self, number: JSON, reply: Mapping[str, JSON] | MCPError, warning: str = "") -> None:
        outgoing = self.unanswered(number)
        if outgoing is not None and outgoing.reply is not None:
            outgoing.warning = outgoing.warning or warning
            outgoing.reply.set_result(reply)

    # The server's questions.

    def _asked(self, number: RequestId, method: str, params: Mapping[str, JSON], place: Place) -> None:
        if self._replies >= REPLIES_AT_ONCE:
            self.refused += 1  # without a word: a server that asks so much does not read answers either
            return
        self._replies += 1
        if method == "ping":
            self._group.start_soon(self._reply, number, PONG)
        elif len(self._questions) >= QUESTIONS_AT_ONCE:
            self.refused += 1
            self._group.start_soon(self._reply, number, TOO_MANY)
        else:
            # Entered here and not in the task: the server may take its question back in the same breath.
            scope = self._questions[coerce_request_id(number)] = anyio.CancelScope()
            whose = place
            if not place.call:  # that of the only call that waits for its answer, if there is only one
                places = {pending.place for pending in self._pending.values() if pending.place.call}
                whose = places.pop() if len(places) == 1 else NOWHERE
            self._group.start_soon(self._answer, number, scope, method, params, whose)

    async def _answer(
        self, number: RequestId, scope: anyio.CancelScope, method: str, params: Mapping[str, JSON], place: Place
    ) -> None:
        current_place.set(place)  # in the context of this task alone
        key, outcome = coerce_request_id(number), None
        with scope:
            outcome = await self.wire.answer(method, params)
        if self._questions.get(key) is scope:
            del self._questions[key]
        await self._reply(number, outcome)

    async def _reply(self, number: RequestId, outcome: Mapping[str, JSON] | None) -> None:
        try:
            if outcome is not None:  # else the server took its question back
                with suppress(*_UNSENT):
                    await self._send({"jsonrpc": "2.0", "id": number, **outcome})
        finally:
            self._replies -= 1


@asynccontextmanager
async def peer_over(wire: Wire, send: Send) -> AsyncGenerator[Peer]:
    """Provide the peer of a wire, which the block feeds; `send` writes its messages in the task of their sender."""
    async with anyio.create_task_group() as group:
        peer = Peer(wire, send, group)
        try:
            yield peer
        finally:
            peer.close()
            group.cancel_scope.cancel()


def _parsed(line: bytes, frame: Frame) -> tuple[JSON, str]:
    """Return the message of a line, and what was odd about its bytes; raises ValueError if it is none, or too much to read."""
    try:
        text, warning = line.decode(), ""
    except UnicodeDecodeError:
        text, warning = line.decode("utf-8", "replace"), "not UTF-8; the bytes in question were replaced"
    # JavaScript servers cut texts in the middle of a pair. One byte is found in a tenth of the time that three take.
    if "\\" in text and ("\\ud" in text or "\\uD" in text):
        paired = _SURROGATES.sub(lambda match: match[1] or "\\ufffd", text)
        if paired != text:
            text, warning = paired, warning or "half of a surrogate pair stood alone, and was replaced"
    if is_deeper(text):
        raise ValueError(f"the answer is nested more than {DEPTH} levels deep")
    if frame.value is not None and not warning:
        return frame.value, ""
    parts = parts_of(text)
    if parts > PARTS_LIMIT:  # a parser would hold up the event loop
        raise ValueError(f"the answer has {parts:,} parts or more; {PARTS_LIMIT:,} are read")
    try:
        return from_json(text), warning
    except ValueError as error:
        kind = "neither UTF-8 nor a JSON-RPC message" if warning else "no JSON-RPC message"
        raise ValueError(f"the answer is {kind}: {text[:80]}") from error


def error_parts(error: Mapping[str, JSON]) -> tuple[int, str, JSON]:
    """Return the code, the message and the data of a JSON-RPC error, whatever it looks like."""
    code, message = error.get("code"), error.get("message")
    return (
        code if isinstance(code, int) else mcp_types.INTERNAL_ERROR,
        message if isinstance(message, str) else json.dumps(error),
        error.get("data"),
    )
