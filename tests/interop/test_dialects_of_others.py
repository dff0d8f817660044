"""The dialects against a mock of others, aimock: thinking, text, two calls and their results, in each vendor's form.

It deviates from its models: for Gemini it ends with `FUNCTION_CALL` where there are calls, gives no signatures, and takes calls'
arguments apart; for Responses its events have no `sequence_number`, and one that is incomplete is called completed; for Anthropic
redacted thinking leads, and it refuses a step whose first block is not what it gave; for Ollama thinking is `reasoning_content`,
calls have no ids, counts and times are 0, and every answer ends with `stop`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.capture.drafts import everything_in
from tests.interop.asking import Program, provider, stdio_server
from tests.interop.comparison import compare_exchanges
from tests.interop.exported import Line, array_of, chosen, object_of
from tests.interop.others import AIMOCK, EVERYTHING, Node, free_port, serving
from tests.interop.relay import Relay
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect
from tui_host.llm.fold import Fold

pytestmark = pytest.mark.timeout(300)

KEY = "sk-interop-0123456789abcdef"
THOUGHT = "The person wants \u2028 both. 两个"
SIGNATURE, REDACTED = "EqQBCkYIBxgC+/==", "EmwKAhgB"
TEXT = "Let me ask both: ✓ 你好. "
CALLS = ('{"message": "h\\u00e9llo ✓",  "unasked": 1e2}', '{"a": 1.50, "b": -2}')
FIXTURES: JSON = {
    "fixtures": [
        {
            "match": {"userMessage": "compare", "hasToolResult": False},
            "response": {
                "reasoning": THOUGHT,
                "reasoningSignature": SIGNATURE,
                "redactedThinking": [REDACTED],
                "content": TEXT,
                "toolCalls": [
                    {"name": "everything__echo", "arguments": CALLS[0]},
                    {"name": "everything__get-sum", "arguments": CALLS[1]},
                ],
                "usage": {"input_tokens": 120, "output_tokens": 48},
            },
        },
        {"match": {"userMessage": "compare", "hasToolResult": True}, "response": {"content": "Both have answered."}},
    ]
}


@dataclass(frozen=True, slots=True)
class Spoken:
    """One dialect as the mock has it: a model that it takes for one that thinks, the credential's header, the tokens that it tells of."""

    dialect: str
    path: str
    model: str
    header: bytes
    more: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    counts: tuple[int, int] = (120, 48)


EVERY = (
    Spoken("gemini", "", "gemini-2.5-pro", f"x-goog-api-key: {KEY}".encode()),
    Spoken("openai", "/v1", "gpt-5", f"authorization: Bearer {KEY}".encode()),
    Spoken("openai-responses", "/v1", "gpt-5", f"authorization: Bearer {KEY}".encode()),
    Spoken(
        "anthropic",
        "",
        "claude-opus-4-6",
        f"x-api-key: {KEY}".encode(),
        more={"extra_body": {"thinking": {"type": "enabled", "budget_tokens": 2048}}},  # so that the mock looks at it
    ),
    Spoken("ollama", "", "qwen3", f"authorization: Bearer {KEY}".encode(), counts=(0, 0)),
)
each_dialect = pytest.mark.parametrize("spoken", EVERY, ids=lambda spoken: spoken.dialect)


@pytest.fixture
def mock(node: Node, tmp_path: Path) -> Iterator[Relay]:
    (tmp_path / "fixtures.json").write_text(json.dumps(FIXTURES, ensure_ascii=False))
    port = free_port()
    command = node.command(AIMOCK, "-p", str(port), "-f", str(tmp_path / "fixtures.json"), program="llmock")
    with serving(command, port), Relay(port) as relay:
        yield relay


def program(spoken: Spoken, tmp_path: Path, relay: Relay, *servers: str) -> Program:
    asked = provider(
        "other",
        relay.port,
        spoken.model,
        dialect=spoken.dialect,
        path=spoken.path,
        api_key="${INTEROP_KEY}",
        options={"reasoning_effort": "low"},
        **spoken.more,
    )
    return Program(tmp_path, asked, *servers, INTEROP_KEY=KEY)


