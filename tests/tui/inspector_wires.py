"""A turn on both wires as records and rows, for the inspector's tests, and a source over them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tui_host.capture.record import Direction, Draft, Head, Place, Record, Redaction
from tui_host.capture.rows import Row
from tui_host.errors import JSON
from tui_host.llm.dialects import DIALECTS
from tui_host.llm.dialects.dialect import Dialect

CAPTURE = "c1"
NAMES = {"math__multiply": ("math", "multiply"), "math__add": ("math", "add")}
TOOL: JSON = {
    "type": "function",
    "function": {"name": "math__multiply", "description": "Multiply two numbers.", "parameters": {"type": "object"}},
}
MESSAGES: list[JSON] = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "what's 6 × 5?"},
]
CALL: JSON = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "math__multiply", "arguments": '{"a":6,"b":5}'},
}


def to_json(value: JSON) -> bytes:
    """Compact, as most programs write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def request_body(messages: Sequence[JSON]) -> bytes:
    """A Chat Completions request."""
    return to_json({"model": "openai", "tools": [TOOL], "messages": list(messages), "stream": True})


def events_of(*deltas: JSON, finish: str = "stop") -> list[bytes]:
    """A streamed Chat Completions answer, an event a chunk."""
    chunks: list[JSON] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [b"data: " + to_json(chunk) + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]


class Rows:
    """Rows that a test puts there itself; the inspector sees of a ladder no more than this."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.revision = 0
        self._changed: list[int] = []
        self.related: dict[int, set[int]] = {}
        self.partners: dict[int, int] = {}

    def put(self, row: Row) -> Row:
        """Add a row, or put a newer value in its place."""
        self.revision += 1
        if row.number < len(self.rows):
            self.rows[row.number] = row
            self._changed[row.number] = self.revision
        else:
            self.rows.append(row)
            self._changed.append(self.revision)
        return row

    def relate(self, *numbers: int) -> None:
        """Make rows relatives of each other."""
        self.revision += 1
        for number in numbers:
            self.related.setdefault(number, set()).update(set(numbers) - {number})

    def pair(self, first: int, second: int) -> None:
        """Make two rows halves of one exchange."""
        self.partners |= {first: second, second: first}

    def changed_since(self, revision: int) -> list[int]:
        return [number for number, changed in enumerate(self._changed) if changed > revision]

    def relatives(self, number: int) -> Iterable[int]:
        return self.related.get(number, set())

    def partner(self, number: int) -> int | None:
        return self.partners.get(number)

    def filter(self, text: str) -> Sequence[int]:
        return [row.number for row in self.rows if text in f"{row.peer} {row.method} {row.words}"]


class Wires:
    """What a source is made of: records that a test adds, and the rows over them."""

    def __init__(self, *, live: bool = True) -> None:
        self.ladder = Rows()
        self.live = live
        self.records: list[Record] = []

    # The source.

    def record(self, key: tuple[str, int]) -> Record | None:
        return self.records[key[1] - 1] if 0 < key[1] <= len(self.records) else None

    def records_of(self, row: Row) -> Sequence[Record]:
        if row.exchange:
            return [record for record in self.records if record.draft.exchange == row.exchange]
        return [
            record
            for record in self.records[row.seq - 1 : row.last_seq]
            if record.draft.wire != "host" or row.lane == "host"
        ]

    def body(self, row: Row) -> bytes:
        kinds = {"request": {"request"}, "response": {"chunk"}}.get(row.kind)
        records = self.records_of(row)
        return b"".join(record.draft.data for record in records if kinds is None or record.draft.kind in kinds)

    def started_mono_ns(self, row: Row) -> int:
        return next(other.mono_ns for other in self.ladder.rows if other.turn == row.turn)

    def dialect(self, row: Row) -> Dialect | None:
        return DIALECTS["openai"] if row.lane == "llm" else None

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        return NAMES if row.lane == "llm" else {}

    # What a test does.

    def append(self, draft: Draft, at: float) -> Record:
        """Record something so many seconds into the turn."""
        record = Record(
            capture=CAPTURE,
            seq=len(self.records) + 1,
            time_ns=1_700_000_000_000_000_000 + int(at * 1e9),
            mono_ns=5_000_000_000 + int(at * 1e9),
            draft=draft,
        )
        self.records.append(record)
        return record

    def row(self, record: Record) -> Row:
        """A row's common values."""
        draft = record.draft
        lane = {"llm": "llm", "mcp": "mcp", "stderr": "mcp", "host": "host"}[draft.wire]
        assert lane in {"llm", "mcp", "host"}
        return Row(
            number=len(self.ladder.rows),
            lane=lane,  # pyright: ignore[reportArgumentType] - looked up in the table above
            kind="frame",
            outward=draft.direction == "out",
            capture=CAPTURE,
            seq=record.seq,
            last_seq=record.seq,
            time_ns=record.time_ns,
            mono_ns=record.mono_ns,
            end_mono_ns=record.mono_ns,
            turn=draft.place.turn or 0,
            step=draft.place.step or 0,
            peer=draft.peer,
            exchange=draft.exchange or "",
            size=len(draft.data),
        )

    def request(
        self, body: bytes, at: float, *, exchange: str, step: int = 1, redacted: tuple[Redaction, ...] = ()
    ) -> Row:
        """A request to a model."""
        url = "http://127.0.0.1:9/v1/chat/completions"
        headers = (("content-type", "application/json"), ("authorization", "Bearer ⟨secret:authorization⟩"))
        record = self.append(
            Draft(
                wire="llm",
                kind="request",
                peer="demo",
                direction="out",
                place=Place(session="s", turn=1, step=step),
                exchange=exchange,
                head=Head(method="POST", url=url, headers=headers),
                data=body,
                redacted=redacted or (Redaction(where="head", name="authorization", length=51),),
            ),
            at,
        )
        row = replace(self.row(record), kind="request", method="POST", url=url, redacted=True)
        return self.ladder.put(row)

    def response(self, request: Row, at: float, *, status: int = 200, encoding: str | None = None) -> Row:
        """The head of the answer to a request; the row stays open."""
        kind = "text/event-stream" if status == 200 else "application/json"
        record = self.append(
            Draft(
                wire="llm",
                kind="response",
                peer="demo",
                direction="in",
                place=Place(session="s", turn=1, step=request.step),
                exchange=request.exchange,
                head=Head(status=status, headers=(("content-type", kind),)),
                encoding=encoding,
            ),
            at,
        )
        row = self.ladder.put(replace(self.row(record), kind="response", status=status, state="open"))
        self.ladder.pair(request.number, row.number)
        return row

    def chunk(self, response: Row, data: bytes, at: float) -> Row:
        """More of an answer."""
        record = self.append(
            Draft(wire="llm", kind="chunk", peer="demo", direction="in", exchange=response.exchange, data=data), at
        )
        now = self.ladder.rows[response.number]
        return self.ladder.put(
            replace(
                now,
                last_seq=record.seq,
                end_mono_ns=record.mono_ns,
                size=now.size + len(data),
                events=now.events + 1,
            )
        )

    def end(self, response: Row, at: float) -> Row:
        """The end of an answer."""
        record = self.append(Draft(wire="llm", kind="end", peer="demo", direction="in", exchange=response.exchange), at)
        now = self.ladder.rows[response.number]
        return self.ladder.put(replace(now, last_seq=record.seq, end_mono_ns=record.mono_ns, state="done"))

    def frame(self, data: bytes, at: float, *, direction: Direction, turn: int = 1, step: int = 1) -> Row:
        """A JSON-RPC message to or from the server `math`."""
        record = self.append(
            Draft(
                wire="mcp",
                kind="frame",
                peer="math",
                direction=direction,
                place=Place(session="s", turn=turn or None, step=step or None),
                data=data + b"\n",
            ),
            at,
        )
        return self.ladder.put(self.row(record))

    def change(self, row: Row) -> Row:
        """Put another value in a row's place."""
        return self.ladder.put(row)

    def stderr(self, text: str, at: float) -> Row:
        """A line of a server's standard error."""
        record = self.append(
            Draft(wire="stderr", kind="line", peer="math", direction="in", data=text.encode() + b"\n"), at
        )
        return self.ladder.put(replace(self.row(record), kind="line", words=text))

    def decision(self, at: float, words: str = "approved once, by you, after 2.5 s") -> Row:
        """What became of the call."""
        data = to_json({"server": "math", "tool": "multiply", "asked": {"a": 6, "b": 5}, "decision": "approved"})
        record = self.append(
            Draft(wire="host", kind="decision", place=Place(session="s", turn=1, step=1), data=data), at
        )
        return self.ladder.put(replace(self.row(record), kind="decision", words=words))


