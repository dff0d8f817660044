"""What a tap states of itself in its session's row: who is behind it, the hosts, the models, and the first question."""

from __future__ import annotations

import json
from collections.abc import Callable

from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import Record
from tui_host.chat.conversation import title_of
from tui_host.errors import JSON
from tui_host.infer.conversations.host_names import Speaker, hosts_of, is_host
from tui_host.infer.conversations.model_exchange import exchange_of
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.tapped_frames import client_in

_ALL = 16  # requests that are all read; of later ones ever fewer are
_OPENING = 8  # first requests that may hold the question: hosts ask for titles and check the model before it
_READ = 8192  # characters of the question that are read for its first line
_MOST = 50  # combinations of host and model, and clients, that are named
_TRAITS = ("host", "agent", "title", "peer", "model", "protocol", "tools")  # a speaker's fields as JSON


class TapFacts:
    """Gathers the facts from records as a tap makes them, from where `text` left off. `redact` takes secrets out of the question."""

    def __init__(
        self, text: str = "{}", redact: Callable[[str], str] = str, reader: RequestReader | None = None
    ) -> None:
        facts = read_object(text.encode())
        # `llm`, `stdio` or `http`; the provider or the server; the first line of the first question
        self.kind, self.peer, self.question = (said(facts.get(name)) for name in ("kind", "peer", "question"))
        self.clients = [said(name) for name in items(facts.get("clients"))]
        self.speakers: list[Speaker] = []
        for value in map(mapping, items(facts.get("speakers"))):
            traits = [said(value.get(name)) for name in _TRAITS[:-1]]
            self.speakers.append(Speaker(*traits, has_tools=value.get("tools") is True))
        self._redact = redact
        self._reader = reader
        self._requests = 0
        self._may_ask = 0 if self.question else _OPENING  # how many more requests may hold the question

    @property
    def text(self) -> str:
        """The facts as JSON."""
        speakers: list[JSON] = [dict(zip(_TRAITS, speaker, strict=True)) for speaker in self.speakers]
        value: dict[str, JSON] = {"kind": self.kind, "peer": self.peer, "question": self.question}
        value |= {"clients": [*self.clients], "speakers": speakers}
        return json.dumps({name: fact for name, fact in value.items() if fact}, ensure_ascii=False)

    @property
    def hosts(self) -> frozenset[str]:
        """The names of known hosts. Names of SDKs do not count: many hosts use an SDK."""
        return frozenset(filter(is_host, hosts_of(self.speakers, self.clients)))

    def feed(self, record: Record) -> bool:
        """Take in the tap's next record. Return whether the facts have changed."""
        before = (self.kind, self.question, len(self.clients), len(self.speakers))
        if not self.kind and record.wire in {"llm", "mcp"}:
            server_kind = "stdio" if record.exchange is None else "http"
            self.kind, self.peer = "llm" if record.wire == "llm" else server_kind, record.peer
        if record.wire == "llm" and record.kind == "request":
            number, self._requests = self._requests, self._requests + 1
            # All of the first 16, of the next 16 every 2nd, of the next 32 every 4th: hosts may change their model.
            if number % (1 << (number // _ALL).bit_length()) == 0 or self._may_ask:
                self._request(record)
        elif record.wire == "mcp" and record.direction == "out" and b'"clientInfo"' in record.data:
            client = client_in(record.data)
            if client and client not in self.clients and len(self.clients) < _MOST:
                self.clients.append(client)
        return before != (self.kind, self.question, len(self.clients), len(self.speakers))

    def _request(self, record: Record) -> None:
        # One for each request unless a reader is given: a tap keeps no bodies in memory.
        exchange = exchange_of(record, record.time_ns, self._reader or RequestReader())
        if exchange is None or not exchange.messages:
            return
        if exchange.speaker not in self.speakers and len(self.speakers) < _MOST:
            self.speakers.append(exchange.speaker)
        # The question is that of the first request that offers tools, else of the first request.
        may_hold = self._may_ask and (exchange.has_tools or not self.question)
        question = next(filter(None, (message.said for message in reversed(exchange.messages))), "") if may_hold else ""
        self._may_ask = max(self._may_ask - 1, 0)
        if question:
            self.question = title_of(self._redact(question[:_READ]))
            self._may_ask *= not exchange.has_tools
