"""Bodies alone in a file tell the conversation that they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.opening.imports import chat, whole, written
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import JSON
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


@pytest.mark.parametrize("name", BODIES)
def test_a_body_tells_the_whole_conversation_that_it_holds(store: Store, tmp_path: Path, name: str) -> None:
    imported = import_files(store, [written(tmp_path, f"{name}.json", json.dumps(BODIES[name]))], Redactor())
    assert chat(store, imported.id) == TOLD
    items = [json.loads(text) for text in whole(store, imported.id).session_items("")]
    assert {each["turn"] for each in items} == {1}
    assert {(each["step"], each.get("seconds", 0)) for each in items if "step" in each} == {(0, 0)}
    [(called, arguments)] = [(each["tool"], json.loads(each["asked"])) for each in items if each["item"] == "call"]
    assert (called, arguments) == ("add", {"a": 1})
    assert whole(store, imported.id).info.turns == 1


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
