"""Taps of a host that does not exist: records on several captures, each with clocks of its own, and what truly belongs together."""

from __future__ import annotations

import heapq
import json
from collections.abc import Container, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tests.infer.forms import Form
from tests.kit.bodies import SYSTEM, Answer, Entry, dumped
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.link import Known
from tui_host.capture.record import Head, Record
from tui_host.errors import JSON
from tui_host.infer.story import Story

MS = 1_000_000
BEGAN = 1_760_000_000_000_000_000
Asked = tuple[str, str, int]
"""A call: capture, exchange, place in its answer."""
Frame = tuple[str, int]
Work = Generator[int, None, object]
Pair = tuple[Literal["sent", "told"], Asked, tuple[str, object]]
CERTAIN = frozenset[Known]({"id", "value"})
MAYBE = frozenset[Known]({"maybe"})


class Tap:
    """One tap's capture, and by how much its wall clock is wrong."""

    def __init__(self, world: World, identity: str, *, off: int = 0) -> None:
        self.id = identity
        self._world = world
        self._off = off
        self._seq = self._exchanges = 0

    def keep(self, draft: Record) -> int:
        self._seq += 1
        now = self._world.now
        times = {"time_ns": BEGAN + now + self._off, "mono_ns": now}
        self._world.records.append((self._world.now, replace(draft, capture=self.id, seq=self._seq, **times)))
        return self._seq

    def exchange(self) -> str:
        self._exchanges += 1
        return str(self._exchanges)


