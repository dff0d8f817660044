"""generateContent as the demo model checks and writes it; no socket."""

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
from tui_host.demo.model.wires.gemini import GeminiWire
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.errors import JSON

_PATH = "/v1beta/models/gemini:"
_USER: JSON = {"role": "user", "parts": [{"text": "think about 1 + 1"}]}
_TOOLS: list[JSON] = [{"functionDeclarations": [{"name": "math__add", "parametersJsonSchema": schema("a", "b")}]}]
_SKIP = "skip_thought_signature_validator"
_PICTURE: JSON = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}


def _request(method: str = "generateContent", query: str = "", /, **more: JSON) -> Request:
    return request(f"{_PATH}{method}", {"contents": [_USER], **more}, query=query)


def _declared(**more: JSON) -> Request:
    return _request(tools=[{"functionDeclarations": [{"name": "a", **more}]}])


def _call(name: str = "math__add", signature: str | None = _SKIP, **more: JSON) -> JSON:
    part: dict[str, JSON] = {"functionCall": {"name": name, "args": {}, **more}}
    return part if signature is None else {**part, "thoughtSignature": signature}


def _response(name: str = "math__add", **more: JSON) -> JSON:
    return {"functionResponse": {"name": name, "response": {"output": "2"}, **more}}


def _asking(*parts: JSON) -> JSON:
    return {"role": "model", "parts": list(parts)}


def _told(*parts: JSON) -> JSON:
    return {"role": "user", "parts": list(parts)}


def _contents(*contents: JSON, **more: JSON) -> Request:
    return _request(contents=[_USER, *contents], **more)


def _read(asked: Request) -> Asked:
    return GeminiWire().read(asked)


def test_contents_are_read_with_calls_matched_to_responses_by_their_order() -> None:
    asked = _read(
        _contents(
            _asking({"text": "hm", "thought": True}, {"text": "both"}, _call(args={"a": 1}), _call(signature=None)),
            _told(_response(response={"output": "1"}), _response(response={"error": "no"}, parts=[_PICTURE])),
            _asking({"text": "2"}),
            _told({"text": "and now?"}, _PICTURE),
            systemInstruction={"parts": [{"text": "be kind"}]},
            tools=_TOOLS,
            generationConfig={"maxOutputTokens": 9, "stopSequences": ["END"]},
        )
    )
    system, _, assistant, first, second, _, last = asked.conversation.messages
    assert system == SystemSaid(text="be kind")
    assert isinstance(assistant, AssistantSaid)
    assert (assistant.text, [call.arguments for call in assistant.calls]) == ("both", ['{"a":1}', "{}"])
    assert first == ToolSaid(call_id=assistant.calls[0].id, text="1")
    assert second == ToolSaid(call_id=assistant.calls[1].id, text="no", images=("image/png, 8 bytes",), is_error=True)
    assert last == UserSaid(text="and now?", images=("image/png, 8 bytes",))
    assert (asked.model, asked.most_tokens, asked.stops) == ("gemini", 9, ("END",))
    assert asked.conversation.tools[0].types == {"a": "number", "b": "number"}


