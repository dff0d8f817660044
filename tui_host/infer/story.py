"""Read the records of a story on one clock, place each record in a turn and step, and link calls across the wires."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.link import Link, Span
from tui_host.capture.record import MISSING, Place, Record
from tui_host.capture.visible import line
from tui_host.capture.wall_clock import WallClock
from tui_host.infer.conversations.host_names import Speaker, host_named, hosts_by_speaker, hosts_of
from tui_host.infer.conversations.model_exchange import Conversations, ExchangeKey, ModelExchange, exchange_of
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.matching.matcher import REPORTED_DIFFERENTLY, Choices, JoinedCall, match
from tui_host.infer.tapped_frames import TappedFrames

_WORDS = 200


class FoundLink(NamedTuple):
    """A link with the capture and place of its bytes."""

    capture: str
    place: Place
    link: Link

    def record(self, seq: int, time_ns: int, mono_ns: int | None) -> Record:
        """Return the link as a record."""
        bare = Record(wire="host", kind="link", place=self.place, data=self.link.to_bytes())
        return replace(bare, capture=self.capture, seq=seq, time_ns=time_ns, mono_ns=mono_ns)


@dataclass(slots=True, eq=False)
class Story:
    """Takes in the records of several captures in the order of time, and links calls, frames and results.

    `revision` grows with everything that may change a link; `unasked` counts answers without a captured request.
    """

    _session: str = ""
    clock: WallClock = field(default_factory=WallClock)
    conversations: Conversations = field(default_factory=Conversations)
    frames: TappedFrames = field(default_factory=TappedFrames)
    revision: int = 0
    unasked: int = 0
    _unasked: set[ExchangeKey] = field(default_factory=set[ExchangeKey])
    _last_ns: int = 0
    _places: dict[tuple[int, int], Place] = field(default_factory=dict[tuple[int, int], Place])
    _requests: RequestReader = field(default_factory=RequestReader)
    _additions: list[FoundLink] = field(default_factory=list[FoundLink])
    _joined: tuple[int, Sequence[JoinedCall]] = (-1, ())
    _choices: Choices = field(default_factory=dict[tuple[str, str, int], bool])
    _hosts: tuple[int, Mapping[Speaker, str]] = (-1, MappingProxyType({}))

    # Records.

    def feed(self, record: Record) -> Record:
        """Take in the next record; return the record with the time on the shared clock and the place in the story."""
        self.take(record)
        return replace(self.clock.on_it(record), place=self.place_of(record.capture, record.exchange))

    def take(self, record: Record) -> None:
        at_ns = self.clock.at_ns(record)
        if record.mono_ns is None:  # a record without a time came after all records before it
            at_ns = max(at_ns, self._last_ns + 1)
        self._last_ns = max(self._last_ns, at_ns)
        if record.kind == "frame":
            before = self.frames.revision
            self.frames.feed(record, at_ns)
            self.revision += self.frames.revision - before
        if record.wire != "llm" or record.exchange is None:
            return
        key = record.capture, record.exchange
        if record.kind == "request":
            exchange = exchange_of(record, at_ns, self._requests)
            if record.malformed == MISSING:
                self._unasked.add(key)
            if exchange is None or (exchange.body and not exchange.messages):
                return
            self.conversations.add(exchange)
            additions = self._requests.additions(exchange.speaker.protocol, exchange.body, exchange.request)
            for start, end, words in additions:
                span = Span(exchange=exchange.key[1], side="request", start=start, end=end)
                link = Link(relation="injected", call="", span=span, words=words)
                self._additions.append(FoundLink(key[0], self.place_of(*key), link))
        elif record.kind == "response" and key in self._unasked:
            self._unasked.discard(key)
            self.unasked += 1
        if (exchange := self.conversations.exchanges.get(key)) is not None:
            exchange.feed(record, at_ns)
            self.revision += 1

    def place_of(self, capture: str, exchange: str | None) -> Place:
        """Return the place of an exchange; without one with a model the session's, without turn and step."""
        asked = self.conversations.exchanges.get((capture, exchange or ""))
        key = (0, 0) if asked is None else (asked.turn, asked.step)
        if key not in self._places:
            self._places[key] = Place(session=self._session or None, turn=key[0] or None, step=key[1] or None)
        return self._places[key]

    # Links.

    def joined(self) -> Sequence[JoinedCall]:
        """Return all calls requested by models, in order, each with its frames and results."""
        if self._joined[0] != self.revision:
            joined = match(list(self.conversations.calls()), self.frames, self._choices)
            self._joined = self.revision, joined
        return self._joined[1]

    def choose(self, choices: Choices) -> None:
        """Take in what a person joined and parted by hand, in place of what was chosen before."""
        self.revision += choices != self._choices
        self._choices = choices

    def cut(self, running: Container[str]) -> None:
        """End the answers of captures that do not grow any more: whoever recorded them was killed."""
        for exchange in self.conversations.exchanges.values():
            if not exchange.is_over and exchange.key[0] not in running:
                exchange.finish(Ending(reason="failed", error="the recorder was killed"))
                self.revision += 1

    def links(self) -> Iterator[FoundLink]:
        """Give the links of all calls, and of the texts added to requests by the host.

        A link is known by id where the bytes name the call, by value where nothing else is possible, and else «maybe».
        """
        yield from self._additions
        for joined in self.joined():
            call, known = joined.call, joined.known
            place = replace(self.place_of(call.capture, call.exchange), call=call.key)
            bare = Link(relation="asked", call=call.key, span=Span(), server=joined.server, tool=joined.tool)
            if self.conversations.exchanges[call.capture, call.exchange].is_over:  # else the span may still grow
                spans = [*call.spans] or [(0, 0)]
                ranges = call.spans if len(spans) > 1 else ()
                span = Span(exchange=call.exchange, start=spans[0][0], end=spans[-1][1], ranges=ranges)
                yield FoundLink(call.capture, place, replace(bare, span=span, words=line(call.arguments, _WORDS)))
            for (capture, seq), answer in ((sent.key, sent.answer) for sent in joined.sent):
                link = replace(bare, relation="sent", span=Span(seq=seq), known=known)
                yield FoundLink(capture, place, link)
                if answer is not None:
                    yield FoundLink(capture, place, replace(link, relation="answered", span=Span(seq=answer.seq)))
            for result in joined.results:
                span = Span(exchange=result.exchange, side="request", start=result.start, end=result.end)
                words = f"{REPORTED_DIFFERENTLY}: {result.text}" if joined.is_reported_differently else result.text
                link = replace(bare, relation="told", span=span, words=line(words, _WORDS))
                by = "maybe" if joined.is_by_order else "value"
                yield FoundLink(result.capture, place, replace(link, known="id" if result.by_id else by))

    # Hosts.

    @property
    def speakers(self) -> Sequence[Speaker]:
        """The different combinations of agent and model in the exchanges, in order."""
        return list(dict.fromkeys(exchange.speaker for exchange in self.conversations.exchanges.values()))

    @property
    def hosts(self) -> Sequence[str]:
        """The stated names of the hosts."""
        return hosts_of(self.speakers, self.frames.clients.values())

    def host_of(self, exchange: ModelExchange) -> str:
        """Return the name, as in `hosts`, of the host behind an exchange; empty if unknown."""
        if self._hosts[0] != self.revision:
            calling = list(map(host_named, self.frames.clients.values()))
            self._hosts = self.revision, hosts_by_speaker(self.speakers, calling)
        return self._hosts[1][exchange.speaker]
