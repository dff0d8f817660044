"""What one host said on all wires that taps recorded of it, on one clock: in turns and steps, with the calls joined across them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tui_host.capture.link import Link, Span
from tui_host.capture.record import MISSING, Place, Record
from tui_host.capture.visible import line
from tui_host.capture.wall_clock import WallClock
from tui_host.infer.alias_table import Naming
from tui_host.infer.asking.conversations import Key, Said, Talks
from tui_host.infer.asking.injected import Injections
from tui_host.infer.asking.model_exchange import asking_of
from tui_host.infer.asking.request_reader import Hearing
from tui_host.infer.asking.speakers import Own, Speaking, hosts_asking, hosts_of, own_hosts, speaking_in
from tui_host.infer.call_joining import TOLD_OTHERWISE, Joined, Joining
from tui_host.infer.call_steps import Steps
from tui_host.infer.call_values import Asked
from tui_host.infer.clock_offsets import Cuts
from tui_host.infer.tapped_frames import Frames

_WORDS = 200


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
        unasked: How many answers belong to no request that was captured.
    """

    def __init__(self, session: str = "") -> None:
        self.clock = WallClock()
        self.talks = Talks()
        self.frames = Frames()
        self.revision = self.unasked = 0
        self._unasked: set[Key] = set()
        self._at_ns = self._last_ns = 0
        self._session = session
        self._places: dict[tuple[int, int], Place] = {}
        self._hearing = Hearing()
        naming = Naming(self.talks, self.frames)
        self._steps = Steps(self.talks, self.frames, naming)
        self._cuts = Cuts()
        self._joining = Joining(self.talks, self.frames, naming, self._cuts, self.clock)
        self._injections = Injections()
        self._injected: list[Found] = []
        self._joined: tuple[int, tuple[Joined, ...]] = (-1, ())
        self._asking: tuple[int, Mapping[Speaking, str]] = (-1, {})

    def feed(self, record: Record) -> Record:
        """Take in the next record, and return the record with its time on the shared clock and its place in the story."""
        draft, place = record.draft, self.take(record)
        draft = draft if draft.place == place else replace(draft, place=place)
        mono_ns = None if record.mono_ns is None else self._at_ns
        return Record(capture=record.capture, seq=record.seq, time_ns=record.time_ns, mono_ns=mono_ns, draft=draft)

    def take(self, record: Record) -> Place:
        """Take in the next record, and return its place in the story."""
        at_ns = self.clock.at_ns(record)
        if record.mono_ns is None:  # a record without a time came after all records before it
            at_ns = max(at_ns, self._last_ns + 1)
        else:
            self._cuts.hear((record.capture, record.draft.peer), at_ns)
        self._at_ns = at_ns
        self._last_ns = max(self._last_ns, at_ns)
        draft = record.draft
        said: Said | None = None
        if draft.wire == "llm" and draft.exchange is not None:
            said = self._exchange(record, at_ns)
        elif draft.kind == "frame":
            before = self.frames.revision
            call = self.frames.feed(record, at_ns)
            self.revision += self.frames.revision - before
            said = None if call is None else self._steps.of(call)
        return self._place(said)

    def _exchange(self, record: Record, at_ns: int) -> Said | None:
        """The next record of an exchange; gives it in its conversation, None where it is none with a model that can be read."""
        key = (record.capture, record.draft.exchange or "")
        if record.draft.kind == "request" and record.draft.malformed == MISSING:
            self._unasked.add(key)
        elif record.draft.kind == "response" and key in self._unasked:
            self._unasked.discard(key)
            self.unasked += 1
        if record.draft.kind == "request":
            asking = asking_of(record, at_ns, self._hearing)
            if asking is None or not (asking.messages or asking.is_unheard):
                return None
            self._injected += self._found_injected(self.talks.add(asking))
        said = self.talks.said.get(key)
        if said is None:
            return None
        said.asking.feed(record, at_ns)
        self.revision += 1
        if said.asking.is_over:
            self.talks.learn(said.asking)
        return said

    def _found_injected(self, said: Said) -> Iterator[Found]:
        """What a tool protocol put into a request, as links."""
        asking, place = said.asking, self._place(said)
        capture, exchange = asking.key
        for start, end, words in self._injections.found_in(
            asking.protocol, asking.body, asking.system_pieces, asking.messages
        ):
            span = Span(exchange=exchange, side="request", start=start, end=end)
            yield Found(capture=capture, place=place, link=Link(relation="injected", call="", span=span, words=words))

    def _place(self, said: Said | None) -> Place:
        """Return the place of an exchange; of none that of the session alone."""
        key = (0, 0) if said is None else (said.turn, said.step)
        if key not in self._places:
            self._places[key] = Place(session=self._session or None, turn=key[0] or None, step=key[1] or None)
        return self._places[key]

    def before(self, record: Record) -> Key | None:
        """The exchange that asked before the one of a record in its conversation; None where that is the first, or none."""
        said = self.talks.said.get((record.capture, record.draft.exchange or ""))
        return None if said is None else said.before

    # What is found.

    def joined(self) -> Sequence[Joined]:
        """All calls that were asked for, in order, with the frames and places that are theirs without a doubt."""
        if self._joined[0] != self.revision:
            self._joined = self.revision, tuple(self._joining.joined())
        return self._joined[1]

    def links(self) -> Iterator[Found]:
        """The same as links, and what the host put into its requests.

        What was asked, and what is told by an id, is read, as is which frame carried it where that names the call; else it is
        inferred, and known by value.
        """
        yield from self._injected
        for joined in self.joined():
            asked = joined.asked
            said = self.talks.said[asked.capture, asked.exchange]
            place = replace(self._place(said), call=asked.key)
            bare = Link(relation="asked", call=asked.key, span=Span(), server=joined.server, tool=joined.tool)
            if said.asking.is_over:  # else its span may still grow
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
                words = f"{TOLD_OTHERWISE}: {told.text}" if joined.is_told_otherwise else told.text
                link = replace(bare, relation="told", span=span, known=known, words=line(words, _WORDS))
                yield Found(capture=told.capture, place=place, link=link)

    # Who it is.

    @property
    def spoken(self) -> Sequence[Speaking]:
        """What the exchanges tell of who speaks, each different one once, in order."""
        return list(dict.fromkeys(speaking_in(said.asking) for said in self.talks.said.values()))

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts that spoke, as they call themselves."""
        return hosts_of(self.spoken, self.frames.clients.values(), self.own)

    @property
    def own(self) -> Own:
        """The hosts of those that ask and do not say who they are, as far as that was found."""
        return own_hosts(self.spoken, self.frames.clients.values())

    def host_of(self, said: Said) -> str:
        """The host that asked, by the name that it has among the hosts; empty where that is not known."""
        if self._asking[0] != self.revision:
            self._asking = self.revision, hosts_asking(self.spoken, self.own)
        return self._asking[1][speaking_in(said.asking)]

    @property
    def whose(self) -> Mapping[int, str]:
        """Whose each turn is, as far as that is known; nothing where all is of one host."""
        if len(self.hosts) < 2:
            return {}
        hosts: dict[int, str] = {}
        for said in self.exchanges:
            if not said.is_beside and (host := self.host_of(said)):
                hosts.setdefault(said.turn, host)
        return hosts

    @property
    def exchanges(self) -> Sequence[Said]:
        """The exchanges, in order."""
        return list(self.talks.said.values())


def _span_of(asked: Asked) -> Span:
    spans = asked.spans or ((0, 0),)
    return Span(exchange=asked.exchange, start=spans[0][0], end=spans[-1][1], ranges=spans if len(spans) > 1 else ())