def test_names_with_underscores_are_taken_as_well() -> None:
    body: dict[str, JSON] = {
        "contents": [{"parts": [{"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}}]}],
        "system_instruction": {"parts": {"text": "be kind"}},
        "generation_config": {"max_output_tokens": 3},
        "tool_config": {"function_calling_config": {"mode": "none"}},
        "tools": [{"function_declarations": [{"name": "a", "parameters": {"type": "OBJECT"}}]}],
    }
    asked = _read(request(f"{_PATH}generateContent", body))
    assert asked.conversation.messages == (
        SystemSaid(text="be kind"),
        UserSaid(text="", images=("image/png, 8 bytes",)),
    )
    assert (asked.most_tokens, asked.conversation.tools) == (3, ())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (_request(contents=[]), "contents is not specified"),
        (_request(contents=[{"role": "user", "parts": []}]), "contents.parts must not be empty"),
        (_request(contents=[{"role": "user", "parts": [{}]}]), "must have one initialized field"),
        (_request(contents=[{"role": "assistant", "parts": [{"text": "x"}]}]), "valid role: user, model"),
        (_request(unheardOf=1), 'Unknown name "unheardOf"'),
        (_request(generationConfig={"max_tokens": 1}), "Unknown name"),
        (_request(generationConfig={"stopSequences": ["x"] * 6}), "at most 5"),
        (_request(generationConfig={"candidateCount": 2}), "Multiple candidates"),
        (
            _request(generationConfig={"thinkingConfig": {"thinkingLevel": "LOW", "thinkingBudget": 1}}),
            "only one of thinking budget and thinking level",
        ),
        (_request(systemInstruction="be kind"), "Invalid value at 'system_instruction'"),
        (_request(tools=[{"functionDeclarations": [{"name": "1a"}]}]), "Invalid function name"),
        (_request(tools=[*_TOOLS, *_TOOLS]), "Duplicate function declaration"),
        (_declared(parameters={"$schema": "x", "type": "object"}), 'Unknown name "$schema"'),
        (_declared(parameters={"type": "object", "additionalProperties": False}), "additionalProperties"),
        (
            _declared(parameters={"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
            "cannot start list",
        ),
        (_declared(parameters={"type": "object", "required": ["a"]}), "property is not defined"),
        (_declared(parameters={"type": "object"}, parametersJsonSchema={"type": "object"}), "mutually exclusive"),
        (_contents(_asking(_call()), _told({"text": "and?"})), "comes immediately after a function call turn"),
        (_contents(_told(_response())), "comes immediately after a function call turn"),
        (_contents(_asking(_call(), _call()), _told(_response())), "number of function response parts is equal"),
        (
            _contents(_asking(_call("a"), _call("b")), _told(_response("b"), _response("a"))),
            "in the order of their calls",
        ),
        (
            _contents(_asking({"text": "x"}), _asking(_call()), _told(_response())),
            "function call turn comes immediately after",
        ),
        (_contents(_asking(_call()), _told(_response(response="2"))), "google.protobuf.Struct"),
        (_contents(_asking(_call(args="{}")), _told(_response())), "google.protobuf.Struct"),
        (_contents(_asking(_call(signature=None)), _told(_response())), "missing a thought_signature"),
        (_contents(_asking(_call(signature="b3RoZXI=")), _told(_response())), "Invalid thought signature"),
        (_contents(_told({"inlineData": {"mimeType": "image/png", "data": "data:"}})), "Base64 decoding failed"),
        (_request(toolConfig={"functionCallingConfig": {"mode": "x"}}), "function_calling_config.mode"),
    ],
)
def test_what_the_vendor_refuses_is_refused(asked: Request, words: str) -> None:
    status, told = refused(GeminiWire(), asked)
    assert status == 400
    assert words in told


def test_the_first_call_of_each_step_in_the_running_turn_brings_its_signature() -> None:
    wire = GeminiWire()
    plan = Plan(calls=(AskedCall(name="math__add", arguments="{}"), AskedCall(name="math__add", arguments="{}")))
    answer = objects(whole(wire, _read(_request(tools=_TOOLS)), plan)["candidates"])[0]
    first, second = objects(object_of(answer["content"])["parts"])
    assert "thoughtSignature" in first
    assert "thoughtSignature" not in second
    told = _told(_response(), _response())
    assert refused(wire, _contents(_asking(first, second), told)) == (0, "")
    unsigned = _asking(_call(signature=None), second)
    assert "missing a thought_signature" in refused(wire, _contents(unsigned, told))[1]
    assert refused(wire, _contents(unsigned, told, _asking({"text": "2"}), _USER)) == (0, "")
    # Pictures of the results, in a content of their own or beside them, begin no new turn.
    beside = _told(_response(), _response(), _PICTURE)
    assert "missing a thought_signature" in refused(wire, _contents(unsigned, beside))[1]


def test_a_stream_of_events_has_whole_calls_and_ends_with_its_usage() -> None:
    asked = _read(_request("streamGenerateContent", "alt=sse", tools=_TOOLS))
    assert asked.is_streamed
    data = streamed(GeminiWire(), asked)
    found = events(data)
    parts = [
        part
        for event in found
        for candidate in objects(event["candidates"])
        for part in objects(object_of(candidate["content"])["parts"])
    ]
    assert any(part.get("thought") for part in parts)
    calls = [object_of(part["functionCall"]) for part in parts if "functionCall" in part]
    assert calls == [{"name": "math__add", "args": {"a": 1, "b": 1}}]
    assert objects(found[-1]["candidates"])[0]["finishReason"] == "STOP"
    usage = object_of(found[-1]["usageMetadata"])
    counts = [usage[name] for name in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")]
    assert sum(count for count in counts if isinstance(count, int)) == usage["totalTokenCount"]


def test_without_events_a_stream_is_one_array() -> None:
    asked = _read(_request("streamGenerateContent"))
    writer = GeminiWire().writer(asked, identity="x", created=1)
    assert writer.stream_type.startswith("application/json")
    value = json.loads(streamed(GeminiWire(), asked))
    assert len(value) > 10
    assert value[-1]["candidates"][0]["finishReason"] == "STOP"
    assert json.loads(writer.begin() + writer.failure("broken"))[0]["error"]["status"] == "INTERNAL"


def test_thoughts_are_told_where_they_are_asked_for() -> None:
    for config, shown, thought in (
        ({"includeThoughts": True}, True, True),
        ({"thinkingLevel": "LOW"}, False, True),
        ({"thinkingBudget": 0}, False, False),
    ):
        answer = whole(GeminiWire(), _read(_request(generationConfig={"thinkingConfig": config})))
        parts = objects(object_of(objects(answer["candidates"])[0]["content"])["parts"])
        assert any(part.get("thought") for part in parts) == shown
        assert ("thoughtsTokenCount" in object_of(answer["usageMetadata"])) == thought


def test_a_call_that_is_no_json_is_named_malformed() -> None:
    plan = Plan(calls=(AskedCall(name="math__add", arguments="{broken"),))
    asked = _read(_request("streamGenerateContent", "alt=sse", tools=_TOOLS))
    for answer in (whole(GeminiWire(), asked, plan), events(streamed(GeminiWire(), asked, plan))[-1]):
        candidate = objects(answer["candidates"])[0]
        assert candidate["finishReason"] == "MALFORMED_FUNCTION_CALL"
        assert "{broken" in str(candidate["finishMessage"])


def test_errors_have_the_vendors_form_and_say_when_to_come_again() -> None:
    error = json.loads(GeminiWire().refusal(RequestRefused(status=429)))["error"]
    assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert error["details"][0]["retryDelay"] == "1s"
    assert GeminiWire().headers("x", 429) == []
    wrapped = GeminiWire().refusal(RequestRefused(status=429), request=_request("streamGenerateContent"))
    assert json.loads(wrapped)[0]["error"] == error
    assert refused(GeminiWire(), request("/v1beta/models/other:generateContent", {"contents": [_USER]}))[0] == 404


@settings(max_examples=25)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["role", "parts", "text", "functionCall", "functionResponse", "name", "args", "inlineData"]
                ),
                inner,
            )
        ),
    )
)
def test_any_json_is_read_or_refused(value: JSON) -> None:
    content: JSON = {"role": "user", "parts": [value]}
    for more in (
        {"contents": [content]},
        {"contents": value},
        {"tools": [value]},
        {"tools": [{"functionDeclarations": [value]}]},
        {"generationConfig": value},
        {"systemInstruction": value},
        {"tools": [{"functionDeclarations": [{"name": "a", "parameters": value}]}]},
    ):
        with contextlib.suppress(RequestRefused):
            _read(_request(**more))
