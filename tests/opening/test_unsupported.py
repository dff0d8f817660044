"""Files and lines that are not read: refused, or left out with a word on what to do instead."""

from __future__ import annotations

import json

import pytest

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, told
from tui_host.errors import TuiHostError
from tui_host.opening.import_types import File
from tui_host.opening.recognition import Reading, read

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
