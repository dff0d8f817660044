"""Read the MCP side of a tapped host: calls, answers, tools of servers, and names of clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tui_host.capture.frames.frame_heads import introduced, read_frame
from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.capture.json.reading import read_json
from tui_host.capture.record import Record
from tui_host.chat.result_words import content_lines
from tui_host.errors import JSON
from tui_host.infer.call_values import READING, Answer, CallFrame, FrameKey, Line, block_texts, canonical, result_texts
from tui_host.servers.tool_output import read_contents, read_output

MOST = 4 << 20  # the largest frame that is parsed
_LIST: FrameKey = ("tools/list", 0)  # stands for a call where a list of tools was asked for
_Key: TypeAlias = tuple[str, str, str]
"""Capture, connection or HTTP exchange, and id of a request."""


@dataclass(slots=True, eq=False)
class TappedFrames:
    """Reads the frames of each connection in order. `revision` grows with each change that matters for joining."""

    sent: dict[FrameKey, CallFrame] = field(default_factory=dict[FrameKey, CallFrame])  # the calls, in order
    # Listed or called: with the defaults of arguments.
    tools: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict[tuple[str, str], Mapping[str, str]])
    peers: dict[Line, str] = field(default_factory=dict[Line, str])  # the server of each connection
    clients: dict[Line, str] = field(default_factory=dict[Line, str])  # the client's name: hosts may share a tap
    revision: int = 0
    # None where several wait under one id.
    _calls: dict[_Key, FrameKey | None] = field(default_factory=dict[_Key, FrameKey | None])

    def feed(self, record: Record, at_ns: int) -> None:
        """Take in the next frame."""
        self.peers.setdefault((record.capture, record.connection or ""), record.peer)
        if len(record.data) > MOST:  # an answer is known by its id alone
            head = read_frame(record.data, in_words=True).head
            message: Mapping[str, JSON] = {"error" if head.is_error else "result": {}}
            identity = head.id if head.answers else None
        else:
            message = _message(record.data)
            identity = None if message.get("id") is None else canonical(message["id"])
        # An id is counted in the HTTP exchange, if there is one, and on the connection.
        places = [] if record.exchange is None else [f"exchange {record.exchange}"]
        places.append(record.connection or "")
        keys = [] if identity is None else [(record.capture, place, identity) for place in places]
        is_asking = isinstance(message.get("method"), str)
        if is_asking and record.direction == "out":
            self._ask(record, at_ns, message, keys)
        elif keys and not is_asking and record.direction == "in":
            self._answer(record, message, keys)

    def _ask(self, record: Record, at_ns: int, message: Mapping[str, JSON], keys: Sequence[_Key]) -> None:
        params, method, line = (
            mapping(message.get("params")),
            message["method"],
            (record.capture, record.connection or ""),
        )
        if line not in self.clients and b'clientInfo"' in record.data and (client := client_in(record.data)):
            self.clients[line] = client
            self.revision += 1
        match method:
            case "tools/call" | "resources/read":
                is_reading = method == READING
                meta = mapping(params.get("_meta")).values()
                sent = CallFrame(
                    key=(record.capture, record.seq),
                    line=line,
                    server=record.peer,
                    tool=READING if is_reading else said(params.get("name")),
                    arguments=canonical({"uri": params.get("uri")} if is_reading else params.get("arguments")),
                    at_ns=at_ns,
                    rpc_id=said(message.get("id")),
                    ids=frozenset(value for value in meta if isinstance(value, str) and value),
                    mono_ns=record.mono_ns,
                )
                self.tools.setdefault((sent.server, sent.tool), {})
                self._put(sent)
                self._calls.update(dict.fromkeys(keys[:1], sent.key))
                for key in keys[1:]:  # hosts may share a connection without a session, and each count from 1
                    before = self.sent.get(self._calls.get(key) or sent.key, sent)
                    is_waiting = before is not sent and before.answer is None and not before.is_dropped
                    self._calls[key] = None if is_waiting else sent.key
            case "tools/list":
                self._calls.update(dict.fromkeys(keys, _LIST))
            case "notifications/cancelled":
                call = self._calls.get((*line, canonical(params.get("requestId"))))
                # Some hosts cancel all requests at the end, answered ones too.
                if call in self.sent and self.sent[call].answer is None:
                    self._put(replace(self.sent[call], is_dropped=True))
            case _:
                pass

    def _answer(self, record: Record, message: Mapping[str, JSON], keys: Sequence[_Key]) -> None:
        # By HTTP exchange first, else by connection.
        call = next((call for key in keys if (call := self._calls.get(key)) is not None), None)
        result = message.get("result")
        members = mapping(result)
        if call == _LIST:
            self._calls.update(dict.fromkeys(keys))
            self.revision += 1
            for tool in map(mapping, items(members.get("tools"))):
                properties = mapping(mapping(tool.get("inputSchema")).get("properties"))
                schemas = {name: mapping(schema) for name, schema in properties.items()}
                defaults = {name: canonical(own["default"]) for name, own in schemas.items() if "default" in own}
                self.tools[record.peer, said(tool.get("name"))] = defaults
            return
        if call not in self.sent or self.sent[call].answer is not None:
            return
        error = said(mapping(message.get("error")).get("message"))
        texts = result_texts(result) if result is not None else tuple(filter(None, [error]))
        is_resource = "contents" in members and "content" not in members
        output = read_contents(members) if is_resource else read_output(members)
        answer = Answer(
            seq=record.seq,
            mono_ns=record.mono_ns,
            texts=texts,
            beside=() if texts else tuple(block_texts(result)),
            is_error=result is None or bool(members.get("isError")),
            contents="" if texts or result is None else content_lines(output, is_own=False),
        )
        self._put(replace(self.sent[call], answer=answer))

    def _put(self, sent: CallFrame) -> None:
        self.sent[sent.key] = sent
        self.revision += 1


def client_in(data: bytes) -> str:
    """Return the client's name in a frame; empty if the frame states none."""
    return said(introduced(mapping(_message(data).get("params")), "clientInfo").get("name"))


def _message(data: bytes) -> Mapping[str, JSON]:
    try:
        return mapping(read_json(data))
    except (ValueError, UnicodeError):
        return {}
