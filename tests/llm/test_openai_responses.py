"""What Responses has of its own: items that go back whole, the truth at an item's end, what is asked for by what the model is."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.llm.recorded.asks import TOOLS, user
from tests.llm.recorded.case import TEXT, THOUGHT
from tests.llm.recorded.openai_responses import (
    BEGAN,
    REASONING,
    closed,
    opened,
    over,
    said,
    words,
)
from tests.llm.recorded.reading import MODEL, PROVIDER, fold_of
from tests.llm.recorded.wire import text
from tui_host.errors import JSON
from tui_host.llm.dialects.openai_responses import OPENAI_RESPONSES
from tui_host.llm.messages import Ask, Message, Part, Text
from tui_host.llm.outgoing import Target
from tui_host.settings.environment_references import Secret
from tui_host.settings.model_options import Options

RESPONSES = OPENAI_RESPONSES
DIALECT = "openai-responses"
TARGET = Target(provider=PROVIDER)


def written(*messages: Message, model: str = MODEL, **more: object) -> dict[str, JSON]:
    ask = Ask(model=model, messages=messages, **more)  # pyright: ignore[reportArgumentType] - shorthand
    value: dict[str, JSON] = json.loads(RESPONSES.write(ask, TARGET).body)
    return value


def items(*messages: Message, model: str = MODEL) -> list[dict[str, JSON]]:
    found = written(*messages, model=model)["input"]
    assert isinstance(found, list)
    return [one for one in found if isinstance(one, dict)]


def answer(*events: bytes) -> Message:
    return fold_of(DIALECT, BEGAN, *events, over()).message(turn=1)


def assistant(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts)


def kinds(found: Sequence[dict[str, JSON]]) -> list[JSON]:
    return [one.get("type", one.get("role")) for one in found]


# Requests.


def test_nothing_is_kept_at_the_provider_and_tools_are_flat_and_not_strict() -> None:
    body = written(Message(role="system", parts=(Text(text="Be brief."),)), user("x"), tools=TOOLS)

    assert body["store"] is False
    assert body["instructions"] == "Be brief."
    assert list(body)[-1] == "input"
    tools = body["tools"]
    assert isinstance(tools, list)
    for tool, told in zip(tools, TOOLS, strict=True):
        assert isinstance(tool, dict)
        assert (tool["type"], tool["name"], tool["strict"]) == ("function", told.name, False)
        assert "function" not in tool
    assert "previous_response_id" not in body


@pytest.mark.parametrize(
    ("model", "effort", "include", "reasoning"),
    [
        ("gpt-4.1-mini", None, False, None),
        ("gpt-5.2", None, True, {"summary": "auto"}),
        ("o4-mini", None, True, {"summary": "auto"}),
        ("o4-mini", "low", True, {"effort": "low", "summary": "auto"}),
        ("gpt-5", "off", True, {"effort": "none", "summary": "auto"}),
    ],
)
def test_thoughts_are_asked_for_where_the_model_has_any(
    model: str, effort: str | None, *, include: bool, reasoning: JSON
) -> None:
    body = written(user("x"), model=model, options=Options(reasoning_effort=effort))

    assert body.get("include") == (["reasoning.encrypted_content"] if include else None)
    assert body.get("reasoning") == reasoning


def test_what_this_api_does_not_have_is_left_out_and_what_is_given_wins() -> None:
    options = Options(seed=1, stop=("a",), max_tokens=9, top_p=0.5, others={"verbosity": "low"})
    extra: tuple[tuple[str, JSON], ...] = (("store", True), ("include", []), ("reasoning", {"effort": "low"}))

    body = written(user("x"), model="o3", options=options, stop_sequences=("b",), extra=extra)

    assert not {"seed", "stop", "stop_sequences", "max_tokens"} & set(body)
    assert (body["max_output_tokens"], body["top_p"], body["verbosity"]) == (9, 0.5, "low")
    assert (body["store"], body["include"], body["reasoning"]) == (True, [], {"effort": "low"})


def test_azure_has_its_own_header_and_its_version_in_the_query() -> None:
    azure = Target(provider="p", service="azure", api_version="preview")

    assert RESPONSES.headers(Secret("KEY", "k"), azure) == (("api-key", "k"),)
    assert RESPONSES.headers(Secret("KEY", "k"), TARGET) == (("Authorization", "Bearer k"),)
    assert RESPONSES.headers(None, azure) == ()
    assert RESPONSES.write(Ask(model="m", messages=(user("x"),)), azure).url == "responses?api-version=preview"
    assert RESPONSES.write(Ask(model="m", messages=(user("x"),)), TARGET).url == "responses"


def test_items_of_kinds_that_we_do_not_know_go_back_whole_but_for_calls_that_nobody_answers() -> None:
    search: dict[str, JSON] = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
    custom: dict[str, JSON] = {"type": "custom_tool_call", "id": "ct_1", "call_id": "c", "name": "n", "input": "i"}

    told = answer(opened(0, search), closed(0, search), closed(1, custom), words(2))

    assert kinds(items(told)) == ["web_search_call", "message"]
    assert items(told)[0] == search


def test_a_tool_that_a_namespace_holds_is_named_with_it_wherever_it_stands() -> None:
    call: JSON = {"type": "function_call", "call_id": "a", "namespace": "mcp__math", "name": "add", "arguments": "{}"}
    held: JSON = {"type": "namespace", "name": "mcp__math", "tools": [{"type": "function", "name": "add"}]}
    body = b"".join((BEGAN, opened(0, call), closed(0, call), over()))

    outline = RESPONSES.outline(text({"tools": [held, {"type": "function", "name": "now"}], "input": [call]}))
    (found,) = fold_of(DIALECT, body).calls

    assert outline is not None
    named = [(one.kind, one.name) for one in outline.walk() if one.name]
    assert named == [("tool", "mcp__math.add"), ("tool", "now"), ("call", "mcp__math.add")]
    assert found.call.name == "mcp__math.add"


@pytest.mark.parametrize(
    ("status", "stop"),
    [("completed", "end"), ("queued", "cut"), ("in_progress", "cut"), ("failed", "failed"), ("cancelled", "failed")],
)
def test_a_whole_answer_ends_as_its_status_says(status: str, stop: str) -> None:
    fold = fold_of(DIALECT, text({"object": "response", "status": status, "output": [said(0)], "error": None}))

    assert (fold.text, fold.stop) == (TEXT, stop)
    assert bool(fold.failure) == (stop == "failed")


# Answers.


# The tree of a request.


def test_every_kind_of_item_has_its_place_in_the_tree() -> None:
    body = text(
        {
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "see"}, {"type": "input_image"}]},
                {"role": "developer", "content": "note"},
                REASONING,
                {"type": "item_reference", "id": "x"},
                {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"a":1}'},
                {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "21 C"}]},
            ],
        }
    )

    outline = RESPONSES.outline(body, {"f": ("s", "t")})

    assert outline is not None
    found = [(one.kind, one.origin, one.preview) for one in outline.walk() if one.kind != "messages"]
    assert found == [
        ("message", "host", "Be brief."),
        ("message", "you", "see"),
        ("text", "you", "see"),
        ("image", "you", ""),
        ("message", "host", "note"),
        ("thinking", "model", " ".join(THOUGHT.split())),
        ("message", "model", '{"type": "item_reference", "id": "x"}'),
        ("message", "model", "no"),
        ("call", "model", '{"a":1}'),
        ("result", "s", "21 C"),
    ]
