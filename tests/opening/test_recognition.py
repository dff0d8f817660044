"""What a body or a value is taken for, and what is refused with a word on what helps."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, seen, told
from tests.steps import Copied, steps
from tui_host.capture.record import NOT_KNOWN
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.dialects.table import DIALECTS, dialect_at
from tui_host.opening.body_dialects import answer_of, request_dialect, unknown_address
from tui_host.opening.import_types import File
from tui_host.opening.recognition import Reading, read


@pytest.mark.parametrize(
    "value",
    [
        {"request": CHAT, "response": WHOLE},
        {
            "response": {"status": 200, "body": json.dumps(WHOLE)},
            "request": {"method": "POST", "body": json.dumps(CHAT)},
        },
        {"time": 1767268800.5, "http": {"req": {"json": CHAT}, "resp": {"text": f"data: {json.dumps(PIECE)}\n\n"}}},
        {"input": CHAT, "chunks": [PIECE, PIECE]},
        [{"payload": CHAT}, {"payload": WHOLE}],
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_that_a_script_wrote_for_an_exchange_is_its_request_and_its_answer(
    value: JSON, indent: int | None
) -> None:
    kinds = [kind for _, kind, _ in told(seen(json.dumps(value, indent=indent)))]
    assert [kind for number, kind in enumerate(kinds) if kind != kinds[number - 1]] == [
        "request",
        "response",
        "chunk",
        "end",
    ]


def test_a_file_of_messages_is_an_exchange_for_each_of_the_model_with_its_own_times() -> None:
    told = [
        b'{"role": "user", "content": "one", "ts": 1795312800000}',
        b'{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"n","input":{}}],"ts":1795312801000}',
        b'{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "i"}], "ts": 1795312802000}',
    ]
    found = seen(b"[%s]" % b", ".join(told))
    assert [each.record.kind for each in found] == ["request", "response", "chunk", "end", "request", "end"]
    assert found[0].record.data == b'{"messages":[%s]}' % told[0]
    answer = json.loads(found[2].record.data)
    assert answer["content"] == [{"type": "tool_use", "id": "i", "name": "n", "input": {}}]
    assert found[4].record.data == b'{"messages":[%s]}' % b", ".join(told)
    assert [each.at.ns // 10**9 for each in found] == [1795312800, *[1795312801] * 3, *[1795312802] * 2]
    assert not any(
        each.at.is_told for each in seen('[{"role":"user","content":"a"},{"role":"assistant","content":""}]')
    )


def test_a_request_and_an_answer_of_different_apis_stand_alone() -> None:
    files = [
        File(name="an.req", data=b'{"model":"m","max_tokens":9,"system":"s","messages":[{"role":"user"}]}'),
        File(name="oa.sse", data=f"data: {json.dumps(PIECE)}\n\n".encode()),
    ]
    reading = read(files)
    assert [each.record.kind for each in reading.drafts] == ["request", "end", "request", "response", "chunk", "end"]


def test_a_request_and_its_answer_in_two_files_are_one_exchange() -> None:
    stream = f"data: {json.dumps(PIECE)}\r\n\r\ndata: [DONE]".encode()
    found = seen(stream, json.dumps(CHAT, indent=2))
    assert [each.record.kind for each in found] == ["request", "response", "chunk", "chunk", "end"]
    assert len({each.record.exchange for each in found}) == 1
    assert b"".join(each.record.data for each in found[2:4]) == stream  # as it stands
    head = found[0].record.head
    assert head is not None
    assert (head.method, head.url, head.headers[0][0]) == (None, "openai:", NOT_KNOWN)
    assert not any(each.at.is_told for each in found)


def test_a_stream_of_lines_alone_is_cut_behind_each_and_a_body_that_is_no_stream_is_not() -> None:
    line = b'{"model":"m","message":{"role":"assistant","content":"a"},"done":false}'
    lines = [line + b"\n"] * 3 + [line]
    assert [each.record.data for each in seen(b"".join(lines)) if each.record.kind == "chunk"] == lines
    whole = line.replace(b"{", b"{\n\n")
    assert [each.record.data for each in seen(whole) if each.record.kind == "chunk"] == [whole]


BOTH = [("mcp", "frame", "out"), ("mcp", "frame", "in")]
PING = {**ASK, "method": "ping"}
STREAM = f"data: {json.dumps(PIECE)}\n\n" * 2
EXCHANGE = [
    ("llm", kind, way) for kind, way in (("request", "out"), ("response", "in"), ("chunk", "in"), ("end", "in"))
]
LOGS: dict[str, tuple[bytes | str, list[tuple[str, str, str]]]] = {
    "arrows": (f">>> {json.dumps(ASK)}\n<-- {json.dumps(TELL)}\n", BOTH),
    "Chinese words, standard error between them": (
        f"输入: {json.dumps(ASK)}\nSTDERR: working\n输出: {json.dumps(TELL)}\n",
        [("mcp", "frame", "out"), ("stderr", "line", "in"), ("mcp", "frame", "in")],
    ),
    "an object for each message": (
        json.dumps({"ts": 1764583202.5, "direction": "server -> client", "message": {**ASK, "method": "ping"}})
        + "\n"
        + json.dumps({"ts": 1764583203.5, "direction": "client -> server", "message": json.dumps(TELL)}),
        [("mcp", "frame", "in"), ("mcp", "frame", "out")],
    ),
    "a value over several lines under a label": (
        f"[2025-12-01 10:00:02] server -> client:\n{json.dumps({**ASK, 'method': 'ping'}, indent=2)}\nbye\n",
        [("mcp", "frame", "in")],
    ),
    "the output of VS Code": (
        "".join(
            f"2025-06-11 10:13:10.303 [trace] [{way}] {json.dumps({**ASK, 'method': 'ping'})}\n"
            for way in ("editor -> server", "server -> editor", "Client Says", "Server Says")
        ),
        [("mcp", "frame", way) for way in ("out", "in", "out", "in")],
    ),
    "nothing but messages": (
        f"{json.dumps({**ASK, 'method': 'sampling/createMessage'})}\n{json.dumps(TELL)}\n".encode(),
        [("mcp", "frame", "in"), ("mcp", "frame", "out")],
    ),
    "a gateway of stdio servers, with its own names for the sides": (
        f"[gw] SSE → Child (session 1-2): {json.dumps(PING)}\n[gw] Child → SSE: {json.dumps(PING)}\n[gw] Child stderr: oops\n",
        [("mcp", "frame", "out"), ("mcp", "frame", "in"), ("stderr", "line", "in")],
    ),
    "sides as members name them": (
        "\n".join(
            json.dumps({"way": way, "data": json.dumps(PING)})
            for way in ("client_to_server", "server-to-client", "clientToServer", "server → client")
        ),
        [("mcp", "frame", way) for way in ("out", "in", "out", "in")],
    ),
    "a proxy's words, with a gateway's comment in the stream": (
        f"模型请求：{json.dumps(CHAT)}\n模型返回：\n\n: PROCESSING\n\ndata: {json.dumps(PIECE)}\n",
        EXCHANGE,
    ),
    "an exchange with its stream as a text, under a name of its own, and what was made of it": (
        json.dumps({"response": {"body": WHOLE, "body_raw": STREAM}, "request": {"headers": {}, "body": CHAT}}),
        EXCHANGE,
    ),
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
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_of_a_home_made_proxy_is_read_whatever_stands_before_its_json(name: str) -> None:
    text, expected = LOGS[name]
    found = seen(text)
    assert told(found) == expected
    assert not any(b"sk-1" in each.record.data for each in found)


def said_in(value: JSON) -> str:
    answer = answer_of(value)
    return "" if answer is None else answer.dialect


BODIES: list[tuple[JSON, JSON, str]] = [
    (CHAT, PIECE, "openai"),
    ({"model": "m", "input": "hi"}, {"type": "response.created"}, "openai-responses"),
    (
        {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 1, "system": "s"},
        {"type": "message_start"},
        "anthropic",
    ),
    ({"contents": [{"parts": []}]}, [{"candidates": []}], "gemini"),
    ({"contents": [{"parts": []}]}, {"error": {"code": 400, "message": "x", "status": "INVALID"}}, "gemini"),
    (CHAT, {"error": {"message": "x", "type": "y", "param": None, "code": None}}, "openai"),
    ({"model": "m", "messages": [{"role": "user"}], "options": {}}, {"message": {}, "done": True}, "ollama"),
]


@pytest.mark.parametrize(("asked", "said", "dialect"), BODIES)
def test_a_body_alone_tells_its_dialect(asked: JSON, said: JSON, dialect: str) -> None:
    assert (request_dialect(asked), said_in(said)) == (dialect, dialect)
    assert dialect_at(unknown_address(dialect)) is DIALECTS[dialect]
    assert not said_in(asked)
    assert not request_dialect(said)


HOSTILE: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "brackets": (500, lambda size: b"{\n" * size),
    "a deep archive": (12_500, lambda size: b'{"log":{"entries":[' + b"[" * size),
    "a deep message": (12_500, lambda size: b'{"jsonrpc": ' + b"[" * size),
    "a deep entry": (
        12_500,
        lambda size: b'{"log":{"entries":[{"request":' + b'{"a":' * size + b"1" + b"}" * (size + 2) + b"]}}",
    ),
    "backslashes": (25_000, lambda size: b'"' + b"\\" * size),
    "a long number": (25_000, lambda size: b'{"jsonrpc":"2.0","id":' + b"9" * size + b"}"),
    "many members around a message": (
        500,
        lambda size: json.dumps({f"k{n}": "v" for n in range(size)} | {"m": ASK}).encode(),
    ),
    "lines in a text": (
        25_000,
        lambda size: json.dumps({"a": "{}\n" * size, "b": "\n" * 10 * size, "m": ASK}).encode(),
    ),
}
"""Each with the size of a small one."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_of_four_times_the_size_takes_hardly_more_than_four_times_as_long(name: str) -> None:
    size, make = HOSTILE[name]

    def cost(size: int) -> tuple[int, int]:
        data = Copied(make(size))

        def read_it() -> None:
            with suppress(TuiHostError):
                seen(data)

        return steps(read_it), data.size

    few, many = cost(size), cost(4 * size)
    assert many[0] < 5 * few[0]
    assert many[1] < 5 * few[1]


