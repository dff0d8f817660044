"""Objects that hold a request with its answer, one for each exchange, whatever their members are called."""

from __future__ import annotations

import json

import pytest

from tests.opening.captured import CHAT, NOW_NS, PIECE, WHOLE
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening.exchange_assembly import NO_ANSWER_BUT, NOT_KNOWN
from tui_host.opening.import_types import File
from tui_host.opening.recognition import read

CHAT_OF = mapping(CHAT)
STREAM = f"data: {json.dumps(PIECE)}\n\ndata: [DONE]\n\n"
AT = "2026-11-22T20:00:01Z"
EVENTS: JSON = [PIECE, PIECE]
EXCHANGES: dict[str, JSON] = {
    "each in a member": {"request": CHAT, "response": WHOLE},
    "other names": {"timestamp": AT, "body": CHAT, "reply": WHOLE},
    "short names": {"timestamp": AT, "req": CHAT, "res": WHOLE},
    "answer first": {"completion": WHOLE, "payload": CHAT},
    "events": {"payload": CHAT, "output": EVENTS},
    "within": {**CHAT_OF, "response": WHOLE},
    "within, with what is told of both": {"id": "r1", "timestamp": AT, **CHAT_OF, "output": WHOLE, "duration_ms": 12},
    "within, with its status": {**CHAT_OF, "response": {"status": 200, "body": WHOLE}},
    "within, as text": {**CHAT_OF, "response": json.dumps(WHOLE)},
    "within, a stream": {**CHAT_OF, "response": STREAM},
    "within, events": {**CHAT_OF, "chunks": EVENTS},
    "within, within": {"ts": 1795377601.5, "data": {**CHAT_OF, "response": WHOLE}},
    "within, as a logger's text": {"level": 30, "msg": f"done: {json.dumps({**CHAT_OF, 'response': WHOLE})}"},
}
ANSWERS: dict[str, JSON] = {"text": "hi there", "message": {"role": "assistant", "content": "hi there"}}


def exchange(text: str) -> tuple[JSON, str, list[tuple[str, str]]]:
    """The request, the answer's bytes, and what is known of its head."""
    found = [each.draft for each in read([File(name="a", data=text.encode(), time_ns=NOW_NS)]).drafts]
    assert {each.exchange for each in found} == {"x1"}
    assert [each.kind for each in found if each.kind != "chunk"] == ["request", "response", "end"]
    asked = next(each.data for each in found if each.kind == "request")
    head = next(each.head for each in found if each.kind == "response")
    said = b"".join(each.data for each in found if each.kind == "chunk")
    return json.loads(asked), said.decode(), list(head.headers if head is not None else ())


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", EXCHANGES)
def test_an_object_that_holds_both_is_one_exchange(name: str, indent: int | None) -> None:
    asked, said, _ = exchange(json.dumps(EXCHANGES[name], indent=indent) + "\n")
    assert asked == CHAT
    assert said.strip() == json.dumps(WHOLE) or said.startswith(f"data: {json.dumps(PIECE)}\n\n")


@pytest.mark.parametrize("form", ANSWERS)
@pytest.mark.parametrize("is_within", [True, False])
@pytest.mark.parametrize(
    ("asked", "whole"),
    [
        (CHAT, {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi there"}}]}),
        ({**CHAT_OF, "options": {}}, {"message": {"role": "assistant", "content": "hi there"}, "done": True}),
        (
            {**CHAT_OF, "max_tokens": 1, "system": "s"},
            {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi there"}]},
        ),
    ],
)
def test_the_text_of_an_answer_is_shown_as_its_message_with_what_is_not_known(
    form: str, asked: JSON, whole: JSON, *, is_within: bool
) -> None:
    answer = ANSWERS[form]
    value: JSON = {**mapping(asked), "response": answer} if is_within else {"request": asked, "response": answer}
    got, said, head = exchange(json.dumps(value))
    assert got == asked
    assert json.loads(said) == whole
    assert (NOT_KNOWN, NO_ANSWER_BUT) in head


@pytest.mark.parametrize(
    "more",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"properties": {"choices": {}}}}}},
        {"stream": True, "stream_options": {"include_usage": True}},
        {"metadata": {"reply": "x"}, "user": "me"},
        {"result": "ok"},
    ],
)
def test_a_request_without_an_answer_is_a_request_whatever_its_members_sound_like(more: dict[str, JSON]) -> None:
    reading = read([File(name="a", data=json.dumps({**CHAT_OF, **more}).encode(), time_ns=NOW_NS)])
    found = [each.draft for each in reading.drafts]
    assert [each.kind for each in found] == ["request", "end"]
    assert json.loads(found[0].data) == {**CHAT_OF, **more}


@pytest.mark.parametrize("is_within", [True, False])
@pytest.mark.parametrize("said", [None, "", {"error": {"code": 500}}])
def test_an_answer_is_to_the_request_of_its_own_object_though_others_before_it_have_none(
    said: JSON, *, is_within: bool
) -> None:
    def line(seed: int, answer: JSON) -> str:
        asked: JSON = {**CHAT_OF, "seed": seed}
        value: JSON = {**mapping(asked), "response": answer} if is_within else {"request": asked, "response": answer}
        return json.dumps(value)

    lines = [line(1, said), line(2, said), line(3, WHOLE), line(4, said), line(5, WHOLE)]
    reading = read([File(name="a", data="\n".join(lines).encode(), time_ns=NOW_NS)])
    found: dict[str | None, list[JSON]] = {}
    for each in (seen.draft for seen in reading.drafts):
        if each.kind == "request":
            found[each.exchange] = [mapping(json.loads(each.data)).get("seed")]
        elif each.kind == "chunk":
            found[each.exchange].append("answered")
    assert list(found.values()) == [[1], [2], [3, "answered"], [4], [5, "answered"]]
    assert not reading.notes.messages
