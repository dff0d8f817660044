"""What one host said on all wires that taps recorded of it, on one clock: in turns and steps, with the calls joined across them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from tui_host.capture.link import Link, Span
from tui_host.capture.record import Place, Record
from tui_host.capture.visible import line
from tui_host.capture.wall import WallClock
from tui_host.chat.infer.candidates import Candidate
from tui_host.chat.infer.clients import Clients
from tui_host.chat.infer.clocks import DOUBTFUL_NS
from tui_host.chat.infer.exchanges import Asking, asking_of
from tui_host.chat.infer.frames import Frames
from tui_host.chat.infer.hearing import Hearing
from tui_host.chat.infer.injected import Injections
from tui_host.chat.infer.matching import match
from tui_host.chat.infer.names import names_server, tools_named
from tui_host.chat.infer.recognise import asks_no_model, host_named, is_host
from tui_host.chat.infer.speaking import Speaking, hosts_of, speaking_in
from tui_host.chat.infer.talks import Key, Said, Talks
from tui_host.chat.infer.values import Asked, FrameKey, Line, Sent, Told

_WORDS = 200
_LOOKED_BACK = 50
"""Exchanges among which the one that a frame belongs to is looked for, to put it under its heading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A call with all that is known of it.

    Attributes:
        asked: The call.
        server: The server called, as its tap has it; empty if that is not known.
        tool: The tool's own name, else the name as the model wrote it.
        sent: The frames that carried it.
        told: Where the model is told its result.
        rivals: The frames that may have carried it, where nothing tells which one did, or whose they are.
    """

    asked: Asked
    server: str
    tool: str
    sent: tuple[Sent, ...] = ()
    told: tuple[Told, ...] = ()
    rivals: tuple[Sent, ...] = ()

    @property
    def is_inferred(self) -> bool:
        """Whether a frame carries it by what it says alone, and names no call."""
        return not all(map(self.is_named_in, self.sent))

    def is_named_in(self, sent: Sent) -> bool:
        """Whether a frame has the model's id of the call."""
        return self.asked.wire_id in sent.ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A link that was found, and where its bytes are."""

    capture: str
    place: Place
    link: Link


class Story:
    """Takes in the records of several captures, in the order of time, and finds out what belongs together.

    Args:
        session: The id that the records are to have as their session's.

    Attributes:
        clock: The one that all captures share.
        talks: The conversations.
        frames: The servers' side.
        revision: Grows with everything that may change a link.
    """

    def __init__(self, session: str = "") -> None:
        self.clock = WallClock()
        self.talks = Talks()
        self.frames = Frames()
        self.revision = 0
        self._last_ns = 0
        self._session = session
        self._hearing = Hearing()
        self._exchanges: dict[Key, Asking] = {}
        self._asking: set[str] = set()
        self._nowhere = Place(session=session or None)
        self._places: dict[FrameKey, Place] = {}
        self._carried: dict[tuple[Key, int], FrameKey] = {}
        self._injections = Injections()
        self._injected: list[Found] = []
        self._joined: tuple[int, tuple[Joined, ...]] = (-1, ())
        self._named: tuple[int, dict[str, frozenset[tuple[str, str]]]] = (0, {})

    def feed(self, record: Record) -> Record:
        """Take in the next record; gives it with its time on the shared clock, and its place in the story."""
        at_ns = self.clock.at_ns(record)
        if record.mono_ns is None:  # what tells no time came after all before it, and that is all that is known of it
            at_ns = max(at_ns, self._last_ns + 1)
        self._last_ns = max(self._last_ns, at_ns)
        draft = record.draft
        place = self._nowhere
        if draft.wire == "llm" and draft.exchange is not None:
            place = self._exchange(record, at_ns) or place
        elif draft.kind == "frame":
            before = self.frames.revision
            call = self.frames.feed(record, at_ns)
            self.revision += self.frames.revision - before
            place = place if call is None else self._place_of_call(call)
        draft = draft if draft.place == place else replace(draft, place=place)
        mono_ns = None if record.mono_ns is None else at_ns
        return Record(capture=record.capture, seq=record.seq, time_ns=record.time_ns, mono_ns=mono_ns, draft=draft)

    def _exchange(self, record: Record, at_ns: int) -> Place | None:
        key = (record.capture, record.draft.exchange or "")
        if record.draft.kind == "request":
            asking = asking_of(record, at_ns, self._hearing)
            if asking is None or not (asking.messages or asking.is_unheard):
                return None
            self._exchanges[key] = asking
            self._asking.add(record.capture)
            self.talks.add(asking)
            place = self._place(key)
            for start, end, words in self._injections.found_in(
                asking.protocol, asking.body, asking.system_pieces, asking.messages
            ):
                span = Span(exchange=key[1], side="request", start=start, end=end)
                link = Link(relation="injected", call="", span=span, words=words)
                self._injected.append(Found(capture=key[0], place=place, link=link))
        asking = self._exchanges.get(key)
        if asking is None:
            return None
        asking.feed(record, at_ns)
        self.revision += 1
        if asking.is_over:
            self.talks.learn(asking)
        return self._place(key)

    def _place(self, key: Key) -> Place:
        said = self.talks.said[key]
        return Place(session=self._session or None, turn=said.turn, step=said.step)

    def _place_of_call(self, call: FrameKey) -> Place:
        """The turn and step that seem to have asked for a call; of its answer the same."""
        place = self._places.get(call)
        if place is None:
            place = self._places[call] = self._step_of(self.frames.sent[call])
        return place

    def _step_of(self, sent: Sent) -> Place:
        client = self._client_of(sent)
        recent = self._recent(client)
        if sent.mono_ns is None:  # all that was said may stand before it in the file: calls are taken in their order
            recent = reversed(list(recent))
        for asking in recent:
            if self._may_still_send(asking.key, sent) and self._carries(asking, sent):
                return self._place(asking.key)
        # What was asked may not be recorded to its end yet, or the host may have changed it: while it is at that.
        last = next(self._recent(client), None)
        if (
            last is not None
            and sent.mono_ns is not None
            and last.is_at_work(sent.at_ns)
            and self._may_still_send(last.key, sent)
        ):
            is_its_host = is_host(client) and last.host == client
            if is_its_host or last.may_ask_for(sent.server, sent.tool, self._listed(sent.server)):
                return self._place(last.key)
        return self._nowhere

    def _may_still_send(self, key: Key, sent: Sent) -> bool:
        """Whether a conversation had not gone on from an answer when a call was sent, as far as clocks agree."""
        until = self.talks.until(key)
        return until is None or sent.at_ns <= until + DOUBTFUL_NS

    def _carries(self, asking: Asking, sent: Sent) -> bool:
        """Whether a frame is what an answer asks for, and no frame before it was answered as that."""
        alike = [
            (asking.key, number)
            for number, (name, arguments) in enumerate(asking.meant())
            if arguments == sent.arguments and asking.means(name, sent.server, sent.tool, self._listed(sent.server))
        ]
        free = [call for call in alike if call not in self._carried]
        open_ = [
            call for call in alike if call in self._carried and self.frames.sent[self._carried[call]].answer is None
        ]
        for call in (*free, *open_)[:1]:
            self._carried[call] = sent.key
            return True
        return False

    def _recent(self, client: str) -> Iterator[Asking]:
        """The last exchanges, the newest first, save those of another host than a client's."""
        for said in islice(reversed(self.talks.said.values()), _LOOKED_BACK):
            host = said.asking.host
            if host == client or not (is_host(host) and is_host(client)):
                yield said.asking

    # What is found.

    def joined(self) -> Sequence[Joined]:
        """All calls that were asked for, in order, with the frames and places that are theirs without a doubt."""
        if self._joined[0] != self.revision:
            self._joined = self.revision, tuple(self._join())
        return self._joined[1]

    def _join(self) -> Iterator[Joined]:
        asked: list[Asked] = []
        told: dict[str, list[Told]] = {}
        candidates: list[Candidate] = []
        names = {line: host_named(name) for line, name in self.frames.clients.items()}
        connections = self._connections(names)
        for key, said in self.talks.said.items():
            calls = said.asking.calls()
            asked += calls
            for call, place in self.talks.told(key):
                told.setdefault(call.key, []).append(place)
            if not self.talks.is_left(key):
                candidates += self._candidates(key, calls, told, connections[said.asking.host])
        clients = Clients(names, self.frames.peers)
        matched = match(candidates, list(self.frames.sent.values()), clients)
        rivals: dict[str, list[Sent]] = {}
        for frame, calls in matched.doubtful.items():
            for call in calls:
                rivals.setdefault(call, []).append(self.frames.sent[frame])
        tools = {each.asked.key: each.tools for each in candidates}
        for call in asked:
            sent = matched.frames.get(call.key, ())
            place = matched.told.get(call.key, call.key)
            named = [each for each in tools.get(call.key, ()) if names_server(call.name, *each)]
            server, tool = (sent[0].server, sent[0].tool) if sent else named[0] if len(named) == 1 else ("", call.name)
            places = tuple(told.get(place or "", ()))
            rival = tuple(rivals.get(call.key, ()))
            yield Joined(asked=call, server=server, tool=tool, sent=sent, told=places, rivals=rival)

    def _connections(self, names: Mapping[Line, str]) -> Mapping[str, frozenset[Line]]:
        """The connections on which each host that asks may have its calls sent: who says the same name to both sides has its own alone."""
        clients = {line: names.get(line, "") for line in self.frames.peers}
        asking = {said.asking.host for said in self.talks.said.values()}
        own = {host for host in asking.intersection(clients.values()) if is_host(host)}

        def may_be(host: str, client: str) -> bool:
            if asks_no_model(client) or (is_host(host) and is_host(client)):
                return host == client
            return len(asking) == 1 or not {host, client} & own  # whatever is not named may be of the only one

        return {host: frozenset(line for line, client in clients.items() if may_be(host, client)) for host in asking}

    def _client_of(self, sent: Sent) -> str:
        """The host that sent a frame, as it calls itself."""
        return host_named(self.frames.clients.get((sent.capture, sent.connection), ""))

    def _candidates(
        self,
        key: Key,
        calls: Sequence[Asked],
        told: Mapping[str, Sequence[Told]],
        connections: frozenset[tuple[str, str]],
    ) -> Iterator[Candidate]:
        until = self.talks.until(key)
        first_told = {call.key: next(iter(told.get(call.key, ())), None) for call in calls}
        unnamed = [each.text for each in first_told.values() if each is not None and not each.by_id]
        for call, (name, arguments) in zip(calls, self._exchanges[key].meant(), strict=True):
            first = first_told[call.key]
            yield Candidate(
                asked=call,
                arguments=arguments,
                tools=self._tools_named(name, self._exchanges[key]),
                talk=self.talks.said[key].talk,
                agent=(key[0], self._exchanges[key].host, self._exchanges[key].agent),
                connections=connections,
                until_ns=until,
                told=first,
                beside=tuple(text for text in unnamed if first is not None and text != first.text),
            )

    def _tools_named(self, name: str, asking: Asking) -> frozenset[tuple[str, str]]:
        """Server and own name of the tools that a name in an answer may stand for, as far as tools are known."""
        known = self.frames.tools
        if self._named[0] != len(known):
            self._named = len(known), {}
        named = self._named[1]
        if name not in named:
            named[name] = tools_named(name, known)
        return frozenset(
            (server, tool) for server, tool in named[name] if asking.means(name, server, tool, self._listed(server))
        )

    def _listed(self, server: str) -> Mapping[str, str] | None:
        """What a server says of its tools; None where it has no name: a tap, which has, stands before one peer, and a file before any."""
        if not self._asking.isdisjoint(self.frames.captures.get(server, ())):
            return None
        return self.frames.listed.get(server, {})

    def links(self) -> Iterator[Found]:
        """The same as links, and what the host put into its requests.

        What was asked, and what is told by an id, is read, as is which frame carried it where that names the call; else it is
        inferred, and known by value.
        """
        yield from self._injected
        for joined in self.joined():
            asked = joined.asked
            place = self._place((asked.capture, asked.exchange))
            place = replace(place, call=asked.key)
            bare = Link(relation="asked", call=asked.key, span=Span(), server=joined.server, tool=joined.tool)
            if self._exchanges[asked.capture, asked.exchange].is_over:  # else its span may still grow
                link = replace(bare, span=_span_of(asked), words=line(asked.arguments, _WORDS))
                yield Found(capture=asked.capture, place=place, link=link)
            for sent in joined.sent:
                known = "id" if joined.is_named_in(sent) else "value"
                link = replace(bare, relation="sent", span=Span(seq=sent.seq), known=known)
                yield Found(capture=sent.capture, place=place, link=link)
                if sent.answer is not None:
                    link = replace(bare, relation="answered", span=Span(seq=sent.answer.seq), known=known)
                    yield Found(capture=sent.capture, place=place, link=link)
            for told in joined.told:
                span = Span(exchange=told.exchange, side="request", start=told.start, end=told.end)
                known = "id" if told.by_id else "value"
                link = replace(bare, relation="told", span=span, known=known, words=line(told.text, _WORDS))
                yield Found(capture=told.capture, place=place, link=link)

    # Who it is.

    @property
    def spoken(self) -> Sequence[Speaking]:
        """What the exchanges tell of who speaks, each different one once, in order."""
        return list(dict.fromkeys(speaking_in(said.asking) for said in self.talks.said.values()))

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts that spoke, as they call themselves."""
        return hosts_of(self.spoken, self.frames.clients.values())

    @property
    def exchanges(self) -> Sequence[Said]:
        """The exchanges, in order."""
        return list(self.talks.said.values())


def _span_of(asked: Asked) -> Span:
    spans = asked.spans or ((0, 0),)
    return Span(exchange=asked.exchange, start=spans[0][0], end=spans[-1][1], ranges=spans if len(spans) > 1 else ())
