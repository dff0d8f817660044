"""A turn on both wires as records and rows, for the inspector's tests, a source over them, and an app that shows it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from typing_extensions import override

from tests.kit.peer import rpc
from tests.tui.waiting import until
from tui_host.answers.wires import RecordedWires
from tui_host.capture.content_codings import encoding_of
from tui_host.capture.http.exchange_end import Ending, Reason
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link, Relation, Span
from tui_host.capture.record import Direction, Head, Kind, Place, Record, Redaction
from tui_host.capture.store.notes_of_people import RowMarks
from tui_host.chat.policy import Policy
from tui_host.chat.session import Session
from tui_host.errors import JSON
from tui_host.settings.schema import ModelRef, Price
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.inspector.inspector_pane import Inspector
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.tree_page import Page

CALL_ID, APPROVED = "s.1.1.1", "approved once, by you, after 2.5 s"
TOOL: JSON = {
    "type": "function",
    "function": {"name": "math__multiply", "description": "Multiply two numbers.", "parameters": {"type": "object"}},
}
MESSAGES: list[JSON] = [{"role": "system", "content": "You are helpful."}, {"role": "user", "content": "what's 6 × 5?"}]
CALL: dict[str, JSON] = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "math__multiply", "arguments": '{"a":6,"b":5}'},
}


def to_json(value: JSON) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def request_body(messages: Sequence[JSON] = MESSAGES) -> bytes:
    return to_json({"model": "openai", "tools": [TOOL], "messages": list(messages), "stream": True})


def asking(system: str, *texts: str, tools: Sequence[JSON] = (TOOL,)) -> bytes:
    said: list[JSON] = [{"role": "user", "content": text} for text in texts]
    return to_json({"model": "m", "tools": [*tools], "messages": [{"role": "system", "content": system}, *said]})


def events_of(*deltas: JSON, finish: str = "stop") -> list[bytes]:
    chunks: list[JSON] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [b"data: " + to_json(chunk) + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]


class Wires(SessionSource):
    """A source over records that a test adds, folded by the real ladder."""

    def __init__(self, *, live: bool = True) -> None:
        RecordedWires.__init__(self, ())
        model = ModelRef(provider="demo", model="openai")
        self.session = Session(id="s", source="chat", created_ns=0, model=model, protocol="native", policy=Policy(()))
        self.live, self.is_behind = live, False
        self.prices: dict[str, Price] = {}
        self.row_marks = RowMarks(None, "s")
        self.records: list[Record] = []

    @override
    def record(self, key: tuple[str, int]) -> Record | None:
        return self.records[key[1] - 1] if 0 < key[1] <= len(self.records) else None

    @override
    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        return self.records[after : min(last, after + 100)]

    @override
    def plain_data(self, capture: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        return {seq: self.records[seq - 1].data for seq in seqs}

    @override
    def price(self, row: Row, model: str) -> Price | None:
        return self.prices.get(model)

    @override
    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        return {f"math__{tool}": ("math", tool) for tool in ("multiply", "add") if row.lane == "llm"}

    def append(self, draft: Record, at: float) -> Record:
        seq, passed_ns = len(self.records) + 1, round(at * 1e9)
        times = {"time_ns": 1_700_000_000_000_000_000 + passed_ns, "mono_ns": 5_000_000_000 + passed_ns}
        record = replace(draft, capture="c1", seq=seq, **times)
        self.records.append(record)
        self._feed([record])
        return record

    def row(self, draft: Record, at: float) -> Row:
        self.append(draft, at)
        return self.ladder.rows[-1]

    def request(
        self, body: bytes, at: float, *, exchange: str, step: int = 1, redacted: tuple[Redaction, ...] = ()
    ) -> Row:
        headers = (("content-type", "application/json"), ("authorization", "Bearer ⟨secret:authorization⟩"))
        draft = Record(
            wire="llm",
            kind="request",
            peer="demo",
            direction="out",
            place=Place(session="s", turn=1, step=step),
            exchange=exchange,
            head=Head(method="POST", url="http://127.0.0.1:9/v1/chat/completions", headers=headers),
            data=body,
            redacted=redacted or (Redaction(where="head", name="authorization", length=51),),
        )
        return self.row(draft, at)

    def listing(self, at: float, *, exchange: str) -> Row:
        head = Head(method="GET", url="http://127.0.0.1:9/v1/models")
        draft = Record(wire="llm", kind="request", peer="demo", direction="out", exchange=exchange, head=head)
        return self.row(draft, at)

    def response(self, request: Row, at: float, *chunks: bytes, status: int = 200, encoding: str | None = None) -> Row:
        """The head of the answer to a request, and what came of its body; the row stays open."""
        headers = (("content-type", "text/event-stream" if status == 200 else "application/json"),)
        headers += (("content-encoding", encoding),) if encoding else ()
        self.append(replace(self._inward(request, "response"), head=Head(status=status, headers=headers)), at)
        row = self.ladder.rows[-1]
        for number, data in enumerate(chunks):
            self.chunk(row, data, at + 0.1 + number / 100)
        return self.ladder.rows[row.number]

    def chunk(self, response: Row, data: bytes, at: float) -> Row:
        head = self.records[response.seq - 1].head
        encoding = encoding_of(head.headers) if head is not None else None
        self.append(replace(self._inward(response, "chunk"), data=data, encoding=encoding), at)
        return self.ladder.rows[response.number]

    def end(self, response: Row, at: float, reason: Reason = "complete") -> Row:
        size = self.ladder.rows[response.number].size
        ending = Ending(reason=reason, size=size, kept=size)
        self.append(replace(self._inward(response, ending.kind), data=ending.to_bytes()), at)
        return self.ladder.rows[response.number]

    def frame(self, data: bytes, at: float, *, direction: Direction, turn: int = 1, call: str | None = None) -> Row:
        place = Place(session="s", turn=turn or None, step=1 if turn else None, call=call)
        draft = Record(wire="mcp", kind="frame", peer="math", connection="n1", direction=direction, place=place)
        return self.row(replace(draft, data=data + b"\n"), at)

    def calls(self, number: int, at: float, arguments: JSON = None, result: JSON = None, call: str = CALL_ID) -> None:
        """A call of `multiply`, and half a second later its result, if it has one."""
        asked = rpc(id=number, method="tools/call", params={"name": "multiply", "arguments": arguments or {}})
        self.frame(asked, at, direction="out", call=call)
        if result is not None:
            self.frame(rpc(id=number, result=result), at + 0.5, direction="in", call=call)

    def stderr(self, text: str, at: float) -> Row:
        draft = Record(wire="stderr", kind="line", peer="math", connection="n1", direction="in")
        return self.row(replace(draft, data=text.encode() + b"\n"), at)

    def notice(self, number: int, at: float) -> Row:
        data = rpc(method="notifications/message", params={"level": "info", "data": f"n {number}"})
        return self.frame(data, at, direction="in", turn=0)

    def decision(self, at: float, words: str = APPROVED, *, call: str = CALL_ID, **more: JSON) -> Row:
        data: JSON = {"server": "math", "tool": "multiply", "asked": {"a": 6, "b": 5}, "words": words, **more}
        place = Place(session="s", turn=1, step=1, call=call)
        return self.row(Record(wire="host", kind="decision", peer="math", place=place, data=to_json(data)), at)

    def link(self, relation: Relation, span: Span, at: float, *, call: str = CALL_ID, tool: str = "multiply") -> None:
        link = Link(relation=relation, call=call, span=span, server="math", tool=tool, words='{"a":6,"b":5}')
        self.append(Record(wire="host", kind="link", data=link.to_bytes()), at)

    def _inward(self, row: Row, kind: Kind) -> Record:
        place = Place(session="s", turn=row.turn, step=row.step)
        return Record(wire="llm", kind=kind, peer="demo", direction="in", place=place, exchange=row.exchange)


def begun(wires: Wires) -> None:
    wires.frame(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', 0.0, direction="out", turn=0)
    wires.frame(b'{"jsonrpc":"2.0","id":1,"result":{}}', 0.1, direction="in", turn=0)


def a_turn(wires: Wires, later: float = 0.0) -> None:
    """Design's picture: request, answer that asks for a tool, decision, call, result, the next request."""
    first = wires.request(request_body(MESSAGES), later + 1.0, exchange="x1")
    asks: JSON = {"role": "assistant", "tool_calls": [{"index": 0, **CALL}]}
    wires.end(wires.response(first, later + 1.41, *events_of(asks, finish="tool_calls")), later + 1.6)
    wires.link("asked", Span(exchange="x1", start=0, end=10), later + 1.6)
    wires.decision(later + 3.9)
    asked = b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"multiply","arguments":{"a":6,"b":5}}}'
    wires.frame(asked, later + 3.91, direction="out", call=CALL_ID)
    told = b'{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"30"}],"n":1.50}}'
    wires.frame(told, later + 3.922, direction="in", call=CALL_ID)
    result: JSON = {"role": "tool", "tool_call_id": "call_1", "content": "30"}
    body = request_body([*MESSAGES, {"role": "assistant", "content": None, "tool_calls": [CALL]}, result])
    wires.request(body, later + 3.94, exchange="x2", step=2)
    start = body.index(to_json(result))
    wires.link("told", Span(exchange="x2", side="request", start=start, end=start + len(to_json(result))), later + 3.94)


