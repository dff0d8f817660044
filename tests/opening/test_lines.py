"""Lines of others: messages, bodies and events, which answer is to which request, which way a frame went, and when."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, is_timed, read, seen, told
from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.record import MISSING, NOT_KNOWN
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.dialects.table import DIALECTS, dialect_at
from tui_host.opening.line_exchanges import MIXED

BOTH = [("mcp", "frame", "out"), ("mcp", "frame", "in")]
EXCHANGE = [("llm", kind, to) for kind, to in (("request", "out"), ("response", "in"), ("chunk", "in"), ("end", "in"))]
PING = {**ASK, "method": "ping"}
LOGS: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "arrows": (f">>> {json.dumps(ASK)}\n<-- {json.dumps(TELL)}\n", BOTH),
    "an article's logger of a server: Chinese words, standard error between them": (
        f"输入: {json.dumps(ASK)}\nSTDERR: working\n输出: {json.dumps(TELL)}\n",
        [("mcp", "frame", "out"), ("stderr", "line", "in"), ("mcp", "frame", "in")],
    ),
    "an article's logger of a model, with a gateway's comment in the stream": (
        f"模型请求：{json.dumps(CHAT)}\n模型返回：\n\n: PROCESSING\n\ndata: {json.dumps(PIECE)}\n",
        EXCHANGE,
    ),
    "a value over several lines at the beginning": (f"{json.dumps(PING, indent=2)}\n<<< {json.dumps(TELL)}\n", BOTH),
    "the output of VS Code": (
        "".join(
            f"2025-06-11 10:13:10.303 [trace] [{way}] {json.dumps(PING)}\n"
            for way in ("editor -> server", "server -> editor", "Client Says", "Server Says")
        ),
        [("mcp", "frame", way) for way in ("out", "in", "out", "in")],
    ),
    "a gateway of stdio servers, with its own names for the sides": (
        f"[gw] SSE → Child (session 1-2): {json.dumps(PING)}\n[gw] Child → SSE: {json.dumps(PING)}\n[gw] Child stderr: oops\n",
        [("mcp", "frame", "out"), ("mcp", "frame", "in"), ("stderr", "line", "in")],
    ),
    "sides as members name them": (
        "\n".join(
            json.dumps({"ts": 1764583202.5, "way": way, "data": data})
            for way in ("client_to_server", "server-to-client", "clientToServer", "server → client")
            for data in (PING, json.dumps(PING))
        ),
        [("mcp", "frame", way) for way in ("out", "in", "out", "in") for _ in range(2)],
    ),
    "a server's event stream": (f"data: {json.dumps(PING)}\n\n", [("mcp", "frame", "out")]),
    "a stream's pieces as whoever read them parsed them": (
        "\n".join(f"chunk: {json.dumps(each)}" for each in (CHAT, PIECE, PIECE)),
        EXCHANGE,
    ),
    "an error in a word": (
        f'{json.dumps({"error": "of something else"})}\n>>> {json.dumps(CHAT)}\n<<< {{"error": "no such model"}}',
        EXCHANGE,
    ),
    "a model's stream that lost its empty lines": (
        "POST https://api.deepseek.com/v1/chat/completions HTTP/1.1\nAuthorization: Bearer sk-1\n"
        + "\n".join([json.dumps(CHAT), *[f"data: {json.dumps(PIECE)}"] * 2, "data: [DONE]"]),
        EXCHANGE,
    ),
    "a request and its answer in a line": (f"12:00:01 > {json.dumps(CHAT)} < {json.dumps(WHOLE)} (5 ms)", EXCHANGE),
    "messages that follow each other in a line, behind and before others in braces": (
        f'serve{{peer=stdio}}: {{"level": "info"}} -> {json.dumps(ASK)} <- {json.dumps(TELL)} {{words}}',
        BOTH,
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_read_whatever_stands_before_its_json(name: str) -> None:
    text, expected = LOGS[name]
    found, wires = read(text)
    assert told(found) == expected
    assert not any(b"sk-1" in each.data for each in found)
    assert {each.place for each in found} == {wires.place}


@pytest.mark.parametrize(
    "value",
    [
        {"request": CHAT, "response": WHOLE},
        {"response": {"status": 200, "body": json.dumps(WHOLE)}, "request": {"body": json.dumps(CHAT)}},
        {"time": 1767268800.5, "http": {"req": {"json": CHAT}, "resp": {"text": f"data: {json.dumps(PIECE)}\n\n"}}},
        {"input": CHAT, "chunks": [PIECE, PIECE]},
        [{"payload": CHAT}, {"payload": WHOLE}],
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_of_a_script_is_a_request_and_its_answer(value: JSON, indent: int | None) -> None:
    assert told(seen(json.dumps(value, indent=indent))) == EXCHANGE


PLAIN: dict[str, JSON] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
SAID: dict[str, JSON] = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}]}
BEGUN: dict[str, JSON] = {"type": "message_start", "message": {"id": "msg_0", **SAID, "content": []}}
OLLAMA: dict[str, JSON] = {"model": "m", "message": {"role": "assistant", "content": "x"}, "done": True}
GEMINI: JSON = {"contents": [{"parts": []}]}


@pytest.mark.parametrize(
    ("request_", "answer", "dialect"),
    [
        (CHAT, json.dumps(WHOLE), "openai"),
        (CHAT, json.dumps({"error": {"message": "x", "type": "y", "param": None, "code": None}}), "openai"),
        ({"model": "m", "input": "hi"}, 'data: {"type": "response.created"}', "openai-responses"),
        ({**PLAIN, "system": "s"}, 'data: {"type": "message_start"}', "anthropic"),
        (GEMINI, '[{"candidates": []}]', "gemini"),
        (GEMINI, '{"error": {"code": 400, "message": "x", "status": "INVALID"}}', "gemini"),
        ({"model": "m", "messages": [{"role": "user"}], "options": {}}, '{"message": {}, "done": true}', "ollama"),
        (PLAIN, f"<<< {json.dumps(SAID)}", "anthropic"),  # which may be of several APIs
        (PLAIN, f"event: message_start\ndata: {json.dumps(BEGUN)}\n", "anthropic"),
        (PLAIN, json.dumps(OLLAMA), "ollama"),
        (PLAIN, json.dumps(WHOLE), "openai"),
    ],
)
def test_a_request_is_of_the_api_that_it_and_its_answer_tell(request_: JSON, answer: str, dialect: str) -> None:
    heads = [record.head for record in seen(f">>> {json.dumps(request_)}\n{answer}\n" * 2) if record.kind == "request"]
    assert [head and head.url for head in heads] == [f"{dialect}:"] * 2
    assert dialect_at(f"{dialect}:") is DIALECTS[dialect]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_body_or_a_stream_stays_byte_for_byte_and_what_is_not_known_of_it_is_said(indent: int | None) -> None:
    body = json.dumps(CHAT, indent=indent)
    request, end = seen(f"{body}\n")
    assert request.data.decode() == body
    assert request.head is not None
    assert (request.head.method, request.head.url, request.head.headers[0][0]) == (None, "openai:", NOT_KNOWN)
    assert (is_timed(request), read_ending(end.data).reason) == (False, MISSING)
    alone = seen(json.dumps(WHOLE, indent=indent))
    assert [(record.kind, record.malformed) for record in alone][:2] == [("request", MISSING), ("response", None)]
    assert alone[2].data.decode() == json.dumps(WHOLE, indent=indent)
    for stream in (
        f"data: {json.dumps(PIECE)}\r\n\r\n: comment\r\n\r\ndata: [DONE]\r\n\r\n",
        'event: message_start\ndata: {"type": "message_start", "message": {}}\n\nevent: ping\ndata: {}\n\n',
        '{"model":"m","message":{"role":"assistant","content":"a"},"done":false}\n' * 3,
    ):
        found = seen(f"{json.dumps(CHAT)}\n{stream}")
        assert "".join(record.data.decode() for record in found if record.kind == "chunk") == stream


# Which answer is to which request.


class Talk(NamedTuple):
    """An exchange: what was asked, empty if unknown, and all texts of the answer."""

    question: str
    answer: str


def asked_of(question: str) -> str:
    return json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": question}]})


def openai(text: str, name: str = "") -> list[str]:
    """A stream that says each character by itself; `name` is its id."""
    named: dict[str, JSON] = {"id": name, "object": "chat.completion.chunk"} if name else {}
    deltas: list[JSON] = [{"delta": {"content": character}, "finish_reason": None} for character in text]
    deltas.append({"delta": {}, "finish_reason": "stop"})
    return [*(f"data: {json.dumps({**named, 'choices': [delta]})}" for delta in deltas), "data: [DONE]"]


def anthropic(text: str) -> list[str]:
    events: list[JSON] = [{"type": "message_start", "message": {}}]
    events += [{"type": "content_block_delta", "index": 0, "delta": {"text": character}} for character in text]
    return [f"data: {json.dumps(event)}" for event in [*events, {"type": "message_stop"}]]


def ollama(text: str) -> list[str]:
    lines = [{"model": "m", "message": {"content": character}, "done": False} for character in text]
    return [json.dumps(line) for line in [*lines, {"model": "m", "message": {"content": ""}, "done": True}]]


def whole(text: str) -> str:
    return json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": text}}]})


def in_turn(*streams: Sequence[str]) -> list[str]:
    return [stream[at] for at in range(max(map(len, streams))) for stream in streams if at < len(stream)]


def talks(log: Sequence[str]) -> tuple[list[Talk], list[str]]:
    """What was asked and said in each exchange, and the faults."""
    records = seen("\n".join(log))
    found: dict[str, Talk] = {}
    for record in records:
        question, answer = found.get(record.exchange or "", Talk("", ""))
        if record.kind == "request" and record.data:
            question = re.findall(r'"content": "(\w*)"', record.data.decode())[0]
        elif record.kind == "chunk":
            answer += "".join(re.findall(r'"(?:content|text)": "(\w+)"', record.data.decode()))
        found[record.exchange or ""] = Talk(question, answer)
    return list(found.values()), [read_ending(record.data).error for record in records if record.kind == "error"]


@pytest.mark.parametrize("stream", [openai, anthropic, ollama])
def test_each_request_has_its_own_answer_also_sent_again(stream: Callable[[str], list[str]]) -> None:
    one, two, three = map(asked_of, ("one", "two", "three"))
    log = [one, "timeout", one, *stream("abc"), two, *stream("de"), three]
    assert talks(log) == ([Talk("one", ""), Talk("one", "abc"), Talk("two", "de"), Talk("three", "")], [])


def test_streams_go_on_by_their_ids_and_stand_alone_where_only_these_tell_them_apart() -> None:
    one, two = openai("abc", "x1"), openai("de", "x2")
    lines = [asked_of("one"), *one[:1], asked_of("two"), *in_turn(one[1:4], two[:-1])]
    assert talks(lines) == ([Talk("one", "abc"), Talk("two", "de")], [])
    lines = [asked_of("one"), asked_of("two"), *in_turn(one[:-1], two[:-1]), asked_of("three")]
    assert talks(lines) == ([Talk("one", ""), Talk("two", ""), Talk("", "abc"), Talk("", "de"), Talk("three", "")], [])
    lines = [line for size in range(1, 40) for line in (asked_of(f"q{size}"), *openai("x" * (size % 9), f"id{size}"))]
    assert talks(lines) == ([Talk(f"q{size}", "x" * (size % 9)) for size in range(1, 40)], [])


@pytest.mark.parametrize("stream", [openai, anthropic, ollama])
def test_streams_mixed_behind_one_request_are_never_glued_silently(stream: Callable[[str], list[str]]) -> None:
    mixed = in_turn(stream("abc"), stream("de"))
    for lines in ([asked_of("one"), *mixed], mixed, [asked_of("one"), *stream("abc")[:2], asked_of("two"), *mixed]):
        assert MIXED in talks(lines)[1]
    found, _ = talks([asked_of("one"), *mixed, asked_of("last"), whole("f")])
    assert found[-1] == Talk("last", "f")


# Frames.


def test_the_lines_of_several_servers_in_one_log_of_claude_desktop_are_of_several_connections() -> None:
    stamp = "2026-05-14T06:30:46.668Z [info]"
    lines = [
        f"{stamp} [{name}] Message from {side}: {json.dumps(frame)} {{ metadata: undefined }}"
        for side, frame in (("client", ASK), ("server", TELL))
        for name in ("math", "weather")
    ]
    found = seen("\n".join([f"{stamp} [math] Initializing server...", *lines]))
    assert [(record.connection, record.direction) for record in found] == [
        (name, direction) for direction in ("out", "in") for name in ("math#1", "weather#2")
    ]


def rpc(identity: int, **members: JSON) -> JSON:
    return {"jsonrpc": "2.0", "id": identity, **members}


SAMPLING = rpc(4, method="sampling/createMessage")


@pytest.mark.parametrize(
    ("lines", "directions"),
    [
        ([("IN", rpc(9, method="tools/list")), ("OUT", rpc(9, result={"tools": []}))], "out in"),
        ([("IN ", rpc(3, method="logging/setLevel")), ("OUT", rpc(3, result={}))], "out in"),
        ([("server -> client", PING), ("client -> server", TELL)], "in out"),
        (
            [("REQUEST", ASK), ("REQUEST", SAMPLING), ("RESPONSE", rpc(4, result={})), ("RESPONSE", TELL)],
            "out in out in",
        ),
        ([("", ASK), ("", TELL), ("", rpc(2, method="ping")), ("", rpc(7, result={}))], "out in out in"),
    ],
)
def test_a_method_and_an_answer_are_stronger_than_words(lines: Sequence[tuple[str, JSON]], directions: str) -> None:
    text = "".join(f"12:00:{at:02} {word} {json.dumps(value)}\n" for at, (word, value) in enumerate(lines))
    assert [record.direction for record in seen(text)] == directions.split()


# Times.


LOCAL = datetime(2026, 11, 20, 14, 2, 7)  # noqa: DTZ001 - of this machine's zone
IN_UTC = LOCAL.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("[2026/11/20 14:02:07]", LOCAL),
        ("2026-11-20T14:02:07Z", IN_UTC),
        ("2026-11-20 14:02:07 UTC", IN_UTC),
        ("2026-11-20T22:02:07.000+08:00", IN_UTC),
        ("at 1795183327 >>>", IN_UTC),
        ("1795183327000 >>>", IN_UTC),
        ("1795183327.000000 >>>", IN_UTC),
        ("14:02:07", None),
        ("id 20261399140207", None),
        ("2026-13-45 14:02:07", None),
    ],
)
def test_a_time_is_read_with_its_date_alone(words: str, at: datetime | None) -> None:
    (found,) = seen(f"{words} {json.dumps(ASK)}")
    assert (is_timed(found), found.time_ns) == (at is not None, NOW_NS if at is None else int(at.timestamp()) * 10**9)


def test_a_log_begins_with_its_first_time_and_its_clock_never_goes_back() -> None:
    lines = (
        json.dumps(ASK),
        f"2026-11-20T14:02:07.5Z -> {json.dumps({**ASK, 'id': 2})}",
        f"2026-11-20T14:02:06Z -> {json.dumps({**ASK, 'id': 3})}",
        "2026-11-20T14:02:09Z received:",
        json.dumps(TELL),
        f"2199-01-01T00:00:00Z {json.dumps({**ASK, 'id': 4})}",
    )
    first_ns = int(IN_UTC.timestamp()) * 10**9 + 10**9 // 2
    found, wires = read("\n".join(lines))
    times = [((record.time_ns - first_ns) / 10**9, is_timed(record)) for record in found]
    assert times == [(0, False), (0, True), (0, True), (1.5, True), (1.5, False)]
    assert wires.left_out["times after the year 2099"][0] == 1


# Any bytes.


MARKS = rb"""
{"log": {"entries":[ {"tui_host":1, "session":{}} {"jsonrpc":"2.0" ,"id":1} data: event: {"model":"m","messages":[{}]} [DONE] >>>
2025-13-99T10:00:00 9999999999 " \\ { } [ ] , {"choices":[]} {"done":true,"message":{}} stderr
"""
words = st.sampled_from([*MARKS.split(), b"\n", b"\r", b" ", b"\xff", b"\xef\xbb\xbf", b"\0"])


@given(st.lists(words | st.binary(max_size=6), max_size=24).map(b"".join))
@example(b'{"log":{"entries":[{"request":{"method":"POST","url":"http://[/chat/completions"},"response":{}}]}}')
@example(b'data: {"choices":[]}\nevent: ')
def test_no_bytes_break_what_reads_them(data: bytes) -> None:
    with suppress(TuiHostError, StopIteration):
        for each in seen(data):
            assert each.time_ns >= 0
