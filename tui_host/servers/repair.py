"""The repair step between capture and SDK: one bad byte, tool or result costs itself, not the connection.

The SDK gives up all of a kind for one bad member, and lets the caller of a spoiled answer wait for ever. What is mended here
was recorded before, as it came. Source: threats.md, PRO-02 to PRO-10; mcp-host.md, section c.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
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

from tui_host.capture.json.narrowing import is_array, is_object
from tui_host.capture.json.reading import DEPTH
from tui_host.capture.json.scan import PARTS_LIMIT, parts_of
from tui_host.errors import JSON
from tui_host.servers.outgoing_request import Flight

REQUESTS_IN_FLIGHT = 32
"""Requests of one server that may be unanswered at a time."""
INBOX_LIMIT = 1_000
"""Messages that may wait for the SDK; then the server's pipe is not read further."""
TOO_MANY = -32000
_OURS = "tui-host"
_ENVELOPE: Mapping[str, object] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What the SDK demands of every listing of the newer era, and nothing here needs."""
_ANSWER_MEMBERS = len(JSONRPCResponse.model_fields)
_KEPT_APART = frozenset({"notifications/cancelled", "notifications/subscriptions/acknowledged"})

RequestId = str | int

_ID_AT_START = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*,'
)
_ID_AT_END = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


@dataclass(slots=True)
class Counts:
    """What came and went over one connection.

    Attributes:
        out: Messages sent.
        into: Messages received.
        malformed: Lines and messages that could not be read.
        unexpected: Answers that nobody waits for.
        merged: Notifications that gave way to a newer one of their kind.
        refused: Requests of the server that were too many.
    """

    out: int = 0
    into: int = 0
    malformed: int = 0
    unexpected: int = 0
    merged: int = 0
    refused: int = 0


class Inbox:
    """Messages on their way to the SDK, which reads them here; a newer notification replaces an older one of its kind."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._messages: deque[JSONRPCMessage | None] = deque()
        self._newest: dict[tuple[str, ...], JSONRPCNotification] = {}
        self._slots: dict[int, tuple[str, ...]] = {}
        self._first = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._closed = False

    def put(self, message: JSONRPCMessage) -> None:
        """Add a message; of a notification whose kind waits already, the newer one takes the older one's place."""
        if self._closed:
            return
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
        """No more should come for now."""
        return len(self._messages) > INBOX_LIMIT and not self._closed

    async def has_room(self) -> None:
        """Wait until it is not full."""
        while self.is_full:
            self._room.clear()
            await self._room.wait()

    async def receive(self) -> SessionMessage | Exception:
        """The next message.

        Raises:
            anyio.EndOfStream: There is none any more.
        """
        if self._messages:
            await asyncio.sleep(0)  # what the one before it began goes on first
        while not self._messages:
            if self._closed:
                raise anyio.EndOfStream
            self._news.clear()
            await self._news.wait()
        message = self._messages.popleft()
        if message is None:
            message = self._newest.pop(self._slots.pop(self._first))
        self._first += 1
        self._room.set()
        return SessionMessage(message)

    def close(self) -> None:
        """Let no more come; what waits is still handed out."""
        self._closed = True
        self._news.set()
        self._room.set()

    async def aclose(self) -> None:
        """Forget what waits: the SDK reads no more."""
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

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class Repair:
    """What one connection's messages pass in both directions.

    Attributes:
        counts: What came and went.
        version: The negotiated protocol version, empty before.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.counts = Counts()
        self.version = ""
        self._changed = changed
        self._waiting: dict[RequestId, tuple[str, Flight | None]] = {}
        self._asked: set[RequestId] = set()

    def sending(self, message: JSONRPCMessage, flight: Flight | None) -> None:
        """Note what leaves, so that its answer is known when it comes."""
        self.counts.out += 1
        match message:
            case JSONRPCRequest():
                self._waiting[_same_id(message.id)] = (message.method, flight)
                if flight is not None:
                    flight.is_sent = True
            case JSONRPCResponse() | JSONRPCError() if message.id is not None:
                self._asked.discard(_same_id(message.id))
            case JSONRPCNotification(method="notifications/cancelled") if message.params is not None:
                cancelled = message.params.get("requestId")
                if isinstance(cancelled, str | int):
                    self._waiting.pop(_same_id(cancelled), None)
            case _:
                pass
        self._changed()

    def read(self, data: bytes, value: JSON) -> JSONRPCMessage | None:
        """A line as a message; what is spoiled becomes an error for whoever waits for it.

        Args:
            data: Its bytes.
            value: What the tap has read of them; None if it did not read them whole.
        """
        if value is not None and _is_plain(data):
            try:
                return _message(value)
            except (ValueError, RecursionError):
                pass
        if not data or data.isspace():
            return None
        parts = parts_of(data)
        if parts > PARTS_LIMIT:
            return self.spoiled(data, f"the answer has {parts:,} parts or more; {PARTS_LIMIT:,} are read")
        try:
            return mcp_types.jsonrpc_message_adapter.validate_json(data, by_name=False)
        except (ValueError, RecursionError):
            pass
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return self._mended(data)
        return self.spoiled(data, f"the answer is no JSON-RPC message: {text[:80]}")

    def spoiled(self, data: bytes, reason: str) -> JSONRPCError | None:
        """An error of ours in place of an answer that cannot be used, if somebody waits for it."""
        self.counts.malformed += 1
        self._changed()
        found = _answered_id(data)
        if found is None or _same_id(found) not in self._waiting:
            return None
        error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=reason, data={_OURS: "malformed"})
        return JSONRPCError(jsonrpc="2.0", id=found, error=error)

    def received(self, message: JSONRPCMessage) -> tuple[JSONRPCMessage | None, JSONRPCMessage | None]:
        """What goes on to the SDK in place of a message, and what is answered to the server at once."""
        self.counts.into += 1
        self._changed()
        match message:
            case JSONRPCResponse():
                return self._answered(message), None
            case JSONRPCError():
                if message.id is None or self._waiting.pop(_same_id(message.id), None) is None:
                    self.counts.unexpected += 1
                return message, None
            case JSONRPCRequest():
                return self._asks(message)
            case _:
                return message, None

    def _mended(self, data: bytes) -> JSONRPCMessage | None:
        """A message with bytes that are no UTF-8: the text in it is still worth having, and says where they were."""
        try:
            message = mcp_types.jsonrpc_message_adapter.validate_json(data.decode("utf-8", "replace"), by_name=False)
        except (ValueError, RecursionError):
            return self.spoiled(data, "the answer is neither UTF-8 nor a JSON-RPC message")
        self.counts.malformed += 1
        if isinstance(message, JSONRPCResponse):
            _, flight = self._waiting.get(_same_id(message.id), ("", None))
            if flight is not None:
                flight.warning = "not UTF-8; the bytes in question were replaced"
        return message

    def _asks(self, message: JSONRPCRequest) -> tuple[JSONRPCMessage | None, JSONRPCMessage | None]:
        key = _same_id(message.id)
        if len(self._asked) >= REQUESTS_IN_FLIGHT:
            self.counts.refused += 1
            error = mcp_types.ErrorData(code=TOO_MANY, message="too many requests at once")
            return None, JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
        self._asked.add(key)
        return message, None

    def _answered(self, message: JSONRPCResponse) -> JSONRPCMessage:
        entry = self._waiting.pop(_same_id(message.id), None)
        if entry is None:
            self.counts.unexpected += 1
            return message
        method, flight = entry
        if flight is not None:
            flight.result = message.result
        match method:
            case "tools/call" if flight is not None:
                # The caller reads what came; to the SDK it is only the sign that it has come.
                message.result = {"content": [], "resultType": "complete"}
            case "resources/read" if flight is not None:
                message.result = {**_ENVELOPE, "contents": []}
            case "tools/list":
                tools = [tool for tool in tools_in(message.result) if self.problem_of(tool) is None]
                message.result = {**_ENVELOPE, **message.result, "tools": tools}
            case _:
                pass
        return message

    def problem_of(self, tool: object) -> str | None:
        """Why the SDK would refuse a whole listing because of this tool; None if it would not."""
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


def _is_plain(data: bytes) -> bool:
    """Whether everybody reads the same in it: it is nowhere deep, and has no half characters, which the SDK refuses."""
    return data.count(b"{") + data.count(b"[") <= DEPTH and b"\\ud" not in data and b"\\uD" not in data


def _message(value: JSON) -> JSONRPCMessage:
    """A message out of what was read.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, dict) and "result" in value and len(value) == _ANSWER_MEMBERS:
        return JSONRPCResponse.model_validate(value, by_name=False)
    return mcp_types.jsonrpc_message_adapter.validate_python(value, by_name=False)


def tools_in(result: Mapping[str, object]) -> list[object]:
    """The tools of a listing's page as they came."""
    tools = result.get("tools")
    return tools if is_array(tools) else []


def _kind(message: JSONRPCNotification) -> tuple[str, ...] | None:
    """What makes two notifications the same news; None for those of which each counts."""
    if message.method in _KEPT_APART:
        return None
    params = message.params or {}
    meta = params.get("_meta")
    about = [params.get("progressToken"), params.get("uri")]
    about.append(meta.get("io.modelcontextprotocol/subscriptionId") if is_object(meta) else None)
    return (message.method, *(f"{value!r}"[:500] if isinstance(value, str | int) else "" for value in about))


def _answered_id(data: bytes) -> RequestId | None:
    """The id of the request that a spoiled frame answers, as far as that can still be read; None if it is no answer."""
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
    """The key under which an id is looked up: as the SDK does, `"5"` is 5."""
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