LONG = 10.0


def drawn(page: Page, width: int = 80) -> list[str]:
    page.fit(width)
    page.grow(LONG)
    return ["".join(text for text, _ in page.pieces(number)) for number in range(len(page))]


def row_of(wires: Wires, kind: str, place: int = 0) -> Row:
    return [row for row in wires.ladder.rows if row.kind == kind][place]


class Looking(App[None]):
    def __init__(self, wires: Wires) -> None:
        super().__init__()
        self.wires = wires
        self.inspector = Inspector()
        self.escapes = 0
        self.said: list[str] = []

    @override
    def compose(self) -> ComposeResult:
        yield self.inspector

    def on_mount(self) -> None:
        self.inspector.show(self.wires)
        self.inspector.ladder.focus()
        self.set_interval(1 / 60, self.inspector.sync)

    def key_escape(self) -> None:
        self.escapes += 1

    async def reach(self, pilot: Pilot[None], keys: str, *wanted: str | Callable[[], bool]) -> None:
        await pilot.press(*keys.split())
        await until(pilot, lambda: all(it in self.text if isinstance(it, str) else it() for it in wanted))

    def on_line_view_hinted(self, message: LineView.Hinted) -> None:
        self.said.append(message.words)

    @property
    def lines(self) -> list[str]:
        strips = self.screen._compositor.render_strips(self.size)  # pyright: ignore[reportPrivateUsage] - no public way
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def a_session() -> Wires:
    wires = Wires()
    begun(wires)
    a_turn(wires)
    return wires


def marks(app: Looking) -> str:
    ladder = app.inspector.ladder.region
    return "".join(line[ladder.x] for line in app.lines[ladder.y : ladder.bottom])
