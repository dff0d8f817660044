"""Read the facts stated in a tap's records: the model's provider or the server, the hosts, and the first question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tui_host.capture.store.tap_summary import connections_of, requests_of, wire_of
from tui_host.chat.conversation import title_of
from tui_host.infer.conversations.host_names import (
    Speaker,
    host_named,
    hosts_of,
    is_host,
    is_own_name,
)
from tui_host.infer.conversations.model_exchange import ModelExchange, exchange_of
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.tapped_frames import client_in

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.store.store import Store

_FIRST = 500
"""The most requests among which the first question is looked for: hosts list models and check for health before."""
_ALL = 16
"""How many requests, or connections, are all read; of later ones ever fewer are."""


@dataclass(frozen=True, kw_only=True)
class TapFacts:
    """Facts stated in a tap's records.

    Attributes:
        kind: `llm`, `stdio` or `http`; empty while nothing has passed.
        peer: The name of the model's provider, or of the server; empty while nothing has passed.
        speakers: Who asks which model, each different combination once.
        clients: The names by which clients introduce themselves to the server.
        question: The start of the first question to the model, without secrets; empty if there was none.
    """

    kind: str = ""
    peer: str = ""
    speakers: Sequence[Speaker] = ()
    clients: Sequence[str] = ()
    question: str = ""

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The names of known hosts. Names of SDKs do not count: many hosts use an SDK."""
        return frozenset(filter(is_host, hosts_of(self.speakers, self.clients)))

    @cached_property
    def stated(self) -> Mapping[str, frozenset[str]]:
        """The names that programs state of themselves, to models and to servers apart: one host may state different ones there."""
        agents = (speaker.host for speaker in self.speakers)
        clients = map(host_named, self.clients)
        return {"model": frozenset(filter(is_own_name, agents)), "server": frozenset(filter(is_own_name, clients))}


class FactsReader:
    """Reads the facts of a capture; each call of `read` takes in the records since the last call.

    Args:
        capture: The capture's id.

    Attributes:
        facts: The facts read so far.
    """

    def __init__(self, capture: str) -> None:
        self.facts = TapFacts()
        self._capture = capture
        self._requests = RequestReader()
        self._question = FirstQuestion()
        self._last = self._count = 0

    def read(self, store: Store) -> TapFacts:
        """Bring the facts up to date. Blocks.

        Raises:
            StoreError: The file cannot be read.
        """
        if not self.facts.kind:
            kind, peer = wire_of(store, self._capture)
            self.facts = replace(self.facts, kind=kind, peer=peer)
        if self.facts.kind == "llm":
            self._read_requests(store)
        elif self.facts.kind:
            self._read_clients(store)
        return self.facts

    def _read_requests(self, store: Store) -> None:
        """Read some of the requests since the last call: the first, the last, and a sample of those between."""
        numbers = requests_of(store, self._capture, self._last)
        if not numbers:
            return
        speakers = dict.fromkeys(self.facts.speakers)
        for seq in numbers:
            place, self._count = self._count, self._count + 1
            is_first = self._question.left > 0 and place < _FIRST
            record = store.record(self._capture, seq) if is_first or seq == numbers[-1] or _is_sample(place) else None
            if record is not None:
                speakers |= dict.fromkeys(self._speakers_in(record, store))
        self._last = numbers[-1]
        self.facts = replace(self.facts, speakers=list(speakers), question=self._question.words)

    def _speakers_in(self, record: Record, store: Store) -> Iterator[Speaker]:
        exchange = exchange_of(record, record.time_ns, self._requests)
        if exchange is None or not exchange.messages:
            return
        self._question.hear(exchange, store.redactor.text)
        yield exchange.speaker

    def _read_clients(self, store: Store) -> None:
        """Read how clients introduced themselves on the connections since the last call."""
        opened = connections_of(store, self._capture)
        numbers = [seq for place, seq in enumerate(opened) if seq > self._last and _is_sample(place)]
        records = (store.record(self._capture, seq) for seq in numbers)
        clients = [client_in(record.data) for record in records if record is not None]
        if clients:
            self._last = numbers[-1]
            all_clients = dict.fromkeys((*self.facts.clients, *filter(None, clients)))
            self.facts = replace(self.facts, clients=list(all_clients))


def _is_sample(place: int) -> bool:
    """Whether to read what stands at a place: all of the first 16, of the next 16 every 2nd, of the next 32 every 4th."""
    return place % (1 << (place // _ALL).bit_length()) == 0


_OPENING = 8
"""How many first requests to read: hosts ask for titles and check the model before the question."""
_READ = 8192
"""Characters of the question that are read for the first line."""


class FirstQuestion:
    """Takes the question from the first request that offers tools, else from the first request.

    Attributes:
        words: The question's first line, redacted and shortened; empty before there is a question.
        left: How many more requests to read.
    """

    def __init__(self) -> None:
        self.words = ""
        self.left = _OPENING

    def hear(self, exchange: ModelExchange, redact: Callable[[str], str]) -> None:
        """Take in the next request.

        Args:
            exchange: The request.
            redact: Redacts the words.
        """
        tells_of_tools = exchange.has_tools
        if not self.left or (self.words and not tells_of_tools):
            self.left = max(self.left - 1, 0)
            return
        words = (message.said for message in reversed(exchange.messages))
        question = next(filter(None, words), "")
        if question:
            self.words = title_of(redact(question[:_READ]))
        self.left = 0 if question and tells_of_tools else self.left - 1
