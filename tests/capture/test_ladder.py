"""Rows are folded from records as they come: each appears with its first byte and grows until its end."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from tests.capture.ladder_wires import EVENT_STREAM, JSON_TYPE, Wires, a_turn, at, call_of, matching, result_of, turns
from tests.kit.peer import rpc
from tui_host.answers.bodies import heads_text
from tui_host.answers.wires import RecordedWires
from tui_host.capture.connection_end import connection_end
from tui_host.capture.http.exchange_end import Reason
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link, Span
from tui_host.capture.record import NOWHERE, Direction, Head, Place, Record

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


Play: TypeAlias = Callable[[Wires], None]
CHANGED = rpc(method="notifications/tools/list_changed")
GONE = "ReadError: gone"
Framed: TypeAlias = "tuple[Direction, bytes, str, str]"
CALLED: Framed = ("out", call_of(1), "c1", "math")


def passes(
    status: int,
    headers: list[tuple[str, str]],
    body: bytes = b"",
    how: Reason = "complete",
    error: str = "",
    *,
    method: str = "",
) -> Play:
    """An exchange with a model, or by a method with a server; without a status nothing is answered."""

    def play(wires: Wires) -> None:
        sent, place = (call_of(1), at(call="c1")) if method == "POST" else (b"", NOWHERE)
        exchange = wires.server.begin(method, "http://docs/mcp", JSON_TYPE, sent, place) if method else wires.ask()
        if status:
            exchange.response(status, headers)
        if body:
            exchange.chunk(body)
        exchange.end(how, error)

    return play


def came(data: bytes, server: str = "math") -> Framed:
    return "in", data, "", server


def sends(*frames: Framed, ending: str = "") -> Play:
    """Frames, each with its direction, its call and its server; then `math` may end."""

    def play(wires: Wires) -> None:
        for direction, data, call, server in frames:
            wires.frame(direction, data, at(call=call) if call else NOWHERE, server=server)
        if ending:
            wires.append(connection_end("math", "math#1", ending))

    return play


def with_more_beside(wires: Wires) -> None:
    wires.model.begin("GET", "http://model/v1/models", [], b"", at()).end()
    a_turn(wires)
    wires.append(Record(wire="mcp", kind="frame", peer="math", connection="math#2", direction="out", data=call_of(4)))


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


def is_linked(wires: Wires) -> None:
    told = Link(relation="told", call="c9", span=Span(exchange="x1", side="request"))
    wires.append(Record(wire="host", kind="link", data=told.to_bytes()))
    wires.ask()
    wires.frame("out", call_of(1))
    sent = Link(relation="sent", call="c8", span=Span(seq=3), known="value")
    wires.append(Record(wire="host", kind="link", place=Place(turn=2, step=3, call="c8"), data=sent.to_bytes()))
    wires.frame("in", result_of(1))  # which the same call brought


def cannot_be_read(wires: Wires) -> None:
    for data in (b"", b"{", b"[]", b"3", b'{"relation":"asked"}', b'{"relation":"asked","call":[],"span":{"seq":"x"}}'):
        wires.append(Record(wire="host", kind="link", data=data))
        wires.append(Record(wire="host", kind="decision", data=data))


WAITING: Sequence[Framed] = (
    CALLED,
    came(result_of(1)),
    ("out", call_of(2), "c2", "math"),
    ("out", call_of(3), "c3", "math"),
    ("out", rpc(method="notifications/cancelled", params={"requestId": 3}), "c3", "math"),
    ("out", call_of(4), "c4", "docs"),
)
PROGRESS = [rpc(method="notifications/progress", params={"progressToken": 1, "progress": n}) for n in range(4)]
SAID = [rpc(method="notifications/message", params={"level": "info", "data": text}) for text in "ab"]
SCENES: Mapping[str, Play] = {
    "a whole turn": a_turn,
    "numbers in the order in which requests and connections began": with_more_beside,
    "an answer, cut by peer": passes(200, EVENT_STREAM, b"", "cut by peer", GONE),
    "an answer, timed out": passes(200, EVENT_STREAM, b"", "timed out", GONE),
    "an answer, failed": passes(200, EVENT_STREAM, b"", "failed", GONE),
    "an answer, complete": passes(200, EVENT_STREAM),
    "an answer, closed by host": passes(200, EVENT_STREAM, b"", "closed by host"),
    "no answer": passes(0, [], b"", "not connected", "ConnectError: refused"),
    "a refusal in the provider's own words": passes(401, JSON_TYPE, b'{"error": {"message":\n "bad key"}}'),
    "frames over HTTP": passes(200, JSON_TYPE, result_of(1), method="POST"),
    "a server that refuses in text": passes(404, [("content-type", "text/plain")], b"no such session", method="POST"),
    "a server that refuses in JSON-RPC": passes(400, JSON_TYPE, rpc(id=1, error={"code": 1}), method="POST"),
    "a server that is gone": passes(0, [], b"", "cut by peer", "RemoteProtocolError: gone", method="POST"),
    "a stream of a server's own": passes(200, EVENT_STREAM, b"data: " + CHANGED + b"\n\n", "closed by host",
        method="GET"),
    "no stream offered": passes(405, [], method="GET"),
    "no stream found": passes(404, [], method="GET"),
    "requests that wait": sends(*WAITING),
    "requests whose server has ended": sends(*WAITING, ending="exited 134"),
    "a capture that is over": is_over,
    "lines of standard error that follow each other": says_errors,
    "notifications that repeat": sends(*(came(CHANGED, server) for server in ("math", "math", "math", "docs")),
        *map(came, (*PROGRESS, *SAID))),
    "a spoiled answer": sends(CALLED,
        ("in", b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te\xff', "", "math")),
    "a server's own request": sends(CALLED, came(rpc(id=1, method="roots/list")),
        ("out", rpc(id=1, result={"roots": []}), "", "math"), came(result_of(1, failed=True))),
    "links to what is yet to come, and into a turn": is_linked,
    "links and decisions that cannot be read": cannot_be_read,
}  # fmt: skip


def test_every_scene_has_its_rows_and_a_view_that_takes_only_changes_has_them_too() -> None:
    made = ""
    for name, play in SCENES.items():
        wires = Wires()
        play(wires)
        made += f"=== {name}\n{told(wires)}\n"
        shown: dict[int, Row] = {}
        ladder = Ladder()
        for record in wires.records():
            seen = ladder.revision
            ladder.feed([record])
            shown |= {changed: ladder.rows[changed] for changed in ladder.changed_since(seen)}
        seen = ladder.revision
        ladder.close()
        shown |= {changed: ladder.rows[changed] for changed in ladder.changed_since(seen)}
        assert [shown[number] for number in sorted(shown)] == list(ladder.rows)
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
    texts = ("api_key", '"/mcp?api"', "x-trace", '"X-Trace: abc"', "x-ray")
    assert [matching(wires.ladder, text) for text in texts] == [[0, 1], [0, 1], [0], [0], [1]]
    recorded = RecordedWires(wires.records())
    for row in recorded.ladder.rows:
        sent, came = heads_text(recorded, row).split("\n\n")
        assert sent.startswith("POST http://docs/mcp?api_key=")
        assert "x-trace: abc" in sent
        assert "x-ray: def" in came


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
    ladder = turns().ladder
    assert {text: matching(ladder, text) for text in FILTERS} == {text: [*rows] for text, rows in FILTERS.items()}
    wires = Wires()
    SCENES["requests whose server has ended"](wires)
    wires.rows()
    states = ("unanswered", "failed", "open")
    assert [matching(wires.ladder, f"status:{state}") for state in states] == [[2, 3], [2, 3, 6], [5]]


def test_a_row_is_found_by_its_first_record_though_this_came_late() -> None:
    ladder = Ladder()
    draft = Record(wire="mcp", kind="frame", peer="lab", direction="in", capture="c")
    ladder.feed(replace(draft, seq=seq, data=rpc(method=f"n{seq}")) for seq in (1, 4, 2, 9))
    assert [ladder.row_of(("c", seq)) for seq in (1, 2, 3, 4, 9)] == [0, 2, None, 1, 3]


def test_a_server_that_was_listened_to_until_the_end_leaves_nothing_unanswered() -> None:
    ladder, asked = Ladder(), rpc(id=1, method="subscriptions/listen")
    draft = Record(wire="mcp", kind="request", peer="lab", direction="out", capture="c", exchange="x", data=asked)
    ladder.feed([replace(draft, seq=1, head=Head(method="POST")), replace(draft, seq=2, kind="frame")])
    ladder.close()
    assert [(row.method, row.state) for row in ladder.rows] == [("subscriptions/listen", "done")]
