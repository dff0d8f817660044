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
    assert [each.draft.kind for each in found] == ["request", "response", "chunk", "end", "request", "end"]
    assert found[0].draft.data == b'{"messages":[%s]}' % told[0]
    answer = json.loads(found[2].draft.data)
    assert answer["content"] == [{"type": "tool_use", "id": "i", "name": "n", "input": {}}]
    assert found[4].draft.data == b'{"messages":[%s]}' % b", ".join(told)
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
    assert [each.draft.kind for each in reading.drafts] == ["request", "end", "request", "response", "chunk", "end"]


def test_a_stream_whose_lines_an_object_joins_without_the_empty_ones_has_them_again() -> None:
    lines = [f"data: {json.dumps(PIECE)}"] * 2
    entry = {"dir": "response", "body": "\n".join([*lines, "data: [DONE]"])}
    chunk = next(
        each.draft.data for each in seen(f"{json.dumps(CHAT)}\n{json.dumps(entry)}") if each.draft.kind == "chunk"
    )
    assert chunk.decode() == "\n\n".join([*lines, "data: [DONE]"])


def test_a_request_and_its_answer_in_two_files_are_one_exchange() -> None:
    stream = f"data: {json.dumps(PIECE)}\r\n\r\ndata: [DONE]".encode()
    found = seen(stream, json.dumps(CHAT, indent=2))
    assert [each.draft.kind for each in found] == ["request", "response", "chunk", "chunk", "end"]
    assert len({each.draft.exchange for each in found}) == 1
    assert b"".join(each.draft.data for each in found[2:4]) == stream  # as it stands
    head = found[0].draft.head
    assert head is not None
    assert (head.method, head.url, head.headers[0][0]) == (None, "openai:", NOT_KNOWN)
    assert not any(each.at.is_told for each in found)


def test_a_stream_of_lines_alone_is_cut_behind_each_and_a_body_that_is_no_stream_is_not() -> None:
    line = b'{"model":"m","message":{"role":"assistant","content":"a"},"done":false}'
    lines = [line + b"\n"] * 3 + [line]
    assert [each.draft.data for each in seen(b"".join(lines)) if each.draft.kind == "chunk"] == lines
    whole = line.replace(b"{", b"{\n\n")
    assert [each.draft.data for each in seen(whole) if each.draft.kind == "chunk"] == [whole]


