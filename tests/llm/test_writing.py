"""JSON on lines is what the standard library writes."""

from __future__ import annotations

import json

import pytest

from tui_host.errors import JSON
from tui_host.llm.request_writing import LONG, Growing, body_bytes, json_lines

SCHEMA: JSON = {
    "type": "object",
    "properties": {"a": {"type": ["string", "null"], "enum": [1, 2.5, None, True, 'é\n"中\\']}, "b": {}},
    "required": [],
}


@pytest.mark.parametrize("value", [SCHEMA, None, "text", [], {}, [[]], 0])
def test_json_on_lines_is_what_the_standard_library_writes(value: JSON) -> None:
    whole = json.dumps(value, ensure_ascii=False, indent=2)
    assert json_lines(value) == whole
    assert json_lines(value, "\n    ") == whole.replace("\n", "\n    ")


def test_a_body_is_the_same_json_however_long_a_text_in_it_is_and_says_where_its_messages_stand() -> None:
    long = 'é"\n\\' * LONG
    messages: list[JSON] = [{"content": [{"text": "ß"}]}, {"content": [long, 1, None]}, "half \ud800", float("nan")]

    whole, growing = body_bytes({"model": "m"}, {"top_k": 1}, tools=None, messages=messages)

    assert json.loads(whole) == {"model": "m", "top_k": 1, "messages": [*messages[:2], "half \ufffd", None]}
    assert [json.loads(whole[start:end]) for start, end in growing.spans] == [*messages[:2], "half \ufffd", None]
    assert body_bytes({}, {"messages": []}, tools=None, messages=messages) == (
        b'{"messages":[]}',
        Growing(name="messages"),
    )
