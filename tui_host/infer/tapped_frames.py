"""Read the MCP side of a tapped host: calls, answers, tools of servers, and names of clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tui_host.capture.frames.frame_heads import frame_head
from tui_host.capture.frames.frame_summary import introduced
from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.capture.json.reading import read_json
from tui_host.capture.record import Record
from tui_host.chat.result_words import content_lines
from tui_host.errors import JSON
from tui_host.infer.call_values import (
    READING,
    Answer,
    CallFrame,
    FrameKey,
    Line,
    block_texts,
    canonical,
    result_texts,
)
from tui_host.servers.tool_output import read_any

MOST = 4 << 20
"""The largest frame that is parsed."""
_Identity: TypeAlias = tuple[str, str, str]
"""Capture, connection or HTTP exchange, and id of a request, or of a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """A JSON-RPC message with record and time."""

    record: Record
    at_ns: int
    number: int
    content: dict[str, JSON]

    @property
    def params(self) -> Mapping[str, JSON]:
        return mapping(self.content.get("params"))

    @property
    def identity(self) -> str:
        """The message's id in canonical form; empty for a notification."""
        return canonical(self.content["id"]) if self.content.get("id") is not None else ""

    @property
    def keys(self) -> Sequence[_Identity]:
        return _keys(self.record, self.identity)


class TappedFrames:
    """Reads the frames of each connection in order.

    Attributes:
        sent: The calls, in order.
        tools: Server and own name of each tool that was listed or called.
        peers: The server of each connection.
        captures: Where each server is spoken to.
        since: When each connection began.
        clients: The client name on each connection: hosts may share a tap.
        revision: Grows with each change that matters for joining.
    """

    def __init__(self) -> None:
        self.sent: dict[FrameKey, CallFrame] = {}
        self.tools: set[tuple[str, str]] = set()
        self.peers: dict[Line, str] = {}
        self.captures: dict[str, set[str]] = {}
        self.clients: dict[Line, str] = {}
        self.revision = 0
        self._calls: dict[_Identity, FrameKey | None] = {}
        self._lists: set[_Identity] = set()
        self.since: dict[Line, int] = {}
        self._tasks: dict[_Identity, FrameKey] = {}
        self._defaults: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}

    def feed(self, record: Record, at_ns: int) -> FrameKey | None:
        """Take in a frame and return the key of the call that the frame carries or answers, if any."""
        if _line(record) not in self.since:
            self.since[_line(record)] = at_ns
            self.peers[_line(record)] = record.peer
            self.captures.setdefault(record.peer, set()).add(record.capture)
        if len(record.data) > MOST:
            return self._feed_large(record, at_ns)
        call: FrameKey | None = None
        for number, content in enumerate(_messages(record.data)):
            message = _Message(record=record, at_ns=at_ns, number=number, content=content)
            if isinstance(content.get("method"), str):
                if record.direction == "out":
                    self._ask(message)
                    call = self._called(message.keys) or call
            elif message.identity and record.direction == "in":
                self._answer(message)
                call = self._called(message.keys) or call
        return call

    def _called(self, keys: Sequence[_Identity]) -> FrameKey | None:
        """Return a message's call, by HTTP exchange first, else by connection."""
        return next((call for key in keys if (call := self._calls.get(key)) is not None), None)

    def _ask(self, message: _Message) -> None:
        params, server, line = message.params, message.record.peer, _line(message.record)
        client = _client(message.content)
        if client is not None and line not in self.clients:
            self.clients[line] = client
            self.revision += 1
        match message.content["method"]:
            case "tools/call":
                self._call(message, said(params.get("name")), params.get("arguments"))
                self.tools.add((server, said(params.get("name"))))
            case "resources/read":
                self._call(message, READING, {"uri": params.get("uri")})
                self.tools.add((server, READING))
            case "tools/list":
                self._lists.update(message.keys)
            case "tasks/get" | "tasks/result":
                call = self._tasks.get((*line, said(params.get("taskId"))))
                if call is not None:
                    self._calls.update(dict.fromkeys(message.keys, call))
            case "notifications/cancelled":
                call = self._calls.get((*line, canonical(params.get("requestId"))))
                # some hosts cancel all requests at the end, answered ones too
                if call is not None and self.sent[call].answer is None:
                    self.sent[call] = replace(self.sent[call], dropped=(message.at_ns, message.record.seq))
                    self.revision += 1
            case _:
                pass

    def _call(self, message: _Message, tool: str, arguments: JSON) -> None:
        record, line = message.record, _line(message.record)
        meta = mapping(message.params.get("_meta"))
        sent = CallFrame(
            capture=record.capture,
            seq=record.seq,
            number=message.number,
            connection=line[1],
            server=record.peer,
            tool=tool,
            arguments=canonical(arguments),
            at_ns=message.at_ns,
            rpc_id=message.identity.strip('"'),
            ids=frozenset(value for value in meta.values() if isinstance(value, str) and value),
            defaults=self._defaults.get((record.peer, tool), ()),
            mono_ns=record.mono_ns,
        )
        self.sent[sent.key] = sent
        own, *shared_keys = message.keys
        self._calls[own] = sent.key
        for key in shared_keys:  # hosts may share a connection without a session, and each count from 1
            before = self._calls.get(key)
            is_waited_for = before is not None and self.sent[before].over is None
            self._calls[key] = None if is_waited_for else sent.key
        self.revision += 1

    def _answer(self, message: _Message) -> None:
        record, at_ns, line = message.record, message.at_ns, _line(message.record)
        result = message.content.get("result")
        first = next((key for key in message.keys if key in self._lists or key in self._calls), None)
        if first in self._lists:
            self._lists.difference_update(message.keys)
            self._listed(record.peer, items(mapping(result).get("tools")))
            return
        call = self._called(message.keys)
        if call is None:
            return
        task = mapping(mapping(result).get("task")).get("taskId")
        if isinstance(task, str):  # the answer follows with the task's result
            self._tasks[(*line, task)] = call
            return
        held = mapping(result).get("result") if "taskId" in mapping(result) else result
        if held is None and result is not None:
            return
        error = mapping(message.content.get("error"))
        texts = result_texts(held) if held is not None else _error_texts(error.get("message"))
        is_error = held is None or bool(mapping(held).get("isError"))
        beside = () if texts else tuple(block_texts(held))
        answer = Answer(
            seq=record.seq,
            at_ns=at_ns,
            mono_ns=record.mono_ns,
            texts=texts,
            beside=beside,
            is_error=is_error,
            contents="" if texts or held is None else content_lines(read_any(mapping(held)), is_own=False),
        )
        self._answered(call, answer)

    def _listed(self, server: str, tools: Sequence[JSON]) -> None:
        for tool in map(mapping, tools):
            name = said(tool.get("name"))
            self.tools.add((server, name))
            properties = mapping(mapping(tool.get("inputSchema")).get("properties"))
            self._defaults[server, name] = tuple(
                (key, canonical(mapping(value)["default"]))
                for key, value in properties.items()
                if "default" in mapping(value)
            )
        self.revision += 1

    def _answered(self, call: FrameKey, answer: Answer) -> None:
        if self.sent[call].answer is None:
            self.sent[call] = replace(self.sent[call], answer=answer)
            self.revision += 1

    def _feed_large(self, record: Record, at_ns: int) -> FrameKey | None:
        """Take in a frame too large to parse: an answer is known by its id alone."""
        head = frame_head(record.data)
        call = self._called(_keys(record, head.id))
        if call is None or not head.answers or record.direction != "in":
            return None
        self._answered(call, Answer(seq=record.seq, at_ns=at_ns, mono_ns=record.mono_ns, is_error=head.is_error))
        return call


