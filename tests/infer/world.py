"""Taps of a host that does not exist: records on several captures, each with clocks of its own, and what truly belongs together."""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

from tests.infer.forms import Form
from tests.kit.bodies import SYSTEM, Answer, Entry, dumped
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.record import Draft, Head, Record
from tui_host.errors import JSON
from tui_host.infer.clock_offsets import SECOND_NS
from tui_host.infer.story import Story

MS = 1_000_000
BEGAN = 1_760_000_000_000_000_000
Asked = tuple[str, str, int]
"""A call: capture, exchange, place in its answer."""
Frame = tuple[str, int]
Held = tuple[tuple[str, str], str, frozenset[tuple[str, str]]]
Pair = tuple[Literal["sent", "told"], Asked, tuple[str, object]]


class Tap:
    """One tap's capture.

    Args:
        identity: Its id.
        boot: Its monotonic clock when the world begins.
        off: By how much its wall clock is wrong.
        drift: By how many parts in a million it goes too fast.
    """

    def __init__(self, world: World, identity: str, *, boot: int = 0, off: int = 0, drift: int = 0) -> None:
        self.id = identity
        self._world = world
        self._boot = boot
        self._off = off
        self._drift = drift
        self._seq = self._exchanges = 0

    def keep(self, draft: Draft) -> int:
        """A record, now."""
        self._seq += 1
        now = self._world.now + self._world.now * self._drift // 1_000_000
        self._world.records.append(
            (
                self._world.now,
                Record(
                    capture=self.id,
                    seq=self._seq,
                    time_ns=BEGAN + now + self._off,
                    mono_ns=self._boot + now,
                    draft=draft,
                ),
            )
        )
        return self._seq

    def exchange(self) -> str:
        """A new exchange's id."""
        self._exchanges += 1
        return str(self._exchanges)


