"""Each wire of the demo model: what is read of a request, and what is written; no socket."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.demo.running import MATH_TOOLS
from tests.demo.wire_requests import (
    LONG,
    PATHS,
    error_of,
    object_of,
    objects,
    question,
    request,
    schema,
    streamed,
    whole,
)
from tests.llm.recorded.reading import fold_of, said
from tui_host.demo.model.json_values import json_line
from tui_host.demo.model.plan import AskedCall, Plan, Said
from tui_host.demo.model.request_content import AssistantSaid, SystemSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires.anthropic_wire import ANTHROPIC as ANTHROPIC_WIRE
from tui_host.demo.model.wires.gemini_wire import GEMINI as GEMINI_WIRE
from tui_host.demo.model.wires.ollama_wire import OLLAMA as OLLAMA_WIRE
from tui_host.demo.model.wires.openai_wire import OPENAI
from tui_host.demo.model.wires.responses_wire import RESPONSES as RESPONSES_WIRE
from tui_host.demo.model.wires.wire import ChatRequest, RequestRefused, Wire
from tui_host.errors import JSON

QUESTION = "think about 1 + 1"
PNG = "iVBORw0KGgo="
DATA_URL = f"data:image/png;base64,{PNG}"
PNG_WORDS = "image/png, 8 bytes"
USER: JSON = {"role": "user", "content": QUESTION}
NUMBERS = schema("a", "b")
BROKEN = Plan(calls=(AskedCall(name="math__add", arguments="{broken"),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """How a question, tools and a turn of two calls are sent to a wire.

    Attributes:
        turn: The request's members for a question, two calls, their results, and a second question.
        tools: The members that offer `math__add`.
    """

    wire: Wire
    turn: dict[str, JSON]
    tools: dict[str, JSON]

    def read(self, method: str = "generateContent", query: str = "", /, **more: JSON) -> ChatRequest:
        path = PATHS[self.wire.model].replace("generateContent", method)
        return self.wire.read(request(path, {**question(self.wire.model, QUESTION), **more}, query=query))


def _openai_call(identity: str, arguments: str) -> JSON:
    return {"id": identity, "type": "function", "function": {"name": "math__add", "arguments": arguments}}


CHAT = Sent(
    wire=OPENAI,
    turn={
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "be kind"}]},
            USER,
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [_openai_call("a", '{"a":1}'), _openai_call("b", "{}")],
            },
            {"role": "tool", "tool_call_id": "b", "content": "3"},
            {"role": "tool", "tool_call_id": "a", "content": "2"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "and now?"},
                    {"type": "image_url", "image_url": {"url": DATA_URL}},
                ],
            },
        ]
    },
    tools={"tools": MATH_TOOLS[:1]},
)
RESPONSES = Sent(
    wire=RESPONSES_WIRE,
    turn={
        "instructions": "be kind",
        "input": [
            USER,
            {"type": "function_call", "call_id": "a", "name": "math__add", "arguments": '{"a":1}'},
            {"type": "function_call", "call_id": "b", "name": "math__add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "3"}]},
            {"type": "function_call_output", "call_id": "a", "output": "2"},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "and now?"},
                    {"type": "input_image", "image_url": DATA_URL},
                ],
            },
        ],
    },
    tools={"tools": [{"type": "function", "name": "math__add", "parameters": NUMBERS}]},
)
ANTHROPIC = Sent(
    wire=ANTHROPIC_WIRE,
    turn={
        "system": [{"type": "text", "text": "be kind"}],
        "messages": [
            USER,
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "a", "name": "math__add", "input": {"a": 1}},
                    {"type": "tool_use", "id": "b", "name": "math__add", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "3"}]},
                    {"type": "tool_result", "tool_use_id": "a", "content": "2"},
                    {"type": "text", "text": "and now?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                ],
            },
        ],
    },
    tools={"tools": [{"name": "math__add", "input_schema": NUMBERS}]},
)


def _gemini_call(**more: JSON) -> JSON:
    return {"functionCall": {"name": "math__add", "args": {}, **more}}


def _gemini_response(text: str, **more: JSON) -> JSON:
    return {"functionResponse": {"name": "math__add", "response": {"output": text}, **more}}


# With underscores: the service takes both forms, and its clients send both.
GEMINI = Sent(
    wire=GEMINI_WIRE,
    turn={
        "system_instruction": {"parts": {"text": "be kind"}},
        "contents": [
            {"role": "user", "parts": [{"text": QUESTION}]},
            {"role": "model", "parts": [{"text": "hm", "thought": True}, _gemini_call(args={"a": 1}), _gemini_call()]},
            {"role": "user", "parts": [_gemini_response("2"), _gemini_response("3")]},
            {
                "role": "user",
                "parts": [{"text": "and now?"}, {"inline_data": {"mime_type": "image/png", "data": PNG}}],
            },
        ],
    },
    tools={"tools": [{"functionDeclarations": [{"name": "math__add", "parametersJsonSchema": NUMBERS}]}]},
)
OLLAMA = Sent(
    wire=OLLAMA_WIRE,
    turn={
        "messages": [
            {"role": "system", "content": "be kind"},
            USER,
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"function": {"name": "math__add", "arguments": {"a": 1}}},
                    {"id": "b", "function": {"name": "math__add", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_call_id": "b", "content": "3"},
            {"role": "tool", "tool_name": "math__add", "content": "2"},
            {"role": "user", "content": "and now?", "images": [PNG]},
        ]
    },
    tools={"tools": MATH_TOOLS[:1]},
)
ALL = (CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA)
each_wire = pytest.mark.parametrize("sent", ALL, ids=lambda sent: sent.wire.model)


@each_wire
def test_a_turn_is_read_with_its_calls_results_and_images(sent: Sent) -> None:
    asked = sent.read(**sent.turn, **sent.tools)
    system, user, assistant, *results, last = asked.conversation.messages
    assert system == SystemSaid(text="be kind")
    assert user == UserSaid(text=QUESTION)
    assert isinstance(assistant, AssistantSaid)
    assert [call.name for call in assistant.calls] == ["math__add", "math__add"]
    assert [json.loads(call.arguments) for call in assistant.calls] == [{"a": 1}, {}]
    texts = {result.call_id: result.text for result in results if isinstance(result, ToolSaid)}
    assert [texts[call.id] for call in assistant.calls] == ["2", "3"]
    assert last == UserSaid(text="and now?", images=(PNG_WORDS,))
    (tool,) = asked.conversation.tools
    assert (tool.types, tool.required) == ({"a": "number", "b": "number"}, ("a", "b"))


def test_options_of_a_request_are_followed() -> None:
    limits: tuple[tuple[Sent, dict[str, JSON]], ...] = (
        (CHAT, {"max_completion_tokens": 7, "stop": "END", "tool_choice": "none"}),
        (RESPONSES, {"max_output_tokens": 7, "tool_choice": "none"}),
        (ANTHROPIC, {"max_tokens": 7, "stop_sequences": ["END"], "tool_choice": {"type": "none"}}),
        (
            GEMINI,
            {
                "generation_config": {"max_output_tokens": 7, "stop_sequences": ["END"]},
                "tool_config": {"function_calling_config": {"mode": "none"}},
            },
        ),
        (OLLAMA, {"options": {"num_predict": 7, "stop": ["END"]}, "tools": None}),
    )
    for sent, options in limits:
        asked = sent.read(**{**sent.tools, **options})
        assert asked.most_tokens == 7
        assert asked.stops == (() if sent is RESPONSES else ("END",))
        assert asked.conversation.tools == ()
    one_call: tuple[tuple[Sent, dict[str, JSON]], ...] = (
        (CHAT, {"parallel_tool_calls": False}),
        (RESPONSES, {"parallel_tool_calls": False}),
        (ANTHROPIC, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    )
    for sent, options in one_call:
        assert not sent.read(**options).conversation.parallel
        assert sent.read().conversation.parallel
    assert OLLAMA.read().is_streamed
    assert not OLLAMA.read(stream=False).is_streamed
    assert OLLAMA.read(model="ollama:latest").model == "ollama"


def test_thinking_is_given_by_option_by_order_or_not_at_all() -> None:
    cases: tuple[tuple[Sent, dict[str, JSON], dict[str, JSON]], ...] = (
        (CHAT, {"reasoning_effort": "low"}, {"reasoning_effort": "none"}),
        (RESPONSES, {"reasoning": {"effort": "low", "summary": "auto"}}, {"reasoning": {"effort": "none"}}),
        (ANTHROPIC, {"thinking": {"type": "adaptive"}}, {"thinking": {"type": "disabled"}}),
        (
            GEMINI,
            {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
            {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
        ),
        (OLLAMA, {"think": "low"}, {"think": False}),
    )
    for sent, on, off in cases:
        assert sent.read().conversation.thinking == "asked"
        assert sent.read(**on).conversation.thinking == "always"
        assert sent.read(**off).conversation.thinking == "never"
        assert "I try my rules" in json.dumps(whole(sent.wire, sent.read(**on)))
        assert "I try my rules" not in json.dumps(whole(sent.wire, sent.read(**off)))


def test_thinking_and_the_first_of_several_calls_are_signed() -> None:
    thought = objects(whole(ANTHROPIC.wire, ANTHROPIC.read(thinking={"type": "adaptive"}))["content"])[0]
    assert thought["thinking"]
    assert thought["signature"]
    include: JSON = ["reasoning.encrypted_content"]
    reasoning, _ = objects(whole(RESPONSES.wire, RESPONSES.read(include=include, **RESPONSES.tools))["output"])
    assert reasoning["encrypted_content"]
    plan = Plan(calls=(AskedCall(name="math__add", arguments="{}"),) * 2)
    candidate = objects(whole(GEMINI.wire, GEMINI.read(), plan)["candidates"])[0]
    first, second = objects(object_of(candidate["content"])["parts"])
    assert first["thoughtSignature"]
    assert "thoughtSignature" not in second


@each_wire
def test_a_body_that_is_no_object_is_refused_in_the_vendors_form(sent: Sent) -> None:
    for body in (b"", b"{", b"\xff", b"[]", b"[" * 100_000):
        with pytest.raises(RequestRefused) as caught:
            sent.wire.read(request(PATHS[sent.wire.model], body))
        assert caught.value.status == 400
        assert "JSON" in str(error_of(sent.wire, caught.value)["message"])


def test_errors_name_their_kind_as_the_vendor_does() -> None:
    asked = RequestRefused(status=429)
    assert set(error_of(CHAT.wire, asked)) == {"message", "type", "param", "code"}
    assert error_of(CHAT.wire, asked)["code"] == "rate_limit_exceeded"
    assert error_of(ANTHROPIC.wire, asked)["type"] == "rate_limit_error"
    gemini = error_of(GEMINI.wire, asked)
    assert (gemini["code"], gemini["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert objects(gemini["details"])[0]["retryDelay"] == "1s"


def test_tools_in_a_namespace_are_called_with_it() -> None:
    tool: JSON = {"type": "function", "name": "add", "parameters": NUMBERS}
    offered: dict[str, JSON] = {"tools": [{"type": "web_search"}, {"name": "mcp__maths", "tools": [tool]}]}
    call = objects(whole(RESPONSES.wire, RESPONSES.read(**offered))["output"])[-1]
    assert (call["namespace"], call["name"]) == ("mcp__maths", "add")
    output: JSON = {"type": "function_call_output", "call_id": call["call_id"], "output": "2"}
    assert "2" in str(whole(RESPONSES.wire, RESPONSES.read(input=[USER, call, output], **offered))["output"])


def test_anthropic_counts_what_a_cache_would_hold_and_names_a_stop_sequence() -> None:
    turns: JSON = [USER, {"role": "assistant", "content": "2"}, {"role": "user", "content": "hello"}]
    system: JSON = [{"type": "text", "text": "be kind " * 50, "cache_control": {"type": "ephemeral"}}]
    asked = ANTHROPIC.read(messages=turns, system=system, stop_sequences=["rules"])
    answer = whole(ANTHROPIC.wire, asked)
    usage = object_of(answer["usage"])
    parts = [usage["input_tokens"], usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]]
    assert sum(part for part in parts if isinstance(part, int)) == asked.prompt_tokens
    assert asked.cached_tokens > 90
    assert object_of(whole(ANTHROPIC.wire, ANTHROPIC.read(messages=turns))["usage"])["cache_read_input_tokens"] == 0
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "rules")
    assert "rules" not in str(answer["content"])


@each_wire
def test_an_answer_says_the_same_streamed_and_whole(sent: Sent) -> None:
    name = sent.wire.model
    for turn in ({}, sent.turn):
        options: dict[str, JSON] = {"stream_options": {"include_usage": True}, **turn, **sent.tools}
        chat = sent.read("streamGenerateContent", "alt=sse", **options)
        stream = said(fold_of(name, streamed(sent.wire, chat)))
        assert stream == said(fold_of(name, json_line(whole(sent.wire, chat))))
        assert stream.usage.output_total
        assert stream.stop == ("end" if turn else "tools")
        assert ("I try my rules" in stream.thinking, bool(stream.calls)) == (True, not turn)
    cut = sent.read("streamGenerateContent", "alt=sse", **LONG[name])
    assert (
        fold_of(name, streamed(sent.wire, cut)).stop == fold_of(name, json_line(whole(sent.wire, cut))).stop == "length"
    )


def test_arguments_that_are_no_json_go_out_as_the_vendor_sends_them() -> None:
    for sent in (CHAT, RESPONSES):
        assert "{broken" in json.dumps(whole(sent.wire, sent.read(), BROKEN))
    block = objects(whole(ANTHROPIC.wire, ANTHROPIC.read(), BROKEN)["content"])[0]
    assert block["input"] == {"INVALID_JSON": "{broken"}
    stream = GEMINI.read("streamGenerateContent", "alt=sse")
    for answer in (json_line(whole(GEMINI.wire, stream, BROKEN)), streamed(GEMINI.wire, stream, BROKEN)):
        assert fold_of("gemini", answer).malformed[0].reason == "Malformed function call: math__add({broken)"
    for answer in (
        json_line(whole(OLLAMA.wire, OLLAMA.read(), BROKEN)),
        streamed(OLLAMA.wire, OLLAMA.read(), BROKEN),
    ):
        assert "error parsing tool call" in fold_of("ollama", answer).failure


def test_a_lone_surrogate_is_escaped() -> None:
    writer = CHAT.wire.writer(CHAT.read(), "x", 1)
    assert b"\\ud800" in writer.piece(Said(text="\ud800"))
    assert "é🙂".encode() in writer.piece(Said(text="é🙂"))