@each_dialect
def test_a_turn_with_calls_is_asked_answered_and_exported_to_the_byte(
    spoken: Spoken, node: Node, mock: Relay, tmp_path: Path
) -> None:
    at = program(spoken, tmp_path, mock, stdio_server("everything", node.command(EVERYTHING)))

    answer = at.ask("compare them")
    lines = at.export()

    assert (answer.code, answer.whole["stop"], answer.whole["steps"]) == (0, "done", 2), answer.said
    assert answer.whole["answer"] == "Both have answered."
    assert [(call["tool"], call["sent"], call["is_error"]) for call in answer.calls] == [
        ("echo", {"message": "héllo ✓", "unasked": 100.0}, False),
        ("get-sum", {"a": 1.5, "b": -2}, False),
    ]
    compare_exchanges(lines, "other", mock)
    sent = b"".join(bytes(kept.sent) for kept in mock.connections)
    assert sent.lower().count(spoken.header.lower()) == 2
    assert KEY.encode() not in everything_in(tmp_path / "data")
    said, names, results = _told_back(spoken, lines)
    assert (said, names) == (TEXT, ["everything__echo", "everything__get-sum"])
    for result, begin in zip(results, ("Echo: héllo ✓", "The sum of 1.5 and -2 is -0.5"), strict=True):
        assert result.startswith(begin)


def _told_back(spoken: Spoken, lines: list[Line]) -> tuple[str, list[str], list[str]]:
    """What the second request says of the first answer: text, names of calls, results."""
    body = object_of(json.loads(chosen(lines, peer="other", kind="request")[1].data))
    match spoken.dialect:
        case "anthropic":
            asked, told = (objects(one["content"]) for one in objects(body["messages"])[-2:])
            redacted, thinking, text, *calls = asked
            assert redacted == {"type": "redacted_thinking", "data": REDACTED}
            assert thinking == {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE}
            assert [block["tool_use_id"] for block in told] == [block["id"] for block in calls]
            results: list[JSON] = [objects(block["content"])[0]["text"] for block in told]
            said, names = text["text"], [block["name"] for block in calls]
        case "gemini":
            asked, told = (objects(one["parts"]) for one in objects(body["contents"])[-2:])
            results = [object_of(object_of(one["functionResponse"])["response"])["output"] for one in told]
            said = "".join(str(part["text"]) for part in asked if "text" in part)
            names = [object_of(part["functionCall"])["name"] for part in asked if "functionCall" in part]
        case "openai-responses":
            thinking, message, *items = objects(body["input"])[1:]
            kinds = [one["type"] for one in (thinking, message, *items)]
            assert kinds == ["reasoning", "message", *["function_call"] * 2, *["function_call_output"] * 2]
            assert objects(thinking["summary"])[0]["text"] == THOUGHT
            assert thinking["encrypted_content"]
            assert [one["arguments"] for one in items[:2]] == list(CALLS)
            said, names = objects(message["content"])[0]["text"], [one["name"] for one in items[:2]]
            results = [one["output"] for one in items[2:]]
        case _:
            asked_for, *told = objects(body["messages"])[-3:]
            functions = [object_of(call["function"]) for call in objects(asked_for["tool_calls"])]
            assert asked_for["thinking" if spoken.dialect == "ollama" else "reasoning_content"] == THOUGHT
            if spoken.dialect == "openai":
                assert [one["arguments"] for one in functions] == list(CALLS)  # as the model wrote them
            said, names = asked_for["content"], [one["name"] for one in functions]
            results = [one["content"] for one in told]
    return str(said), [str(name) for name in names], [str(result) for result in results]


def objects(value: JSON) -> list[Mapping[str, JSON]]:
    return [object_of(one) for one in array_of(value)]


@each_dialect
def test_what_it_thought_and_used_is_read(spoken: Spoken, mock: Relay, tmp_path: Path) -> None:
    at = program(spoken, tmp_path, mock)

    at.ask("compare them", "--max-steps", "1")
    body = b"".join(line.data for line in chosen(at.export(), peer="other", kind="chunk"))
    decoder = dialect(spoken.dialect).decoder("")
    fold = Fold(provider="other", model=spoken.model, call_id=str)
    for event in [*decoder.feed(body), *decoder.finish()]:
        fold.add(event)

    assert (fold.thinking, fold.text, fold.stop, fold.unreadable) == (THOUGHT, TEXT, "tools", 0)
    assert [json.loads(found.call.arguments) for found in fold.calls] == [json.loads(text) for text in CALLS]
    assert (fold.usage.input_total, fold.usage.output_total) == spoken.counts
    for found in fold.calls:
        assert all(found.call.name.encode() in body[start:end] or found.call.wire_id for start, end in found.spans)
