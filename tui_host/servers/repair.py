"""The repair step between capture and SDK: a bad byte, tool or result costs only itself, not the connection.

The SDK drops a whole listing for one bad member, and leaves the caller of a malformed answer waiting for ever. The capture has
recorded everything before it is repaired here.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Self

import anyio
import mcp_types
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from tui_host.capture.json.narrowing import as_json, is_array, is_object, mapping
from tui_host.capture.json.reading import DEPTH
from tui_host.capture.json.scan import PARTS_LIMIT, parts_of
from tui_host.capture.record import NOWHERE, Place, current_place
from tui_host.errors import JSON
from tui_host.servers.frame_mending import has_gap, is_plain, mend
from tui_host.servers.outgoing_request import OutgoingRequest

REQUESTS_IN_FLIGHT, PINGS_IN_FLIGHT = 32, 1_000
"""Most unanswered requests of one server, and most unanswered pings beside them, which need nobody to answer."""
INBOX_LIMIT = 1_000
"""Most messages waiting for the SDK; at this number the server's pipe is not read until there is room."""
TOO_MANY = -32000
_OURS = "tui-host"
_ENVELOPE: Mapping[str, object] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""Members that the SDK demands of every listing of the newer era."""
_ANSWER_MEMBERS = len(JSONRPCResponse.model_fields)
_KEPT_APART = frozenset({"notifications/cancelled", "notifications/subscriptions/acknowledged"})

RequestId = str | int

_ID_AT_START = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*,'
)
_ID_AT_END = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


@dataclass(slots=True)
class Counts:
    """Message counters of a connection.

    Attributes:
        out: Messages sent.
        into: Messages received.
        malformed: Lines and messages that could not be read.
        unexpected: Answers to no pending request.
        merged: Notifications replaced by a newer notification of the same kind.
        refused: Requests of the server that were refused because there were too many.
    """

    out: int = 0
    into: int = 0
    malformed: int = 0
    unexpected: int = 0
    merged: int = 0
    refused: int = 0


class Inbox:
    """Queue of messages for the SDK, in which a newer notification replaces an older one of the same kind.

    Attributes:
        last_context: The context in which the SDK handles the message received last: that of the server's request has the place of
            the call during which the server asks. None for any other message.
    """

    def __init__(self, counts: Counts) -> None:
        self.last_context: Context | None = None
        self._contexts: dict[int, Context] = {}
        self._counts = counts
        self._messages: deque[JSONRPCMessage | None] = deque()
        self._newest: dict[tuple[str, ...], JSONRPCNotification] = {}
        self._slots: dict[int, tuple[str, ...]] = {}
        self._first = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._closed = False

    def put(self, message: JSONRPCMessage, place: Place = NOWHERE) -> None:
        """Add a message; a notification takes the place of a waiting notification of its kind.

        Args:
            message: The message.
            place: The place of the call to which a request of the server belongs.
        """
        if self._closed:
            return
        if place is not NOWHERE:
            context = self._contexts[self._first + len(self._messages)] = copy_context()
            context.run(current_place.set, place)
        if isinstance(message, JSONRPCNotification) and (kind := _kind(message)) is not None:
            if kind in self._newest:
                self._newest[kind] = message
                self._counts.merged += 1
                return
            self._newest[kind] = message
            self._slots[self._first + len(self._messages)] = kind
            self._messages.append(None)
        else:
            self._messages.append(message)
        self._news.set()

    @property
    def is_full(self) -> bool:
        """Whether reading should pause."""
        return len(self._messages) > INBOX_LIMIT and not self._closed

    async def has_room(self) -> None:
        """Wait until the inbox is no longer full."""
        while self.is_full:
            self._room.clear()
            await self._room.wait()

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            anyio.EndOfStream: The inbox is closed and empty.
        """
        if self._messages:
            await asyncio.sleep(0)  # let the SDK handle the previous message first
        while not self._messages:
            if self._closed:
                raise anyio.EndOfStream
            self._news.clear()
            await self._news.wait()
        message = self._messages.popleft()
        self.last_context = self._contexts.pop(self._first, None)
        if message is None:
            message = self._newest.pop(self._slots.pop(self._first))
        self._first += 1
        self._room.set()
        return SessionMessage(message)

    def close(self) -> None:
        """Accept no more messages; waiting ones are still delivered."""
        self._closed = True
        self._news.set()
        self._room.set()

    async def aclose(self) -> None:
        """Close and drop waiting messages: the SDK reads no more."""
        self.close()
        self._messages.clear()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        await self.aclose()


