"""What a tap is, as some of its records tell: before what it stands, which hosts it belongs to, which models are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tui_host.capture.record import Record
from tui_host.capture.store.tap_summary import connections_of, requests_of
from tui_host.infer.asking.host_names import agent_of, asks_no_model, host_named, is_host, maker_of
from tui_host.infer.asking.model_exchange import asking_of
from tui_host.infer.asking.question import FirstQuestion
from tui_host.infer.asking.request_reader import Hearing
from tui_host.infer.asking.speakers import NATIVE, Speaking, hosts_of, protocols_of, speaking_in
from tui_host.infer.story import Story
from tui_host.infer.tapped_frames import client_in

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store

SEARCHED = 10_000
"""Records among which a tap's calls are looked for where it may be of several hosts."""
FIRST = 500
"""Records that are looked at, at most: hosts ask for lists of models, and for health, before they ask a model."""
_TELLING = 16
"""And so many frames, or records of exchanges with a model, tell what they can tell."""
_HEADS, _BODIES = 32, 8
"""So many of the requests behind these are looked at, who sends them and what they say, before it is ever fewer of them: another
host may use the same tap. What comes from an agent that was not heard before is looked at whole."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What a tap is.

    Attributes:
        kind: `llm`, `stdio` or `http`; empty where nothing has passed yet.
        peer: What it stands before, as it calls it; empty likewise.
        spoken: What requests told of who speaks, in order; nothing where no model is asked.
        clients: What the clients of servers call themselves.
        offered: The names of the tools that a model is offered by the vendor's API.
        tools: Server and own name of the tools that a server has.
        question: The first words of what a person asked the model first, without secrets; empty where that is not known.
    """

    kind: str = ""
    peer: str = ""
    spoken: Sequence[Speaking] = ()
    clients: Sequence[str] = ()
    offered: Sequence[str] = ()
    tools: frozenset[tuple[str, str]] = frozenset()
    question: str = ""

    @cached_property
    def hosts(self) -> Sequence[str]:
        """Whose it is, as they say themselves."""
        return hosts_of(self.spoken, self.clients)

    @cached_property
    def known_hosts(self) -> frozenset[str]:
        """Those of them that are known by name, and not what hosts are made with."""
        return frozenset(filter(is_host, self.hosts))

    @cached_property
    def taught(self) -> frozenset[str]:
        """The tool protocols that a host teaches its model itself."""
        return frozenset(protocols_of(self.spoken)) - {NATIVE}

    @cached_property
    def voice(self) -> frozenset[str]:
        """What those call themselves who ask a model here, and what they are made with; empty where one is known by name, or says nothing."""
        if self.known_hosts:
            return frozenset()
        return frozenset(filter(None, (maker_of(each.agent[0]) or each.host for each in self.spoken)))

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is known of it, as nothing has passed yet."""
        return not (self.kind or self.spoken or self.clients or self.offered or self.tools)

    @property
    def is_known(self) -> bool:
        """Whether anything tells it from taps of other hosts."""
        return bool(self.known_hosts or self.taught)

    @cached_property
    def is_asking(self) -> bool:
        """Whether it is of something that asks a model: a model was asked here, or somebody who may ask one uses the server."""
        return bool(self.spoken) or any(not asks_no_model(host_named(each)) for each in self.clients)

    @property
    def signs(self) -> tuple[object, ...]:
        """All by which it is told from taps of other hosts."""
        return self.known_hosts, self.taught, self.is_asking, self._is_by_hand

    def is_of_another_host(self, other: About) -> bool:
        """Whether two taps are known to share no host.

        By their names; as each teaches a model its own tool protocol; or as a person alone calls the tools of one.
        """
        if (self._is_by_hand and other.is_asking) or (other._is_by_hand and self.is_asking):
            return not self.known_hosts & other.known_hosts
        return any(
            one and two and not one & two
            for one, two in ((self.known_hosts, other.known_hosts), (self.taught, other.taught))
        )

    @property
    def _is_by_hand(self) -> bool:
        return bool(self.clients) and not self.is_asking


class Looking:
    """A look into a capture's first records, which goes on where it stopped while there are too few of them.

    Args:
        capture: Which.

    Attributes:
        about: What they tell so far.
    """

    def __init__(self, capture: str = "") -> None:
        self.about = About()
        self._capture = capture
        self._story = Story()
        self._hearing = Hearing()
        self._question = FirstQuestion()
        self._sessions: set[str] = set()
        self._seen = self._asked = self._behind = self._count = self._telling = self._searched = 0

    @property
    def is_done(self) -> bool:
        """Whether the next records would tell no more."""
        return self._is_told or self._telling >= _TELLING or self._count >= FIRST

    @property
    def _is_told(self) -> bool:
        """Whether they say who the host is, and of which tools its model or this server is."""
        story = self._story
        is_told = bool(story.frames.tools) or any(said.asking.offered for said in story.exchanges)
        return is_told and bool(hosts_of(story.spoken, story.frames.clients.values()))

    def look(self, store: Store) -> About:
        """What is told by now. Blocks.

        Raises:
            StoreError: The file cannot be read.
        """
        if not self.is_done:
            limit = FIRST - self._count
            self.feed(store.records(capture=self._capture, after=self._seen, limit=limit), store.redactor.text)
        if self.is_done and self.about.kind == "llm":
            self._look_at_requests(store)
        elif self.is_done and self.about.kind == "http":
            self._look_at_clients(store)
        return self.about

    def _look_at_requests(self, store: Store) -> None:
        """Look at what was asked since, by whatever host."""
        new = requests_of(store, self._capture, self._asked)
        if not new:
            return
        first, self._asked = self._behind, new[-1]
        self._behind += len(new)
        opening = self._question.left
        spoken, offered = dict.fromkeys(self.about.spoken), dict.fromkeys(self.about.offered)
        agents = {each.agent for each in spoken}
        for number, seq in enumerate(new):
            is_sampled = seq == new[-1] or _is_sample(first + number, _HEADS)
            record = store.record(self._capture, seq) if is_sampled or number < opening else None
            head = None if record is None else record.draft.head
            if record is None or head is None:
                continue
            if number >= opening and agent_of(head.headers) in agents and not _is_sample(first + number, _BODIES):
                continue
            asking = asking_of(record, record.time_ns, self._hearing)
            if asking is None or not asking.messages:
                continue
            if number < opening:
                self._question.hear(asking, store.redactor.text)
            speaking = speaking_in(asking)
            agents.add(speaking.agent)
            spoken.setdefault(speaking)
            offered.update(dict.fromkeys(asking.offered))
        question = self._question.words
        self.about = replace(self.about, spoken=list(spoken), offered=list(offered), question=question)

    def _look_at_clients(self, store: Store) -> None:
        """Look at who has connected since."""
        opened = connections_of(store, self._capture)
        new = [seq for number, seq in enumerate(opened) if seq > self._asked and _is_sample(number, _HEADS)]
        if not new:
            return
        self._asked = new[-1]
        found = (store.record(self._capture, seq) for seq in new)
        clients = (client_in(record.draft.data) for record in found if record is not None)
        self.about = replace(self.about, clients=list(dict.fromkeys((*self.about.clients, *filter(None, clients)))))

    def calls(self, store: Store) -> Story:
        """What it said so far, further than to tell what it is: for the calls in it. Blocks.

        Raises:
            StoreError: The file cannot be read.
        """
        if not self.is_done:
            self.look(store)  # what comes first tells what it is
        if self.is_done and self._searched < SEARCHED:
            limit = SEARCHED - self._searched
            for record in store.records(capture=self._capture, after=self._seen, limit=limit):
                self._story.feed(record)
                self._note_session(record)
                self._seen = record.seq
                self._searched += 1
        return self._story

    def is_of_one_client(self, connection: str) -> bool:
        """Whether all that was said on a connection is for sure of one client: it has the server's input for itself, or a session."""
        return self.about.kind == "stdio" or connection in self._sessions or len(self.about.known_hosts) == 1

    def _note_session(self, record: Record) -> None:
        head = record.draft.head
        if record.draft.wire == "mcp" and head is not None and head.value("mcp-session-id"):
            self._sessions.add(record.draft.connection or "")

    def feed(self, records: Iterable[Record], redact: Callable[[str], str] = str) -> None:
        """The next records; no more are taken than needed.

        Args:
            records: They.
            redact: What every text that is told passes.
        """
        story, kind, peer = self._story, self.about.kind, self.about.peer
        for record in records:
            story.feed(record)
            self._note_session(record)
            draft = record.draft
            said = story.talks.said.get((record.capture, draft.exchange or "")) if draft.kind == "request" else None
            if said is not None:
                self._question.hear(said.asking, redact)
            self._seen = record.seq
            self._count += 1
            self._telling += draft.kind == "frame" or bool(story.exchanges)
            if not kind and draft.wire != "host":
                kind = "llm" if draft.wire == "llm" else "http" if draft.exchange is not None else "stdio"
                peer = draft.peer
            if self._is_told or self._telling >= _TELLING:
                break
        self._asked = self._seen
        self.about = About(
            kind=kind,
            peer=peer,
            spoken=story.spoken,
            clients=list(dict.fromkeys(story.frames.clients.values())),
            offered=list(dict.fromkeys(name for said in story.exchanges for name in said.asking.offered)),
            tools=frozenset(story.frames.tools),
            question=self._question.words,
        )


def _is_sample(number: int, often: int) -> bool:
    """Whether one of many is looked at: each of so many at first, then ever fewer. It stays so however many come behind it."""
    return number % (1 << (number // often).bit_length()) == 0


def about(first: Iterable[Record]) -> About:
    """What the first records of a tap tell."""
    looking = Looking()
    looking.feed(first)
    return looking.about
