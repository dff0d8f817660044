"""Responses as the demo model checks and writes it; no socket."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.wires import events, object_of, objects, refused, request, schema, streamed, whole
from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.request_content import AssistantSaid, SystemSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires.responses import ResponsesWire
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.errors import JSON

_USER: JSON = {"role": "user", "content": "think about 1 + 1"}
_TOOLS: list[JSON] = [{"type": "function", "name": "math__add", "parameters": schema("a", "b"), "strict": False}]
_STATELESS: dict[str, JSON] = {"store": False, "include": ["reasoning.encrypted_content"], "tools": _TOOLS}


def _request(**more: JSON) -> Request:
    return request("/v1/responses", {"model": "openai-responses", "input": [_USER], **more})


def _call(identity: str = "a", **more: JSON) -> JSON:
    return {"type": "function_call", "call_id": identity, "name": "math__add", "arguments": "{}", **more}


def _output(identity: str = "a", output: JSON = "2") -> JSON:
    return {"type": "function_call_output", "call_id": identity, "output": output}


def _items(*items: JSON, **more: JSON) -> Request:
    return _request(input=[_USER, *items], **more)


def _read(asked: Request) -> Asked:
    return ResponsesWire().read(asked)


def test_items_are_read_as_messages_with_calls_and_results() -> None:
    picture: JSON = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    asked = _read(
        _items(
            {"role": "assistant", "content": [{"type": "output_text", "text": "both", "annotations": []}]},
            _call("a", arguments='{"a": 1}'),
            _call("b"),
            _output("b", [{"type": "input_text", "text": "x"}, picture]),
            _output("a"),
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and now?"}, picture]},
            instructions="be kind",
            tools=_TOOLS,
            parallel_tool_calls=False,
            max_output_tokens=20,
        )
    )
    system, user, assistant, second, first, last = asked.conversation.messages
    assert system == SystemSaid(text="be kind")
    assert user == UserSaid(text="think about 1 + 1")
    assert isinstance(assistant, AssistantSaid)
    assert assistant.text == "both"
    assert [(call.id, call.arguments) for call in assistant.calls] == [("a", '{"a": 1}'), ("b", "{}")]
    assert (second, first) == (
        ToolSaid(call_id="b", text="x", images=("image/png, 8 bytes",)),
        ToolSaid(call_id="a", text="2"),
    )
    assert last == UserSaid(text="and now?", images=("image/png, 8 bytes",))
    assert (asked.most_tokens, asked.conversation.parallel) == (20, False)
    assert _read(_request(input="hello")).conversation.messages == (UserSaid(text="hello"),)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (_request(input=None), "Missing required parameter: 'input'"),
        (_request(input=[]), "empty array"),
        (_request(messages=[]), "Unknown parameter: 'messages'"),
        (_request(max_tokens=1), "Unknown parameter: 'max_tokens'"),
        (_request(stop=["x"]), "Unknown parameter: 'stop'"),
        (_request(max_output_tokens=15), "Expected a value >= 16"),
        (_request(previous_response_id="resp_1"), "not found"),
        (_request(background=True), "stores nothing"),
        (_request(include=["x"]), "Supported values are"),
        (_request(reasoning={"effort": "x"}), "Invalid value for 'reasoning.effort'"),
        (_request(reasoning={"summary": "x"}), "Invalid value for 'reasoning.summary'"),
        (_request(stream_options={}), "only allowed when 'stream'"),
        (_request(tools=[{"type": "function", "function": {"name": "a"}}]), "tools[0].function"),
        (_request(tools=[{"type": "function"}]), "Missing required parameter: 'tools[0].name'"),
        (_request(tools=[{"type": "function", "name": "a.b"}]), "does not match pattern"),
        (_request(tools=[{"type": "function", "name": "a", "parameters": {"type": "array"}}]), "Invalid schema"),
        (
            _request(tools=[{"type": "function", "name": "a", "parameters": schema("a"), "strict": True}]),
            "'additionalProperties' is required",
        ),
        (_items({"role": "tool", "content": "x"}), "Invalid value"),
        (_items({"role": "user", "content": [{"type": "text", "text": "x"}]}), "'input_text'"),
        (_items({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}), "'output_text'"),
        (
            _items({"role": "user", "content": [{"type": "input_image", "image_url": {"url": "x"}}]}),
            "expected a string",
        ),
        (_items(_call()), "No tool output found for function call a"),
        (_items(_output("z")), "No tool call found for function call output with call_id z"),
        (_items(_call(arguments={}), _output()), "expected a string"),
        (_items(_call(id="call_1"), _output()), "begins with 'fc'"),
        (_items(_call(status=None), _output()), "status"),
        (_items(_call("x" * 65), _output("x" * 65)), "maximum length 64"),
        (_items({"type": "reasoning", "id": "rs_1"}), "'input[1].summary'"),
        (_items({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}), "could not be verified"),
        (_items({"type": "computer_call"}), "Supported values are"),
    ],
)
def test_what_the_vendor_refuses_is_refused(asked: Request, words: str) -> None:
    status, told = refused(ResponsesWire(), asked)
    assert status == 400
    assert words in told


def test_a_stream_adds_fills_and_finishes_its_items() -> None:
    found = events(streamed(ResponsesWire(), _read(_request(stream=True, **_STATELESS))))
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
    pieces = [str(event["delta"]) for event in found if event["type"] == "response.function_call_arguments.delta"]
    assert "".join(pieces) == done[1]["arguments"]
    usage = object_of(response["usage"])
    assert object_of(usage["output_tokens_details"])["reasoning_tokens"]
    text = events(streamed(ResponsesWire(), _read(_request(input="hello", stream=True))))
    kinds = [str(event["type"]) for event in text]
    assert kinds[2:4] == ["response.output_item.added", "response.content_part.added"]
    assert kinds[-4:-1] == ["response.output_text.done", "response.content_part.done", "response.output_item.done"]


def test_tools_in_a_namespace_are_called_with_it() -> None:
    wire = ResponsesWire()
    held: JSON = {"type": "namespace", "name": "mcp__maths", "tools": [{**object_of(_TOOLS[0]), "name": "add"}]}
    offered: dict[str, JSON] = {"tools": [{"type": "web_search"}, held], "client_metadata": {"of": "the client"}}
    thought, call = objects(whole(wire, _read(_request(**offered)))["output"])
    assert (call["namespace"], call["name"]) == ("mcp__maths", "add")
    done = _read(_items(thought, call, _output(str(call["call_id"])), **offered))
    assert "2" in str(whole(wire, done)["output"])


def test_what_was_thought_is_wanted_back_with_what_it_led_to() -> None:
    wire = ResponsesWire()
    reasoning, call = objects(whole(wire, _read(_request(**_STATELESS)))["output"])
    told = _output(str(call["call_id"]))
    assert refused(wire, _items(reasoning, call, told, **_STATELESS)) == (0, "")
    assert "without its required 'reasoning' item" in refused(wire, _items(call, told, **_STATELESS))[1]
    assert "without its required following item" in refused(wire, _items(reasoning, **_STATELESS))[1]
    bare: JSON = {name: value for name, value in call.items() if name != "id"}
    assert refused(wire, _items(bare, told, **_STATELESS)) == (0, "")
    unsealed: JSON = {name: value for name, value in reasoning.items() if name != "encrypted_content"}
    assert refused(wire, _items(unsealed, call, told, **_STATELESS))[0] == 404
    assert refused(wire, _items(unsealed, call, told)) == (0, "")


def test_a_summary_comes_where_it_is_asked_for() -> None:
    for reasoning, shown in (({"effort": "low"}, False), ({"effort": "low", "summary": "auto"}, True), (None, True)):
        output = objects(whole(ResponsesWire(), _read(_request(reasoning=reasoning)))["output"])
        assert output[0]["type"] == "reasoning"
        assert bool(output[0]["summary"]) == shown
    assert whole(ResponsesWire(), _read(_request(reasoning={"effort": "none"})))["output"] != []


def test_a_limit_makes_the_response_incomplete() -> None:
    asked = _read(_request(input="write 500 words", max_output_tokens=16))
    answer = whole(ResponsesWire(), asked)
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert events(streamed(ResponsesWire(), asked))[-1]["type"] == "response.incomplete"


@settings(max_examples=25)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["role", "content", "type", "text", "call_id", "id", "summary", "output", "arguments"]),
                inner,
            )
        ),
    )
)
def test_any_json_is_read_or_refused(value: JSON) -> None:
    for kind in ("message", "function_call", "function_call_output", "reasoning"):
        item: JSON = {**value, "type": kind} if isinstance(value, dict) else value
        for more in ({"input": [item]}, {"tools": [value]}, {"reasoning": value}, {"input": value}, {"include": value}):
            with contextlib.suppress(RequestRefused):
                _read(_request(**more))
