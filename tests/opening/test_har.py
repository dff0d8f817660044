"""HTTP archives, read to the records that they stand for, entry by entry."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.opening.captured import ASK, CHAT, MODEL, PIECE, TELL, WHOLE, archive, entry, is_timed, read, seen, told
from tui_host.answers.bodies import body_of, missing_words
from tui_host.answers.look_page import Looks
from tui_host.answers.said_texts import RowTexts
from tui_host.answers.wires import RecordedWires
from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.json import spans
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.spans import BrokenError, elements
from tui_host.capture.record import MISSING, NOT_KNOWN
from tui_host.errors import JSON
from tui_host.opening import har

URL = "https://api.deepseek.com/v1/chat/completions"
STREAMED = f"event: message\ndata: {json.dumps(TELL)}\n\n"


def test_an_archive_has_exchanges_with_models_and_servers_on_one_clock_and_counts_others() -> None:
    server = entry("https://docs.example/mcp", ASK, STREAMED, "2026-11-22T02:13:06.895Z")
    page = entry("https://docs.example/logo.svg", {}, "<svg/>")
    found, wires = read(archive(server, page, 7, {**MODEL, "_webSocketMessages": [{}]}, MODEL))
    assert wires.left_out == {"exchanges with neither a model nor an MCP server": (3, "")}
    assert [f"{wire} {kind} {way}" for wire, kind, way in told(found)] == [
        *("llm request out", "mcp request out", "mcp frame out", "llm response in", "mcp response in", "llm chunk in"),
        *("llm end in", "mcp chunk in", "mcp frame in", "mcp end in"),
    ]
    after = [record.time_ns - found[0].time_ns for record in found[:6]]
    assert after == [0, 5_000_000, 5_000_000, 10_500_000, 15_500_000, 50_500_000]
    assert (found[0].peer, found[5].data) == ("deepseek", f"data: {json.dumps(PIECE)}\n\n".encode())
    assert {record.encoding for record in found} == {None}  # an archive's bodies have been decoded


def test_entries_are_put_in_order_of_time_unless_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for later_ms, is_over in ((48, True), (40, False)):  # times are rounded, and an end is a sum of them
        found = seen(archive(MODEL, {**MODEL, "startedDateTime": f"2026-11-22T02:13:06.{890 + later_ms}Z"}))
        kinds = [record.kind for record in found]
        assert (kinds.index("end") < kinds.index("request", 1)) == is_over
    entries = [{**MODEL, "startedDateTime": f"2026-11-22T02:13:0{second}Z"} for second in (1, 2, 0)]
    in_order = [record.time_ns for record in seen(archive(*entries))]
    monkeypatch.setattr(har, "_SORTED", 100)
    as_they_stand = [record.time_ns for record in seen(archive(*entries))]
    assert in_order == sorted(as_they_stand) != as_they_stand


@pytest.mark.parametrize(
    ("text", "more", "body"),
    [
        ("Echo: 世界".encode().decode("latin-1"), {}, "Echo: 世界".encode()),
        ("Echo: 世界", {"size": 12}, "Echo: 世界".encode()),
        ("café", {"size": 4}, "café".encode()),
        ("Ã©", {"size": 4}, "Ã©".encode()),  # so many bytes are these characters
        ("中", {"size": 1e308}, "中".encode()),
        ("eH\r\nl6\r\n", {"encoding": "base64"}, b"xyz"),
        ("xyz", {"encoding": "base64"}, b"xyz"),
    ],
)
def test_a_body_is_read_back_to_its_bytes(text: str, more: dict[str, JSON], body: bytes) -> None:
    headers: JSON = [{"name": "Content-Type", "value": "text/event-stream"}]
    response: JSON = {"status": 200.0, "headers": headers, "content": {"text": text, **more}}
    found = seen(archive({**MODEL, "response": response}))
    assert b"".join(record.data for record in found if record.kind == "chunk") == body
    assert [record.head and record.head.status for record in found if record.kind == "response"] == [200]


values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@pytest.mark.parametrize("piece", [1, 1 << 16])
@given(value=st.lists(values, max_size=4), indent=st.sampled_from([None, 1]))
def test_elements_are_found_where_a_parser_finds_them(piece: int, value: list[JSON], indent: int | None) -> None:
    """Also those that go over the end of what is parsed at once."""
    data = json.dumps(value, ensure_ascii=False, indent=indent).encode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(spans, "_FIRST_PIECE", piece)
        found = list(elements(data, 0))
    assert [json.loads(data[start:end]) for _, start, end in found] == [value for value, _, _ in found]
    assert [value for value, _, _ in found] == json.loads(data)
    with pytest.raises(BrokenError):
        list(elements(data.rstrip(b" \n]") + b"[" * 600, 0))


HEADERS: JSON = [{"name": ":status", "value": "200"}, {"name": "content-type", "value": "application/json"}]


@pytest.mark.parametrize(
    ("status", "content", "reason", "words"),
    [
        (200, {"size": 5120}, MISSING, "not in the file, 5,120 bytes"),
        (200, {"size": 7000, "text": None}, MISSING, "not in the file, 7,000 bytes"),
        (200, {"size": 9000, "text": ""}, MISSING, "not in the file, 9,000 bytes"),
        (200, {}, MISSING, "not in the file"),
        (204, {}, "complete", "an empty answer"),
        (200, {"size": 0}, "complete", "an empty answer"),
        (200, {"text": ""}, "complete", "an empty answer"),
    ],
)
def test_an_answers_row_says_what_is_held_of_it(status: int, content: dict[str, JSON], reason: str, words: str) -> None:
    response: JSON = {"status": status, "headers": HEADERS, "content": content}
    found = seen(archive({**entry(URL, CHAT, ""), "response": response}))
    texts = list(RowTexts(wires := RecordedWires(found)).all())
    ending, row = read_ending(found[-1].data), texts[1].row
    assert (ending.reason, texts[1].words) == (reason, f"{status} {words}")
    assert (ending.size, ending.kept) == (content.get("size", 0), 0)
    assert (texts[0].row.missing, row.missing) == (False, reason == MISSING)
    assert (missing_words(row) in body_of(wires, row).notes) == row.missing


def test_an_answer_that_did_not_come_is_told_apart_from_one_that_is_not_in_the_archive() -> None:
    refused: JSON = {"status": 0, "headers": [], "content": {}, "_error": "net::ERR_FAILED"}
    others: list[JSON] = [{"status": status, "headers": [], "content": {"size": 0}} for status in (0, -1, -999, None)]
    for response, error in ((refused, "net::ERR_FAILED"), *((each, "no response came") for each in others)):
        found = seen(archive({**entry(URL, CHAT, ""), "response": response}))
        ending = read_ending(found[-1].data)
        assert (ending.reason, ending.error) == ("failed", error)
        assert not any(row.missing for row in RecordedWires(found).ladder.rows)
    kind: JSON = [{"name": "content-type", "value": "text/event-stream"}]
    stream: JSON = {"status": 200, "headers": kind, "content": {"size": 0}}
    found = seen(archive({**entry(URL, CHAT, ""), "response": stream}))
    assert read_ending(found[-1].data).reason == MISSING


def looked_at(wires: RecordedWires) -> list[int]:
    looks = Looks(wires)
    looks.advance()
    return looks.numbers


def test_a_servers_answer_that_is_not_in_the_archive_answers_its_request_and_is_nothing_to_look_at() -> None:
    kept: JSON = {"status": 200, "headers": HEADERS, "content": {"size": 5120}}
    failed: JSON = {"status": 0, "content": {}}
    for response, state, answer, count in (
        (kept, "done", ("frame", "mcp", True, "not in the file, 5,120 bytes"), 0),
        (failed, "unanswered", ("fault", "mcp", False, "no response came"), 2),
    ):
        wires = RecordedWires(seen(archive({**entry("https://mcp.example/mcp", ASK, ""), "response": response})))
        asked, row = wires.ladder.rows
        assert (asked.state, wires.ladder.partner(0), row.method) == (state, 1, asked.method if row.missing else "POST")
        assert (row.kind, row.lane, row.missing, row.words) == answer
        assert len(looked_at(wires)) == count


def test_a_request_that_is_not_in_the_archive_is_nothing_to_look_at() -> None:
    sent = {**entry("https://mcp.example/mcp", ASK, json.dumps(TELL)), "startedDateTime": "2026-11-22T02:13:01Z"}
    lacking = entry("https://mcp.example/mcp", {}, "{}")
    lacking["request"] = {"method": "PATCH", "url": "https://mcp.example/mcp"}
    wires = RecordedWires(seen(archive(sent, lacking)))
    row = wires.ladder.rows[-1]
    assert (row.method, row.missing, row.words, row.malformed) == ("PATCH", True, MISSING, "")
    assert not looked_at(wires)


@pytest.mark.parametrize(
    "more",
    [
        {"time": 0, "timings": {"send": 0, "wait": 0, "receive": 0}},
        {"time": -1, "timings": {"send": -1, "wait": -1, "receive": -1}},
        {"time": None, "timings": None},
        {"startedDateTime": "soon"},
        {"request": {"method": "POST", "url": URL, "postData": {"params": [{"name": "a", "value": "b"}]}}},
        {"request": {"method": "POST", "url": URL, "headers": [{"name": ":authority", "value": "a"}, {"name": "x"}]}},
        {"response": None},
    ],
)
def test_each_entry_is_a_row_whatever_it_lacks(more: dict[str, JSON]) -> None:
    found = seen(archive({**entry(URL, CHAT, json.dumps(WHOLE)), **more}))
    assert found[0].kind == "request"
    assert found[-1].kind in {"end", "error"}
    assert (found[0].malformed == MISSING) == ("request" in more)
    if "time" in more:
        assert [is_timed(record) for record in found] == [True, False, False, False]


@pytest.mark.parametrize("kept", [{}, {"text": "", "size": 0}])
def test_a_stream_of_listed_events_says_that_it_is_rebuilt(kept: dict[str, JSON]) -> None:
    events: list[JSON] = [
        {"time": 1795313586.95, "eventName": "message", "eventId": "", "data": json.dumps(PIECE)},
        {"time": 1795313586.98, "eventName": "two\nlines", "eventId": "7", "data": "one\ntwo"},
        {"time": 1e300, "eventName": "message", "eventId": "", "data": "[DONE]"},
        {"time": "never"},
        None,
    ]
    response = {**mapping(MODEL["response"]), "content": {"mimeType": "text/event-stream", **kept}}
    found = seen(archive({**MODEL, "response": response, "_eventSourceMessages": events}))
    chunks = [record for record in found if record.kind == "chunk"]
    assert [record.data.decode() for record in chunks] == [
        f"data: {json.dumps(PIECE)}\n\n",
        "event: two lines\nid: 7\ndata: one\ndata: two\n\n",
        "data: [DONE]\n\n",
    ]
    assert [record.time_ns % 10**9 // 10**6 for record in chunks[:2]] == [950, 980]
    assert found[-1].time_ns >= chunks[-1].time_ns >= chunks[1].time_ns
    head = next(record.head for record in found if record.kind == "response")
    assert head is not None
    assert "put together anew" in dict(head.headers)[NOT_KNOWN]
    assert read_ending(found[-1].data).reason == "complete"
    whole = seen(archive({**MODEL, "_eventSourceMessages": events}))
    assert [record.data for record in whole if record.kind == "chunk"] == [f"data: {json.dumps(PIECE)}\n\n".encode()]


def test_what_carries_json_rpc_is_a_servers_whatever_the_address_and_the_method() -> None:
    """Examples of the SDKs take messages at `/messages`, as Anthropic's API does."""
    found = seen(archive(entry("http://localhost:8000/messages?session_id=1", ASK, "Accepted")))
    assert {record.wire for record in found} == {"mcp"}
    for method in ("GET", "POST", "PATCH"):
        stream = entry("http://localhost:8000/v1/chat/completions", {}, STREAMED)
        stream["request"] = {"method": method, "url": "http://localhost:8000/v1/chat/completions"}
        kinds = [record.kind for record in seen(archive(stream)) if record.wire == "mcp"]
        assert kinds == ["request", "response", "chunk", "frame", "end"]
    # the older transport's stream, and what is sent beside it, are one connection
    begun = "event: endpoint\ndata: /messages?session_id=1\n\n"
    stream = entry("http://localhost:8000/sse", {}, f"{begun}{STREAMED}", time=90_000)
    stream["request"] = {"method": "GET", "url": "http://localhost:8000/sse"}
    found = seen(archive(stream, entry("http://localhost:8000/messages?session_id=1", ASK, "", "2026-11-22T02:13:08Z")))
    assert len({record.connection for record in found}) == 1
    assert [record.direction for record in found if record.kind == "frame"] == ["out", "in"]
