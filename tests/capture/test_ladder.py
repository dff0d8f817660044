"""Rows are folded from records as they come: each appears with its first byte and grows until its end."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.wires import Kept, rpc
from tui_host.capture.correlator import Correlator
from tui_host.capture.frames import frame_head
from tui_host.capture.http import ObservedExchange, Observer
from tui_host.capture.ladder import Ladder
from tui_host.capture.link import Link, Relation, Span
from tui_host.capture.record import NOWHERE, Direction, Draft, Place, Record
from tui_host.capture.rows import Row

JSON_TYPE = [("content-type", "application/json")]
EVENT_STREAM = [("content-type", "text/event-stream")]


class Wires(Kept):
    """Both wires of a session, and the ladder over them."""

    def __init__(self) -> None:
        super().__init__()
        self.ladder = Ladder()
        self.model = Observer(self, wire="llm", peer="demo")
        self.server = Observer(self, wire="mcp", peer="docs", connection="docs#1")
        self._correlators: dict[str, Correlator] = {}
        self._fed = 0

    def rows(self) -> Sequence[Row]:
        self.ladder.feed(self.records()[self._fed :])
        self._fed = len(self.drafts)
        return self.ladder.rows

    def ask(self, step: int = 1, turn: int = 1) -> ObservedExchange:
        return self.model.begin("POST", "http://model/v1/chat/completions", JSON_TYPE, b"{}", at(step, turn=turn))

    def frame(self, direction: Direction, data: bytes, place: Place = NOWHERE, server: str = "math") -> None:
        head = frame_head(data)
        seen = self._correlators.setdefault(server, Correlator()).see(direction, head, place)
        self.append(
            Draft(
                wire="mcp",
                kind="frame",
                peer=server,
                connection=f"{server}#1",
                direction=direction,
                place=seen.place,
                data=data,
                malformed=head.reason or seen.odd or None,
            )
        )

    def line(self, text: bytes, server: str = "math") -> None:
        self.append(
            Draft(wire="stderr", kind="line", peer=server, connection=f"{server}#1", direction="in", data=text + b"\n")
        )

    def link(
        self, relation: Relation, call: str, exchange: ObservedExchange | None = None, seq: int | None = None
    ) -> None:
        span = Span(
            exchange=exchange.id if exchange is not None else None,
            seq=seq,
            side="request" if relation == "told" else "response",
        )
        link = Link(relation=relation, call=call, span=span, server="math", tool="multiply", words='{"a":6}')
        self.append(Draft(wire="host", kind="link", place=at(call=call), data=link.to_bytes()))

    def decide(self, call: str, words: str = "approved once, by you") -> None:
        value = {"server": "math", "tool": "multiply", "decision": "approved", "by": "person", "words": words}
        self.append(Draft(wire="host", kind="decision", place=at(call=call), data=json.dumps(value).encode()))


def at(step: int = 1, *, turn: int = 1, call: str | None = None) -> Place:
    return Place(session="s", turn=turn, step=step, call=call)


def call_of(number: int, name: str = "multiply") -> bytes:
    return rpc(id=number, method="tools/call", params={"name": name, "arguments": {"a": number}})


def result_of(number: int, text: str = "30", *, failed: bool = False) -> bytes:
    return rpc(id=number, result={"content": [{"type": "text", "text": text}], "isError": failed})


def whole_turn(wires: Wires) -> None:
    """The turn of DESIGN's drawing: asks, decides, calls, tells, answers."""
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


