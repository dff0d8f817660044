"""Chat Completions as the demo model checks and writes it; no socket."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.demo.running import MATH_TOOLS
from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import AskedCall, CallBegun, Ended, Fragment, Plan, Said, Thought, pieces
from tui_host.demo.model.request_content import AssistantSaid, ToolSaid, UserSaid
from tui_host.demo.model.token_estimate import estimate
from tui_host.demo.model.wires.openai import OpenAIWire
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.errors import JSON

_USER: JSON = {"role": "user", "content": "1 + 1"}


def _call(identity: str = "a", arguments: JSON = "{}") -> JSON:
    return {"id": identity, "type": "function", "function": {"name": "math__add", "arguments": arguments}}


def _asking(*calls: JSON) -> JSON:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def _told(identity: str = "a") -> JSON:
    return {"role": "tool", "tool_call_id": identity, "content": "2"}


def _body(**more: JSON) -> bytes:
    return json.dumps({"model": "openai", "messages": [_USER], **more}).encode()


def _read(body: bytes) -> Asked:
    return OpenAIWire().read(Request(method="POST", path="/v1/chat/completions", headers={}, body=body))


def _conversation(*messages: JSON) -> bytes:
    return _body(messages=[_USER, *messages])


def test_a_conversation_is_read_with_its_calls_and_results() -> None:
    asked = _read(
        _body(
            messages=[
                {"role": "developer", "content": [{"type": "text", "text": "be kind"}]},
                {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}]},
                _asking(_call("a"), _call("b")),
                _told("b"),
                _told("a"),
            ],
            tools=MATH_TOOLS,
            stream=True,
            stream_options={"include_usage": True},
            max_tokens=7,
            parallel_tool_calls=False,
        )
    )
    assert [type(message).__name__ for message in asked.conversation.messages] == [
        "SystemSaid",
        "UserSaid",
        "AssistantSaid",
        "ToolSaid",
        "ToolSaid",
    ]
    _, user, assistant, told, _ = asked.conversation.messages
    assert user == UserSaid(text="look", images=("at a URL",))
    assert isinstance(assistant, AssistantSaid)
    assert [call.id for call in assistant.calls] == ["a", "b"]
    assert told == ToolSaid(call_id="b", text="2")
    assert [tool.name for tool in asked.conversation.tools][:2] == ["math__add", "math__subtract"]
    assert asked.conversation.tools[0].types == {"a": "number", "b": "number"}
    assert asked.is_streamed
    assert asked.with_usage
    assert asked.most_tokens == 7
    assert not asked.conversation.parallel


def test_with_tool_choice_none_no_tool_is_offered() -> None:
    assert _read(_body(tools=MATH_TOOLS, tool_choice="none")).conversation.tools == ()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "could not parse"),
        (b"\xff", "could not parse"),
        (b"[" * 100_000, "could not parse"),
        (b"[]", "JSON object"),
        (b"{}", "model"),
        (_body(messages=None), "Missing required parameter: 'messages'"),
        (_body(messages={}), "array"),
        (_body(messages=[]), "empty array"),
        (_body(messages=["x"]), "messages[0]"),
        (_body(messages=[{"role": "function", "content": "x"}]), "Supported values"),
        (_body(messages=[{"role": "user"}]), "messages[0].content"),
        (_body(messages=[{"role": "user", "content": []}]), "messages[0].content"),
        (_body(messages=[{"role": "assistant", "content": None}]), "messages[0].content"),
        (_conversation(_told()), "must be a response to a preceding message"),
        (_conversation(_asking(_call()), _told("b")), "must be a response to a preceding message"),
        (_conversation(_asking(_call()), _told(), _told()), "must be a response to a preceding message"),
        (_conversation(_asking(_call())), "did not have response messages: a"),
        (_conversation(_asking(_call("a"), _call("b")), _told("b")), "did not have response messages: a"),
        (_conversation(_asking(_call()), _USER, _told()), "did not have response messages: a"),
        (_conversation(_asking()), "empty array"),
        (_conversation(_asking(_call(arguments={})), _told()), "expected a string"),
        (_conversation(_asking(_call("")), _told("")), "tool_calls[0].id"),
        (_conversation(_asking(_call()), {"role": "tool", "content": "2"}), "tool_call_id"),
        (
            _conversation(
                _asking(_call()),
                {"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url", "image_url": {}}]},
            ),
            "content[0]",
        ),
        (_body(tools=[]), "empty array"),
        (_body(tools=[{"type": "custom"}]), "tools[0].type"),
        (_body(tools=[{"type": "function", "function": {"name": "a.b"}}]), "does not match pattern"),
        (_body(tools=[{"type": "function", "function": {"name": "x" * 65}}]), "does not match pattern"),
        (_body(tools=[{"type": "function", "function": {"name": "a", "parameters": {}}}]), "Invalid schema"),
        (_body(stream_options={"include_usage": True}), "only allowed when 'stream' is enabled"),
        (_body(stream="yes"), "expected a boolean"),
        (_body(n=2), "one choice"),
        (_body(tool_choice="required"), "tool_choice"),
        (_body(max_tokens=0), "max_tokens"),
        (_body(max_completion_tokens=1.5), "max_completion_tokens"),
    ],
)
def test_a_request_that_the_vendor_would_refuse_is_refused(body: bytes, words: str) -> None:
    wire = OpenAIWire()
    with pytest.raises(RequestRefused) as refused:
        _read(body)
    assert refused.value.status == 400
    error = json.loads(wire.refusal(refused.value))["error"]
    assert words in error["message"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"


def test_an_unknown_model_is_not_found() -> None:
    with pytest.raises(RequestRefused) as refused:
        _read(_body(model="gpt"))
    assert (refused.value.status, refused.value.code) == (404, "model_not_found")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["model", "messages", "role", "content", "tools", "function", "name", "tool_calls", "id"]
                ),
                inner,
            )
        ),
    )
)
def test_any_json_is_read_or_refused(value: JSON) -> None:
    body: dict[str, JSON] = {"model": "openai", "messages": [_USER, value], "tools": [value]}
    for request in (value, body, {**body, "tools": value}, {"model": "openai", "messages": value}):
        with contextlib.suppress(RequestRefused):  # to be refused is fine: any other error is not
            _read(json.dumps(request).encode())


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_the_pieces_of_a_plan_are_the_plan(thinking: str, text: str, arguments: list[str]) -> None:
    calls = tuple(AskedCall(name=f"tool{index}", arguments=given) for index, given in enumerate(arguments))
    *said, ended = pieces(Plan(thinking=thinking, text=text, calls=calls))
    assert isinstance(ended, Ended)
    assert "".join(piece.text for piece in said if isinstance(piece, Thought)) == thinking
    assert "".join(piece.text for piece in said if isinstance(piece, Said)) == text
    assert [piece.name for piece in said if isinstance(piece, CallBegun)] == [call.name for call in calls]
    for index, call in enumerate(calls):
        fragments = [piece.text for piece in said if isinstance(piece, Fragment) and piece.index == index]
        assert "".join(fragments) == call.arguments
    assert ended.stop == ("calls" if calls else "end")


def test_a_limit_of_tokens_cuts_wherever_it_falls() -> None:
    plan = Plan(text="a sentence of several words", calls=(AskedCall(name="math__add", arguments='{"a":1,"b":2}'),))
    whole = list(pieces(plan))
    for most in range(1, 20):
        *said, ended = pieces(plan, most)
        assert isinstance(ended, Ended)
        assert said == whole[: len(said)]
        assert ended.tokens <= most
        assert ended.stop == ("calls" if len(said) == len(whole) - 1 else "length")


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("a", 1, 1),
        ("The quick brown fox jumps over the lazy dog.", 8, 13),
        ("东京的天气怎么样？", 6, 12),
        ("\ud800", 1, 1),
    ],
)
def test_tokens_are_estimated_sensibly(text: str, least: int, most: int) -> None:
    assert least <= estimate(text) <= most


def test_a_lone_surrogate_goes_out_escaped() -> None:
    wire = OpenAIWire()
    writer = wire.writer(_read(_body(stream=True)), identity="x", created=1)
    assert b"\\ud800" in writer.piece(Said(text="\ud800"))
    assert "é🙂".encode() in writer.piece(Said(text="é🙂"))
