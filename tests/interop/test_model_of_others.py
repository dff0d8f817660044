"""The model's side by a mock of others, aimock, that asks for tools in its own way and says something beside it; with a key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.capture.drafts import everything_in
from tests.interop.asking import Program, provider, stdio_server
from tests.interop.comparison import Figures, compare_exchanges, compare_pipes
from tests.interop.exported import array_of, chosen, object_of
from tests.interop.others import AIMOCK, AWHILE, EVERYTHING, HOME, TIME, Node, free_port, serving, uvx
from tests.interop.relay import Relay
from tui_host.errors import JSON

pytestmark = pytest.mark.timeout(300)

KEY = "sk-interop-0123456789abcdef"
ARGUMENTS = '{"message": "h\\u00e9llo \u2713",  "unasked": 1e2}'
"""Spelt as no program of ours would."""
FIXTURES: JSON = {
    "fixtures": [
        {
            "match": {"userMessage": "compare", "hasToolResult": False},
            "response": {
                "content": "Let me ask both. ",
                "toolCalls": [
                    {"name": "everything__echo", "arguments": ARGUMENTS},
                    {"name": "time__get_current_time", "arguments": '{"timezone":"Asia/Tokyo"}'},
                    {"name": "everything__trigger-long-running-operation", "arguments": json.dumps(AWHILE)},
                ],
            },
        },
        {
            "match": {"userMessage": "compare", "hasToolResult": True},
            "response": {"content": "Both have answered: ✓ 你好."},
        },
    ]
}


def test_a_turn_with_a_model_of_others_is_exported_to_the_byte_and_without_the_key(
    node: Node, tmp_path: Path, tell: Callable[[str, Figures], None]
) -> None:
    (tmp_path / "fixtures.json").write_text(json.dumps(FIXTURES, ensure_ascii=False))
    port = free_port()
    command = node.command(AIMOCK, "-p", str(port), "-f", str(tmp_path / "fixtures.json"), program="llmock")
    with serving(command, port), Relay(port) as relay:
        program = Program(
            tmp_path,
            provider("other", relay.port, "gpt-5", api_key="${INTEROP_KEY}"),
            stdio_server("everything", node.command(EVERYTHING), tee=tmp_path / "everything"),
            stdio_server("time", uvx(TIME), tee=tmp_path / "time", env={"HOME": HOME}),
            INTEROP_KEY=KEY,
        )
        answer = program.ask("compare them")
        lines = program.export()
        whole = program.run("sessions", "export", "last").stdout

    assert (answer.code, answer.whole["stop"], answer.whole["steps"]) == (0, "done", 2)
    assert answer.whole["answer"] == "Both have answered: ✓ 你好."
    assert [(call["server"], call["decision"], call["is_error"]) for call in answer.calls] == [
        ("everything", "approved", False),
        ("time", "approved", False),
        ("everything", "approved", False),
    ]
    assert answer.calls[0]["sent"] == {"message": "héllo ✓", "unasked": 100.0}

    tell(f"model {AIMOCK}", compare_exchanges(lines, "other", relay))
    tell(f"{EVERYTHING}, stdio, with {AIMOCK}", compare_pipes(lines, "everything", tmp_path / "everything"))
    tell(f"{TIME}, stdio, with {AIMOCK}", compare_pipes(lines, "time", tmp_path / "time"))

    sent = b"".join(bytes(kept.sent) for kept in relay.connections)
    assert sent.count(f"Bearer {KEY}".encode()) == 2
    assert KEY.encode() not in whole
    assert KEY.encode() not in everything_in(tmp_path / "data")

    told = object_of(json.loads(chosen(lines, peer="other", kind="request")[1].data))
    assistant, *results = [object_of(one) for one in array_of(told["messages"])][-4:]
    asked = [object_of(object_of(one)["function"])["arguments"] for one in array_of(assistant["tool_calls"])]
    assert asked[0] == ARGUMENTS  # told back as the model wrote them
    assert str(results[0]["content"]).startswith("Echo: héllo ✓")