def test_a_turn_reads_from_top_to_bottom() -> None:
    wires = Wires()
    whole_turn(wires)
    rows = wires.rows()
    assert [(row.lane, row.kind, row.outward) for row in rows] == [
        ("llm", "request", True),
        ("llm", "response", False),
        ("host", "decision", False),
        ("mcp", "frame", True),
        ("mcp", "frame", False),
        ("llm", "request", True),
        ("llm", "response", False),
    ]
    assert [row.number for row in rows] == list(range(7))
    assert [row.step for row in rows] == [1, 1, 1, 1, 1, 2, 2]
    assert rows[1].words == 'asks math.multiply {"a":6}'
    assert (rows[1].status, rows[1].events, rows[1].size, rows[1].state) == (200, 2, 18, "done")
    assert rows[2].words == "approved once, by you"
    assert (rows[3].method, rows[3].rpc_id, rows[3].tool, rows[3].words) == (
        "tools/call",
        "4",
        "multiply",
        'multiply {"a":4}',
    )
    assert (rows[4].method, rows[4].answer, rows[4].tool, rows[4].words) == ("tools/call", True, "multiply", "30")
    assert [row.number for row in rows if row.calls == {"c1"}] == [1, 2, 3, 4, 5]


def test_a_rows_relatives_share_its_call_nearest_first() -> None:
    wires = Wires()
    whole_turn(wires)
    wires.rows()
    assert wires.ladder.relatives(1) == (2, 3, 4, 5)
    assert wires.ladder.relatives(4) == (3, 5, 2, 1)
    assert wires.ladder.relatives(0) == (1,)
    assert wires.ladder.relatives(6) == (5,)
    assert [wires.ladder.partner(number) for number in range(7)] == [1, 0, None, 4, 3, 6, 5]


def test_a_row_appears_with_the_first_byte_and_grows() -> None:
    wires = Wires()
    exchange = wires.ask()
    assert [row.kind for row in wires.rows()] == ["request"]
    exchange.response(200, EVENT_STREAM)
    assert (wires.rows()[1].state, wires.rows()[1].size) == ("open", 0)
    seen = wires.ladder.revision
    exchange.chunk(b"12345")
    row = wires.rows()[1]
    assert (row.state, row.size, row.events) == ("open", 5, 1)
    assert row.end_mono_ns > row.mono_ns
    assert list(wires.ladder.changed_since(seen)) == [1]
    assert list(wires.ladder.changed_since(wires.ladder.revision)) == []
    exchange.end()
    assert (wires.rows()[1].state, wires.rows()[1].last_seq) == ("done", 4)


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        ("cut by peer", "cut"),
        ("timed out", "cut"),
        ("failed", "failed"),
        ("closed by host", "cut"),
        ("complete", "done"),
    ],
)
def test_a_response_ends_as_its_exchange_did(reason: str, state: str) -> None:
    wires = Wires()
    exchange = wires.ask()
    exchange.response(200, EVENT_STREAM)
    match reason:
        case "complete":
            exchange.end()
        case "closed by host":
            exchange.close()
        case "cut by peer" | "timed out" | "failed":
            exchange.fail("ReadError: gone", reason)
        case _:
            raise AssertionError(reason)
    row = wires.rows()[1]
    assert row.state == state
    assert row.words == {"complete": "", "closed by host": "closed by host"}.get(reason, "ReadError: gone")


def test_an_exchange_without_a_response_is_a_fault_beside_its_request() -> None:
    wires = Wires()
    wires.ask().fail("ConnectError: refused", "not connected")
    rows = wires.rows()
    assert [(row.lane, row.kind, row.state, row.error) for row in rows] == [
        ("llm", "request", "done", False),
        ("llm", "fault", "failed", True),
    ]
    assert rows[1].words == "ConnectError: refused"
    assert wires.ladder.partner(0) == 1


def test_a_refusal_says_the_providers_own_words() -> None:
    wires = Wires()
    exchange = wires.ask()
    exchange.response(401, JSON_TYPE)
    exchange.chunk(b'{"error": {"message":\n "bad key"}}')
    exchange.end()
    row = wires.rows()[1]
    assert (row.kind, row.status, row.state, row.error) == ("response", 401, "failed", True)
    assert row.words == '{"error": {"message": "bad key"}}'


def test_frames_over_http_are_rows_and_their_exchange_is_none() -> None:
    wires = Wires()
    exchange = wires.server.begin("POST", "http://docs/mcp", JSON_TYPE, call_of(1), at(call="c1"))
    exchange.response(200, JSON_TYPE)
    exchange.chunk(result_of(1))
    exchange.end()
    assert [(row.kind, row.outward, row.exchange) for row in wires.rows()] == [
        ("frame", True, "x1"),
        ("frame", False, "x1"),
    ]


