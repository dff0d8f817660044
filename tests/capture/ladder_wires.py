"""Both wires of a session with a ladder over them, and the turn of the drawings."""

import json
from dataclasses import replace

from tests.capture.wires import Kept
from tests.kit.peer import rpc
from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.frames.frame_heads import read_frame
from tui_host.capture.http.observer import ObservedExchange, Observer
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import RowTable
from tui_host.capture.ladder.row_filter import read_filter, row_test
from tui_host.capture.link import Link, Relation, Span
from tui_host.capture.record import NOWHERE, Direction, Place, Record

JSON_TYPE = [("content-type", "application/json")]
EVENT_STREAM = [("content-type", "text/event-stream")]


class Wires(Kept):
    def __init__(self) -> None:
        super().__init__()
        self.ladder = Ladder()
        self.model = Observer(self, wire="llm", peer="demo")
        self.server = Observer(self, wire="mcp", peer="docs", connection="docs#1")
        self._correlators: dict[str, Correlator] = {}
        self._fed = 0

    def rows(self) -> RowTable:
        self.ladder.feed(self.records()[self._fed :])
        self._fed = len(self.drafts)
        return self.ladder.rows

    def ask(self, step: int = 1, turn: int = 1) -> ObservedExchange:
        return self.model.begin("POST", "http://model/v1/chat/completions", JSON_TYPE, b"{}", at(step, turn=turn))

    def frame(self, direction: Direction, data: bytes, place: Place = NOWHERE, server: str = "math") -> None:
        head = read_frame(data).head
        seen = self._correlators.setdefault(server, Correlator()).see(direction, head, place)
        odd = head.reason or seen.odd or None
        draft = Record(wire="mcp", kind="frame", peer=server, direction=direction, data=data, malformed=odd)
        self.append(replace(draft, connection=f"{server}#1", place=seen.place))

    def line(self, text: bytes, server: str = "math") -> None:
        draft = Record(wire="stderr", kind="line", peer=server, connection=f"{server}#1", direction="in")
        self.append(replace(draft, data=text + b"\n"))

    def link(
        self, relation: Relation, call: str, exchange: ObservedExchange | None = None, seq: int | None = None
    ) -> None:
        side = "request" if relation == "told" else "response"
        span = Span(exchange=exchange.id if exchange is not None else None, seq=seq, side=side)
        link = Link(relation=relation, call=call, span=span, server="math", tool="multiply", words='{"a":6}')
        self.append(Record(wire="host", kind="link", place=at(call=call), data=link.to_bytes()))

    def decide(self, call: str, words: str = "approved once, by you") -> None:
        value = {"server": "math", "tool": "multiply", "decision": "approved", "by": "person", "words": words}
        self.append(Record(wire="host", kind="decision", place=at(call=call), data=json.dumps(value).encode()))


def matching(ladder: Ladder, text: str) -> list[int]:
    """The rows that match a filter by their values alone."""
    return [*filter(row_test(read_filter(text).query, ladder), range(len(ladder.rows)))]


def at(step: int = 1, *, turn: int = 1, call: str | None = None) -> Place:
    return Place(session="s", turn=turn, step=step, call=call)


def call_of(number: int, name: str = "multiply") -> bytes:
    return rpc(id=number, method="tools/call", params={"name": name, "arguments": {"a": number}})


def result_of(number: int, text: str = "30", *, failed: bool = False) -> bytes:
    return rpc(id=number, result={"content": [{"type": "text", "text": text}], "isError": failed})


def a_turn(wires: Wires) -> None:
    first = wires.ask(1)
    first.response(200, EVENT_STREAM)
    first.chunk(b"data: 1\n\n")
    first.chunk(b"data: 2\n\n")
    first.end()
    wires.link("asked", "c1", first)
    wires.link("asked", "c1", first)
    wires.decide("c1")
    wires.frame("out", call_of(4), at(call="c1"))
    wires.frame("in", result_of(4))
    second = wires.ask(2)
    wires.link("told", "c1", second)
    second.response(200, EVENT_STREAM)
    second.chunk(b"data: 3\n\n")
    second.end()


def turns() -> Wires:
    wires = Wires()
    a_turn(wires)
    wires.line(b"Listening")
    refused = wires.ask(1, turn=2)
    refused.response(429, JSON_TYPE)
    refused.chunk("slow down 工具".encode())
    refused.end()
    wires.frame("in", rpc(method="notifications/tools/list_changed"))
    wires.frame("in", b"garbage\n")
    wires.rows()
    return wires
