"""Conversations in what is imported, and sessions of our own that come back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.capture.drafts import any_draft, frame
from tests.opening.captured import CHAT
from tests.opening.imports import GOLDEN, SESSION, exported, info, made, recorded, written
from tui_host.capture.exports.formats import FORMATS
from tui_host.capture.exports.parts import PartOfSession
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Head, Place, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import JSON, TuiHostError
from tui_host.opening.importing import import_files

HISTORY: JSON = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "first question"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "three"},
        {"role": "assistant", "content": "first answer"},
        {"role": "user", "content": "second question"},
    ],
}
RESPONSES: JSON = {
    "model": "m",
    "instructions": "You help.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "first question"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAAA"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "three"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "first answer"}]},
        {"role": "user", "content": "second question"},
    ],
}
ANTHROPIC: JSON = {
    "model": "claude-x",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "You help."}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<system-reminder>\nToday is Monday.\n</system-reminder>"},
                {"type": "text", "text": "first question"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "three"}]}],
        },
        {"role": "assistant", "content": "first answer"},
        {"role": "user", "content": "second question"},
    ],
}
GEMINI: JSON = {
    "systemInstruction": {"parts": [{"text": "You help."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "first question"}]},
        {"role": "model", "parts": [{"text": "I look."}, {"functionCall": {"name": "add", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"result": "three"}}}]},
        {"role": "model", "parts": [{"text": "first answer"}]},
        {"role": "user", "parts": [{"text": "second question"}]},
    ],
}
OLLAMA: JSON = {
    "model": "m:7b",
    "options": {"num_ctx": 4096},
    "messages": [
        {"role": "user", "content": "first question"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}],
        },
        {"role": "tool", "tool_name": "add", "content": "three"},
        {"role": "assistant", "content": "first answer"},
        {"role": "user", "content": "second question"},
    ],
}
BODIES: Mapping[str, JSON] = {
    "openai": HISTORY,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}
TOLD = [
    ("note", "4 earlier messages were not captured: the request repeats them"),
    ("user", "first question"),
    ("answer", "I look."),
    ("call", "three"),
    ("answer", "first answer"),
    ("user", "second question"),
    ("note", "the answer is not in the file"),
]


def chat(store: Store, session: str) -> list[tuple[str, str]]:
    """The kinds of the items of a session's chat, and what they say."""
    items = [json.loads(text) for text in store.sessions.item_texts(session)]
    return [(each["item"], each.get("text") or each.get("what") or each.get("result")) for each in items]


@pytest.mark.parametrize("name", BODIES)
def test_a_body_tells_the_whole_conversation_that_it_holds(store: Store, tmp_path: Path, name: str) -> None:
    imported = import_files(store, [written(tmp_path, f"{name}.json", json.dumps(BODIES[name]))], Redactor())
    assert chat(store, imported.id) == TOLD
    items = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert {each["turn"] for each in items} == {1}
    assert {(each["step"], each.get("seconds", 0)) for each in items if "step" in each} == {(0, 0)}
    [(called, arguments)] = [(each["tool"], json.loads(each["asked"])) for each in items if each["item"] == "call"]
    assert (called, arguments) == ("add", {"a": 1})
    assert store.find_session(imported.id).turns == 1


def test_requests_of_one_conversation_without_their_answers_tell_each_message_once(
    store: Store, tmp_path: Path
) -> None:
    messages: list[JSON] = []
    lines: list[str] = []
    for number in range(3):
        messages.append({"role": "user", "content": f"question {number}"})
        lines.append(json.dumps({"model": "m", "messages": messages}))
        messages.append({"role": "assistant", "content": f"answer {number}"})
    imported = import_files(store, [written(tmp_path, "log.jsonl", "\n".join(lines))], Redactor())
    said = [text for kind, text in chat(store, imported.id) if kind != "note"]
    assert said == ["question 0", "answer 0", "question 1", "answer 1", "question 2"]