MARKS = rb"""
{"log": {"entries":[ {"tui_host":1, "session":{}} {"jsonrpc":"2.0" ,"id":1} data: event: {"model":"m","messages":[{}]} [DONE] >>>
2025-13-99T10:00:00 9999999999 " \\ { } [ ] , {"choices":[]} {"done":true,"message":{}} stderr
"""
words = st.sampled_from([*MARKS.split(), b"\n", b"\r", b" ", b"\xff", b"\xef\xbb\xbf", b"\0"])


@given(st.lists(words | st.binary(max_size=6), max_size=24).map(b"".join))
@example(b'{"log":{"entries":[{"request":{"method":"POST","url":"http://[/chat/completions"},"response":{}}]}}')
@example(b'data: {"choices":[]}\nevent: ')
def test_no_bytes_break_what_recognises_them(data: bytes) -> None:
    with suppress(TuiHostError):
        for each in seen(data):
            assert each.at.ns >= 0


# Not supported.


def reading_of(data: bytes | str, name: str = "a.log") -> Reading:
    return read([File(name=name, data=data if isinstance(data, bytes) else data.encode(), time_ns=NOW_NS)])


@pytest.mark.parametrize(
    ("text", "words", "where"),
    [
        (b"", "nothing in it", "math.log"),
        (b"one\ntwo\n", "none of what can be read", "line 1, byte 0"),
        (b"one\ntwo \xff\n", "none of what can be read", "line 1, byte 0"),
        (b"\x1f\x8b{{{{{{{{", "gzip", "byte 0"),
        (b'{"log": {"entries": [{"b"', "broken: it is cut off", "line 1, byte 25"),
        (b'{"log": {"version": "1.2"}}', "no entries", "math.log"),
    ],
)
def test_what_is_none_of_the_formats_is_told_in_one_line_that_says_where(text: bytes, words: str, where: str) -> None:
    with pytest.raises(TuiHostError) as error:
        list(reading_of(text, "math.log").drafts)
    assert words in error.value.what
    assert error.value.where.endswith(where)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("first", ['{"tui_host":1', '{"tui_host":1,"session":{"created":"' + "x" * 10**6 + '"}}'])
def test_a_session_whose_line_is_broken_is_none_and_told_in_few_words(first: str) -> None:
    with pytest.raises(TuiHostError, match="line 1") as caught:
        reading_of(f'{first}\n{{"tui_host":1}}\n')
    assert len(str(caught.value)) < 500
