"""/api/chat as the demo model reads and writes it; no socket."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.wires import lines, object_of, objects, refused, request, schema, streamed, whole
from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import AskedCall, Plan
from tui_host.demo.model.request_content import AssistantSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires.ollama import OllamaWire
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.errors import JSON

_USER: JSON = {"role": "user", "content": "what is (1 + 2) * (3 + 4)?"}
_TOOLS: list[JSON] = [
    {"type": "function", "function": {"name": f"math__{name}", "description": "", "parameters": schema("a", "b")}}
    for name in ("add", "multiply")
]


def _request(**more: JSON) -> Request:
    return request("/api/chat", {"model": "ollama", "messages": [_USER], **more})


def _message(**more: JSON) -> Request:
    return _request(messages=[{"role": "user", "content": "x", **more}])


def _asking(*functions: JSON) -> JSON:
    return {"role": "assistant", "content": "", "tool_calls": [{"function": function} for function in functions]}


def _read(asked: Request) -> Asked:
    return OllamaWire().read(asked)


def test_it_streams_unless_it_is_told_not_to() -> None:
    assert _read(_request()).is_streamed
    assert not _read(_request(stream=False)).is_streamed


def test_results_find_their_calls_by_id_by_name_or_by_order() -> None:
    calls = _asking({"name": "one", "arguments": {"a": 1}}, {"name": "two", "arguments": {}}, {"name": "one"})
    results: list[JSON] = [
        {"role": "tool", "content": "2", "tool_name": "two"},
        {"role": "tool", "content": "1", "tool_name": "one", "images": ["iVBORw0KGgo="]},
        {"role": "tool", "content": "3"},
    ]
    asked = _read(_request(messages=[_USER, calls, *results]))
    _, assistant, second, first, third = asked.conversation.messages
    assert isinstance(assistant, AssistantSaid)
    ids = [call.id for call in assistant.calls]
    assert assistant.calls[0].arguments == '{"a":1}'
    assert second == ToolSaid(call_id=ids[1], text="2")
    assert first == ToolSaid(call_id=ids[0], text="1", images=("image/png, 8 bytes",))
    assert third == ToolSaid(call_id=ids[2], text="3")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (request("/api/chat", b""), "missing request body"),
        (request("/api/chat", b"[]"), "cannot unmarshal"),
        (request("/api/chat", {}), "model is required"),
        (_request(messages="x"), "ChatRequest.messages of type []api.Message"),
        (
            _message(content=[{"type": "text", "text": "x"}]),
            "cannot unmarshal array into Go struct field Message.messages.content",
        ),
        (_message(role="robot"), "invalid role"),
        (_message(images=["data:image/png;base64,iVBORw0KGgo="]), "illegal base64 data at input byte 4"),
        (_request(messages=[_asking({"name": "a", "arguments": "{}"})]), "api.ToolCallFunctionArguments"),
        (_request(think="a lot"), "invalid think value"),
        (_request(stream="yes"), "ChatRequest.stream of type bool"),
        (_request(tools={}), "api.Tools"),
        (_request(options={"num_ctx": "x"}), 'option "num_ctx" must be of type integer'),
        (_request(options={"stop": "x"}), 'option "stop" must be of type array'),
        (_request(options={"num_ctx": 1}, truncate=False), "exceeds the context length"),
    ],
)
def test_what_the_server_refuses_is_refused(asked: Request, words: str) -> None:
    status, told = refused(OllamaWire(), asked)
    assert status == 400
    assert words in told


def test_a_stream_is_a_line_a_piece_with_whole_calls() -> None:
    found = lines(streamed(OllamaWire(), _read(_request(tools=_TOOLS, think=True))))
    messages = [object_of(line["message"]) for line in found]
    assert "".join(str(message.get("thinking", "")) for message in messages)
    calls = [call for message in messages for call in objects(message.get("tool_calls", []))]
    assert [object_of(call["function"])["arguments"] for call in calls] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert [object_of(call["function"])["index"] for call in calls] == [0, 1]
    assert [line["done"] for line in found] == [False] * (len(found) - 1) + [True]
    last = found[-1]
    assert last["done_reason"] == "stop"
    parts = [last[name] for name in ("load_duration", "prompt_eval_duration", "eval_duration")]
    assert sum(part for part in parts if isinstance(part, int)) == last["total_duration"]
    assert last["eval_count"]


def test_thinking_is_given_by_option_by_order_or_not_at_all() -> None:
    ordered: list[JSON] = [{"role": "user", "content": "think about the sea"}]
    for more, thinks in (({"think": "low"}, True), ({}, False), ({"messages": ordered}, True)):
        assert ("thinking" in object_of(whole(OllamaWire(), _read(_request(**more)))["message"])) == thinks
    off = _read(_request(messages=ordered, think=False))
    assert "thinking" not in object_of(whole(OllamaWire(), off)["message"])


def test_without_messages_it_only_loads() -> None:
    last = lines(streamed(OllamaWire(), _read(_request(messages=None)), Plan()))[-1]
    assert (last["done"], last["done_reason"]) == (True, "load")


def test_what_does_not_fit_into_the_window_is_left_out_without_a_word() -> None:
    turns: list[JSON] = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "x" * 4_000},
        {"role": "assistant", "content": "y"},
        _USER,
    ]
    asked = _read(_request(messages=turns, options={"num_ctx": 200}))
    assert UserSaid(text="x" * 4_000) not in asked.conversation.messages
    assert len(asked.conversation.messages) == 3
    assert asked.prompt_tokens <= 200
    assert len(_read(_request(messages=turns)).conversation.messages) == 4


def test_a_call_that_is_no_json_is_an_error() -> None:
    plan = Plan(calls=(AskedCall(name="math__add", arguments="{broken"),))
    assert "error parsing tool call" in str(
        lines(streamed(OllamaWire(), _read(_request(tools=_TOOLS)), plan))[-1]["error"]
    )
    assert "error parsing tool call" in str(whole(OllamaWire(), _read(_request(tools=_TOOLS)), plan)["error"])


def test_errors_are_a_text() -> None:
    assert json.loads(OllamaWire().refusal(RequestRefused(status=500)))["error"].startswith("an error")
    assert refused(OllamaWire(), _request(model="llama")) == (404, 'model "llama" not found, try pulling it first')
    assert refused(OllamaWire(), _request(model="ollama:latest")) == (0, "")


@settings(max_examples=25)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["role", "content", "images", "tool_calls", "function", "name", "arguments", "tool_name"]
                ),
                inner,
            )
        ),
    )
)
def test_any_json_is_read_or_refused(value: JSON) -> None:
    for more in ({"messages": [value]}, {"messages": value}, {"tools": [value]}, {"options": value}, {"think": value}):
        with contextlib.suppress(RequestRefused):
            _read(_request(**more))