def test_a_request_is_not_told_to_have_no_answer_in_the_file_where_one_that_is_nobodys_may_be_its_own(
    store: Store, tmp_path: Path
) -> None:
    models = ("one", "other")
    requests = [{"model": name, "messages": [{"role": "user", "content": f"to {name}"}]} for name in models]
    answers = [
        {
            "model": name,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": f"from {name}"}}],
        }
        for name in models[::-1]
    ]
    files = [
        written(tmp_path, f"{n}.log", "".join(f"{n} {json.dumps(each)}\n" for each in half))
        for n, half in enumerate((requests, answers))
    ]
    imported = import_files(store, files, Redactor())
    told = "no answer is known to be its own: 2 that are there belong to no request for sure"
    notes = [text for kind, text in chat(store, imported.id) if kind == "note"]
    document = b"".join(FORMATS["markdown"].export(store, store.find_session(imported.id))).decode()
    assert notes.count(told) == 2
    assert f"host** {told}" in document
    assert "answer is not in the file" not in f"{notes} {document}"


def test_a_session_of_ours_from_a_file_tells_each_message_once_and_in_the_turn_that_was_recorded(
    store: Store, there: Store, tmp_path: Path
) -> None:
    head, place = (
        Head(method="POST", url="https://a.example/v1/chat/completions"),
        Place(session=SESSION, turn=4, step=2),
    )
    drafts = [
        Record(
            wire="llm",
            kind="request",
            direction="out",
            peer="demo",
            exchange=name,
            place=where,
            head=head,
            data=json.dumps(HISTORY).encode(),
        )
        for name, where in (("x1", place),)
    ]
    recorded(there, "c1", drafts)
    made(there, info())
    imported = import_files(store, [written(tmp_path, "own.jsonl", exported(there, SESSION))], Redactor())
    said = [each for each in chat(store, imported.id) if each[0] != "note"]
    assert said == [each for each in TOLD if each[0] != "note"]
    items = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert {each["turn"] for each in items} == {4}
    assert {each["step"] for each in items if "step" in each} == {0}


# Our own.


def test_a_session_comes_out_again_line_for_line_also_where_it_is_already_and_is_listed_as_an_import(
    store: Store,
) -> None:
    first = import_files(store, [GOLDEN], Redactor())
    second = import_files(store, [GOLDEN], Redactor())
    assert first.id == SESSION
    assert second.id != first.id
    assert exported(store, first.id) == exported(store, second.id) == GOLDEN.read_bytes()
    assert {each.listed_source for each in store.sessions.list()} == {"import"}


@pytest.mark.parametrize(("turn", "call"), [(1, None), (None, "c1")])
def test_a_turn_or_a_call_of_a_session_comes_out_again_line_for_line(
    store: Store, tmp_path: Path, turn: int | None, call: str | None
) -> None:
    session = import_files(store, [GOLDEN], Redactor()).id
    part = PartOfSession(store, turn=turn, call=call)
    lines = b"".join(FORMATS["jsonl"].export(part, store.find_session(session)))
    assert 4 < lines.count(b"\n") <= GOLDEN.read_bytes().count(b"\n")
    again = import_files(store, [written(tmp_path, "part.jsonl", lines)], Redactor())
    assert exported(store, again.id) == lines


