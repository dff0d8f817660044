"""Rows are folded from records as they come: each appears with its first byte and grows until its end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.capture.drafts import known_ns
from tests.capture.ladder_wires import (
    EVENT_STREAM,
    JSON_TYPE,
    Wires,
    at,
    call_of,
    matching,
    result_of,
    two_turns,
    whole_turn,
)
from tests.capture.wires import rpc
from tests.opening.captured import PIECE
from tui_host.answers.bodies import heads_text
from tui_host.answers.recorded_wires import RecordedWires
from tui_host.capture.connection_end import connection_end
from tui_host.capture.http.exchange_end import Reason
from tui_host.capture.http.observer import ObservedExchange
from tui_host.capture.http.sse import SseDecoder
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link, Span
from tui_host.capture.record import NOWHERE, Place, Record

GOLDEN = Path(__file__).parent.parent / "golden" / "ladder.txt"


# What rows there are, each scene against `tests/golden/ladder.txt`. After a change that is meant: `UPDATE_PICTURES=1`, then read the difference.


def told(wires: Wires) -> str:
    """The rows, a line each: what they are, whose, how they went, what they say, and which other rows they belong to."""
    lines: list[str] = []
    for row in wires.rows():
        way = "->" if row.outward else "<-"
        name = f"{wires.ladder.numbers.name(row)} {row.lane} {row.kind} {way} {row.peer}".strip()
        counts = f"status {row.status} events {row.events} size {row.size} records {row.seq}-{row.last_seq}"
        flags = [name for name in ("answer", "error", "inferred") if getattr(row, name)]
        words = [row.method, row.tool, row.words, row.malformed, row.ending]
        relatives = [wires.ladder.partner(row.number), *wires.ladder.relatives(row.number)]
        line = f"{row.turn}.{row.step} {name}: {row.state} {' '.join(flags)} | {counts} | {' | '.join(filter(None, words))}"
        lines.append(f"{line} | calls {' '.join(sorted(row.calls))} | partner, relatives {relatives}")
    return "\n".join(" ".join(line.split()) for line in lines)


def with_more_beside(wires: Wires) -> None:
    wires.model.begin("GET", "http://model/v1/models", [], b"", at()).end()
    whole_turn(wires)
    wires.append(Record(wire="mcp", kind="frame", peer="math", connection="math#2", direction="out", data=call_of(4)))


def ends(how: Reason, error: str = "") -> Callable[[Wires], None]:
    def play(wires: Wires) -> None:
        exchange = wires.ask()
        exchange.response(200, EVENT_STREAM)
        exchange.end(how, error)

    return play


def refused(wires: Wires) -> None:
    exchange = wires.ask()
    exchange.response(401, JSON_TYPE)
    exchange.chunk(b'{"error": {"message":\n "bad key"}}')
    exchange.end()


def answers(status: int, kind: list[tuple[str, str]], body: bytes, method: str = "POST") -> Callable[[Wires], None]:
    """An exchange with a server over HTTP."""

    def play(wires: Wires) -> None:
        asked = call_of(1) if method == "POST" else b""
        place = at(call="c1") if method == "POST" else NOWHERE
        exchange = wires.server.begin(method, "http://docs/mcp", JSON_TYPE, asked, place)
        exchange.response(status, kind)
        exchange.chunk(body)
        exchange.end()

    return play


def listens(wires: Wires) -> None:
    listening = wires.server.begin("GET", "http://docs/mcp", [], b"", NOWHERE)
    listening.response(200, EVENT_STREAM)
    listening.chunk(b"data: " + CHANGED + b"\n\n")
    listening.end("closed by host")


def waits(wires: Wires) -> None:
    wires.frame("out", call_of(1), at(call="c1"))
    wires.frame("in", result_of(1))
    wires.frame("out", call_of(2), at(call="c2"))
    wires.frame("out", call_of(3), at(call="c3"))
    wires.frame("out", rpc(method="notifications/cancelled", params={"requestId": 3}), at(call="c3"))
    wires.frame("out", call_of(4), at(call="c4"), server="docs")


def loses_its_server(wires: Wires) -> None:
    waits(wires)
    wires.append(connection_end("math", "math#1", "exited 134"))


def is_over(wires: Wires) -> None:
    wires.ask().response(200, EVENT_STREAM)
    wires.ask()
    wires.frame("out", call_of(1))
    wires.rows()
    wires.ladder.close()


def says_errors(wires: Wires) -> None:
    for data, server in ((b"one", "math"), (b"two", "math"), (b"three", "docs"), (b"four", "math")):
        wires.line(data, server=server)
    wires.frame("in", b"Listening on port 3000\n")
    wires.line(b"five")
    wires.line(b"six")


def repeats(wires: Wires) -> None:
    for _ in range(3):
        wires.frame("in", CHANGED)
    wires.frame("in", CHANGED, server="docs")
    for number in range(4):
        wires.frame("in", rpc(method="notifications/progress", params={"progressToken": 1, "progress": number}))
    for data in "ab":
        wires.frame("in", rpc(method="notifications/message", params={"level": "info", "data": data}))


def spoils_an_answer(wires: Wires) -> None:
    wires.frame("out", call_of(1), at(call="c1"))
    wires.frame("in", b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te\xff')


def asks_itself(wires: Wires) -> None:
    wires.frame("out", call_of(1), at(call="c1"))
    wires.frame("in", rpc(id=1, method="roots/list"))
    wires.frame("out", rpc(id=1, result={"roots": []}))
    wires.frame("in", result_of(1, failed=True))


def is_linked_before_it_comes(wires: Wires) -> None:
    link = Link(relation="told", call="c9", span=Span(exchange="x1", side="request"))
    wires.append(Record(wire="host", kind="link", data=link.to_bytes()))
    wires.ask()


def is_linked_to_a_turn(wires: Wires) -> None:
    wires.frame("out", call_of(1))
    wires.rows()
    link = Link(relation="sent", call="c9", span=Span(seq=1), known="value")
    wires.append(Record(wire="host", kind="link", place=Place(turn=2, step=3, call="c9"), data=link.to_bytes()))
    wires.frame("in", result_of(1))  # which the same call brought


def cannot_be_read(wires: Wires) -> None:
    for data in (b"", b"{", b"[]", b"3", b'{"relation":"asked"}', b'{"relation":"asked","call":[],"span":{"seq":"x"}}'):
        wires.append(Record(wire="host", kind="link", data=data))
        wires.append(Record(wire="host", kind="decision", data=data))


CHANGED = rpc(method="notifications/tools/list_changed")
SCENES: Mapping[str, Callable[[Wires], None]] = {
    "a whole turn": whole_turn,
    "numbers in the order in which requests and connections began": with_more_beside,
    "an answer, cut by peer": ends("cut by peer", "ReadError: gone"),
    "an answer, timed out": ends("timed out", "ReadError: gone"),
    "an answer, failed": ends("failed", "ReadError: gone"),
    "an answer, complete": ends("complete"),
    "an answer, closed by host": ends("closed by host"),
    "no answer": lambda wires: wires.ask().end("not connected", "ConnectError: refused"),
    "a refusal in the provider's own words": refused,
    "frames over HTTP": answers(200, JSON_TYPE, result_of(1)),
    "a server that refuses in text": answers(404, [("content-type", "text/plain")], b"no such session"),
    "a server that refuses in JSON-RPC": answers(400, JSON_TYPE, rpc(id=1, error={"code": 1, "message": "no session"})),
    "a server that is gone": lambda wires: wires.server.begin(
        "POST", "http://docs/mcp", JSON_TYPE, call_of(1), at(call="c1")
    ).end("cut by peer", "RemoteProtocolError: gone"),
    "a stream of a server's own": listens,
    "no stream offered": answers(405, [], b"", "GET"),
    "no stream found": answers(404, [], b"", "GET"),
    "requests that wait": waits,
    "requests whose server has ended": loses_its_server,
    "a capture that is over": is_over,
    "lines of standard error that follow each other": says_errors,
    "notifications that repeat": repeats,
    "a spoiled answer": spoils_an_answer,
    "a server's own request": asks_itself,
    "a link to what is yet to come": is_linked_before_it_comes,
    "a link that gives a turn": is_linked_to_a_turn,
    "links and decisions that cannot be read": cannot_be_read,
}


def test_every_scene_has_its_rows() -> None:
    made = ""
    for name, play in SCENES.items():
        wires = Wires()
        play(wires)
        made += f"=== {name}\n{told(wires)}\n"
    if os.environ.get("UPDATE_PICTURES"):
        GOLDEN.write_text(made, encoding="utf-8")
    assert made.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_a_frame_over_http_has_the_url_and_the_headers_that_carried_it() -> None:
    wires = Wires()
    url = "http://docs/mcp?api_key=1"
    exchange = wires.server.begin("POST", url, [*JSON_TYPE, ("x-trace", "abc")], call_of(1), at(call="c1"))
    exchange.response(200, [*JSON_TYPE, ("x-ray", "def")])
    exchange.chunk(result_of(1))
    exchange.end()
    wires.rows()
    found = {
        words: matching(wires.ladder, words)
        for words in ("api_key", '"/mcp?api"', "x-trace", '"X-Trace: abc"', "x-ray")
    }
    assert list(found.values()) == [[0, 1], [0, 1], [0], [0], [1]]
    recorded = RecordedWires(wires.records())
    for row in recorded.ladder.rows:
        sent, came = heads_text(recorded, row).split("\n\n")
        assert sent.startswith("POST http://docs/mcp?api_key=")
        assert "x-trace: abc" in sent
        assert "x-ray: def" in came


def test_a_row_appears_with_the_first_byte_and_grows_as_long_as_its_capture_runs() -> None:
    wires = Wires()
    exchange = wires.ask()
    assert [row.kind for row in wires.rows()] == ["request"]
    exchange.response(200, EVENT_STREAM)
    assert (wires.rows()[1].state, wires.rows()[1].size) == ("open", 0)
    seen = wires.ladder.revision
    exchange.chunk(b"data:")
    wires.rows()
    wires.ladder.close(running={wires.rows()[0].capture})
    row = wires.rows()[1]
    assert (row.state, row.size, row.events) == ("open", 5, 1)
    assert known_ns(row.end_mono_ns) > known_ns(row.mono_ns)
    assert list(wires.ladder.changed_since(seen)) == [1]
    assert list(wires.ladder.changed_since(wires.ladder.revision)) == []
    exchange.end()
    assert (wires.rows()[1].state, wires.rows()[1].last_seq) == ("done", 4)


MOVES: Mapping[str, Callable[[Wires, ObservedExchange, int], object]] = {
    "begins": lambda wires, exchange, _: (wires.ask(), exchange.response(200, EVENT_STREAM)),
    "goes on": lambda _, exchange, __: exchange.chunk(b"x"),
    "ends": lambda _, exchange, __: exchange.end(),
    "a frame": lambda wires, _, number: wires.frame("out", call_of(number), at(call=f"c{number}")),
    "its answer": lambda wires, _, number: wires.frame("in", result_of(number - 1)),
    "a line": lambda wires, _, __: wires.line(b"words"),
    "a link": lambda wires, exchange, number: wires.link("asked", f"c{number}", exchange),
}


@given(st.lists(st.sampled_from([*MOVES]), max_size=40))
def test_a_view_that_takes_only_changes_has_all_rows(moves: Sequence[str]) -> None:
    wires = Wires()
    exchange = wires.ask()
    shown: dict[int, Row] = {}
    seen = 0
    for number, move in enumerate(moves):
        MOVES[move](wires, exchange, number)
        rows = wires.rows()
        shown |= {changed: rows[changed] for changed in wires.ladder.changed_since(seen)}
        seen = wires.ladder.revision
    rows = wires.rows()
    shown |= {changed: rows[changed] for changed in wires.ladder.changed_since(seen)}
    assert list(shown.values()) == list(rows)
    for number in range(len(rows)):
        assert wires.ladder.partner(number) != number
        assert set(wires.ladder.relatives(number)) <= set(range(len(rows))) - {number}


STREAM = (
    ": waiting\n\nevent: ping\ndata: {}\n\n"
    + "".join(f"data: {json.dumps({**mapping(PIECE), 'n': n})}\r\n\r\n" for n in range(3))
    + "id: 7\n\ndata: the word data: in a text\n\ndata: [DONE]\n\n"
).encode()


def count_of(kind: str, pieces: Sequence[bytes], coding: str = "") -> int:
    wires = Wires()
    exchange = wires.ask()
    exchange.response(200, [("Content-Type", kind), ("Content-Encoding", coding)])
    for piece in pieces:
        exchange.chunk(piece)
    return wires.rows()[1].events


@given(st.lists(st.integers(1, 60), max_size=30))
def test_events_are_as_many_wherever_they_were_cut_and_what_is_coded_shows_none(sizes: Sequence[int]) -> None:
    places = [0, *accumulate(sizes), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in pairwise(places)]
    decoded = sum(event.kind == "event" for event in SseDecoder().feed(STREAM))
    assert count_of("text/event-stream; charset=utf-8", pieces, "identity") == decoded == 6
    assert count_of("text/event-stream", pieces, "gzip") == 0
    lines = [b'data: {"a":1}\n{"b"', b":2}\n"]
    assert [count_of(f"application/{kind}", lines) for kind in ("x-ndjson", "json")] == [2, 0]


FILTERS: Mapping[str, Iterable[int]] = {
    "": range(12),
    "tool:multiply": [1, 2, 3, 4, 5],
    "tool:math.mult kind:decision": [2],
    "method:tools/call": [3, 4],
    "id:4 dir:out": [3],
    "kind:request turn:1": [0, 5],
    "kind:notification": [10],
    "kind:stderr": [7],
    "kind:malformed": [11],
    "status:4xx": [9],
    "status:failed": [9],
    "server:math": [2, 3, 4, 7, 10, 11],
    "listening": [7],
    "工具": [9],
    "chat/completions turn:2": [8, 9],
    "multiply 30": [4],
    "malformed": [11],
    "failed": [9],
    "no:token": [],
    "kind: turn:": range(12),
}


def test_tokens_and_words_of_a_filter_must_all_fit() -> None:
    ladder = two_turns().ladder
    assert {text: matching(ladder, text) for text in FILTERS} == {text: [*rows] for text, rows in FILTERS.items()}
    wires = Wires()
    loses_its_server(wires)
    wires.rows()
    states = ("unanswered", "failed", "open")
    assert [matching(wires.ladder, f"status:{state}") for state in states] == [[2, 3], [2, 3, 6], [5]]
