"""Read the MCP side of a tapped host: calls, answers, tools of servers, and names of clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_host.capture.frames.frame_heads import frame_head
from tui_host.capture.frames.frame_summary import introduced
from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.capture.json.reading import read_json
from tui_host.capture.record import Record
from tui_host.chat.result_words import content_lines
from tui_host.errors import JSON
from tui_host.infer.call_values import READING, Answer, CallFrame, FrameKey, Line, block_texts, canonical, result_texts
from tui_host.servers.tool_output import read_any

MOST = 4 << 20
"""The largest frame that is parsed."""
_Key: TypeAlias = tuple[str, str, str]
"""Capture, connection or HTTP exchange, and id of a request or of a task."""


class TappedFrames:
    """Reads the frames of each connection in order.

    Attributes:
        sent: The calls, in order.
        tools: Server and own name of each tool that was listed or called.
        peers: The server of each connection.
        since: When each connection began.
        clients: The client's name on each connection: hosts may share a tap.
        revision: Grows with each change that matters for joining.
    """

    def __init__(self) -> None:
        self.sent: dict[FrameKey, CallFrame] = {}
        self.tools: set[tuple[str, str]] = set()
        self.peers: dict[Line, str] = {}
        self.since: dict[Line, int] = {}
        self.clients: dict[Line, str] = {}
        self.revision = 0
        self._calls: dict[_Key, FrameKey | None] = {}  # by request and by task; None where several wait under one id
        self._lists: set[_Key] = set()
        self._defaults: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}

    def feed(self, record: Record, at_ns: int) -> None:
        """Take in the next frame."""
        self.since.setdefault(_line(record), at_ns)
        self.peers.setdefault(_line(record), record.peer)
        if len(record.data) > MOST:
            self._feed_large(record, at_ns)
            return
        for number, content in enumerate(_messages(record.data)):
            keys = _keys(record, content.get("id"))
            if isinstance(content.get("method"), str):
                if record.direction == "out":
                    self._ask(record, at_ns, number, content)
            elif keys and record.direction == "in":
                self._answer(record, at_ns, content, keys)

    def _called(self, keys: Sequence[_Key]) -> FrameKey | None:
        """Return the call of a request's id, by HTTP exchange first, else by connection."""
        return next((call for key in keys if (call := self._calls.get(key)) is not None), None)

    def _ask(self, record: Record, at_ns: int, number: int, content: Mapping[str, JSON]) -> None:
        params, line = mapping(content.get("params")), _line(record)
        client = _client(content)
        if client is not None and line not in self.clients:
            self.clients[line] = client
            self.revision += 1
        match content["method"]:
            case "tools/call":
                self._call(record, at_ns, number, content, said(params.get("name")), params.get("arguments"))
            case "resources/read":
                self._call(record, at_ns, number, content, READING, {"uri": params.get("uri")})
            case "tools/list":
                self._lists.update(_keys(record, content.get("id")))
            case "tasks/get" | "tasks/result":
                call = self._calls.get((*line, f"task {said(params.get('taskId'))}"))
                self._calls.update(dict.fromkeys(_keys(record, content.get("id")), call))
            case "notifications/cancelled":
                call = self._called([(*line, canonical(params.get("requestId")))])
                # Some hosts cancel all requests at the end, answered ones too.
                if call is not None and self.sent[call].answer is None:
                    self._put(replace(self.sent[call], is_dropped=True))
            case _:
                pass

    def _call(
        self, record: Record, at_ns: int, number: int, content: Mapping[str, JSON], tool: str, arguments: JSON
    ) -> None:
        meta = mapping(mapping(content.get("params")).get("_meta"))
        sent = CallFrame(
            capture=record.capture,
            seq=record.seq,
            number=number,
            connection=_line(record)[1],
            server=record.peer,
            tool=tool,
            arguments=canonical(arguments),
            at_ns=at_ns,
            rpc_id=said(content.get("id")),
            ids=frozenset(value for value in meta.values() if isinstance(value, str) and value),
            defaults=self._defaults.get((record.peer, tool), ()),
            mono_ns=record.mono_ns,
        )
        self.tools.add((sent.server, tool))
        self._put(sent)
        own, *shared_keys = _keys(record, content.get("id")) or [(record.capture, "", "")]
        self._calls[own] = sent.key
        for key in shared_keys:  # hosts may share a connection without a session, and each count from 1
            before = self.sent.get(self._calls.get(key) or sent.key, sent)
            is_waiting = before is not sent and before.answer is None and not before.is_dropped
            self._calls[key] = None if is_waiting else sent.key

    def _answer(self, record: Record, at_ns: int, content: Mapping[str, JSON], keys: Sequence[_Key]) -> None:
        result = content.get("result")
        first = next((key for key in keys if key in self._lists or key in self._calls), None)
        if first in self._lists:
            self._lists.difference_update(keys)
            self._listed(record.peer, items(mapping(result).get("tools")))
            return
        call = self._called(keys)
        task = mapping(mapping(result).get("task")).get("taskId")
        if call is not None and isinstance(task, str):  # the answer follows with the task's result
            self._calls[*_line(record), f"task {task}"] = call
            return
        held = mapping(result).get("result") if "taskId" in mapping(result) else result
        if call is None or (held is None and result is not None):
            return
        error = mapping(content.get("error")).get("message")
        texts = result_texts(held) if held is not None else tuple(filter(None, [said(error)]))
        self._answered(
            call,
            Answer(
                seq=record.seq,
                at_ns=at_ns,
                mono_ns=record.mono_ns,
                texts=texts,
                beside=() if texts else tuple(block_texts(held)),
                is_error=held is None or bool(mapping(held).get("isError")),
                contents="" if texts or held is None else content_lines(read_any(mapping(held)), is_own=False),
            ),
        )

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

    def _feed_large(self, record: Record, at_ns: int) -> None:
        """Take in a frame too large to parse: an answer is known by its id alone."""
        head = frame_head(record.data)
        call = self._called([(*place, head.id) for place in _places(record)])
        if call is not None and head.answers and record.direction == "in":
            self._answered(call, Answer(seq=record.seq, at_ns=at_ns, mono_ns=record.mono_ns, is_error=head.is_error))

    def _answered(self, call: FrameKey, answer: Answer) -> None:
        if self.sent[call].answer is None:
            self._put(replace(self.sent[call], answer=answer))

    def _put(self, sent: CallFrame) -> None:
        self.sent[sent.key] = sent
        self.revision += 1