def test_what_several_captures_and_other_sessions_have_of_it_comes_out_in_the_same_order(
    store: Store, there: Store, tmp_path: Path
) -> None:
    own, other = SESSION, "20261121-134501-other"
    call = frame(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n', session=own)
    plain = frame(b'{"jsonrpc":"2.0","method":"x"}\n')
    theirs = frame(session=other, connection="math#1")
    request = Record(
        wire="llm", kind="request", peer="demo", direction="out", exchange="x1", place=call.place, data=b"{}"
    )
    failed = [
        Record(wire="llm", kind=kind, peer="demo", direction="in", exchange="x1", place=call.place)
        for kind in ("error",)
    ]
    retried = [
        Record(wire="llm", kind="request", peer="demo", direction="out", exchange="x2", place=call.place, data=b"{}")
    ]
    # in the first capture the session used no server, so that the second one's preamble comes first of all
    recorded(there, "b-capture", [request, *failed, *retried])
    recorded(there, "a-capture", [plain, theirs, plain, call, plain, theirs, plain])
    made(there, info())
    before = exported(there, own)
    assert before.count(b'"preamble":true') == 2

    again = import_files(store, [written(tmp_path, "own.jsonl", before)], Redactor())
    assert exported(store, again.id) == before


def test_what_a_tap_recorded_comes_out_again_line_for_line_and_stays_a_tap_of_one_capture(
    store: Store, there: Store, tmp_path: Path
) -> None:
    recorded(there, SESSION, [frame(session=SESSION, turn=None), frame(session=SESSION, turn=None, direction="in")])
    made(there, info("tap"))
    text = exported(there, SESSION)
    path = written(tmp_path, "tap.jsonl", text)
    for name in (SESSION, f"{SESSION}~2"):
        assert import_files(store, [path], Redactor()).id == name
        assert exported(store, name) == text
        found = store.find_session(name)
        assert (found.source, found.listed_source) == ("tap", "import")
        assert [record.capture for record, _ in store.session_records(name)] == [name] * 2


@given(st.lists(any_draft, min_size=1, max_size=12))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_records_survive_export_and_import(tmp_path: Path, drafts: list[Record]) -> None:
    number = sum(1 for _ in tmp_path.iterdir())
    there, here = (Store.open(tmp_path / f"{name}{number}" / "tui-host.db") for name in ("there", "here"))
    try:
        recorded(there, "c1", [*drafts, frame(session=SESSION)])
        made(there, info())
        before = exported(there, SESSION)
        again = import_files(here, [written(tmp_path, f"{number}.jsonl", before)], Redactor())
        assert exported(here, again.id) == before
    finally:
        there.close()
        here.close()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"capture":"c1"', "this is not a record: it is no JSON from its character 16 on"),
        (b"stray words", "this is not a record: it is no JSON"),
        (b"stray \xff words", "this is not a record: it is no text"),
        (b'{"capture":"c1","seq":9}', "this is not a record: it has no "),
        (b'{"tui_host":1,"session":', "this is not a session's line: it is no JSON from its character 25 on"),
        (
            b'{"capture":"../c1","seq":9,"time":"2026-11-21T13:45:01Z","wire":"llm","kind":"end"}',
            "the capture's id is none",
        ),
        (b'{"capture":"c1","seq":-9,"time":"2026-11-21T13:45:01Z","wire":"llm","kind":"end"}', "seq"),
        (
            b'{"capture":"c1","seq":9,"time":"2026-11-21T13:45:01Z","mono":99999999999999999999,"wire":"llm","kind":"end"}',
            "range",
        ),
        (
            b'{"capture":"c1","seq":9,"time":"2026-11-21T13:45:01Z","wire":"llm","kind":"run"}',
            "its kind is none that is known",
        ),
        (b'{"capture":"c1","seq":9,"time":"soon","wire":"llm","kind":"end"}', "a record: its time is no time"),
        (b'{"capture":"c1","seq":9,"time":"2026-11-21T13:45","wire":"llm","kind":"end"}', "its time has no time zone"),
        (b'{"capture":"c1","wire":"host","kind":"end","direction":"up"}', "its direction is none that is known"),
        (b'{"capture":"c1","wire":"host","kind":"end","data":"="}', "a record: its data is no base64"),
        (b'{"capture":"c1","wire":"host","kind":7}', "a record: its kind is no text"),
        (b'{"wire":"llm","kind":"end","head":{"headers":[["a"]]}}', "a header in it is no name with a value"),
        pytest.param(b'{"seq":' + b"9" * 5000 + b"}", "a record: Exceeds the limit", id="many digits"),
        (b"[]", "a record: it is no object"),
        ('{"capture":"中文" "seq":9}'.encode(), "this is not a record: it is no JSON from its character 17 on"),
        (b'{"tui_host":1,"session":{}}', "not a session's line"),
        (
            b'{"tui_host":1,"session":{"id":"s","source":"tap","turns":0,"title":"","created":"soon"}}',
            "this is not a session's line: its created is no time",
        ),
        (GOLDEN.read_bytes().splitlines()[-1], "seq does not grow"),
        (b"[" * 100_000, "this is not a record: it is nested too deeply"),
    ],
)
def test_a_line_that_is_no_record_is_named_and_nothing_stays(
    store: Store, tmp_path: Path, line: bytes, words: str
) -> None:
    path = written(tmp_path, "own.jsonl", GOLDEN.read_bytes() + line + b"\n")
    with pytest.raises(TuiHostError) as error:
        import_files(store, [path], Redactor())
    assert words in error.value.what
    assert "Error" not in error.value.what
    assert error.value.where == "own.jsonl, line 19"
    assert not store.sessions.list()
    assert not store.read("SELECT 1 FROM captures")