def _line(record: Record) -> Line:
    """Return the key of a frame's connection."""
    return record.capture, record.connection or ""


def _keys(record: Record, identity: str) -> Sequence[_Identity]:
    """Return the keys of a request's id: within the HTTP exchange, if there is one, and within the connection."""
    exchange = record.exchange
    own = [] if exchange is None else [(record.capture, f"exchange {exchange}", identity)]
    return [*own, (*_line(record), identity)]


def _error_texts(message: JSON) -> tuple[str, ...]:
    return (message,) if isinstance(message, str) and message else ()


def client_in(data: bytes) -> str:
    """Return the client's name in a frame; empty if the frame states none."""
    return next((client for message in _messages(data) if (client := _client(message))), "")


def _client(message: Mapping[str, JSON]) -> str | None:
    """Return the client's name in a message; None if the message has no `clientInfo`."""
    params = mapping(message.get("params"))
    client = introduced(params, "clientInfo")
    return said(client.get("name")) if client else None


def _messages(data: bytes) -> Iterator[dict[str, JSON]]:
    """Yield the messages of a frame or batch; none if the frame is not JSON."""
    try:
        value = read_json(data)
    except (ValueError, UnicodeError):
        return
    for message in value if isinstance(value, list) else [value]:
        if isinstance(message, dict):
            yield message