class Repair:
    """Checks and mends the messages of a connection in both directions.

    Attributes:
        counts: Message counters.
        version: The negotiated protocol version, empty before.
        logged: Takes the parameters of a log message, none of which may be lost on the way through the inbox.
        refuse: Returns the error for a request of the server that was not declared, None for any other.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.counts = Counts()
        self.version = ""
        self.logged: Callable[[Mapping[str, JSON]], None] = lambda _: None
        self.refuse: Callable[[JSONRPCRequest], mcp_types.ErrorData | None] = lambda _: None
        self._changed = changed
        self._waiting: dict[RequestId, tuple[str, OutgoingRequest | None]] = {}
        self._places: dict[RequestId, Place] = {}
        self._asked: set[RequestId] = set()
        self._pings: set[RequestId] = set()

    def sending(self, message: JSONRPCMessage, outgoing: OutgoingRequest | None) -> None:
        """Remember an outgoing request, to recognise its answer."""
        self.counts.out += 1
        match message:
            case JSONRPCRequest():
                self._waiting[_same_id(message.id)] = (message.method, outgoing)
                if current_place.get().call:
                    self._places[_same_id(message.id)] = current_place.get()
                if outgoing is not None:
                    outgoing.is_sent = True
            case JSONRPCResponse() | JSONRPCError() if message.id is not None:
                self._asked.discard(_same_id(message.id))
                self._pings.discard(_same_id(message.id))
            case JSONRPCNotification(method="notifications/cancelled") if message.params is not None:
                cancelled = message.params.get("requestId")
                if isinstance(cancelled, str | int):
                    self._forget(_same_id(cancelled))
            case _:
                pass
        self._changed()

    @property
    def only_place(self) -> Place:
        """The place of the only call that waits for its answer; nowhere if there is none, or more than one."""
        places = set(self._places.values())
        return places.pop() if len(places) == 1 else NOWHERE

    def _forget(self, request_id: RequestId) -> tuple[str, OutgoingRequest | None] | None:
        self._places.pop(request_id, None)
        return self._waiting.pop(request_id, None)

    def read(self, data: bytes, value: JSON) -> JSONRPCMessage | None:
        """Parse a line as a message; a malformed answer becomes an error for its caller.

        Args:
            data: The line's bytes.
            value: The line as parsed by the tap; None if the tap did not parse all of it.
        """
        if value is not None and is_plain(data):
            try:
                return _message(value)
            except (ValueError, RecursionError):
                pass
        if not data or data.isspace():
            return None
        parts = parts_of(data)
        if parts > PARTS_LIMIT:
            return self.malformed_answer(data, f"the answer has {parts:,} parts or more; {PARTS_LIMIT:,} are read")
        mended, warning = mend(data)
        try:
            message = mcp_types.jsonrpc_message_adapter.validate_json(mended, by_name=False)
        except (ValueError, RecursionError):
            what = "neither UTF-8 nor a JSON-RPC message" if warning else "no JSON-RPC message"
            return self.malformed_answer(data, f"the answer is {what}: {mended[:80].decode(errors='replace')}")
        if warning:
            self.counts.malformed += 1
        if warning and isinstance(message, JSONRPCResponse):
            _, outgoing = self._waiting.get(_same_id(message.id), ("", None))
            if outgoing is not None:
                outgoing.warning = warning
        return message

    def malformed_answer(self, data: bytes, reason: str) -> JSONRPCError | None:
        """Return our error in place of an unusable answer, None if no request waits for the answer."""
        self.counts.malformed += 1
        self._changed()
        request_id = _answered_id(data)
        if request_id is None or _same_id(request_id) not in self._waiting:
            return None
        error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=reason, data={_OURS: "malformed"})
        return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)

    def received(self, message: JSONRPCMessage) -> tuple[JSONRPCMessage | None, JSONRPCMessage | None]:
        """Return the message to pass on to the SDK, and an immediate answer to the server."""
        self.counts.into += 1
        self._changed()
        match message:
            case JSONRPCResponse():
                return self._answered(message), None
            case JSONRPCError():
                if message.id is None or self._forget(_same_id(message.id)) is None:
                    self.counts.unexpected += 1
                return message, None
            case JSONRPCRequest():
                return self._asks(message)
            case JSONRPCNotification(method="notifications/message"):
                self.logged(mapping(as_json(message.params)))
                return None, None
            case JSONRPCNotification(method="notifications/cancelled"):
                withdrawn = (message.params or {}).get("requestId")
                if isinstance(withdrawn, str | int):
                    self._asked.discard(_same_id(withdrawn))
                return message, None
            case _:
                return message, None

    def _asks(self, message: JSONRPCRequest) -> tuple[JSONRPCMessage | None, JSONRPCMessage | None]:
        error = self.refuse(message)
        is_ping = message.method == "ping"
        unanswered = self._pings if is_ping else self._asked  # open questions must not block a ping
        if error is None and len(unanswered) >= (PINGS_IN_FLIGHT if is_ping else REQUESTS_IN_FLIGHT):
            self.counts.refused += 1
            error = mcp_types.ErrorData(code=TOO_MANY, message="too many requests at once")
        if error is not None:
            return None, JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
        unanswered.add(_same_id(message.id))
        return message, None

    def _answered(self, message: JSONRPCResponse) -> JSONRPCMessage:
        entry = self._forget(_same_id(message.id))
        if entry is None:
            self.counts.unexpected += 1
            return message
        method, outgoing = entry
        if outgoing is not None:
            outgoing.result = message.result
        match method:
            case "tools/call" if outgoing is not None:
                # The caller reads the raw result; the SDK only needs to know that a result came.
                message.result = {"content": [], "resultType": "complete"}
            case "resources/read" if outgoing is not None:
                message.result = {**_ENVELOPE, "contents": []}
            case "prompts/get" if outgoing is not None:
                message.result = {"messages": [], "resultType": "complete"}
            case "tools/list":
                tools = [tool for tool in tools_in(message.result) if self.problem_of(tool) is None]
                message.result = {**_ENVELOPE, **message.result, "tools": tools}
            case _:
                pass
        return message

    def problem_of(self, tool: object) -> str | None:
        """Say why the SDK would refuse a whole listing because of a tool, or what of it is missing; None if nothing."""
        if has_gap(tool):
            return f"malformed: nested more than {DEPTH} levels deep"
        frame = {**_ENVELOPE, "tools": [tool]}
        try:
            validate_server_result("tools/list", self.version or mcp_types.LATEST_PROTOCOL_VERSION, frame)
            mcp_types.Tool.model_validate(tool, by_name=False)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(step) for step in first["loc"] if step not in {"tools", 0})
            return f"malformed: {place}: {first['msg']}" if place else f"malformed: {first['msg']}"
        except (KeyError, RecursionError):
            return "malformed"
        return None


def _message(value: JSON) -> JSONRPCMessage:
    """Build a message from a parsed value.

    Raises:
        ValueError: The value is no message.
    """
    if isinstance(value, dict) and "result" in value and len(value) == _ANSWER_MEMBERS:
        return JSONRPCResponse.model_validate(value, by_name=False)
    return mcp_types.jsonrpc_message_adapter.validate_python(value, by_name=False)


def tools_in(result: Mapping[str, object]) -> list[object]:
    """Return the tools of a listing's page as received."""
    tools = result.get("tools")
    return tools if is_array(tools) else []