class ModelTap(Tap):
    """The model's side; `peer` is who is asked."""

    peer = "example"

    def ask(self, form: Form, entries: Sequence[Entry], agent: str = "", system: str = SYSTEM) -> str:
        identity = self.exchange()
        head = Head(method="POST", url=form.url, headers=(("content-type", "application/json"), ("user-agent", agent)))
        self._draft("request", identity, head=head, direction="out", data=form.request(entries, system))
        return identity

    def refuse(self, exchange: str, status: int = 429) -> None:
        """A response that is none."""
        self._draft("response", exchange, head=Head(status=status))
        self._draft("chunk", exchange, data=b'{"error":{"message":"slow down"}}')
        self._draft("end", exchange, data=Ending(size=1, kept=1).to_bytes())

    def fail(self, exchange: str) -> None:
        self._draft("error", exchange, data=Ending(reason="cut by peer").to_bytes())

    def answer(self, form: Form, exchange: str, answer: Answer, *, cut: bool = False) -> Generator[int]:
        self._draft("response", exchange, head=Head(status=200))
        chunks = form.response(answer)
        for chunk in chunks[: len(chunks) // 2] if cut else chunks:
            yield 3 * MS
            self._draft("chunk", exchange, data=chunk)
        ending = Ending(reason="cut by peer" if cut else "complete")
        self._draft(ending.kind, exchange, data=ending.to_bytes())

    def _draft(self, kind: str, exchange: str, **more: object) -> None:
        draft = Record(wire="llm", kind="chunk", peer=self.peer, direction="in", exchange=exchange)
        self.keep(replace(draft, kind=kind, **more))


class ServerTap(Tap):
    """A server's side: one connection, or several where hosts share a tap. Over HTTP without sessions all seems to be of one."""

    def __init__(self, world: World, identity: str, name: str, *, has_no_sessions: bool = False, off: int = 0) -> None:
        super().__init__(world, identity, off=off)
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
        identity = self._ids[connection] = self._ids.get(connection, 0) + 1
        return identity, self.frame("out", {"method": method, "params": dict(params), "id": identity}, connection)

    def result(self, identity: int, text: str, *, is_error: bool = False, connection: str = "c1") -> int:
        return self.answer(identity, {"content": [{"type": "text", "text": text}], "isError": is_error}, connection)

    def answer(self, identity: int, result: JSON, connection: str = "c1") -> int:
        return self.frame("in", {"id": identity, "result": result}, connection)

    def frame(self, direction: Literal["out", "in"], message: Mapping[str, JSON], connection: str = "c1") -> int:
        exchange = f"{connection} {message['id']}" if self.has_no_sessions and "id" in message else None
        connection = "c" if self.has_no_sessions else connection
        draft = Record(wire="mcp", kind="frame", peer=self.name, connection=connection, exchange=exchange)
        return self.keep(replace(draft, direction=direction, data=dumped({"jsonrpc": "2.0", **message}) + b"\n"))


@dataclass
class World:
    """What happens, in the order of true time, and what belongs together."""

    # `words` are those in which a request tells a call's result.

    now: int = 0
    records: list[tuple[int, Record]] = field(default_factory=list[tuple[int, Record]])
    truth: set[Pair] = field(default_factory=set[Pair])
    words: dict[tuple[Asked, str, str], str] = field(default_factory=dict[tuple[Asked, str, str], str])
    taps: int = 0
    waiting: list[tuple[int, int, Work]] = field(default_factory=list[tuple[int, int, Work]])
    started: int = 0

    def model(self) -> ModelTap:
        self.taps += 1
        return ModelTap(self, f"llm-{self.taps}")

    def server(self, name: str, *, has_no_sessions: bool = False, off: int = 0) -> ServerTap:
        self.taps += 1
        return ServerTap(self, f"mcp-{self.taps}", name, has_no_sessions=has_no_sessions, off=off)

    def carried(self, call: Asked, frame: Frame) -> None:
        self.truth.add(("sent", call, frame))

    def told(self, call: Asked, capture: str, exchange: str, text: str) -> None:
        """This request tells the call's result, in these words."""
        self.truth.add(("told", call, (capture, exchange)))
        self.words[call, capture, exchange] = text

    def start(self, task: Work) -> None:
        self.started += 1
        heapq.heappush(self.waiting, (self.now, self.started, task))

    def run(self, *tasks: Work) -> None:
        """Let several go on at once, each until it says for how long it waits."""
        for task in tasks:
            self.start(task)
        while self.waiting:
            self.now, number, task = heapq.heappop(self.waiting)
            delay = next(task, None)
            if delay is not None:
                heapq.heappush(self.waiting, (self.now + max(delay, 1), number, task))

    def hide(self, tap: Tap) -> None:
        """Take away what a tap recorded: it was not there."""
        self.records = [(now, record) for now, record in self.records if record.capture != tap.id]
        self.truth = {pair for pair in self.truth if tap.id not in {pair[1][0], pair[2][0]}}

    def story(self, *, is_timed: bool = True) -> Story:
        """What is found out, also where what was recorded stands in its order and no more is known of when that was."""
        story, records = Story(), [record for _, record in self.records]
        if is_timed:
            records.sort(key=story.clock.at_ns)  # each on the clock that it has
        else:
            records = [replace(record, time_ns=BEGAN, mono_ns=None) for record in records]
        for record in records:
            story.feed(record)
        return story


def found_in(
    story: Story, words: Mapping[tuple[Asked, str, str], str] | None = None, known: Container[Known] = CERTAIN
) -> set[Pair]:
    """What was joined, in the form of the truth; if words are given, a place counts only where the call's own are told."""
    found: set[Pair] = set()
    for joined in story.joined():
        key = (joined.call.capture, joined.call.exchange, joined.call.number)
        if joined.known in known:
            found |= {("sent", key, frame.key) for frame in joined.sent}
        for told in joined.results:
            wanted = (words or {}).get((key, told.capture, told.exchange), "").strip()
            is_own = wanted in told.text or json.dumps(wanted, ensure_ascii=False)[1:-1] in told.text
            degree = "maybe" if joined.is_by_order else "value"
            if ("id" if told.by_id else degree) in known:
                found.add(("told", key, (told.capture, told.exchange if is_own else f"{told.exchange}: {told.text}")))
    return found
