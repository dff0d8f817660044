"""Bodies that hold a conversation from before: the chat of what is brought in tells all of it, in every dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.opening.imports import SESSION, exported, info, made, recorded, written
from tui_host.capture.exports import EXPORTS
from tui_host.capture.record import Draft, Head, Place
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import JSON
from tui_host.opening.importing import import_files

CHAT: JSON = {
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
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "three"}]},
            ],
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
    "openai": CHAT,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}
TOLD = [
    ("note", "not captured, but told in the request:"),
    ("user", "first question"),
    ("answer", "I look."),
    ("call", "three"),
    ("answer", "first answer"),
    ("note", "captured from here on:"),
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
    document = b"".join(EXPORTS["markdown"](store, store.find_session(imported.id))).decode()
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
    again = replace(place, step=3)
    drafts = [
        Draft(
            wire="llm",
            kind="request",
            direction="out",
            peer="demo",
            exchange=name,
            place=where,
            head=head,
            data=json.dumps(CHAT).encode(),
        )
        for name, where in (("x1", place), ("x2", again))
    ]
    recorded(there, "c1", drafts)
    made(there, info())
    imported = import_files(store, [written(tmp_path, "own.jsonl", exported(there, SESSION))], Redactor())
    said = [each for each in chat(store, imported.id) if each[0] != "note"]
    assert said == [each for each in TOLD if each[0] != "note"]
    items = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert {each["turn"] for each in items} == {4}
    assert {each["step"] for each in items if "step" in each} == {0}