def connected(wires: Wires) -> None:
    """A server's start, outside any turn."""
    asked = wires.frame(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', 0.0, direction="out", turn=0, step=0)
    wires.change(replace(asked, method="initialize", rpc_id="1"))
    told = wires.frame(b'{"jsonrpc":"2.0","id":1,"result":{}}', 0.1, direction="in", turn=0, step=0)
    wires.change(replace(told, method="initialize", rpc_id="1", answer=True))
    wires.ladder.pair(asked.number, told.number)


def a_turn(wires: Wires) -> None:
    """Design's picture: request, answer that asks for a tool, decision, call, result, the next request."""
    first = wires.request(request_body(MESSAGES), 1.0, exchange="x1")
    response = wires.response(first, 1.41)
    for number, event in enumerate(
        events_of({"role": "assistant", "tool_calls": [{"index": 0, **_mapping(CALL)}]}, finish="tool_calls")
    ):
        wires.chunk(response, event, 1.5 + number / 100)
    wires.end(response, 1.6)
    decision = wires.decision(3.9)
    call = wires.frame(
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"multiply","arguments":{"a":6,"b":5}}}',
        3.91,
        direction="out",
    )
    wires.change(replace(call, method="tools/call", rpc_id="4", words='multiply {"a":6,"b":5}'))
    result = wires.frame(
        b'{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"30"}],"n":1.50}}', 3.922, direction="in"
    )
    wires.change(replace(result, method="tools/call", rpc_id="4", answer=True, words="30"))
    wires.ladder.pair(call.number, result.number)
    more: list[JSON] = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "30"},
    ]
    second = wires.request(request_body(more), 3.94, exchange="x2", step=2)
    numbers = [row.number for row in (response, decision, call, result, second)]
    wires.ladder.relate(*numbers)


def _mapping(value: JSON) -> Mapping[str, JSON]:
    assert isinstance(value, Mapping)
    return value
