"""Streams of which a log has each piece in a line of its own: in an object, or as Python prints texts and bytes."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.captured import ASK, CHAT, PIECE, TELL, WIRES, seen, told
from tests.steps import steps
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening import File, read
from tui_host.opening.logs.printed import printed
from tui_host.opening.stream_pieces import Stream


def piece(text: str, **more: JSON) -> JSON:
    delta: JSON = {"content": text}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, **more}]}


CALL: JSON = {"index": 0, "id": "call_1", "function": {"name": "now", "arguments": '{"zone":"Asia/東京"}'}}
EVENTS: Sequence[JSON] = (
    piece("it's 九"),
    {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [CALL]}}]},
    piece("", finish_reason="tool_calls"),
)
SAID = [*(f"data: {json.dumps(each, ensure_ascii=False)}" for each in EVENTS), "data: [DONE]"]
WHOLE = "\n\n".join([*SAID, ""])


def exchanges(*texts: bytes | str) -> list[tuple[bytes, bytes]]:
    """What was asked and what was answered, of each exchange."""
    found: dict[str, tuple[bytes, bytes]] = {}
    for each in seen(*texts):
        asked, said = found.get(each.draft.exchange or "", (b"", b""))
        if each.draft.kind == "request":
            asked = each.draft.data
        elif each.draft.kind == "chunk":
            said += each.draft.data
        found[each.draft.exchange or ""] = asked, said
    return list(found.values())


def lines(asked: Callable[[JSON], str], said: Callable[[str], str], twice: int = 2) -> str:
    return "".join(f"{asked(CHAT)}\n" + "".join(f"{said(each)}\n" for each in SAID) for _ in range(twice))


OBJECTS: dict[str, Callable[[str], JSON]] = {
    "data": lambda text: {"ts": 1795377601.5, "dir": "in", "data": text},
    "line": lambda text: {"event": "response", "line": f"{text}\n", "ts": 1795377601.5},
    "chunk": lambda text: {"id": "r2", "event": "chunk", "chunk": f"{text}\n\n"},
    "text": lambda text: {"time": "2026-11-22T20:00:01.5Z", "dir": "<-", "text": text},
    "within": lambda text: {"ts": 1795377601.5, "response": {"status": 200, "raw": text}},
    "parsed too": lambda text: {"raw": text, "parsed": json.loads(text[6:]) if text[6:7] == "{" else None},
    "parsed before": lambda text: {"msg": json.loads(text[6:]) if text[6:7] == "{" else None, "raw": text},
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_that_each_hold_a_line_of_a_stream_are_one_answer(name: str) -> None:
    text = lines(
        lambda asked: json.dumps({"ts": 1795377601.0, "dir": "out", "body": asked, "id": "r2"}),
        lambda said: json.dumps(OBJECTS[name](said)),
    )
    found = exchanges(text)
    assert [json.loads(asked) for asked, _ in found] == [CHAT, CHAT]
    assert [said.decode().rstrip() for _, said in found] == [WHOLE.rstrip()] * 2


def test_the_empty_lines_and_names_of_events_may_have_an_object_each() -> None:
    events = ["event: message_start", 'data: {"type": "message_start", "message": {}}', "", "event: ping"]
    events += ['data: {"type": "ping"}', "", "event: message_stop", 'data: {"type": "message_stop"}', ""]
    asked = json.dumps({"way": "out", "line": json.dumps(CHAT)})
    text = "\n".join([asked, *(json.dumps({"way": "in", "line": each}) for each in events)])
    reading = read([File(name="a.jsonl", data=text.encode())], WIRES)
    chunks = [each.draft.data for each in reading.seen if each.draft.kind == "chunk"]
    assert b"".join(chunks).decode() == "\n".join([*events, ""])
    assert not reading.notes.words


def test_an_event_is_ended_by_its_own_line_and_not_by_the_next() -> None:
    text = lines(lambda asked: json.dumps({"body": asked}), lambda said: json.dumps({"data": said}), 1)
    chunks = [each.draft.data for each in seen(text) if each.draft.kind == "chunk"]
    assert [chunk.decode() for chunk in chunks] == [*(f"{each}\n\n" for each in SAID[:-1]), SAID[-1]]


def cut(size: int) -> list[bytes]:
    data = WHOLE.encode()
    return [data[at : at + size] for at in range(0, len(data), size)]


PRINTED: dict[str, tuple[Callable[[JSON], str], list[str]]] = {
    "bytes alone": (lambda asked: repr(json.dumps(asked).encode()), [repr(f"{each}\n\n".encode()) for each in SAID]),
    "words and bytes": (
        lambda asked: f"[20:00:01] REQ body={asked!r}",
        [f"[20:00:0{n}] RESP chunk={each.encode()!r} (9 bytes)" for n, each in enumerate(SAID)],
    ),
    "texts": (lambda asked: f"request: {json.dumps(asked)}", [f"chunk: {f'{each}{chr(10)}'!r}" for each in SAID]),
    "texts in JSON": (lambda asked: f"> {json.dumps(asked)}", [f"< {json.dumps(each)}" for each in SAID]),
    "cut anywhere": (lambda asked: f"request: {json.dumps(asked)}", [f"chunk: {each!r}" for each in cut(7)]),
    "cut everywhere": (
        lambda asked: f"request: {json.dumps(asked)}",
        [f"chunk: {each!r}" for each in (WHOLE[:8].encode(), *cut(1)[8:])],
    ),
    "cut, with times": (
        lambda asked: f"2026-11-22 20:00:01 {json.dumps(asked)}",
        [f"2026-11-22 20:00:0{n % 7 + 2} got {each!r}" for n, each in enumerate(cut(50))],
    ),
    "cut, in objects": (
        lambda asked: json.dumps({"body": asked}),
        [json.dumps({"t": n, "chunk": WHOLE[n : n + 40]}) for n in range(0, len(WHOLE), 40)],
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_python_prints_of_a_chunk_is_read_by_its_own_rules(name: str) -> None:
    asked, said = PRINTED[name]
    found = exchanges("\n".join([asked(CHAT), *said] * 2))
    assert [json.loads(request) for request, _ in found] == [CHAT, CHAT]
    assert [answer.decode().rstrip() for _, answer in found] == [WHOLE.rstrip()] * 2


def test_messages_of_a_server_that_python_printed_are_those() -> None:
    found = seen(f"-> {json.dumps(ASK).encode()!r}\n<- {json.dumps(TELL) + chr(10)!r}\n")
    assert told(found) == [("mcp", "frame", "out"), ("mcp", "frame", "in")]
    assert [json.loads(each.draft.data) for each in found] == [ASK, TELL]


def test_whole_answers_that_python_printed_in_pieces_are_one() -> None:
    whole = json.dumps({"object": "chat.completion", "choices": [{"message": {"content": "it's 九"}}]}).encode()
    pieces = [f"chunk: {whole[at : at + 20]!r}" for at in range(0, len(whole), 20)]
    assert exchanges("\n".join([f"request: {json.dumps(CHAT)}", *pieces])) == [(json.dumps(CHAT).encode(), whole)]


def test_an_error_in_a_word_that_python_printed_is_an_answer() -> None:
    error = b'{"error": "no such model"}'
    assert exchanges(f"> {json.dumps(CHAT)}\n< {error!r}\n") == [(json.dumps(CHAT).encode(), error)]


def test_quotes_in_words_before_json_are_words() -> None:
    text = f""""POST /v1" it's 'now' {json.dumps(CHAT)}\n"200" 'ok' data: {json.dumps(PIECE)}\n"""
    assert exchanges(text) == [(json.dumps(CHAT).encode(), f"data: {json.dumps(PIECE)}\n\n".encode())]