def _kind(message: JSONRPCNotification) -> tuple[str, ...] | None:
    """Return the key under which notifications replace each other, None if all must be delivered."""
    if message.method in _KEPT_APART:
        return None
    params = message.params or {}
    meta = params.get("_meta")
    about = [params.get("progressToken"), params.get("uri"), params.get("elicitationId")]
    about.append(meta.get("io.modelcontextprotocol/subscriptionId") if is_object(meta) else None)
    return (message.method, *(f"{value!r}"[:500] if isinstance(value, str | int) else "" for value in about))


def _answered_id(data: bytes) -> RequestId | None:
    """Return the id of the request that an unreadable frame answers, if the id can be read; None if it is no answer."""
    if len(data) <= 4 << 20 and parts_of(data) <= PARTS_LIMIT:
        try:
            frame: JSON = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            pass
        else:
            if isinstance(frame, Sequence) and not isinstance(frame, str) and len(frame) == 1:
                frame = frame[0]
            return _id_of(frame)
    if b'"method"' in data[:400]:
        return None
    match = _ID_AT_START.match(data[:1000]) or _ID_AT_END.search(data[-1000:])
    return None if match is None else _id_of({"id": json.loads(match[1])})


def _same_id(value: RequestId) -> RequestId:
    """Return the key for looking up an id: `"5"` and 5 are equal, as in the SDK."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return value
    return value


def _id_of(frame: JSON) -> RequestId | None:
    if not isinstance(frame, Mapping) or "method" in frame:
        return None
    found = frame.get("id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None
