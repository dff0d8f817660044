from __future__ import annotations

import json
import re
from dataclasses import replace

from tests.llm.asking import TARGET
from tui_host.errors import JSON
from tui_host.llm.dialects.openai import ECHOED, OPENAI
from tui_host.llm.messages import Ask, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.outgoing import Growing, Target
from tui_host.settings.model_options import Options

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
    value = json.loads(OPENAI.write(Ask(model=model, messages=messages), TARGET).body)
    found: list[dict[str, JSON]] = value["messages"]
    return found


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

    body = json.loads(OPENAI.write(ask, Target(provider="mine", service="mistral")).body)

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


def test_half_a_character_and_what_json_cannot_say_do_not_stop_a_request() -> None:
    tool = ToolSpec(name="t", description="d", schema={"type": "object", "maximum": float("inf")}, server="s", tool="t")

    body = OPENAI.write(Ask(model="m", messages=(user("a\ud83d"),), tools=(tool,)), TARGET).body

    assert json.loads(body)["messages"][0]["content"] == "a\ufffd"
    assert json.loads(body)["tools"][0]["function"]["parameters"]["maximum"] is None


def test_a_body_says_where_its_messages_stand_and_what_the_person_adds_wins() -> None:
    messages = (user('é"\n\\' * 1000), user("half \ud800"))
    ask = Ask(model="m", messages=messages, extra=(("top_k", float("nan")),))

    outgoing = OPENAI.write(ask, TARGET)
    own = OPENAI.write(Ask(model="m", messages=messages, extra=(("messages", []),)), TARGET)

    body = json.loads(outgoing.body)
    assert (body["top_k"], body["messages"][1]["content"]) == (None, "half \ufffd")
    assert [json.loads(outgoing.body[start:end]) for start, end in outgoing.growing.spans] == body["messages"]
    assert (json.loads(own.body)["messages"], own.growing) == ([], Growing(name="messages"))
