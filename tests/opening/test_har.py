"""HTTP archives, read to the records that they stand for, entry by entry."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.opening.captured import ASK, CHAT, MODEL, PIECE, TELL, WHOLE, archive, entry, seen, told
from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.json import file_values
from tui_host.capture.json.file_values import BrokenError, elements
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import MISSING
from tui_host.errors import JSON
from tui_host.opening.exchange_assembly import NOT_KNOWN
from tui_host.opening.har_messages import body_came
from tui_host.opening.import_types import File
from tui_host.opening.recognition import read


def test_an_archive_has_exchanges_with_models_and_servers_on_one_clock() -> None:
    server = entry(
        "https://docs.example/mcp", ASK, f"event: message\ndata: {json.dumps(TELL)}\n\n", "2026-11-22T02:13:06.895Z"
    )
    page = entry("https://docs.example/logo.svg", {}, "<svg/>")
    found = seen(archive(server, page, MODEL))
    assert told(found) == [
        ("llm", "request", "out"),
        ("mcp", "request", "out"),
        ("mcp", "frame", "out"),
        ("llm", "response", "in"),
        ("mcp", "response", "in"),
        ("llm", "chunk", "in"),
        ("llm", "end", "in"),
        ("mcp", "chunk", "in"),
        ("mcp", "frame", "in"),
        ("mcp", "end", "in"),
    ]
    assert [each.at.ns - found[0].at.ns for each in found[:6]] == [
        0,
        5_000_000,
        5_000_000,
        10_500_000,
        15_500_000,
        50_500_000,
    ]
    assert found[0].record.peer == "deepseek"
    assert found[5].record.data == f"data: {json.dumps(PIECE)}\n\n".encode()
    assert {each.record.encoding for each in found} == {None}  # an archive's bodies have been decoded


@pytest.mark.parametrize(
    ("creator", "connect", "later_ms", "is_over"),
    [
        ("x", -1, 48, True),  # times are rounded, and an end is a sum of them
        ("x", -1, 40, False),
        ("x", 30, 60, False),
        ("mitmproxy", 30, 60, True),  # it had connected before
    ],
)
def test_what_came_before_the_next_exchange_of_an_archive_began_stands_before_it(
    creator: str, connect: float, later_ms: int, *, is_over: bool
) -> None:
    timings: JSON = {"connect": connect, "send": 1, "wait": 9.5, "receive": 40}
    first = {**MODEL, "timings": timings, "time": 50.5 + max(connect, 0)}
    later = {**MODEL, "startedDateTime": f"2026-11-22T02:13:06.{890 + later_ms}Z"}
    found = seen(archive(first, later, creator=creator))
    kinds = [each.record.kind for each in found]
    assert (kinds.index("end") < kinds.index("request", 1)) == is_over
    assert [each.at.ns for each in found] == sorted(each.at.ns for each in found)


def test_the_entries_of_an_archive_are_given_as_they_are_found_where_they_stand_in_order() -> None:
    """Else not before the last is found, which may be the first in time; both come out the same."""
    entries = [{**MODEL, "startedDateTime": f"2026-11-22T02:13:0{second}Z"} for second in range(5)]
    found: list[list[tuple[object, str]]] = []
    shares: list[float] = []
    for each in (entries, [*entries[1:], entries[0]]):
        reading = read([File(name="a.har", data=archive(*each))])
        first = next(reading.drafts)
        shares.append(reading.notes.progress.done / reading.notes.progress.expected)
        found.append([(seen.at, seen.record.kind) for seen in (first, *reading.drafts)])
    assert found[0] == found[1]
    assert shares[0] < 0.5 < shares[1]


def test_an_archive_that_is_cut_is_read_up_to_there_with_a_word_and_its_long_headers_whole() -> None:
    long = f"https://api.deepseek.com/v1/chat/completions?trace={'x' * 1000}"
    whole = archive(entry(long, CHAT, ""), MODEL)
    reading = read([File(name="a.har", data=whole[:-20])])
    (request,) = (each.record for each in reading.drafts if each.record.kind == "request")
    assert request.head is not None
    assert request.head.url == long
    assert len(reading.notes.messages) == 1
    assert "is broken (it is cut off): what stands before is read" in reading.notes.messages[0]


@pytest.mark.parametrize(
    ("text", "media", "sizes", "body"),
    [
        ("Echo: 世界".encode().decode("latin-1"), "text/event-stream", {}, "Echo: 世界".encode()),
        ("Echo: 世界".encode().decode("latin-1"), "application/json", {"size": 12}, "Echo: 世界".encode()),
        ("Echo: 世界".encode()[:-1].decode("latin-1"), "text/plain", {"size": 11}, "Echo: 世界".encode()[:-1]),
        ("Echo: 世界", "text/event-stream", {"size": 12}, "Echo: 世界".encode()),
        ("café", "text/event-stream", {"size": 4}, "café".encode()),
        ("Ã©", "text/event-stream", {"size": 4}, "Ã©".encode()),  # so many bytes are these characters
        ("Ã©", "text/event-stream", {"size": 3, "compression": 1}, "Ã©".encode()),
        ("Ã©", "text/plain; charset=utf-8", {}, "Ã©".encode()),
    ],
)
def test_a_body_that_an_archive_has_as_latin_1_is_read_back_to_its_bytes(
    text: str, media: str, sizes: dict[str, JSON], body: bytes
) -> None:
    response: JSON = {"headers": [{"name": "Content-Type", "value": media}], "content": {"text": text, **sizes}}
    assert body_came(mapping(response)) == body


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ({"text": "eHl6", "encoding": "base64"}, 200),
        ({"text": "eH\r\nl6\r\n", "encoding": "Base64", "_transferSize": 9}, "200"),
        ({"text": "xyz", "encoding": "utf-8", "size": "3"}, 200),
        ({"text": "xyz"}, 200.0),
    ],
)
def test_an_archive_may_hold_a_body_in_base64_and_sockets_are_left_out_with_a_word(
    content: dict[str, JSON], status: JSON
) -> None:
    packed = {**MODEL, "timings": {"send": "1", "wait": "9.5"}, "_priority": "High", "_initiator": {"type": "script"}}
    packed["response"] = {"status": status, "headers": [], "content": content}
    reading = read([File(name="a", data=archive(packed, {**MODEL, "_webSocketMessages": [{}]}))])
    records = list(reading.drafts)
    assert [each.record.data for each in records if each.record.kind == "chunk"] == [b"xyz"]
    assert records[1].record.head is not None
    assert records[1].record.head.status == 200
    assert records[1].at.ns - records[0].at.ns == 10_500_000
    assert reading.notes.left_out == "WebSocket conversations (1)"


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
        patched.setattr(file_values, "_FIRST_PIECE", piece)
        found = list(elements(data, 0))
    assert [json.loads(data[start:end]) for _, start, end in found] == [value for value, _, _ in found]
    assert [value for value, _, _ in found] == json.loads(data)


@pytest.mark.parametrize("text", [b"[", b"[1", b"[1 2]", b'["a', b"[" * 600 + b"]" * 600])
def test_an_array_that_is_none_is_told(text: bytes) -> None:
    with pytest.raises(BrokenError):
        list(elements(text, 0))


def test_what_an_archive_does_not_have_is_told_as_not_known() -> None:
    untold: dict[str, JSON] = {"time": 0, "timings": {"send": 0, "wait": 0, "receive": 0}}
    less: dict[str, JSON] = {"time": -1, "timings": {"send": -1, "wait": -1, "receive": -1}}
    url = "https://api.deepseek.com/v1/chat/completions"
    none: dict[str, JSON] = {"time": None, "timings": None}
    for more in (untold, less, none):
        times = [each.at.is_told for each in seen(archive({**entry(url, CHAT, json.dumps(WHOLE)), **more}))]
        assert times == [True, False, False, False]
    without: dict[str, JSON] = {**MODEL, "response": {"status": 200, "headers": [], "content": {"size": 812}}}
    request, _, end = [each.record for each in seen(archive({**without, "request": {"method": "POST", "url": url}}))]
    assert (request.malformed, read_ending(end.data).reason) == (MISSING, MISSING)
    stream = {"status": 200, "headers": mapping(MODEL["response"])["headers"], "content": {"size": 0}}
    assert read_ending(seen(archive({**MODEL, "response": stream}))[-1].record.data).reason == MISSING


@pytest.mark.parametrize("kept", [{}, {"text": "", "size": 0}, {"size": 99}])
def test_a_stream_whose_events_a_browser_keeps_beside_it_is_put_together_anew_and_that_is_said(
    kept: dict[str, JSON],
) -> None:
    events: list[JSON] = [
        {"time": 1795313586.95, "eventName": "message", "eventId": "", "data": json.dumps(PIECE)},
        {"time": 1795313586.98, "eventName": "two\nlines", "eventId": "7", "data": "one\ntwo"},
        {"time": 1e300, "eventName": "message", "eventId": "", "data": "[DONE]"},
        {"time": "never"},
        None,
    ]
    response = {**mapping(MODEL["response"]), "content": {"mimeType": "text/event-stream", **kept}}
    found = seen(archive({**MODEL, "response": response, "_eventSourceMessages": events}))
    chunks = [each for each in found if each.record.kind == "chunk"]
    assert [each.record.data.decode() for each in chunks] == [
        f"data: {json.dumps(PIECE)}\n\n",
        "event: two lines\nid: 7\ndata: one\ndata: two\n\n",
        "data: [DONE]\n\n",
    ]
    assert [each.at.ns % 10**9 // 10**6 for each in chunks[:2]] == [950, 980]
    assert found[-1].at.ns >= chunks[-1].at.ns >= chunks[1].at.ns
    head = next(each.record.head for each in found if each.record.kind == "response")
    assert head is not None
    assert "put together anew" in dict(head.headers)[NOT_KNOWN]
    assert json.loads(found[-1].record.data)["reason"] == "complete"
    whole = seen(archive({**MODEL, "_eventSourceMessages": events}))
    assert [each.record.data for each in whole if each.record.kind == "chunk"] == [
        f"data: {json.dumps(PIECE)}\n\n".encode()
    ]


@pytest.mark.parametrize(
    "size", [10**400, 1e308, float("nan"), -1, "many"], ids=["beyond floats", "great", "none", "less", "words"]
)
def test_a_body_is_read_whatever_number_stands_for_its_size(size: JSON) -> None:
    content: dict[str, JSON] = {"size": size, "compression": 0.5, "text": "\u4e2d"}
    response = {**mapping(MODEL["response"]), "content": content}
    found = seen(archive({**MODEL, "response": response}))
    assert [each.record.data for each in found if each.record.kind == "chunk"] == ["\u4e2d".encode()]


def test_a_server_that_takes_messages_where_a_model_does_is_none() -> None:
    """The SDKs' own examples of servers with event streams have `/messages` for it, as Anthropic's API does."""
    found = seen(archive(entry("http://localhost:8000/messages?session_id=1", ASK, "Accepted")))
    assert {each.record.wire for each in found} == {"mcp"}
    assert [each.record.kind for each in found][:2] == ["request", "frame"]


def test_a_body_with_the_events_of_two_answers_is_marked_as_failed_with_the_remedy() -> None:
    stream = [f"data: {json.dumps(PIECE)}", "data: [DONE]"]
    mixed = "\n\n".join(line for line in stream for _ in range(2)) + "\n\n"
    url = "https://api.deepseek.com/v1/chat/completions"
    reading = read([File(name="a.har", data=archive(entry(url, CHAT, mixed)))])
    last = [*reading.drafts][-1].record
    assert (last.kind, b"events of several answers" in last.data) == ("error", True)
    assert "Record with tui-host tap" in reading.notes.messages[0]