def test_an_exchange_with_a_server_that_fails_is_a_fault_in_its_lane() -> None:
    wires = Wires()
    cut = wires.server.begin("POST", "http://docs/mcp", JSON_TYPE, call_of(1), at(call="c1"))
    cut.fail("RemoteProtocolError: gone", "cut by peer")
    refused = wires.server.begin("POST", "http://docs/mcp", JSON_TYPE, call_of(2), at(call="c2"))
    refused.response(404, [("content-type", "text/plain")])
    refused.chunk(b"no such session")
    refused.end()
    rows = wires.rows()
    assert [(row.lane, row.kind, row.words, row.calls) for row in rows if row.kind == "fault"] == [
        ("mcp", "fault", "RemoteProtocolError: gone", {"c1"}),
        ("mcp", "fault", "no such session", {"c2"}),
    ]
    assert wires.ladder.partner(1) == 0
    assert rows[3].status == 404


def test_an_exchange_with_a_server_that_carries_no_frame_is_one_row() -> None:
    wires = Wires()
    listening = wires.server.begin("GET", "http://docs/mcp", [], b"", NOWHERE)
    assert (wires.rows()[0].kind, wires.rows()[0].method, wires.rows()[0].state) == ("request", "GET", "open")
    listening.response(200, EVENT_STREAM)
    listening.chunk(b"data: " + rpc(method="notifications/tools/list_changed") + b"\n\n")
    listening.close()
    rows = wires.rows()
    assert [(row.kind, row.method) for row in rows] == [
        ("request", "GET"),
        ("frame", "notifications/tools/list_changed"),
    ]
    assert (rows[0].status, rows[0].state) == (200, "done")


def test_lines_of_standard_error_that_follow_each_other_are_one_row() -> None:
    wires = Wires()
    wires.line(b"one")
    wires.line(b"two")
    assert [(row.kind, row.events, row.words) for row in wires.rows()] == [("line", 2, "two")]
    wires.line(b"three", server="docs")
    wires.line(b"four")
    wires.frame("in", b"hello\n")
    wires.line(b"five")
    wires.line(b"six")
    rows = wires.rows()
    assert [(row.kind, row.peer, row.events) for row in rows] == [
        ("line", "math", 2),
        ("line", "docs", 1),
        ("line", "math", 1),
        ("fault", "math", 0),
        ("line", "math", 2),
    ]
    assert (rows[4].seq, rows[4].last_seq, rows[4].size) == (6, 7, 9)


def test_notifications_that_repeat_are_counted_and_never_dropped() -> None:
    wires = Wires()
    changed = rpc(method="notifications/tools/list_changed")
    for _ in range(3):
        wires.frame("in", changed)
    wires.frame("in", changed, server="docs")
    for number in range(4):
        wires.frame("in", rpc(method="notifications/progress", params={"progressToken": 1, "progress": number}))
    wires.frame("in", rpc(method="notifications/message", params={"level": "info", "data": "a"}))
    wires.frame("in", rpc(method="notifications/message", params={"level": "info", "data": "b"}))
    rows = wires.rows()
    assert [(row.peer, row.events, row.words) for row in rows] == [
        ("math", 3, ""),
        ("docs", 0, ""),
        ("math", 4, "3"),
        ("math", 0, "info: a"),
        ("math", 0, "info: b"),
    ]
    assert (rows[0].seq, rows[0].last_seq) == (1, 3)


def test_a_line_that_is_no_message_is_a_fault_with_its_reason() -> None:
    wires = Wires()
    wires.frame("in", b"Listening on port 3000\n")
    row = wires.rows()[0]
    assert (row.kind, row.words, row.malformed) == (
        "fault",
        "Listening on port 3000",
        "not JSON: Expecting value at character 0",
    )


