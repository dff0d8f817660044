"""What only Anthropic's Messages have: a version, thinking that is signed, results in a user's message."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.llm.recorded.anthropic import STOP, began, call, closed, finished, more, opened, thought, words
from tests.llm.recorded.asks import answered, user
from tests.llm.recorded.case import WEATHER
from tests.llm.recorded.reading import MODEL, fold_of
from tui_host.errors import JSON
from tui_host.llm.dialects.anthropic import ANTHROPIC, MOST_TOKENS, MOST_TOKENS_THINKING
from tui_host.llm.messages import Ask, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.outgoing import Target
from tui_host.settings.environment_references import Secret
from tui_host.settings.model_options import Options

VENDOR, OTHER = Target(provider="p", service="anthropic"), Target(provider="p")
CALL = ToolCall(id="t1c0", wire_id="toolu_1", name="t", arguments='{"a":1}')


def written(*messages: Message, target: Target = OTHER, **more: object) -> dict[str, JSON]:
    ask = Ask(model=MODEL, messages=messages or (user("x"),), **more)  # pyright: ignore[reportArgumentType] - shorthand
    value: dict[str, JSON] = json.loads(ANTHROPIC.write(ask, target).body)
    return value


def blocks(*messages: Message) -> list[list[dict[str, JSON]]]:
    found = written(*messages)["messages"]
    assert isinstance(found, list)
    return [message["content"] for message in found if isinstance(message, dict)]  # pyright: ignore[reportReturnType]


def assistant(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts)


@pytest.mark.parametrize(
    ("target", "version"),
    [
        (VENDOR, "2026-10-21"),
        (OTHER, "2023-06-01"),
        (Target(provider="p", service="deepseek"), "2023-06-01"),
        (Target(provider="p", service="anthropic", api_version="2023-06-01"), "2023-06-01"),
        (Target(provider="p", api_version="2027-01-01"), "2027-01-01"),
    ],
)
def test_every_request_says_its_version(target: Target, version: str) -> None:
    assert ANTHROPIC.headers(None, target) == (("anthropic-version", version),)
    assert ANTHROPIC.headers(Secret("KEY", "sk-1"), target) == (
        ("x-api-key", "sk-1"),
        ("anthropic-version", version),
    )


def test_what_chooses_among_words_is_never_sent_with_the_new_version() -> None:
    options = Options(temperature=0.0, top_p=0.5, seed=3)

    assert "temperature" not in written(target=VENDOR, options=options)
    assert "top_p" not in written(target=VENDOR, options=options)
    old = written(options=options)
    assert (old["temperature"], old["top_p"]) == (0.0, 0.5)
    assert "seed" not in old


@pytest.mark.parametrize(
    ("effort", "most", "thinking"),
    [
        (None, MOST_TOKENS, None),
        ("none", MOST_TOKENS, {"type": "disabled"}),
        ("max", MOST_TOKENS_THINKING, {"type": "adaptive", "display": "summarized"}),
    ],
)
def test_an_effort_is_adaptive_thinking_and_more_room(
    effort: str | None, most: int, thinking: Mapping[str, JSON] | None
) -> None:
    body = written(options=Options(reasoning_effort=effort))

    assert (body["max_tokens"], body.get("thinking")) == (most, thinking)
    assert body.get("output_config") == ({"effort": "max"} if effort == "max" else None)
    assert written(options=Options(reasoning_effort=effort, max_tokens=5))["max_tokens"] == 5


def test_stops_of_white_space_are_left_out_for_they_are_refused() -> None:
    body = written(options=Options(stop=("\n\n", "END")), stop_sequences=("</use>", " "))

    assert body["stop_sequences"] == ["</use>", "END"]
    assert "stop_sequences" not in written(options=Options(stop=("\n",)))


def test_texts_without_a_word_are_left_out_for_they_are_refused() -> None:
    content = blocks(
        user("x"),
        assistant(Text(text=" \n"), CALL),
        Message(role="tool", parts=(ToolResult(call=CALL, content=(Text(text=""),)),)),
        assistant(Text(text="")),
        user("y"),
    )

    assert [[block["type"] for block in message] for message in content] == [
        ["text"],
        ["tool_use"],
        ["tool_result"],
        ["text"],
    ]
    assert "content" not in content[2][0]


@pytest.mark.parametrize("root", ["oneOf", "allOf", "anyOf"])
def test_schemas_are_sent_untouched_but_for_what_is_refused_at_the_root(root: str) -> None:
    inner: JSON = {"type": "object", "properties": {"a": {root: [{"type": "string"}]}}}
    odd: JSON = {"type": "object", "properties": {}, root: [{"required": ["a"]}], "$schema": "x"}
    tools = tuple(
        ToolSpec(name=f"t{number}", description="", schema=schema, server="s", tool="t")
        for number, schema in enumerate((inner, odd, {"type": ["object", "null"]}))
    )

    sent = written(tools=tools)["tools"]

    assert isinstance(sent, list)
    assert [tool["input_schema"] for tool in sent if isinstance(tool, dict)] == [
        inner,
        {"type": "object", "properties": {}, "$schema": "x"},
        {"type": "object", "properties": {}},
    ]


def test_an_unsigned_thought_goes_back_with_calls_to_services_that_demand_it_but_not_to_anthropic() -> None:
    body = began() + thought(0, "hm", "") + words(1) + call(2, "a", WEATHER) + finished("tool_use") + STOP
    answer = fold_of("anthropic", body).message(turn=1)

    assert answer.parts[0] == Thinking(text="hm", provider="p", model="m", echo={"anthropic": {"type": "thinking"}})
    assert blocks(user("x"), answer, answered(answer))[1][0] == {"type": "thinking", "thinking": "hm"}
    ask = Ask(model="m", messages=(user("x"), answer, answered(answer)))
    assert b"hm" not in ANTHROPIC.write(ask, Target(provider="p", service="anthropic")).body


def test_blocks_that_only_the_vendor_knows_go_back_whole() -> None:
    search: dict[str, JSON] = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    found: dict[str, JSON] = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"url": "u"}]}
    body = b"".join(
        (
            began(),
            opened(0, search) + more(0, "input_json_delta", "partial_json", '{"query":"x"}') + closed(0),
            opened(1, found) + closed(1),
            words(2, "It is so."),
            finished("end_turn") + STOP,
        )
    )
    answer = fold_of("anthropic", body).message(turn=1)

    assert fold_of("anthropic", body).calls == ()
    assert blocks(user("x"), answer)[1] == [
        search | {"input": {"query": "x"}},
        found,
        {"type": "text", "text": "It is so."},
    ]


def test_a_refusal_says_what_for() -> None:
    details: JSON = {"category": "bio", "explanation": "no recipes"}
    body = began() + words() + finished("refusal", stop_details=details) + STOP

    fold = fold_of("anthropic", body)

    assert (fold.stop, fold.vendor_stop) == ("refused", "refusal: bio, no recipes")