class ModelTap(Tap):
    """The model's side.

    Attributes:
        peer: Who is asked.
    """

    peer = "example"

    def ask(self, form: Form, entries: Sequence[Entry], agent: str = "", system: str = SYSTEM) -> str:
        """A request; gives the exchange's id."""
        identity = self.exchange()
        headers = (("content-type", "application/json"), ("user-agent", agent))
        head = Head(method="POST", url=form.url, headers=headers)
        self.keep(self._draft("request", identity, head=head, direction="out", data=form.request(entries, system)))
        return identity

    def refuse(self, exchange: str, status: int = 429) -> None:
        """A response that is none."""
        self.keep(self._draft("response", exchange, head=Head(status=status)))
        self.keep(self._draft("chunk", exchange, data=b'{"error":{"message":"slow down"}}'))
        self.keep(self._draft("end", exchange, data=Ending(size=1, kept=1).to_bytes()))

    def fail(self, exchange: str) -> None:
        """No response at all."""
        self.keep(self._draft("error", exchange, data=Ending(reason="cut by peer").to_bytes()))

    def answer(self, form: Form, exchange: str, answer: Answer, *, cut: bool = False) -> Generator[int]:
        """A response, chunk by chunk."""
        self.keep(self._draft("response", exchange, head=Head(status=200)))
        chunks = form.response(answer)
        for chunk in chunks[: len(chunks) // 2] if cut else chunks:
            yield 3 * MS
            self.keep(self._draft("chunk", exchange, data=chunk))
        ending = Ending(reason="cut by peer" if cut else "complete")
        self.keep(self._draft(ending.kind, exchange, data=ending.to_bytes()))

    def _draft(self, kind: str, exchange: str, **more: object) -> Draft:
        draft = Draft(wire="llm", kind="chunk", peer=self.peer, direction="in", exchange=exchange)
        return replace(draft, kind=kind, **more)


class ServerTap(Tap):
    """A server's side: one connection, or several where hosts share a tap.

    Args:
        has_no_sessions: What hosts say over HTTP all seems to be of one connection.
    """

    def __init__(self, world: World, identity: str, name: str, *, has_no_sessions: bool = False, **clock: int) -> None:
        super().__init__(world, identity, **clock)
        self.name = name
        self.has_no_sessions = has_no_sessions
        self._ids: dict[str, int] = {}

    def start(self, tools: Sequence[JSON], client: str = "", connection: str = "c1") -> None:
        """The handshake, and the list of tools, two on a page."""
        tools = [{"name": tool} if isinstance(tool, str) else tool for tool in tools]
        self.frame("out", {"id": "i", "method": "initialize", "params": {"clientInfo": {"name": client}}}, connection)
        self.frame("in", {"id": "i", "result": {"capabilities": {}}}, connection)
        pages = [tools[start : start + 2] for start in range(0, len(tools), 2)] or [tools]
        for number, page in enumerate(pages):
            cursor: dict[str, JSON] = {"nextCursor": str(number + 1)} if number + 1 < len(pages) else {}
            asked: dict[str, JSON] = {"params": {"cursor": str(number)}} if number else {}
            self.frame("out", {"id": f"l{number}", "method": "tools/list", **asked}, connection)
            self.frame("in", {"id": f"l{number}", "result": {"tools": [*page], **cursor}}, connection)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, JSON],
        connection: str = "c1",
        meta: Mapping[str, JSON] | None = None,
        **more: JSON,
    ) -> tuple[int, int]:
        """A call's frame: its id and its record."""
        turned: dict[str, JSON] = dict(sorted(arguments.items(), reverse=True))
        params: dict[str, JSON] = {"name": tool, "arguments": turned, **({"_meta": dict(meta)} if meta else {}), **more}
        return self.ask("tools/call", params, connection)

    def ask(self, method: str, params: Mapping[str, JSON], connection: str = "c1") -> tuple[int, int]:
        """A request: its id and its record."""
        identity = self._ids[connection] = self._ids.get(connection, 0) + 1
        return identity, self.frame("out", {"method": method, "params": dict(params), "id": identity}, connection)

    def result(self, identity: int, text: str, *, is_error: bool = False, connection: str = "c1") -> int:
        """A result's frame, of one text."""
        return self.answer(identity, {"content": [{"type": "text", "text": text}], "isError": is_error}, connection)

    def answer(self, identity: int, result: JSON, connection: str = "c1") -> int:
        """Any result's frame."""
        return self.frame("in", {"id": identity, "result": result}, connection)

    def frame(self, direction: Literal["out", "in"], message: Mapping[str, JSON], connection: str = "c1") -> int:
        """Any message."""
        exchange = f"{connection} {message['id']}" if self.has_no_sessions and "id" in message else None
        connection = "c" if self.has_no_sessions else connection
        return self.line(direction, {"jsonrpc": "2.0", **message}, connection, exchange)

    def line(
        self, direction: Literal["out", "in"], value: JSON, connection: str = "c1", exchange: str | None = None
    ) -> int:
        """Whatever stands in one line, a batch too."""
        draft = Draft(wire="mcp", kind="frame", peer=self.name, connection=connection, exchange=exchange)
        return self.keep(replace(draft, direction=direction, data=dumped(value) + b"\n"))


