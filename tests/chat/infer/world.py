"""Taps of a host that does not exist: records on several captures, each with clocks of its own, and what truly belongs together."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tests.chat.infer.forms import Answer, Call, Entry, Form, dumped
from tui_host.capture.ending import Ending
from tui_host.capture.record import Draft, Head, Record
from tui_host.chat.infer.story import Story
from tui_host.errors import JSON

MS = 1_000_000
BEGAN = 1_760_000_000_000_000_000
Asked = tuple[str, str, int]
"""A call: capture, exchange, place in its answer."""
Frame = tuple[str, int]
Pair = tuple[Literal["sent", "told"], Asked, tuple[str, object]]


class Tap:
    """One tap's capture.

    Args:
        identity: Its id.
        boot: Its monotonic clock when the world begins.
        off: By how much its wall clock is wrong.
    """

    def __init__(self, world: World, identity: str, *, boot: int = 0, off: int = 0) -> None:
        self.id = identity
        self._world = world
        self._boot = boot
        self._off = off
        self._seq = self._exchanges = 0

    def keep(self, draft: Draft) -> int:
        """A record, now."""
        self._seq += 1
        now = self._world.now
        self._world.records.append(
            (
                now,
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
    """The model's side."""

    def ask(self, form: Form, entries: Sequence[Entry], agent: str = "") -> str:
        """A request; gives the exchange's id."""
        identity = self.exchange()
        headers = (("content-type", "application/json"), ("user-agent", agent))
        head = Head(method="POST", url=form.url, headers=headers)
        self.keep(self._draft("request", identity, head=head, direction="out", data=form.request(entries)))
        return identity

    def refuse(self, exchange: str, status: int = 429) -> None:
        """A response that is none."""
        self.keep(self._draft("response", exchange, head=Head(status=status)))
        self.keep(self._draft("chunk", exchange, data=b'{"error":{"message":"slow down"}}'))
        self.keep(self._draft("end", exchange, data=Ending(size=1, kept=1).to_bytes()))

    def answer(self, form: Form, exchange: str, answer: Answer, *, cut: bool = False) -> Generator[int]:
        """A response, chunk by chunk."""
        self.keep(self._draft("response", exchange, head=Head(status=200)))
        chunks = form.response(answer)
        for chunk in chunks[: len(chunks) // 2] if cut else chunks:
            yield 3 * MS
            self.keep(self._draft("chunk", exchange, data=chunk))
        ending = Ending(reason="cut by peer" if cut else "complete")
        self.keep(self._draft(ending.kind, exchange, data=ending.to_bytes()))

    @staticmethod
    def _draft(kind: str, exchange: str, **more: object) -> Draft:
        draft = Draft(wire="llm", kind="chunk", peer="example", direction="in", exchange=exchange)
        return replace(draft, kind=kind, **more)


class ServerTap(Tap):
    """A server's side."""

    def __init__(self, world: World, identity: str, name: str, *, boot: int = 0, off: int = 0) -> None:
        super().__init__(world, identity, boot=boot, off=off)
        self.name = name
        self._id = 0

    def start(self, tools: Sequence[str], client: str = "") -> None:
        """The handshake, and the list of tools."""
        self._frame("out", {"id": "i", "method": "initialize", "params": {"clientInfo": {"name": client}}})
        self._frame("in", {"id": "i", "result": {"capabilities": {}}})
        self._frame("out", {"id": "l", "method": "tools/list"})
        self._frame("in", {"id": "l", "result": {"tools": [{"name": tool} for tool in tools]}})

    def call(self, tool: str, arguments: Mapping[str, JSON]) -> tuple[int, int]:
        """A call's frame: its id and its record."""
        self._id += 1
        turned: dict[str, JSON] = dict(sorted(arguments.items(), reverse=True))
        message: dict[str, JSON] = {
            "method": "tools/call",
            "params": {"name": tool, "arguments": turned},
            "id": self._id,
        }
        return self._id, self._frame("out", message)

    def result(self, identity: int, text: str, *, is_error: bool = False) -> int:
        """A result's frame."""
        result: dict[str, JSON] = {"content": [{"type": "text", "text": text}], "isError": is_error}
        return self._frame("in", {"id": identity, "result": result})

    def _frame(self, direction: Literal["out", "in"], message: Mapping[str, JSON]) -> int:
        data = dumped({"jsonrpc": "2.0", **message}) + b"\n"
        return self.keep(
            Draft(wire="mcp", kind="frame", peer=self.name, connection="c1", direction=direction, data=data)
        )


@dataclass
class World:
    """What happens, in the order of time, and what belongs together.

    Attributes:
        now: True time.
        records: All that was recorded, with the true time.
        truth: What carried each call, and where it was told.
    """

    now: int = 0
    records: list[tuple[int, Record]] = field(default_factory=list[tuple[int, Record]])
    truth: set[Pair] = field(default_factory=set[Pair])
    taps: int = 0

    def model(self, **more: int) -> ModelTap:
        """A tap before a model."""
        self.taps += 1
        return ModelTap(self, f"llm-{self.taps}", **more)

    def server(self, name: str, **more: int) -> ServerTap:
        """A tap before a server."""
        self.taps += 1
        return ServerTap(self, f"mcp-{self.taps}", name, **more)

    def carried(self, call: Asked, frame: Frame) -> None:
        """This frame carries this call."""
        self.truth.add(("sent", call, frame))

    def told(self, call: Asked, capture: str, exchange: str) -> None:
        """This request tells the call's result."""
        self.truth.add(("told", call, (capture, exchange)))

    def run(self, *tasks: Generator[int]) -> None:
        """Let several go on at once, each until it says for how long it waits."""
        waiting = [(self.now, number, task) for number, task in enumerate(tasks)]
        heapq.heapify(waiting)
        while waiting:
            self.now, number, task = heapq.heappop(waiting)
            delay = next(task, None)
            if delay is not None:
                heapq.heappush(waiting, (self.now + max(delay, 1), number, task))

    def story(self) -> Story:
        """What is found out."""
        story = Story()
        ordered = sorted((record for _, record in self.records), key=story.at_ns)  # each on the clock that it has
        for record in ordered:
            story.feed(record)
        return story


def found_in(story: Story) -> set[Pair]:
    """What was joined, in the form of the truth."""
    found: set[Pair] = set()
    for joined in story.joined():
        asked = joined.asked
        key = (asked.capture, asked.exchange, asked.number)
        found |= {("sent", key, frame.key) for frame in joined.sent}
        found |= {("told", key, (told.capture, told.exchange)) for told in joined.told}
    return found


def asked_in(tap: Tap, exchange: str, calls: Sequence[Call]) -> list[Asked]:
    """The calls of an answer."""
    return [(tap.id, exchange, number) for number in range(len(calls))]
