"""Read the facts stated in a tap's records: the model's provider or the server, the hosts, and the first question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tui_host.capture.store.tap_summary import connections_of, requests_of, wire_of
from tui_host.infer.asking.host_names import agent_of, is_host
from tui_host.infer.asking.model_exchange import asking_of
from tui_host.infer.asking.question import FirstQuestion
from tui_host.infer.asking.request_reader import Hearing
from tui_host.infer.asking.speakers import Agent, Speaking, hosts_of, speaking_in
from tui_host.infer.tapped_frames import client_in

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.store.store import Store

_FIRST = 500
"""The most requests among which the first question is looked for: hosts list models and check for health before."""
_HEADS, _BODIES = 32, 8
"""How many requests at the start are read whole, and how many more have their heads read; of later ones ever fewer are read."""


@dataclass(frozen=True, kw_only=True)
class TapFacts:
    """Facts stated in a tap's records.

    Attributes:
        kind: `llm`, `stdio` or `http`; empty while nothing has passed.
        peer: The name of the model's provider, or of the server; empty while nothing has passed.
        spoken: Who asks which model, each different combination once.
        clients: The names by which clients introduce themselves to the server.
        question: The start of the first question to the model, without secrets; empty if there was none.
    """

    kind: str = ""
    peer: str = ""
    spoken: Sequence[Speaking] = ()
    clients: Sequence[str] = ()
    question: str = ""

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The names of known hosts. Names of SDKs do not count: many hosts use an SDK."""
        return frozenset(filter(is_host, hosts_of(self.spoken, self.clients)))


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
        self._hearing = Hearing()
        self._question = FirstQuestion()
        self._agents: set[Agent] = set()
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
        """Read some of the requests since the last call: first requests, the last request, and requests of unknown user agents."""
        numbers = requests_of(store, self._capture, self._last)
        if not numbers:
            return
        spoken = dict.fromkeys(self.facts.spoken)
        for seq in numbers:
            place, self._count = self._count, self._count + 1
            is_first = self._question.left > 0 and place < _FIRST
            if not (is_first or seq == numbers[-1] or _is_sample(place, _HEADS)):
                continue
            record = store.record(self._capture, seq)
            if record is not None and (is_first or _is_sample(place, _BODIES) or self._is_of_new_agent(record)):
                spoken |= dict.fromkeys(self._spoken_in(record, store))
        self._last = numbers[-1]
        self.facts = replace(self.facts, spoken=list(spoken), question=self._question.words)

    def _is_of_new_agent(self, record: Record) -> bool:
        head = record.draft.head
        return head is not None and agent_of(head.headers) not in self._agents

    def _spoken_in(self, record: Record, store: Store) -> Iterator[Speaking]:
        asking = asking_of(record, record.time_ns, self._hearing)
        if asking is None or not asking.messages:
            return
        self._question.hear(asking, store.redactor.text)
        speaking = speaking_in(asking)
        self._agents.add(speaking.agent)
        yield speaking

    def _read_clients(self, store: Store) -> None:
        """Read how clients introduced themselves on the connections since the last call."""
        opened = connections_of(store, self._capture)
        numbers = [seq for place, seq in enumerate(opened) if seq > self._last and _is_sample(place, _HEADS)]
        records = (store.record(self._capture, seq) for seq in numbers)
        clients = [client_in(record.draft.data) for record in records if record is not None]
        if clients:
            self._last = numbers[-1]
            all_clients = dict.fromkeys((*self.facts.clients, *filter(None, clients)))
            self.facts = replace(self.facts, clients=list(all_clients))


def _is_sample(place: int, often: int) -> bool:
    """Whether to read the request at a place: all of the first `often`, then every 2nd, then every 4th."""
    return place % (1 << (place // often).bit_length()) == 0