@given(st.binary() | st.text(), st.sampled_from(["", "chunk ", "12:00 [a] chunk="]), st.sampled_from(["", ")", " "]))
def test_every_literal_of_python_s_is_read_as_python_reads_it(said: bytes | str, before: str, after: str) -> None:
    line = f"{before}{said!r}{after}".encode("utf-8", "surrogatepass")
    found = printed(line, 300)
    assert found is not None
    assert (found.at, found.data) == (len(before), said if isinstance(said, bytes) else said.encode())


@pytest.mark.parametrize("text", ["b'a\\x", "f'{x}'", "b'\\xff' b", "'a'.format", "\"it's", "b'it\\\\'s here'", "b'é'"])
def test_what_is_no_literal_is_none(text: str) -> None:
    assert printed(text.encode(), 300) is None


@given(st.lists(st.integers(1, 90), max_size=40))
def test_a_stream_is_the_same_wherever_it_was_cut(sizes: Sequence[int]) -> None:
    data, at, stream, came = WHOLE.encode(), 0, Stream(), b""
    for size in [*sizes, len(data)]:
        came += stream.put(data[at : at + size])
        at += size
    assert came == data


NAMED: Sequence[tuple[str, dict[str, JSON]]] = [
    ("message_start", {"message": {"id": "m"}}),
    ("content_block_delta", {"delta": {"text": "九"}}),
    ("message_stop", {}),
]
NAMED_WHOLE = "".join(f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n" for kind, more in NAMED)


@pytest.mark.parametrize("form", ["chunk {!r}", "object"])
def test_a_stream_is_the_same_wherever_the_name_of_an_event_was_cut(form: str) -> None:
    """What a cut leaves of an event's name tells nothing by itself."""
    begin = NAMED_WHOLE.index("event: content")
    for at in range(begin + 1, NAMED_WHOLE.index("data:", begin) + 5):
        pieces = NAMED_WHOLE[:begin], NAMED_WHOLE[begin:at], NAMED_WHOLE[at : at + 3], NAMED_WHOLE[at + 3 :]
        wrote = [json.dumps({"data": each}) if form == "object" else form.format(each) for each in pieces]
        ((_, said),) = exchanges("\n".join([f"> {json.dumps(CHAT)}", *wrote]))
        assert said.decode() == NAMED_WHOLE


@pytest.mark.parametrize("at", [6, NAMED_WHOLE.index("\n") + 3])
def test_a_stream_of_which_the_first_piece_ends_before_it_says_anything_is_whole(at: int) -> None:
    whole = NAMED_WHOLE if at > 6 else WHOLE
    wrote = [json.dumps({"data": each}) for each in (whole[:at], whole[at:])]
    ((_, said),) = exchanges("\n".join([f"> {json.dumps(CHAT)}", *wrote]))
    assert said.decode() == whole


STREAMS: Sequence[Sequence[str]] = (
    SAID,
    [f"data: {json.dumps({'type': kind})}" for kind in ("message_start", "message_stop")],
    [f"data: {json.dumps({'type': kind})}" for kind in ("response.created", "response.completed")],
)


@pytest.mark.parametrize("events", STREAMS)
@pytest.mark.parametrize("form", ["{}", "chunk {!r}", "object"])
def test_answers_alone_are_as_many_as_began_and_ended(events: Sequence[str], form: str) -> None:
    wrote = [json.dumps({"data": each}) if form == "object" else form.format(each) for each in events]
    found = exchanges("\n".join(["# answers", *wrote, *wrote]))
    assert [(asked, said.decode().rstrip()) for asked, said in found] == [(b"", "\n\n".join(events))] * 2


PRINTED_HOSTILE = {
    "quotes": "'" * 400_000,
    "lines of quotes": ("'" * 299 + "\n") * 2_000,
    "escapes": "b'" + "\\x61" * 300_000 + "'",
    "backslashes": "b'" + "\\" * 500_001,
    "open literals": "b'a b'" * 100_000,
}
PIECES_HOSTILE = {
    "of one line": ("chunk: b'data: {\"'\n", "chunk: b'data: x'\n"),
    "of brackets": ("chunk: b'data: {'\n", "chunk: b'{{{\"\"'\n"),
}


@pytest.mark.parametrize("name", PRINTED_HOSTILE)
def test_hostile_literals_end_soon(name: str) -> None:
    """Within the time that a test has; and what stands around them is read."""
    found = seen(f"{json.dumps(ASK)}\n{PRINTED_HOSTILE[name]}\n{json.dumps(ASK)}\n")
    assert [each.draft.kind for each in found].count("frame") == 2


@pytest.mark.parametrize("name", PIECES_HOSTILE)
def test_pieces_of_what_never_ends_cost_by_their_number(name: str) -> None:
    first, more = PIECES_HOSTILE[name]
    few, many = (
        steps(lambda count=count: seen(f"{json.dumps(ASK)}\n> {json.dumps(CHAT)}\n{first}{more * count}\n"))
        for count in (500, 2000)
    )
    assert many < 4.4 * few


@pytest.mark.parametrize("size", [1, 7, 37, 4000])
@pytest.mark.parametrize("kind", ["bytes", "texts", "JSON"])
def test_a_list_of_the_chunks_of_a_stream_is_that_stream(size: int, kind: str) -> None:
    said = [json.dumps({**mapping(PIECE), "n": number, "text": "it's 😀"}, ensure_ascii=False) for number in range(40)]
    stream = "".join(f"data: {each}\n\n" for each in (*said, "[DONE]"))
    size = max(size, len("data: "))
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    written = repr(pieces if kind == "texts" else [piece.encode() for piece in pieces])
    written = json.dumps(pieces) if kind == "JSON" else written
    reading = read(
        [File(name="a.log", data=f"asked {json.dumps(CHAT)}\nsaid {written}\nasked {json.dumps(CHAT)}\n".encode())],
        WIRES,
    )
    found = list(reading.seen)
    assert b"".join(each.draft.data for each in found if each.draft.kind == "chunk").decode() == stream
    assert [each.draft.kind for each in found if each.draft.exchange == "x1"][-1] == "end"
    assert not reading.notes.told
    assert not reading.notes.words


def test_a_list_of_the_lines_of_a_stream_is_that_stream() -> None:
    lines = [f"data: {json.dumps({**mapping(PIECE), 'n': number})}".encode() for number in range(3)]
    reading = read([File(name="a.log", data=f"asked {json.dumps(CHAT)}\nsaid {lines!r}\n".encode())], WIRES)
    found = b"".join(each.draft.data for each in reading.seen if each.draft.kind == "chunk")
    assert [line for line in found.split(b"\n") if line] == lines


@pytest.mark.parametrize("kind", ["bytes", "texts", "JSON"])
def test_a_list_of_very_many_chunks_takes_little_memory_and_nothing_is_missing(kind: str) -> None:
    pieces = ["data: x", *("ab" for _ in range(60_000)), "it's 😀", *("c" for _ in range(60_000))]
    written = json.dumps(pieces) if kind == "JSON" else repr([each.encode() for each in pieces])
    line = (repr(pieces) if kind == "texts" else written).encode()
    tracemalloc.start()
    try:
        found = printed(line, len(line))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found is not None
    assert found.data.decode() == "".join(pieces)
    assert (found.end, found.has_end) == (len(line), True)
    assert peak < 16 << 20


def test_a_long_list_of_lines_has_each_in_its_own() -> None:
    pieces = [f"data: {number}" for number in range(5_000)]
    line = repr(pieces).encode()
    found = printed(line, len(line))
    assert found is not None
    assert found.data.decode() == "\n".join(pieces)
    late = repr([*pieces, "rest"]).encode()
    found = printed(late, len(late))
    assert found is not None
    assert found.data.decode() == "".join([*pieces, "rest"])