def _line(record: Record) -> Line:
    """Return the key of a frame's connection."""
    return record.capture, record.connection or ""


def _places(record: Record) -> Sequence[tuple[str, str]]:
    """Return where an id is counted: in the HTTP exchange, if there is one, and on the connection."""
    own = [] if record.exchange is None else [(record.capture, f"exchange {record.exchange}")]
    return [*own, _line(record)]


def _keys(record: Record, identity: JSON) -> Sequence[_Key]:
    """Return the keys of a request's id; none for a notification."""
    return [] if identity is None else [(*place, canonical(identity)) for place in _places(record)]


def client_in(data: bytes) -> str:
    """Return the client's name in a frame; empty if the frame states none."""
    return next((client for message in _messages(data) if (client := _client(message))), "")


def _client(message: Mapping[str, JSON]) -> str | None:
    """Return the client's name in a message; None if the message has no `clientInfo`."""
    client = introduced(mapping(message.get("params")), "clientInfo")
    return said(client.get("name")) if client else None


def _messages(data: bytes) -> Iterator[Mapping[str, JSON]]:
    """Yield the messages of a frame or batch; none if the frame is not JSON."""
    try:
        value = read_json(data)
    except (ValueError, UnicodeError):
        return
    yield from (message for message in (value if isinstance(value, list) else [value]) if isinstance(message, dict))