def test_a_spoiled_answer_stands_beside_its_question() -> None:
    wires = Wires()
    wires.frame("out", call_of(1), at(call="c1"))
    wires.frame("in", b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te\xff')
    rows = wires.rows()
    assert (rows[1].kind, rows[1].calls) == ("fault", {"c1"})
    assert wires.ladder.partner(0) == 1


def test_a_servers_own_request_has_its_own_direction_and_answer() -> None:
    wires = Wires()
    wires.frame("out", call_of(1), at(call="c1"))
    wires.frame("in", rpc(id=1, method="roots/list"))
    wires.frame("out", rpc(id=1, result={"roots": []}))
    wires.frame("in", result_of(1, failed=True))
    rows = wires.rows()
    assert [row.method for row in rows] == ["tools/call", "roots/list", "roots/list", "tools/call"]
    assert [row.outward for row in rows] == [True, False, True, False]
    assert [wires.ladder.partner(number) for number in range(4)] == [3, 2, 1, 0]
    assert rows[3].error


def test_what_is_odd_about_an_answer_is_in_its_row() -> None:
    wires = Wires()
    wires.frame("out", call_of(1), at(call="c1"))
    wires.frame("in", result_of(1))
    wires.frame("in", result_of(1))
    row = wires.rows()[2]
    assert (row.kind, row.malformed) == ("frame", "a second answer")
    assert wires.ladder.partner(2) == 0
    assert wires.ladder.partner(0) == 1


def test_a_link_to_an_exchange_that_is_yet_to_come_is_kept_for_it() -> None:
    wires = Wires()
    wires.rows()
    span = Span(exchange="x1", side="request")
    link = Link(relation="told", call="c9", span=span)
    wires.append(Draft(wire="host", kind="link", data=link.to_bytes()))
    wires.ask()
    assert wires.rows()[0].calls == {"c9"}


def test_a_link_to_a_frame_gives_its_row_the_call() -> None:
    wires = Wires()
    wires.frame("out", call_of(1))
    wires.link("sent", "c7", seq=1)
    assert wires.rows()[0].calls == {"c7"}
    assert wires.ladder.row_of(("c", 1)) == 0


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"3", b'{"relation":"asked"}', b'{"relation":"asked","call":[],"span":{"seq":"x"}}']
)
def test_a_link_or_decision_that_cannot_be_read_does_no_harm(data: bytes) -> None:
    wires = Wires()
    wires.append(Draft(wire="host", kind="link", data=data))
    wires.append(Draft(wire="host", kind="decision", data=data))
    assert len(wires.rows()) == 1


@given(st.lists(st.integers(1, 30), max_size=10))
def test_the_rows_are_the_same_however_the_records_came(sizes: Sequence[int]) -> None:
    wires = Wires()
    whole_turn(wires)
    wires.line(b"one")
    wires.line(b"two")
    records = wires.records()
    whole = Ladder()
    whole.feed(records)
    parts = Ladder()
    place = 0
    for size in [*sizes, len(records)]:
        parts.feed(records[place : place + size])
        place += size
    assert list(parts.rows) == list(whole.rows)
    assert [parts.relatives(number) for number in range(len(parts.rows))] == [
        whole.relatives(number) for number in range(len(whole.rows))
    ]


@given(st.lists(st.sampled_from(["ask", "chunk", "end", "frame", "answer", "line", "link"]), max_size=40))
def test_a_view_that_takes_only_changes_has_all_rows(moves: Sequence[str]) -> None:
    wires = Wires()
    shown: dict[int, Row] = {}
    seen = 0
    exchange = wires.ask()
    for number, move in enumerate(moves):
        match move:
            case "ask":
                exchange = wires.ask()
                exchange.response(200, EVENT_STREAM)
            case "chunk":
                exchange.chunk(b"x")
            case "end":
                exchange.end()
            case "frame":
                wires.frame("out", call_of(number), at(call=f"c{number}"))
            case "answer":
                wires.frame("in", result_of(number - 1))
            case "line":
                wires.line(b"words")
            case _:
                wires.link("asked", f"c{number}", exchange)
        rows = wires.rows()
        shown |= {changed: rows[changed] for changed in wires.ladder.changed_since(seen)}
        seen = wires.ladder.revision
    rows = wires.rows()
    shown |= {changed: rows[changed] for changed in wires.ladder.changed_since(seen)}
    assert list(shown.values()) == list(rows)
    for one in range(len(rows)):
        other = wires.ladder.partner(one)
        assert other != one
        assert set(wires.ladder.relatives(one)) <= set(range(len(rows))) - {one}