PING = {**ASK, "method": "ping"}
STREAM = f"data: {json.dumps(PIECE)}\n\n" * 2
EXCHANGE = [
    ("llm", kind, way) for kind, way in (("request", "out"), ("response", "in"), ("chunk", "in"), ("end", "in"))
]
LOGS: dict[str, tuple[bytes | str, list[tuple[str, str, str]]]] = {
    "arrows": (f">>> {json.dumps(ASK)}\n<-- {json.dumps(TELL)}\n", [("mcp", "frame", "out"), ("mcp", "frame", "in")]),
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
    "bare arrows, and words that are no text": (
        f'-> {json.dumps({**ASK, "method": "ping"})}\n{{"way": "\\ud800 from server", "message": {json.dumps({**ASK, "method": "ping"})}}}',
        [("mcp", "frame", "out"), ("mcp", "frame", "in")],
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
    "several messages in one text, and each as it was parsed too": (
        json.dumps({"direction": "client->server", "data": f"{json.dumps(ASK)}\n{json.dumps(PING)}", "parsed": PING}),
        [("mcp", "frame", "out")] * 2,
    ),
    "a proxy's words, with a gateway's comment in the stream": (
        f"模型请求：{json.dumps(CHAT)}\n模型返回：\n\n: PROCESSING\n\ndata: {json.dumps(PIECE)}\n",
        EXCHANGE,
    ),
    "an exchange with its stream as a text, under a name of its own, and what was made of it": (
        json.dumps({"response": {"body": WHOLE, "body_raw": STREAM}, "request": {"headers": {}, "body": CHAT}}),
        EXCHANGE,
    ),
    "a stream in pieces that end anywhere": (
        json.dumps({"request": CHAT, "chunks": [{"ts": 1, "raw": STREAM[:30]}, {"ts": 2, "raw": STREAM[30:]}]}),
        EXCHANGE,
    ),
    "the lines of a stream in a list": (json.dumps({"request": CHAT, "response_lines": STREAM.splitlines()}), EXCHANGE),
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
    assert not any(b"sk-1" in each.draft.data for each in found)


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


ASKED, ANSWERED = f"-> {json.dumps(ASK)}\n", f"<- {json.dumps(TELL)}\n"
BOTH = [("mcp", "frame", "out"), ("mcp", "frame", "in")]


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


_SAID = b"data: %s\n" % json.dumps(ASK).encode()
_FLOW = b"9:websocket;0:~7:content;%d:%s," % (len(_SAID), _SAID)
FLOWS = b"%d:%s}" % (len(_FLOW), _FLOW)


@pytest.mark.parametrize(
    ("data", "name", "what", "remedy"),
    [
        (FLOWS, "a", "flows of mitmproxy", "mitmdump -nr FILE --set hardump=FILE.har"),
        (FLOWS * 2, "a.log", "flows of mitmproxy", "mitmdump -nr FILE --set hardump=FILE.har"),
        (FLOWS[:90], "a", "flows of mitmproxy", "mitmdump -nr FILE --set hardump=FILE.har"),
        (b"\xd4\xc3\xb2\xa1\2\0\4\0" + _FLOW, "a", "packets", "Export Objects"),
        (b"\xa1\xb2\x3c\x4d\0\2\0\4" + _FLOW, "a", "packets", "Export Objects"),
        (b"\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a" + _FLOW, "a", "packets", "Export Objects"),
        (b"PK\3\4\x14\0" + _FLOW, "a.SAZ", "Fiddler", "HTTPArchive"),
        (b"PK\3\4\x14\0" + _FLOW, "a.chlz", "Charles", ".har"),
        (b"\xac\xed\0\5" + _FLOW, "a.chls", "Charles", ".har"),
        (b"PK\3\4\x14\0" + _FLOW, "a", "zip", "unpack"),
    ],
)
def test_what_others_save_in_forms_of_their_own_is_refused_with_what_to_do_instead(
    data: bytes, name: str, what: str, remedy: str
) -> None:
    with pytest.raises(TuiHostError) as error:
        reading_of(data, name)
    assert what in error.value.what
    assert error.value.where == name
    assert remedy in error.value.remedy


@pytest.mark.parametrize("first", ['{"tui_host":1', '{"tui_host":1,"session":{"created":"' + "x" * 10**6 + '"}}'])
def test_a_session_whose_line_is_broken_is_none_and_told_in_few_words(first: str) -> None:
    with pytest.raises(TuiHostError, match="line 1") as caught:
        reading_of(f'{first}\n{{"tui_host":1}}\n')
    assert len(str(caught.value)) < 500


PRINTED = (
    "POST {\n  model: 'm',\n  messages: [\n    { role: 'user', content: \"it's\" }\n  ],\n  tools: [ { function: [Object] } ]\n}\n",
    "up\n-> { model: 'm', stream: false, messages: [ [Object] ] }\n",
    "{\n  id: 'c1',\n  object: 'chat.completion',\n  choices: [ [Object] ]\n}\n",
    "{ jsonrpc: '2.0', id: 1, result: { content: [ [Object] ] } }\n",
)


@pytest.mark.parametrize("text", PRINTED)
def test_objects_as_javascript_prints_them_are_refused_with_what_to_do_instead(text: str) -> None:
    with pytest.raises(TuiHostError, match="as JavaScript prints them") as error:
        reading_of(text)
    assert error.value.where == f"a.log, line {1 + text.startswith('up')}"
    assert "JSON.stringify" in error.value.remedy


def test_what_is_left_out_as_javascript_prints_it_is_told_with_what_to_do_instead() -> None:
    for text in PRINTED:
        reading = reading_of(f"{ASKED}{ANSWERED}{text}")
        assert told(list(reading.drafts)) == BOTH
        assert len(reading.notes.messages) == 1
        assert "as JavaScript prints them" in reading.notes.messages[0]
        assert "JSON.stringify" in reading.notes.messages[0]
        assert f"from line {3 + text.startswith('up')} on" in reading.notes.messages[0]


COMPLETIONS = (
    '{"model": "llama3", "prompt": "why is the sky blue?", "stream": false}\n',
    'POST /api/generate {"model": "llama3", "prompt": "why?"}\n{"model": "llama3", "response": "so", "done": true}\n',
    '{"request": {"model": "llama3", "prompt": "why?"}, "response": {"model": "llama3", "response": "so", "done": true}}\n',
)


@pytest.mark.parametrize("text", COMPLETIONS)
def test_completions_of_a_text_are_refused_or_left_out_with_a_word(text: str) -> None:
    with pytest.raises(TuiHostError, match="completions of a text") as error:
        reading_of(text)
    assert error.value.where == "a.log, line 1"
    assert "/api/chat" in error.value.remedy
    reading = reading_of(f"{ASKED}{ANSWERED}{text}")
    assert told(list(reading.drafts)) == BOTH
    assert "a.log, from line 3 on: these are completions of a text" in reading.notes.messages[0]


@pytest.mark.parametrize(
    "text",
    [
        f"2025-12-01 10:00:00,123 - INFO - Request: {CHAT!r}\n2025-12-01 10:00:01,123 - INFO - Response: {WHOLE!r}\n",
        f"{json.dumps(CHAT).encode()!r}\n",
        f"chunk {f'data: {json.dumps(PIECE)}'.encode()!r}\n",
    ],
)
def test_values_as_python_prints_them_are_refused_with_what_to_do_instead(text: str) -> None:
    with pytest.raises(TuiHostError, match="as Python prints them") as error:
        reading_of(text)
    assert error.value.where == "a.log, line 1"
    assert "one JSON object a line" in error.value.remedy
    assert "tui-host tap" in error.value.remedy
    reading = reading_of(f"{ASKED}{text}")
    assert told(list(reading.drafts)) == BOTH[:1]
    assert "from line 2 on: these are values as Python prints them" in reading.notes.messages[0]


@pytest.mark.parametrize("text", [f"POST {json.dumps(CHAT)[:-9]}\n", f"-> {json.dumps(ASK)[:40]}...\n"])
def test_values_that_are_cut_off_are_refused_with_what_to_do_instead(text: str) -> None:
    with pytest.raises(TuiHostError, match="cut off or broken") as error:
        reading_of(f"up\n{text}")
    assert error.value.where == "a.log, line 2"
    assert "whole JSON object" in error.value.remedy
    reading = reading_of(f"{ASKED}{text}")
    assert told(list(reading.drafts)) == BOTH[:1]
    assert reading.notes.left_out == "lines that are of neither wire (1, first line 2)"
