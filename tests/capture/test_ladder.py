"""Rows are folded from records as they come: each appears with its first byte and grows until its end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.drafts import known_ns
from tests.capture.ladder_wires import EVENT_STREAM, JSON_TYPE, Wires, at, call_of, result_of, whole_turn
from tests.capture.wires import rpc
from tests.opening.captured import PIECE
from tui_host.capture.connection_end import connection_end
from tui_host.capture.http.exchange_end import Reason
from tui_host.capture.http.sse import SseDecoder
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.ladder.exchange_rows import EventCount
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link, Span
from tui_host.capture.record import NOWHERE, Draft, Head, Place


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


def test_requests_and_connections_have_numbers_in_the_order_in_which_they_began() -> None:
    wires = Wires()
    wires.model.begin("GET", "http://model/v1/models", [], b"", at()).end()
    whole_turn(wires)
    again = Draft(wire="mcp", kind="frame", peer="math", connection="math#2", direction="out", data=call_of(4))
    wires.append(again)
    names = [wires.ladder.numbers.name(row) for row in wires.rows() if row.lane != "host"]
    assert names == ["LLM", "LLM", "LLM 1", "LLM 1", "math #4", "math #4", "LLM 2", "LLM 2", "math/2 #4"]
    assert wires.ladder.numbers.widest == len("math/2")


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
    exchange.chunk(b"data:")
    row = wires.rows()[1]
    assert (row.state, row.size, row.events) == ("open", 5, 1)
    assert known_ns(row.end_mono_ns) > known_ns(row.mono_ns)
    assert list(wires.ladder.changed_since(seen)) == [1]
    assert list(wires.ladder.changed_since(wires.ladder.revision)) == []
    exchange.end()
    assert (wires.rows()[1].state, wires.rows()[1].last_seq) == ("done", 4)


@pytest.mark.parametrize(
    ("reason", "state", "words"),
    [
        ("complete", "done", ""),
        ("closed by host", "cut", "closed by host"),
        ("cut by peer", "cut", "ReadError: gone"),
        ("timed out", "cut", "ReadError: gone"),
        ("failed", "failed", "ReadError: gone"),
    ],
)
def test_a_response_ends_as_its_exchange_did(reason: Reason, state: str, words: str) -> None:
    wires = Wires()
    exchange = wires.ask()
    exchange.response(200, EVENT_STREAM)
    if reason == "complete":
        exchange.end()
    elif reason == "closed by host":
        exchange.close()
    else:
        exchange.fail(words, reason)
    assert (wires.rows()[1].state, wires.rows()[1].words) == (state, words)


def test_an_exchange_without_a_response_is_a_fault_beside_its_request() -> None:
    wires = Wires()
    wires.ask().fail("ConnectError: refused", "not connected")
    assert [(row.lane, row.kind, row.state, row.error, row.words) for row in wires.rows()] == [
        ("llm", "request", "done", False, ""),
        ("llm", "fault", "failed", True, "ConnectError: refused"),
    ]
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


def test_a_refusal_in_json_rpc_is_one_row_with_the_status() -> None:
    wires = Wires()
    refused = wires.server.begin("POST", "http://docs/mcp", JSON_TYPE, call_of(1), at(call="c1"))
    refused.response(400, JSON_TYPE)
    refused.chunk(rpc(id=1, error={"code": -32600, "message": "no session"}))
    refused.end()
    asked, answer = wires.rows()
    assert (asked.kind, answer.kind, answer.status, answer.error, answer.words) == (
        "frame",
        "frame",
        400,
        True,
        "-32600 no session",
    )


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


@pytest.mark.parametrize(("status", "state", "words"), [(405, "done", "no stream offered"), (404, "failed", "")])
def test_a_stream_that_a_server_does_not_offer_is_no_failure(status: int, state: str, words: str) -> None:
    wires = Wires()
    stream = wires.server.begin("GET", "http://server/mcp", [], b"", NOWHERE)
    stream.response(status, [])
    stream.end()
    row = wires.rows()[0]
    assert (row.status, row.state, row.words, row.error) == (status, state, words, state == "failed")


def test_a_request_without_an_answer_says_why_once_its_connection_has_ended() -> None:
    wires = Wires()
    wires.frame("out", call_of(1), at(call="c1"))
    wires.frame("in", result_of(1))
    wires.frame("out", call_of(2), at(call="c2"))
    wires.frame("out", call_of(3), at(call="c3"))
    wires.frame("out", rpc(method="notifications/cancelled", params={"requestId": 3}), at(call="c3"))
    wires.frame("out", call_of(4), at(call="c4"), server="docs")
    assert [row.state for row in wires.rows()] == ["done", "done", "open", "unanswered", "done", "open"]
    wires.append(connection_end("math", "math#1", "exited 134"))
    rows = wires.rows()
    assert [(row.kind, row.state, row.ending) for row in rows[2:]] == [
        ("frame", "unanswered", "math exited 134"),
        ("frame", "unanswered", "cancelled"),
        ("frame", "done", ""),
        ("frame", "open", ""),
        ("end", "done", ""),
    ]
    assert (rows[6].lane, rows[6].words, rows[6].error) == ("mcp", "exited 134", True)
    assert list(wires.ladder.filter("status:unanswered")) == [2, 3]
    assert list(wires.ladder.filter("status:failed")) == [2, 3, 6]
    assert list(wires.ladder.filter("status:open")) == [5]


def test_what_is_open_when_its_capture_is_over_has_no_answer() -> None:
    wires = Wires()
    cut = wires.ask()
    cut.response(200, EVENT_STREAM)
    wires.ask()
    wires.frame("out", call_of(1))
    wires.rows()
    wires.ladder.close(running={wires.rows()[0].capture})
    assert [row.state for row in wires.rows()] == ["done", "open", "done", "open"]
    wires.ladder.close()
    assert [(row.state, row.ending) for row in wires.rows()] == [
        ("done", ""),
        ("cut", ""),
        ("unanswered", ""),
        ("unanswered", ""),
    ]


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


def test_a_link_to_an_exchange_that_is_yet_to_come_is_kept_for_it() -> None:
    wires = Wires()
    wires.rows()
    span = Span(exchange="x1", side="request")
    link = Link(relation="told", call="c9", span=span)
    wires.append(Draft(wire="host", kind="link", data=link.to_bytes()))
    wires.ask()
    assert wires.rows()[0].calls == {"c9"}


def test_a_link_to_a_frame_gives_its_row_the_turn_of_the_call_wherever_it_seemed_to_be() -> None:
    wires = Wires()
    wires.frame("out", call_of(1))
    wires.rows()
    link = Link(relation="sent", call="c9", span=Span(seq=1), known="value")
    wires.append(Draft(wire="host", kind="link", place=Place(turn=2, step=3, call="c9"), data=link.to_bytes()))
    row = wires.rows()[0]
    assert (row.turn, row.step, row.inferred) == (2, 3, True)
    wires.frame("in", result_of(1))  # which the same call brought
    row = wires.rows()[1]
    assert (row.turn, row.step, row.calls, row.inferred) == (2, 3, {"c9"}, True)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"3", b'{"relation":"asked"}', b'{"relation":"asked","call":[],"span":{"seq":"x"}}']
)
def test_a_link_or_decision_that_cannot_be_read_does_no_harm(data: bytes) -> None:
    wires = Wires()
    wires.append(Draft(wire="host", kind="link", data=data))
    wires.append(Draft(wire="host", kind="decision", data=data))
    assert len(wires.rows()) == 1


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
    for _ in range(6_000):
        seen = wires.ladder.revision
        wires.ladder.feed([other, chunk])
    assert list(wires.ladder.changed_since(seen)) == [1, 3]
    assert list(wires.ladder.changed_since(0)) == [0, 1, 2, 3]


STREAM = (
    ": waiting\n\nevent: ping\ndata: {}\n\n"
    + "".join(f"data: {json.dumps({**mapping(PIECE), 'n': n})}\r\n\r\n" for n in range(3))
    + "id: 7\n\ndata: the word data: in a text\n\ndata: [DONE]\n\n"
).encode()


def count_of(kind: str, pieces: Sequence[bytes], coding: str = "") -> int:
    count = EventCount(Head(headers=(("Content-Type", kind), ("Content-Encoding", coding))))
    return sum(count.feed(piece) for piece in pieces)


@given(st.lists(st.integers(1, 60), max_size=30))
def test_events_are_as_many_wherever_they_were_cut(sizes: Sequence[int]) -> None:
    pieces: list[bytes] = []
    rest = STREAM
    for size in sizes:
        pieces, rest = [*pieces, rest[:size]], rest[size:]
    decoded = sum(event.kind == "event" for event in SseDecoder().feed(STREAM))
    assert count_of("text/event-stream; charset=utf-8", [*pieces, rest]) == decoded == 6


@pytest.mark.parametrize(
    ("kind", "coding", "events"),
    [
        ("application/x-ndjson", "", 2),
        ("application/json", "", 0),
        ("text/event-stream", "gzip", 0),
        ("text/event-stream", "identity", 1),
    ],
)
def test_lines_are_events_where_they_are_values_and_what_is_coded_shows_none(
    kind: str, coding: str, events: int
) -> None:
    assert count_of(kind, [b'data: {"a":1}\n{"b"', b":2}\n"], coding) == events


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
        ("id:4 dir:out", [3]),
        ("kind:request turn:1", [0, 5]),
        ("kind:notification", [10]),
        ("kind:stderr", [7]),
        ("kind:malformed", [11]),
        ("status:4xx", [9]),
        ("status:failed", [9]),
        ("server:math", [2, 3, 4, 7, 10, 11]),
        ("listening", [7]),
        ("工具", [9]),
        ("chat/completions turn:2", [8, 9]),
        ("multiply 30", [4]),
        ("malformed", [11]),
        ("failed", [9]),
        ("no:token", []),
        ("kind: turn:", range(12)),
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
    assert list(wires.ladder.filter("status:open")) == [1, 2]
    exchange.end()
    wires.frame("in", result_of(1))
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == []
    again = wires.ask()
    again.response(200, EVENT_STREAM)
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == [5]