def test_changes_are_told_long_after_there_were_many() -> None:
    wires = Wires()
    exchange = wires.ask()
    exchange.response(200, EVENT_STREAM)
    wires.ask()
    wires.rows()
    exchange.chunk(b"x")
    chunk = wires.records()[-1]
    other = replace(chunk, draft=replace(chunk.draft, exchange="x2"))
    seen = 0
    for _ in range(12_000):
        seen = wires.ladder.revision
        wires.ladder.feed([other, chunk])
    assert list(wires.ladder.changed_since(seen)) == [1, 3]
    assert list(wires.ladder.changed_since(0)) == [0, 1, 2, 3]


def filtered() -> Wires:
    wires = Wires()
    whole_turn(wires)
    wires.line(b"Listening")
    refused = wires.ask(1, turn=2)
    refused.response(429, JSON_TYPE)
    refused.chunk("slow down 工具".encode())
    refused.end()
    wires.frame("in", rpc(method="notifications/tools/list_changed"))
    wires.frame("in", b"garbage\n")
    wires.rows()
    return wires


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", range(12)),
        ("tool:multiply", [1, 2, 3, 4, 5]),
        ("tool:math.mult kind:decision", [2]),
        ("method:tools/call", [3, 4]),
        ("method:TOOLS dir:in", [4, 10]),
        ("id:4 dir:out", [3]),
        ("kind:request turn:1", [0, 5]),
        ("kind:notification", [10]),
        ("kind:result", [4]),
        ("kind:stderr", [7]),
        ("kind:malformed", [11]),
        ("status:429", [9]),
        ("status:4xx", [9]),
        ("status:failed", [9]),
        ("status:open", []),
        ("server:math", [2, 3, 4, 7, 10, 11]),
        ("listening", [7]),
        ("工具", [9]),
        ("chat/completions turn:2", [8, 9]),
        ("multiply 30", [4]),
        ("no:token", []),
        ("turn:x", []),
        ("kind:", []),
    ],
)
def test_tokens_and_words_of_a_filter_must_all_fit(text: str, numbers: Iterable[int]) -> None:
    assert list(filtered().ladder.filter(text)) == list(numbers)


def test_a_filter_asked_again_follows_the_rows() -> None:
    wires = Wires()
    exchange = wires.ask()
    exchange.response(200, EVENT_STREAM)
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == [1]
    wires.frame("out", call_of(1))
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == [1]
    exchange.end()
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == []
    again = wires.ask()
    again.response(200, EVENT_STREAM)
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == [4]


def many_calls(count: int) -> list[Record]:
    """Calls with their answers, decided and asked, as many rows as asked for."""
    wires = Wires()
    exchange = wires.ask()
    exchange.response(200, EVENT_STREAM)
    for number in range(count // 4):
        call = f"call_{number:08}"
        wires.decide(call)
        wires.frame("out", call_of(number), at(call=call))
        wires.frame("in", result_of(number, f"the answer to question {number} is {number * 6}"))
        wires.line(b"[info] answered a question of somebody, number %d" % number)
    return wires.records()


def test_a_hundred_thousand_rows_fit_into_forty_megabytes() -> None:
    count = 1_000
    records = many_calls(count)
    ladder = Ladder()
    tracemalloc.start()
    ladder.feed(records)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(ladder.rows) >= count
    assert size / len(ladder.rows) < 400


def test_a_row_of_a_record_without_an_exchange_id_does_no_harm() -> None:
    wires = Wires()
    exchange = wires.ask()
    exchange.end()
    ladder = Ladder()
    ladder.feed([replace(record, draft=replace(record.draft, exchange=None)) for record in wires.records()])
    assert len(ladder.rows) == 2