@dataclass
class Made:
    """A call that a model asked for, and what became of it, in true time.

    Attributes:
        host: Whose it is.
        line: Names the connections that it is sent on: several hosts may seem to share them.
        said: Name and arguments as the model wrote them.
        asked_ns: When it had been asked for.
        names_id: Its frames say which call it is.
        by_id: What is told says which call it is of.
        is_in_order: Its host sends the calls of an answer in their order, always and by itself; else in another, or as a person decides.
        frames: What carried it.
        sent_ns: When the first of these was sent.
        came: Its place in the order in which the calls of its answer came to their ends.
        place: Its place among the results that are told.
        words: What is told of it.
        told_ns: When it was told first, 0 if it was not.
        again_ns: When it was last told by the same request, or one like it.
        left_ns: When its answer was dropped for another, 0 if it was not.
        answer: The same for answers of one host that say the same after the same was said; empty if ids tell them apart.
        is_first: Nothing was answered before.
        talk: Names its conversation.
        tries: Those of its frames that were given up, and sent again on the same connection.
        is_twice: To one of these an answer came all the same, like that to the last.
        given_up_ns: When its host waited no longer for its last frame, 0 if an answer came.
        brought: What would be told of what came, if its host had not known that before.
        sent_at: When each of its frames was sent.
        meaning: Server, tool and arguments, whatever its host calls them.
        is_reworded: What is told of it is not what came.
    """

    host: str
    line: str
    said: tuple[str, str]
    asked_ns: int
    names_id: bool
    by_id: bool
    is_in_order: bool
    frames: list[Frame] = field(default_factory=list[Frame])
    sent_ns: int = 0
    came: int = 0
    place: int = 0
    words: str = ""
    told_ns: int = 0
    again_ns: int = 0
    left_ns: int = 0
    answer: str = ""
    is_first: bool = False
    talk: int = 0
    tries: list[Frame] = field(default_factory=list[Frame])
    is_twice: bool = False
    given_up_ns: int = 0
    brought: str = ""
    sent_at: dict[Frame, int] = field(default_factory=dict[Frame, int])
    meaning: tuple[str, str, str] = ("", "", "")
    is_reworded: bool = False

    @property
    def until_ns(self) -> float:
        """When its conversation went on, from its answer or in its place."""
        return self.told_ns or self.left_ns or inf

    @property
    def is_told_nothing(self) -> bool:
        """Whether what is told of it says nothing of what came."""
        return self.brought not in ("", self.words)

    def is_told_as(self, other: Made) -> bool:
        """Whether nothing that is told tells it from another call: the same is, or nothing."""
        return self.words == other.words or not (self.told_ns or other.told_ns)


