"""Each wire of the demo model: what is read of a request, and what is written; no socket."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.running import MATH_TOOLS
from tests.demo.wire_requests import error_of, events, lines, object_of, objects, request, schema, streamed, whole
from tui_host.demo.model.plan import AskedCall, Plan, Said
from tui_host.demo.model.request_content import AssistantSaid, SystemSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires.anthropic_wire import AnthropicWire
from tui_host.demo.model.wires.gemini_wire import GeminiWire
from tui_host.demo.model.wires.ollama_wire import OllamaWire
from tui_host.demo.model.wires.openai_wire import OpenAIWire
from tui_host.demo.model.wires.responses_wire import ResponsesWire
from tui_host.demo.model.wires.wire import Asked, RequestRefused, Wire
from tui_host.errors import JSON

QUESTION = "think about 1 + 1"
PNG = "iVBORw0KGgo="
DATA_URL = f"data:image/png;base64,{PNG}"
PNG_WORDS = "image/png, 8 bytes"
USER: JSON = {"role": "user", "content": QUESTION}
NUMBERS = schema("a", "b")
BROKEN = Plan(calls=(AskedCall(name="math__add", arguments="{broken"),))
PATHS = {
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini:generateContent",
    "ollama": "/api/chat",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """How a question, tools and a turn of two calls are sent to a wire.

    Attributes:
        turn: The request's members for a question, two calls, their results, and a second question.
        tools: The members that offer `math__add`.
    """

    wire: Wire
    question: dict[str, JSON]
    turn: dict[str, JSON]
    tools: dict[str, JSON]

    def read(self, method: str = "generateContent", query: str = "", /, **more: JSON) -> Asked:
        path = PATHS[self.wire.model].replace("generateContent", method)
        return self.wire.read(request(path, {"model": self.wire.model, **self.question, **more}, query=query))


def _openai_call(identity: str, arguments: str) -> JSON:
    return {"id": identity, "type": "function", "function": {"name": "math__add", "arguments": arguments}}


CHAT = Sent(
    wire=OpenAIWire(),
    question={"messages": [USER]},
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
    wire=ResponsesWire(),
    question={"input": [USER]},
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
    wire=AnthropicWire(),
    question={"max_tokens": 1_000, "messages": [USER]},
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
    wire=GeminiWire(),
    question={"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]},
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
    wire=OllamaWire(),
    question={"messages": [USER]},
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


@contextlib.contextmanager
def refused_signature() -> Generator[None]:
    with pytest.raises(RequestRefused) as caught:
        yield
    assert caught.value.status == 400
    assert "Invalid signature" in caught.value.message


def test_thinking_is_signed_and_a_changed_signature_is_refused() -> None:
    think: dict[str, JSON] = {"thinking": {"type": "adaptive"}}
    for shown in ("summarized", "omitted"):
        options: dict[str, JSON] = {"thinking": {"type": "adaptive", "display": shown}}
        thought = objects(whole(ANTHROPIC.wire, ANTHROPIC.read(**options))["content"])[0]
        assert bool(thought["thinking"]) == (shown == "summarized")
        assert thought["signature"]
        ANTHROPIC.read(messages=[USER, {"role": "assistant", "content": [thought]}])
    thought = objects(whole(ANTHROPIC.wire, ANTHROPIC.read(**think))["content"])[0]
    with refused_signature():
        ANTHROPIC.read(messages=[USER, {"role": "assistant", "content": [{**thought, "thinking": "another"}]}])

    include: JSON = ["reasoning.encrypted_content"]
    reasoning, call = objects(whole(RESPONSES.wire, RESPONSES.read(include=include, **RESPONSES.tools))["output"])
    RESPONSES.read(input=[USER, reasoning, call])
    with refused_signature():
        RESPONSES.read(input=[USER, {**reasoning, "encrypted_content": "x"}, call])

    plan = Plan(calls=(AskedCall(name="math__add", arguments="{}"),) * 2)
    candidate = objects(whole(GEMINI.wire, GEMINI.read(), plan)["candidates"])[0]
    first, second = objects(object_of(candidate["content"])["parts"])
    assert "thoughtSignature" not in second
    for signature in (first["thoughtSignature"], "skip_thought_signature_validator", None):
        parts: JSON = [{**first, "thoughtSignature": signature}, second]
        GEMINI.read(contents=[{"role": "model", "parts": parts}])
    with refused_signature():
        GEMINI.read(contents=[{"role": "model", "parts": [{**first, "thoughtSignature": "b3RoZXI="}]}])


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
    array = GEMINI.wire.refusal(asked, request=request("/v1/models/gemini:streamGenerateContent", {}))
    assert json.loads(array)[0]["error"] == gemini


def test_a_chat_stream_has_deltas_and_a_lone_surrogate_is_escaped() -> None:
    asked = CHAT.read(stream=True, stream_options={"include_usage": True}, **CHAT.tools)
    assert asked.with_usage
    assert b'"tool_calls"' in streamed(CHAT.wire, asked)
    writer = CHAT.wire.writer(asked, identity="x", created=1)
    assert b"\\ud800" in writer.piece(Said(text="\ud800"))
    assert "é🙂".encode() in writer.piece(Said(text="é🙂"))


def test_a_responses_stream_adds_fills_and_finishes_its_items() -> None:
    wire = RESPONSES.wire
    found = events(streamed(wire, RESPONSES.read(stream=True, **RESPONSES.tools)))
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    assert [event["type"] for event in found[:2]] == ["response.created", "response.in_progress"]
    assert found[-1]["type"] == "response.completed"
    added = [object_of(event["item"]) for event in found if event["type"] == "response.output_item.added"]
    done = [object_of(event["item"]) for event in found if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in added] == [item["type"] for item in done] == ["reasoning", "function_call"]
    assert [item["id"] for item in added] == [item["id"] for item in done]
    assert (added[1]["arguments"], done[1]["arguments"]) == ("", '{"a":1,"b":1}')
    response = object_of(found[-1]["response"])
    assert response["output"] == done
    assert object_of(object_of(response["usage"])["output_tokens_details"])["reasoning_tokens"]
    cut = RESPONSES.read(input="write 500 words", max_output_tokens=16)
    assert whole(wire, cut)["incomplete_details"] == {"reason": "max_output_tokens"}
    assert events(streamed(wire, cut))[-1]["type"] == "response.incomplete"


def test_tools_in_a_namespace_are_called_with_it() -> None:
    tool: JSON = {"type": "function", "name": "add", "parameters": NUMBERS}
    offered: dict[str, JSON] = {"tools": [{"type": "web_search"}, {"name": "mcp__maths", "tools": [tool]}]}
    call = objects(whole(RESPONSES.wire, RESPONSES.read(**offered))["output"])[-1]
    assert (call["namespace"], call["name"]) == ("mcp__maths", "add")
    output: JSON = {"type": "function_call_output", "call_id": call["call_id"], "output": "2"}
    assert "2" in str(whole(RESPONSES.wire, RESPONSES.read(input=[USER, call, output], **offered))["output"])


def test_an_anthropic_stream_opens_fills_and_closes_its_blocks() -> None:
    found = events(streamed(ANTHROPIC.wire, ANTHROPIC.read(stream=True, **ANTHROPIC.tools)))
    assert [found[0]["type"], found[1]["type"]] == ["message_start", "ping"]
    assert [found[-2]["type"], found[-1]["type"]] == ["message_delta", "message_stop"]
    blocks: list[str] = []
    for event in found[2:-2]:
        if event["type"] == "content_block_start":
            blocks.append(str(object_of(event["content_block"])["type"]))
        assert event["index"] == len(blocks) - 1
    assert blocks == ["thinking", "tool_use"]
    deltas = [object_of(event["delta"]) for event in found if event["type"] == "content_block_delta"]
    assert "".join(str(delta.get("partial_json", "")) for delta in deltas) == '{"a":1,"b":1}'
    assert sum(delta["type"] == "signature_delta" for delta in deltas) == 1
    assert object_of(found[-2]["delta"])["stop_reason"] == "tool_use"


def test_anthropic_counts_what_a_cache_would_hold_and_names_a_stop_sequence() -> None:
    turns: JSON = [USER, {"role": "assistant", "content": "2"}, {"role": "user", "content": "hello"}]
    system: JSON = [{"type": "text", "text": "be kind " * 50, "cache_control": {"type": "ephemeral"}}]
    asked = ANTHROPIC.read(messages=turns, system=system, stop_sequences=["rules"])
    answer = whole(ANTHROPIC.wire, asked)
    usage = object_of(answer["usage"])
    parts = [usage["input_tokens"], usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]]
    assert sum(part for part in parts if isinstance(part, int)) == asked.prompt_tokens
    assert asked.cached_tokens > 90
    assert ANTHROPIC.read(messages=turns).cached_tokens == 0
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "rules")
    assert "rules" not in str(answer["content"])


def test_a_gemini_stream_has_whole_calls_as_events_or_in_an_array() -> None:
    asked = GEMINI.read("streamGenerateContent", "alt=sse", **GEMINI.tools)
    assert asked.is_streamed
    found = events(streamed(GEMINI.wire, asked))
    candidates = [candidate for event in found for candidate in objects(event["candidates"])]
    parts = [part for candidate in candidates for part in objects(object_of(candidate["content"])["parts"])]
    assert any(part.get("thought") for part in parts)
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    assert calls == [{"name": "math__add", "args": {"a": 1, "b": 1}}]
    assert candidates[-1]["finishReason"] == "STOP"
    usage = object_of(found[-1]["usageMetadata"])
    counts = [usage[name] for name in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")]
    assert sum(count for count in counts if isinstance(count, int)) == usage["totalTokenCount"]

    array = GEMINI.read("streamGenerateContent", **GEMINI.tools)
    writer = GEMINI.wire.writer(array, identity="x", created=1)
    assert writer.stream_type.startswith("application/json")
    assert len(json.loads(streamed(GEMINI.wire, array))) == len(found)
    assert json.loads(writer.begin() + writer.failure("broken"))[0]["error"]["status"] == "INTERNAL"


def test_an_ollama_stream_is_a_line_a_piece_with_whole_calls() -> None:
    found = lines(streamed(OLLAMA.wire, OLLAMA.read(think=True, **OLLAMA.tools)))
    messages = [object_of(line["message"]) for line in found]
    assert "".join(str(message.get("thinking", "")) for message in messages)
    calls = [object_of(call["function"]) for message in messages for call in objects(message.get("tool_calls", []))]
    assert calls == [{"index": 0, "name": "math__add", "arguments": {"a": 1, "b": 1}}]
    assert [line["done"] for line in found] == [False] * (len(found) - 1) + [True]
    last = found[-1]
    parts = [last[name] for name in ("load_duration", "prompt_eval_duration", "eval_duration")]
    assert sum(part for part in parts if isinstance(part, int)) == last["total_duration"]
    loaded = lines(streamed(OLLAMA.wire, OLLAMA.read(messages=None), Plan()))[-1]
    assert (loaded["done"], loaded["done_reason"]) == (True, "load")


def test_arguments_that_are_no_json_go_out_as_the_vendor_sends_them() -> None:
    for sent in (CHAT, RESPONSES):
        assert "{broken" in json.dumps(whole(sent.wire, sent.read(), BROKEN))
    block = objects(whole(ANTHROPIC.wire, ANTHROPIC.read(), BROKEN)["content"])[0]
    assert block["input"] == {"INVALID_JSON": "{broken"}
    stream = GEMINI.read("streamGenerateContent", "alt=sse")
    for answer in (whole(GEMINI.wire, stream, BROKEN), events(streamed(GEMINI.wire, stream, BROKEN))[-1]):
        candidate = objects(answer["candidates"])[0]
        assert candidate["finishReason"] == "MALFORMED_FUNCTION_CALL"
        assert "{broken" in str(candidate["finishMessage"])
    for answer in (whole(OLLAMA.wire, OLLAMA.read(), BROKEN), lines(streamed(OLLAMA.wire, OLLAMA.read(), BROKEN))[-1]):
        assert "error parsing tool call" in str(answer["error"])


_MEMBERS = (
    *("role", "content", "type", "text", "parts", "name", "id", "call_id", "tool_calls", "function", "arguments"),
    *("input", "output", "tool_use", "tool_result", "source", "functionCall", "functionResponse", "args", "images"),
)


@each_wire
@settings(max_examples=15)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(_MEMBERS), inner),
    )
)
def test_any_json_is_read(sent: Sent, value: JSON) -> None:
    for name in {*sent.turn, *sent.tools, *sent.question, "thinking", "reasoning", "options", "generationConfig"}:
        for given_value in (value, [value], [{"role": "user", "content": value, "parts": [value]}]):
            with contextlib.suppress(RequestRefused):  # a signature may be wrong; no other error is right
                sent.read(**{name: given_value})
