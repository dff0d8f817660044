"""The MCP side of a tapped host: calls and their answers, what tools each server has, who the client says it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_host.capture.record import Record
from tui_host.capture.words import items, mapping, said
from tui_host.chat.infer.values import Answer, Sent, canonical, result_texts
from tui_host.errors import JSON
from tui_host.llm.jsonspans import read_json

_CLIENT = "io.modelcontextprotocol/clientInfo"  # with every request, in the protocol of 2026-07-28
MOST = 4 << 20
"""Bytes of a frame that is read; a larger one is joined to nothing but by its id."""


class Frames:
    """Reads frames in the order in which they came on each connection.

    Attributes:
        sent: The calls, in order.
        tools: Server and own name of each tool that was listed or called.
        clients: What the clients call themselves, by capture.
        revision: Grows with what matters to joining.
    """

    def __init__(self) -> None:
        self.sent: dict[tuple[str, int], Sent] = {}
        self.tools: set[tuple[str, str]] = set()
        self.clients: dict[str, str] = {}
        self.revision = 0
        self._calls: dict[tuple[str, str, str], tuple[str, int]] = {}
        self._lists: set[tuple[str, str, str]] = set()

    def feed(self, record: Record, at_ns: int) -> None:
        """The next frame, and when it passed."""
        draft = record.draft
        for message in _messages(draft.data):
            identity = canonical(message["id"]) if message.get("id") is not None else ""
            key = (record.capture, draft.connection or "", identity)
            if isinstance(message.get("method"), str):
                if draft.direction == "out":
                    self._ask(record, message, key, at_ns)
            elif identity and draft.direction == "in":
                self._answer(record, message, key, at_ns)

    def _ask(self, record: Record, message: dict[str, JSON], key: tuple[str, str, str], at_ns: int) -> None:
        params = mapping(message.get("params"))
        client = mapping(params.get("clientInfo") or mapping(params.get("_meta")).get(_CLIENT))
        if client and record.capture not in self.clients:
            self.clients[record.capture] = said(client.get("name"))
            self.revision += 1
        match message["method"]:
            case "tools/call":
                sent = Sent(
                    capture=record.capture,
                    seq=record.seq,
                    connection=key[1],
                    server=record.draft.peer,
                    tool=said(params.get("name")),
                    arguments=canonical(params.get("arguments")),
                    at_ns=at_ns,
                )
                self.sent[sent.key] = sent
                self.tools.add((sent.server, sent.tool))
                self._calls[key] = sent.key
                self.revision += 1
            case "tools/list":
                self._lists.add(key)
            case _:
                pass

    def _answer(self, record: Record, message: dict[str, JSON], key: tuple[str, str, str], at_ns: int) -> None:
        if key in self._lists:
            self._lists.discard(key)
            for tool in items(mapping(message.get("result")).get("tools")):
                self.tools.add((record.draft.peer, said(mapping(tool).get("name"))))
            self.revision += 1
            return
        call = self._calls.get(key)
        if call is None or self.sent[call].answer is not None:
            return
        result = message.get("result")
        error = mapping(message.get("error"))
        texts = result_texts(result) if result is not None else tuple(filter(None, (said(error.get("message")),)))
        is_error = result is None or mapping(result).get("isError") is True
        answer = Answer(seq=record.seq, at_ns=at_ns, texts=texts, is_error=is_error)
        self.sent[call] = replace(self.sent[call], answer=answer)
        self.revision += 1


def _messages(data: bytes) -> Iterator[dict[str, JSON]]:
    """The messages in a frame: one, or those of a batch; none in what cannot be read."""
    if len(data) > MOST:
        return
    try:
        value = read_json(data)
    except (ValueError, UnicodeError):
        return
    for message in value if isinstance(value, list) else [value]:
        if isinstance(message, dict):
            yield message