@pytest.mark.parametrize("files", [1, 2])
def test_the_logs_of_taps_are_one_story_in_one_file_or_in_two_also_where_one_is_cut(
    store: Store, there: Store, tmp_path: Path, files: int
) -> None:
    function = {"index": 0, "id": "i", "function": {"name": "math__add", "arguments": "{}"}}
    piece = {"choices": [{"index": 0, "delta": {"tool_calls": [function]}, "finish_reason": "tool_calls"}]}
    stream = f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode()
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{}}}\n'
    url = Head(method="POST", url="http://127.0.0.1:9/v1/chat/completions")
    asked = Record(wire="llm", kind="request", peer="demo", exchange="x1", direction="out", head=url)
    texts: list[bytes] = []
    for name, drafts in {
        "20261121-134501-model": [
            replace(asked, data=json.dumps(CHAT).encode()),
            replace(asked, kind="response", head=Head(status=200), direction="in"),
            replace(asked, kind="chunk", head=None, data=stream, direction="in"),
            replace(asked, kind="end", head=None, data=b'{"reason": "complete"}', direction="in"),
        ],
        "20261121-134501-serve": [frame(call, session=None), frame(b"[]\n" * 20, session=None)],
    }.items():
        recorded(there, name, [replace(draft, place=Place(session=name)) for draft in drafts])
        made(there, info("tap", name))
        texts.append(exported(there, name))
    texts[1] = texts[1][:-30]
    told = ["tap{}.jsonl ends within a line: it is read up to there."]
    if files == 1:  # in which each of two taps was killed
        texts = [b"".join((texts[0], texts[0].splitlines()[-1][:50], b"\n", texts[1]))]
        told.append("tap{}.jsonl has a line broken off before another session begins: left out.")
    paths = [written(tmp_path, f"tap{number}.jsonl", text) for number, text in enumerate(texts)]
    if files == 2:  # the story's export, and a tap's own log
        paths.append(written(tmp_path, "again.jsonl", texts[0]))
    imported = import_files(store, paths, Redactor())
    assert len([r for r, _ in store.session_records(imported.id) if r.kind == "request"]) == 1
    assert imported.notices == tuple(words.format(files - 1) for words in told)
    links = [json.loads(r.data) for r, _ in store.session_records(imported.id) if r.kind == "link"]
    assert [link["relation"] for link in links] == ["asked", "sent"]


def test_a_session_of_ours_tells_its_chat_with_its_own_turns_calls_and_decisions(
    store: Store, there: Store, tmp_path: Path
) -> None:
    step = Place(session=SESSION, turn=3, step=1)
    call = Place(session=SESSION, turn=3, step=1, call="3.1.1")
    url = Head(method="POST", url="http://127.0.0.1:9/v1/chat/completions")
    function = {"index": 0, "id": "i", "function": {"name": "math__add", "arguments": "{}"}}
    piece = {"choices": [{"index": 0, "delta": {"tool_calls": [function]}, "finish_reason": "tool_calls"}]}
    stream = f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode()
    link = Link(relation="asked", call="3.1.1", span=Span(exchange="x1"), server="math", tool="add")
    decision = b'{"server":"math","tool":"add","decision":"rejected","by":"person","words":"rejected by you"}'
    model = Record(wire="llm", kind="request", peer="demo", exchange="x1", place=step)
    recorded(
        there,
        "c1",
        [
            replace(model, head=url, data=json.dumps(CHAT).encode(), direction="out"),
            replace(model, kind="response", head=Head(status=200, headers=(("content-type", "text/event-stream"),))),
            replace(model, kind="chunk", data=stream, direction="in"),
            replace(model, kind="end", data=b'{"reason": "complete"}', direction="in"),
            Record(wire="host", kind="link", place=call, data=link.to_bytes()),
            Record(wire="host", kind="decision", place=call, data=decision),
        ],
    )
    made(there, info())
    imported = import_files(store, [written(tmp_path, "own.jsonl", exported(there, SESSION))], Redactor())
    items = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert [(item["item"], item["turn"]) for item in items] == [("user", 3), ("call", 3)]
    told = ("call", "server", "tool", "state", "by", "words")
    assert [items[1][name] for name in told] == ["3.1.1", "math", "add", "rejected", "person", "rejected by you"]
