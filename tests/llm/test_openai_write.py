from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.llm.asking import TARGET
from tui_host.errors import JSON
from tui_host.llm.dialects.dialect import Target
from tui_host.llm.dialects.openai.read import ECHOED
from tui_host.llm.dialects.openai.write import OpenAI
from tui_host.llm.messages import Ask, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.settings.model_options import Options

GOLDEN = Path(__file__).parent.parent / "golden"
MULTIPLY = ToolCall(id="t1s1c0", wire_id="call_1", name="math__multiply", arguments='{"a": 6,"b":5}')
ADD = ToolCall(id="t1s1c1", wire_id="call_2", name="math__add", arguments="")
TOOLS = (
    ToolSpec(
        name="math__multiply",
        description="Multiply two numbers. 乘",
        schema={
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
        server="math",
        tool="multiply",
    ),
    ToolSpec(name="math__add", description="", schema={"type": "object"}, server="math", tool="add"),
    ToolSpec(name="odd__any", description="", schema=True, server="odd", tool="any"),
)


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def assistant(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts)


def result(call: ToolCall, *content: Text | Image) -> ToolResult:
    return ToolResult(call=call, content=content)


def messages_of(*messages: Message, model: str = "m") -> list[dict[str, JSON]]:
    value = json.loads(OpenAI().write(Ask(model=model, messages=messages), TARGET).body)
    found: list[dict[str, JSON]] = value["messages"]
    return found


CASES: dict[str, Ask] = {
    "openai-first": Ask(model="gpt-4.1-mini", messages=(user("what's 6 × 5 + 7?"),)),
    "openai-tools": Ask(
        model="m",
        messages=(Message(role="system", parts=(Text(text="Be brief."),)), user("6 × 5?")),
        tools=TOOLS,
        options=Options(temperature=0.2, max_tokens=100),
        stop_sequences=("STOP",),
        extra=(("thinking", {"type": "disabled"}),),
    ),
    "openai-results": Ask(
        model="m",
        messages=(
            user("6 × 5, and a picture"),
            assistant(
                Thinking(text="hm", provider="p", model="m", echo=ECHOED), Text(text="Let me see."), MULTIPLY, ADD
            ),
            Message(
                role="tool",
                parts=(
                    result(MULTIPLY, Text(text="30"), Text(text="(exact)")),
                    result(ADD, Image(media_type="image/png", data="QUJD")),
                ),
            ),
            assistant(Text(text="It is 30.")),
            Message(role="user", parts=(Text(text="and this?"), Image(media_type="image/jpeg", data="QUJD"))),
        ),
    ),
    "openai-whole": Ask(model="m", messages=(user("hello"),), stream=False),
}


def test_ids_that_are_missing_repeated_or_too_long_are_made_fit() -> None:
    calls = [
        ToolCall(id="t1c0", wire_id="", name="t", arguments="{}"),
        ToolCall(id="t1c1", wire_id="same", name="t", arguments="{}"),
        ToolCall(id="t1c2", wire_id="same", name="t", arguments="{}"),
        ToolCall(id="t1c3", wire_id="x" * 100, name="t", arguments="{}"),
    ]

    messages = messages_of(
        user("x"),
        assistant(*calls),
        Message(role="tool", parts=tuple(result(call, Text(text=call.id)) for call in calls)),
    )

    asked = messages[1]["tool_calls"]
    assert isinstance(asked, list)
    ids = [call["id"] for call in asked if isinstance(call, dict)]
    assert ids[:3] == ["t1c0", "same", "same_2"]
    assert len(set(map(str, ids))) == 4
    assert all(len(str(one)) <= 64 for one in ids)
    assert [message["tool_call_id"] for message in messages[2:]] == ids
    assert [message["content"] for message in messages[2:]] == ["t1c0", "t1c1", "t1c2", "t1c3"]


def test_mistral_gets_ids_of_nine_letters_and_digits_and_no_user_behind_results() -> None:
    twins = [replace(MULTIPLY, id=f"twin {number}") for number in range(12)]
    fit = ToolCall(id="t9", wire_id="aB3dE6gH9", name="math__add", arguments="{}")
    calls = [*twins, ADD, fit]
    picture = Image(media_type="image/png", data="QUJD")
    ask = Ask(
        model="m",
        messages=(
            user("q"),
            assistant(*calls),
            Message(role="tool", parts=tuple(result(call, Text(text="30"), picture) for call in calls)),
        ),
        options=Options(seed=7),
    )

    body = json.loads(OpenAI().write(ask, Target(provider="mine", service="mistral")).body)

    _, asked, *told = body["messages"]
    ids = [call["id"] for call in asked["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in told]
    assert len(set(ids)) == len(calls)
    assert all(re.fullmatch("[A-Za-z0-9]{9}", each) for each in ids)
    assert ids[-1] == fit.wire_id
    assert {message["role"] for message in told} == {"tool"}
    assert told[0]["content"] == "30\n(an image, image/png, which cannot be shown to you)"
    assert (body["random_seed"], "seed" in body) == (7, False)


def test_thinking_goes_back_where_it_is_demanded_once_there_are_calls() -> None:
    ours = Thinking(text="hm", provider="p", model="m", echo=ECHOED)
    told = Message(role="tool", parts=(result(MULTIPLY, Text(text="30")),))

    before = messages_of(user("x"), assistant(ours, Text(text="a")))
    after = messages_of(user("x"), assistant(ours, Text(text="a")), user("y"), assistant(MULTIPLY), told)

    assert ECHOED not in before[1]
    assert after[1][ECHOED] == "hm"
    assert after[3][ECHOED] == ""


@pytest.mark.parametrize(
    "thinking",
    [
        Thinking(text="hm", provider="p", model="m"),
        Thinking(text="hm", provider="q", model="m", echo=ECHOED),
        Thinking(text="hm", provider="p", model="n", echo=ECHOED),
    ],
)
def test_thinking_goes_back_to_nobody_else(thinking: Thinking) -> None:
    told = Message(role="tool", parts=(result(MULTIPLY, Text(text="30")),))

    body = json.dumps(messages_of(user("x"), assistant(thinking, MULTIPLY), told))

    assert "hm" not in body
    assert ECHOED not in body


def test_half_a_character_and_what_json_cannot_say_do_not_stop_a_request() -> None:
    tool = ToolSpec(name="t", description="d", schema={"type": "object", "maximum": float("inf")}, server="s", tool="t")

    body = OpenAI().write(Ask(model="m", messages=(user("a\ud83d"),), tools=(tool,)), TARGET).body

    assert json.loads(body)["messages"][0]["content"] == "a\ufffd"
    assert json.loads(body)["tools"][0]["function"]["parameters"]["maximum"] is None