@dataclass
class World:
    """What happens, in the order of time, and what belongs together.

    Attributes:
        now: True time.
        records: All that was recorded, with the true time.
        truth: What carried each call, and where it was told.
        words: What it was told.
        made: The calls.
        holding: The requests that tell each call, the first and those that hold what was said before, with the words, and the
            exchanges of the answers behind them.
        later: Answers that nobody waits for: when, where, and what.
        is_one_machine: All taps run on one, whose clock they have.
        unasked: Server and tool of the calls that hosts make by themselves.
        unseen: Calls that were asked of a model behind no tap.
    """

    now: int = 0
    records: list[tuple[int, Record]] = field(default_factory=list[tuple[int, Record]])
    truth: set[Pair] = field(default_factory=set[Pair])
    words: dict[tuple[Asked, str, str], str] = field(default_factory=dict[tuple[Asked, str, str], str])
    made: dict[Asked, Made] = field(default_factory=dict[Asked, Made])
    holding: dict[Asked, list[Held]] = field(default_factory=dict[Asked, list[Held]])
    later: list[tuple[int, ServerTap, int, str, str]] = field(
        default_factory=list[tuple[int, ServerTap, int, str, str]]
    )
    taps: int = 0
    is_one_machine: bool = False
    unasked: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    unseen: list[Made] = field(default_factory=list[Made])

    def boot(self, chance: random.Random) -> int:
        """A tap's monotonic clock when the world begins."""
        boot = chance.randrange(1 << 40)
        return 1 << 39 if self.is_one_machine else boot

    def model(self, **more: int) -> ModelTap:
        """A tap before a model."""
        self.taps += 1
        return ModelTap(self, f"llm-{self.taps}", **more)

    def server(self, name: str, *, has_no_sessions: bool = False, **clock: int) -> ServerTap:
        """A tap before a server."""
        self.taps += 1
        return ServerTap(self, f"mcp-{self.taps}", name, has_no_sessions=has_no_sessions, **clock)

    def carried(self, call: Asked, frame: Frame) -> None:
        """This frame carries this call."""
        self.truth.add(("sent", call, frame))
        made = self.made.get(call)
        if made is not None:
            made.sent_ns = made.sent_ns or self.now
            made.frames.append(frame)
            made.sent_at[frame] = self.now

    def told(self, call: Asked, capture: str, exchange: str, text: str) -> None:
        """This request tells the call's result, in these words."""
        self.truth.add(("told", call, (capture, exchange)))
        self.words[call, capture, exchange] = text
        made = self.made.get(call)
        if made is not None:
            made.words, made.told_ns, made.again_ns = text, made.told_ns or self.now, self.now

    def held(self, call: Asked, capture: str, exchange: str, text: str, behind: frozenset[tuple[str, str]]) -> None:
        """This request tells the call's result, maybe as others did before it."""
        self.holding.setdefault(call, []).append(((capture, exchange), text, behind))

    def run(self, *tasks: Generator[int]) -> None:
        """Let several go on at once, each until it says for how long it waits."""
        waiting = [(self.now, number, task) for number, task in enumerate(tasks)]
        heapq.heapify(waiting)
        while waiting:
            self.now, number, task = heapq.heappop(waiting)
            delay = next(task, None)
            if delay is not None:
                heapq.heappush(waiting, (self.now + max(delay, 1), number, task))

    def start_later(self, tap: Tap, at: int) -> None:
        """Take away what one tap recorded before some time, and what was asked of a model then: that tap was not there yet."""
        late = {record.draft.exchange for now, record in self.records if record.capture == tap.id and now < at}
        unseen: set[tuple[str, object]] = (
            {(tap.id, exchange) for exchange in late} if isinstance(tap, ModelTap) else set()
        )
        seen = [
            (now, record)
            for now, record in self.records
            if record.capture != tap.id or (now >= at and (tap.id, record.draft.exchange) not in unseen)
        ]
        unseen |= {(record.capture, record.seq) for _, record in self.records if record.draft.kind == "frame"}
        unseen -= {(record.capture, record.seq) for _, record in seen}
        self.records = seen
        self.truth = {pair for pair in self.truth if pair[1][:2] not in unseen and pair[2] not in unseen}
        self.unseen += [made for asked, made in self.made.items() if asked[:2] in unseen]
        self.made = {asked: made for asked, made in self.made.items() if asked[:2] not in unseen}
        for made in self.made.values():
            made.frames = [frame for frame in made.frames if frame not in unseen]
        self._tell_later(unseen)

    def _tell_later(self, unseen: AbstractSet[tuple[str, object]]) -> None:
        """Let requests tell what they hold behind which no answer was seen: as far as taps saw they go on from there."""
        for call in self.made:
            for where, text, behind in self.holding.get(call, ()):
                if where not in unseen and behind <= unseen:
                    self.truth.add(("told", call, where))
                    self.words[call, *where] = text

    def cut(self, *captures: str) -> None:
        """Let taps tell whole seconds alone, as many logs do."""
        for number, (now, record) in enumerate(self.records):
            if record.capture in captures:
                at_ns = record.time_ns // SECOND_NS * SECOND_NS
                self.records[number] = now, replace(record, time_ns=at_ns, mono_ns=at_ns)

    def story(self, *, is_timed: bool = True) -> Story:
        """What is found out, also where what was recorded stands in its order and no more is known of when that was."""
        story = Story()
        if not is_timed:
            for _, record in self.records:
                story.feed(replace(record, time_ns=BEGAN, mono_ns=None))
            return story
        ordered = sorted((record for _, record in self.records), key=story.clock.at_ns)  # each on the clock that it has
        for record in ordered:
            story.feed(record)
        return story


def found_in(story: Story, words: Mapping[tuple[Asked, str, str], str] | None = None) -> set[Pair]:
    """What was joined, in the form of the truth; if words are given, a place counts only where the call's own are told."""
    found: set[Pair] = set()
    for joined in story.joined():
        asked = joined.call
        key = (asked.capture, asked.exchange, asked.number)
        found |= {("sent", key, (frame.capture, frame.seq)) for frame in joined.sent}
        for told in joined.results:
            wanted = (words or {}).get((key, told.capture, told.exchange), "").strip()
            is_own = wanted in told.text or json.dumps(wanted, ensure_ascii=False)[1:-1] in told.text
            found.add(("told", key, (told.capture, told.exchange if is_own else f"{told.exchange}: {told.text}")))
    return found
