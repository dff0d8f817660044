"""What a tap states of itself in its session's row: who is behind it, the hosts, the models, and the first question."""

from __future__ import annotations

import json
from collections.abc import Callable

from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import Record
from tui_host.chat.conversation import title_of
from tui_host.infer.conversations.host_names import Speaker
from tui_host.infer.conversations.model_exchange import exchange_of
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.tapped_frames import client_in

_ALL = 16  # requests that are all read; of later ones ever fewer are
_OPENING = 8  # first requests that may hold the question: hosts ask for titles and check the model before it
_READ = 8192  # characters of the question that are read for its first line
_MOST = 50  # combinations of host and model, and clients, that are named


class TapFacts:
    """Gathers the facts from records as a tap makes them, from where `text` left off. `redact` takes secrets out of the question."""

    def __init__(
        self, text: str = "{}", redact: Callable[[str], str] = str, reader: RequestReader | None = None
    ) -> None:
        facts = read_object(text.encode())
        # `llm`, `stdio` or `http`; the first line of the first question
        self.kind, self.question = said(facts.get("kind")), said(facts.get("question"))
        self.clients = [said(name) for name in items(facts.get("clients"))]
        self.speakers: list[Speaker] = []
        for value in map(mapping, items(facts.get("speakers"))):
            traits = (said(value.get(name)) for name in Speaker._fields[:-1])
            self.speakers.append(Speaker(*traits, has_tools=value.get("has_tools") is True))
        self._redact = redact
        self._reader = reader
        self._requests = 0
        self._may_ask = 0 if self.question else _OPENING  # how many more requests may hold the question

    @property
    def text(self) -> str:
        """The facts as JSON."""
        speakers = [speaker._asdict() for speaker in self.speakers]
        facts = {"kind": self.kind, "question": self.question, "clients": self.clients, "speakers": speakers}
        return json.dumps({name: value for name, value in facts.items() if value}, ensure_ascii=False)

    def feed(self, record: Record) -> str:
        """Take in the tap's next record. Return all facts as JSON if they have changed."""
        before = (self.kind, self.question, len(self.clients), len(self.speakers))
        if record.wire == "llm":
            self.kind = self.kind or "llm"
            # All of the first 16, of the next 16 every 2nd, of the next 32 every 4th: hosts may change their model.
            number = self._requests
            self._requests += record.kind == "request"
            is_read = record.kind == "request" and (self._may_ask or number % (1 << (number // _ALL).bit_length()) == 0)
            # One reader for each request unless one is given: a tap keeps no bodies in memory.
            exchange = exchange_of(record, record.time_ns, self._reader or RequestReader()) if is_read else None
            if exchange is not None and exchange.messages:
                if exchange.speaker not in self.speakers and len(self.speakers) < _MOST:
                    self.speakers.append(exchange.speaker)
                # The question is that of the first request that offers tools, else of the first request.
                if self._may_ask and (exchange.has_tools or not self.question):
                    question = next(filter(None, (message.said for message in reversed(exchange.messages))), "")
                    self.question = title_of(self._redact(question[:_READ])) or self.question
                    self._may_ask *= not (question and exchange.has_tools)
                self._may_ask = max(self._may_ask - 1, 0)
        elif record.wire == "mcp":
            self.kind = self.kind or ("stdio" if record.exchange is None else "http")
            if record.direction == "out" and b'clientInfo"' in record.data and len(self.clients) < _MOST:
                self.clients += {client_in(record.data)} - {"", *self.clients}
        is_changed = before != (self.kind, self.question, len(self.clients), len(self.speakers))
        return self.text if is_changed else ""
