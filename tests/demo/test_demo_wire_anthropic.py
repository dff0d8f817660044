"""Messages as the demo model checks and writes it; no socket."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.wires import events, object_of, objects, refused, request, schema, streamed, whole
from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import AskedCall, Plan
from tui_host.demo.model.request_content import AssistantSaid, SystemSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires.anthropic import AnthropicWire
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.errors import JSON

PIXEL = "iVBORw0KGgo="
_USER: JSON = {"role": "user", "content": "think about 1 + 1"}
_SYSTEM: JSON = {"role": "system", "content": "be brief"}
_TOOLS: list[JSON] = [{"name": "math__add", "description": "adds", "input_schema": schema("a", "b")}]
_OLD = {"anthropic-version": "2023-06-01"}


def _request(version: str = "2023-06-01", /, **more: JSON) -> Request:
    body: dict[str, JSON] = {"model": "anthropic", "max_tokens": 1_000, "messages": [_USER], **more}
    body = {name: value for name, value in body.items() if value is not None}
    return request("/v1/messages", body, headers={"anthropic-version": version} if version else {})


def _call(identity: str = "a", **more: JSON) -> JSON:
    return {"type": "tool_use", "id": identity, "name": "math__add", "input": {}, **more}


def _result(identity: str = "a", **more: JSON) -> JSON:
    return {"type": "tool_result", "tool_use_id": identity, "content": "2", **more}


def _asking(*blocks: JSON) -> JSON:
    return {"role": "assistant", "content": list(blocks)}


def _told(*blocks: JSON) -> JSON:
    return {"role": "user", "content": list(blocks)}


def _turns(*messages: JSON, **more: JSON) -> Request:
    return _request(messages=[_USER, *messages], **more)


def _read(asked: Request) -> Asked:
    return AnthropicWire().read(asked)


def test_a_conversation_is_read_with_its_calls_results_and_images() -> None:
    picture: JSON = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    asked = _read(
        _turns(
            _asking({"type": "text", "text": "both"}, _call("a", input={"a": 1}), _call("b")),
            _told(
                _result("b", content=[{"type": "text", "text": "x"}, picture]),
                _result("a", is_error=True),
                {"type": "text", "text": "and now?"},
            ),
            system=[{"type": "text", "text": "be kind"}],
            tools=_TOOLS,
            tool_choice={"type": "auto", "disable_parallel_tool_use": True},
            stop_sequences=["END"],
            stream=True,
        )
    )
    _, user, assistant, second, first, last = asked.conversation.messages
    assert user == UserSaid(text="think about 1 + 1")
    assert isinstance(assistant, AssistantSaid)
    assert [(call.id, call.arguments) for call in assistant.calls] == [("a", '{"a":1}'), ("b", "{}")]
    assert second == ToolSaid(call_id="b", text="x", images=("image/png, 8 bytes",))
    assert first == ToolSaid(call_id="a", text="2", is_error=True)
    assert last == UserSaid(text="and now?")
    assert asked.conversation.tools[0].types == {"a": "number", "b": "number"}
    assert (asked.is_streamed, asked.most_tokens, asked.stops) == (True, 1_000, ("END",))
    assert not asked.conversation.parallel
    assert _read(_request(tools=_TOOLS, tool_choice={"type": "none"})).conversation.tools == ()


def test_the_system_may_speak_after_the_user() -> None:
    *_, user, system = _read(_turns(_asking(_call()), _told(_result()), _SYSTEM)).conversation.messages
    assert (user, system) == (ToolSaid(call_id="a", text="2"), SystemSaid(text="be brief"))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (_request(""), "anthropic-version: header is required"),
        (_request("2020-01-01"), "not a valid version"),
        (request("/v1/messages", b"{", headers=_OLD), "not valid JSON"),
        (request("/v1/messages", b"[]", headers=_OLD), "JSON object"),
        (_request(max_tokens=None), "max_tokens: Field required"),
        (_request(max_tokens=0), "greater than or equal to 1"),
        (_request(max_tokens=True), "valid integer"),
        (_request(messages=None), "messages: Field required"),
        (_request(messages=[]), "at least one message"),
        (_request(unheard_of=1), "unheard_of: Extra inputs are not permitted"),
        (_request(messages=[_SYSTEM]), 'Unexpected role "system"'),
        (_turns(_SYSTEM, _USER), "come before an assistant message"),
        (_turns(_asking(_call()), _SYSTEM), "must follow a user message"),
        (_request(messages=[_asking({"type": "text", "text": "x"})]), 'must use the "user" role'),
        (_turns(_asking({"type": "text", "text": "x"})), "prefill"),
        (_request(messages=[{"role": "user", "content": ""}]), "non-empty content"),
        (_turns(_told({"type": "text", "text": ""})), "text content blocks must be non-empty"),
        (_turns(_told({"type": "video"})), "does not match any of"),
        (
            _turns(_asking(_call()), _told({"type": "text", "text": "later"})),
            "without `tool_result` blocks immediately after: a",
        ),
        (_turns(_asking(_call()), _told({"type": "text", "text": "first"}, _result())), "immediately after: a"),
        (_turns(_asking(_call("a"), _call("b")), _told(_result("a")), _told(_result("b"))), "immediately after: b"),
        (_turns(_told(_result("z"))), "unexpected `tool_use_id` found in `tool_result` blocks: z"),
        (_turns(_asking(_call()), _told(_result(), _result())), "a single result"),
        (_turns(_asking(_call(), _call()), _told(_result())), "must be unique"),
        (_turns(_asking(_call("a.b")), _told(_result("a.b"))), "String should match pattern"),
        (_turns(_asking(_call(input="{}")), _told(_result())), "input: Input should be an object"),
        (
            _turns(_asking({"type": "thinking", "thinking": "x", "signature": "y"}), _told(_result())),
            "Invalid `signature`",
        ),
        (_turns(_asking({"type": "thinking", "thinking": "x"}), _told(_result())), "signature: Field required"),
        (
            _turns(
                _told({"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": PIXEL}})
            ),
            "media_type: Input should be 'image/jpeg'",
        ),
        (
            _turns(_told({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "data:x"}})),
            "Invalid base64",
        ),
        (_request(tools=[{"name": "a b", "input_schema": schema()}]), "String should match pattern"),
        (_request(tools=[{"name": "a"}]), "input_schema: Field required"),
        (_request(tools=[{"name": "a", "input_schema": {"type": "array"}}]), "Input should be 'object'"),
        (_request(tools=[{"name": "a", "input_schema": {"type": "object", "anyOf": []}}]), "at the top level"),
        (_request(tools=[*_TOOLS, *_TOOLS]), "Tool names must be unique"),
        (_request(tool_choice={"type": "auto"}), "while providing tools"),
        (_request(temperature=2), "range: 0..1"),
        (_request("2026-10-21", temperature=1), "temperature: Extra inputs are not permitted"),
        (_request("2026-10-21", top_k=1), "top_k: Extra inputs are not permitted"),
        (_request(thinking={"type": "enabled", "budget_tokens": 1_000}), "greater than or equal to 1024"),
        (_request(thinking={"type": "enabled", "budget_tokens": 2_000}), "`max_tokens` must be greater"),
        (_request(thinking={"type": "adaptive"}, temperature=0), "may only be set to 1"),
        (_request(thinking={"type": "x"}), "expected tags"),
        (_request(thinking={"type": "adaptive"}, tools=_TOOLS, tool_choice={"type": "any"}), "forces tool use"),
        (_request(stop_sequences=[" "]), "non-whitespace"),
        (
            _request(system=[{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5),
            "A maximum of 4 blocks",
        ),
    ],
)
def test_what_the_vendor_refuses_is_refused(asked: Request, words: str) -> None:
    status, told = refused(AnthropicWire(), asked)
    assert status == 400
    assert words in told


def test_an_error_has_the_vendors_form() -> None:
    body = json.loads(AnthropicWire().refusal(RequestRefused(status=529), identity="x"))
    assert (body["type"], body["error"]["type"], body["request_id"]) == ("error", "overloaded_error", "req_x")
    assert refused(AnthropicWire(), _request(model="claude"))[0] == 404


def test_a_stream_opens_fills_and_closes_its_blocks() -> None:
    found = events(streamed(AnthropicWire(), _read(_request(tools=_TOOLS, stream=True))))
    assert [found[0]["type"], found[1]["type"]] == ["message_start", "ping"]
    assert [found[-2]["type"], found[-1]["type"]] == ["message_delta", "message_stop"]
    blocks: list[str] = []
    for event in found[2:-2]:
        match event["type"]:
            case "content_block_start":
                block = object_of(event["content_block"])
                blocks.append(str(block["type"]))
                assert block.get("input", {}) == {}
                assert event["index"] == len(blocks) - 1
            case _:
                assert event["index"] == len(blocks) - 1
    assert blocks == ["thinking", "tool_use"]
    deltas = [object_of(event["delta"]) for event in found if event["type"] == "content_block_delta"]
    assert "".join(str(delta.get("partial_json", "")) for delta in deltas) == '{"a":1,"b":1}'
    assert next(delta for delta in deltas if delta["type"] == "input_json_delta")["partial_json"] == ""
    assert sum(delta["type"] == "signature_delta" for delta in deltas) == 1
    assert object_of(found[-2]["delta"])["stop_reason"] == "tool_use"
    assert object_of(object_of(found[0]["message"])["usage"])["output_tokens"] == 1


def test_thinking_is_wanted_back_unchanged_with_the_calls_that_it_led_to() -> None:
    wire = AnthropicWire()
    for options in ({}, {"thinking": {"type": "adaptive"}}, {"thinking": {"type": "adaptive", "display": "omitted"}}):
        given: dict[str, JSON] = {"tools": _TOOLS, **options}
        answer = objects(whole(wire, _read(_request(**given)))["content"])
        assert [block["type"] for block in answer] == ["thinking", "tool_use"]
        assert bool(answer[0]["thinking"]) == ("display" not in object_of(given.get("thinking", {})))
        told = _told(_result(str(answer[1]["id"])))
        assert refused(wire, _turns(_asking(*answer), told, **given)) == (0, "")
        assert "must start with a thinking block" in refused(wire, _turns(_asking(answer[1]), told, **given))[1]
        changed: JSON = {**answer[0], "thinking": "something else"}
        assert "Invalid `signature`" in refused(wire, _turns(_asking(changed, answer[1]), told, **given))[1]
        # Once the turn is over it may go.
        over = (_asking(answer[1]), told, _asking({"type": "text", "text": "2"}), _USER)
        assert refused(wire, _turns(*over, **given)) == (0, "")


def test_thinking_can_be_switched_off() -> None:
    answer = whole(AnthropicWire(), _read(_request(thinking={"type": "disabled"})))
    assert [block["type"] for block in objects(answer["content"])] == ["text"]


def test_what_was_sent_before_is_counted_as_cached_where_that_is_asked_for() -> None:
    turns: tuple[JSON, ...] = (_asking({"type": "text", "text": "2"}), {"role": "user", "content": "hello"})
    system: JSON = [{"type": "text", "text": "be kind " * 50, "cache_control": {"type": "ephemeral"}}]
    usage = object_of(whole(AnthropicWire(), _read(_turns(*turns, system=system)))["usage"])
    asked = _read(_turns(*turns, system=system))
    parts = [usage["input_tokens"], usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]]
    assert sum(part for part in parts if isinstance(part, int)) == asked.prompt_tokens
    assert asked.cached_tokens > 90
    assert _read(_turns(*turns)).cached_tokens == 0


def test_a_stop_sequence_is_named() -> None:
    answer = whole(
        AnthropicWire(), _read(_request(messages=[{"role": "user", "content": "hello"}], stop_sequences=["rules"]))
    )
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "rules")
    assert "rules" not in str(answer["content"])


def test_arguments_that_are_no_object_go_out_under_the_vendors_name_for_them() -> None:
    plan = Plan(calls=(AskedCall(name="math__add", arguments="{broken"),))
    asked = _read(_request(tools=_TOOLS))
    block = objects(whole(AnthropicWire(), asked, plan)["content"])[0]
    assert block["input"] == {"INVALID_JSON": "{broken"}
    assert "{broken" in "".join(
        str(object_of(event["delta"]).get("partial_json", ""))
        for event in events(streamed(AnthropicWire(), asked, plan))
        if event["type"] == "content_block_delta"
    )


@settings(max_examples=25)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["role", "content", "type", "text", "tool_use", "id", "input", "tool_result", "source"]
                ),
                inner,
            )
        ),
    )
)
def test_any_json_is_read_or_refused(value: JSON) -> None:
    user: JSON = {"role": "user", "content": value}
    for more in ({"messages": [user]}, {"tools": [value]}, {"thinking": value}, {"system": value}, {"messages": value}):
        with contextlib.suppress(RequestRefused):
            _read(_request(**more))
