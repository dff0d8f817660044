"""Rows are folded from records as they come: each appears with its first byte and grows until its end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.capture.drafts import known_ns
from tests.capture.ladder_wires import EVENT_STREAM, JSON_TYPE, Wires, at, call_of, result_of, whole_turn
from tests.capture.wires import rpc
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.link import Link, Span
from tui_host.capture.record import NOWHERE, Draft, Place


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
    exchange.chunk(b"data:")
    row = wires.rows()[1]
    assert (row.state, row.size, row.events) == ("open", 5, 1)
    assert known_ns(row.end_mono_ns) > known_ns(row.mono_ns)
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


def test_what_a_tap_asks_for_itself_says_so_in_its_row() -> None:
    wires = Wires()
    for status, agent in ((200, "tui-host tap"), (404, "tui-host tap"), (404, "host/1")):
        asked = wires.server.begin("GET", "http://docs/.well-known/a", [("User-Agent", agent)], b"", NOWHERE)
        asked.response(status, JSON_TYPE)
        asked.chunk(b"Not Found")
        asked.end()
    assert [row.words for row in wires.rows()] == ["by the tap itself", "by the tap itself: Not Found", "Not Found"]


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


def test_the_blanks_before_a_line_of_standard_error_take_no_room_in_its_row_and_stay_in_its_bytes() -> None:
    wires = Wires()
    wires.line(b" " * 3000 + b"\t  behind its time stamp  ")
    wires.line(b"   ")  # says nothing: what stood there before is still the last that was said
    assert [(row.words, row.size) for row in wires.rows()] == [("behind its time stamp", 3031)]


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


def test_a_row_of_a_record_without_an_exchange_id_does_no_harm() -> None:
    wires = Wires()
    exchange = wires.ask()
    exchange.end()
    ladder = Ladder()
    ladder.feed([replace(record, draft=replace(record.draft, exchange=None)) for record in wires.records()])
    assert len(ladder.rows) == 2
