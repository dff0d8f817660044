"""What Gemini has of its own: the path, signatures part by part, how it thinks, lists in place of streams, waits in bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.llm.recorded.asks import answered, user
from tests.llm.recorded.case import TIME, WEATHER, Case
from tests.llm.recorded.gemini import LISTS, SIGNATURES, call, chunk, part
from tests.llm.recorded.reading import MODEL, PROVIDER, events_of, fold_of, means, said
from tests.llm.recorded.wire import text
from tui_host.errors import JSON
from tui_host.llm.dialects.gemini import GEMINI
from tui_host.llm.events import CallArguments
from tui_host.llm.messages import Ask, Message, Text, Thinking, ToolCall
from tui_host.llm.outgoing import Target
from tui_host.settings.model_options import Options

TARGET = Target(provider=PROVIDER)
FOREIGN = ToolCall(id="t1", wire_id="call_1", name="get_weather", arguments='{"city":"Paris"}')
DUMMY = "skip_thought_signature_validator"


def written(*messages: Message, model: str = MODEL, **more: object) -> dict[str, JSON]:
    ask = Ask(model=model, messages=messages, **more)  # pyright: ignore[reportArgumentType] - shorthand
    value: dict[str, JSON] = json.loads(GEMINI.write(ask, TARGET).body)
    return value


def contents(*messages: Message, model: str = MODEL) -> list[dict[str, JSON]]:
    found = written(*messages, model=model)["contents"]
    assert isinstance(found, list)
    return [one for one in found if isinstance(one, dict)]


def answer(*chunks: bytes) -> Message:
    return fold_of("gemini", *chunks).message(turn=1)


def assistant(*parts: Text | ToolCall | Thinking) -> Message:
    return Message(role="assistant", parts=parts)


# Requests.


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("models/gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("a b?c#d", "models/a%20b%3Fc%23d"),
    ],
)
def test_the_model_stands_in_the_path(model: str, path: str) -> None:
    ask = Ask(model=model, messages=(user("hello"),))

    assert GEMINI.write(ask, TARGET).url == f"{path}:streamGenerateContent?alt=sse"
    assert b"model" not in GEMINI.write(ask, TARGET).body
    whole = Ask(model=model, messages=(user("hello"),), stream=False)
    assert GEMINI.write(whole, TARGET).url == f"{path}:generateContent"


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-2.0-flash", None, None),
        ("gemini-2.5-flash", None, {"includeThoughts": True}),
        ("gemini-3.1-pro-preview", None, {"includeThoughts": True}),
        ("gemini-3-pro", "high", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-3-pro", "none", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}),
        ("gemini-2.5-pro", "low", {"includeThoughts": True, "thinkingBudget": 1024}),
        ("gemini-2.5-flash", "none", {"includeThoughts": False, "thinkingBudget": 0}),
        ("gemini-2.5-flash", "2048", {"includeThoughts": True, "thinkingBudget": 2048}),
        ("mine", "deep", {"includeThoughts": True, "thinkingLevel": "DEEP"}),
    ],
)
def test_how_long_it_thinks_is_said_as_the_model_understands_it(model: str, effort: str | None, config: JSON) -> None:
    body = written(user("x"), model=model, options=Options(reasoning_effort=effort))

    generation = body.get("generationConfig", {})
    assert isinstance(generation, Mapping)
    assert generation.get("thinkingConfig") == config


def test_signatures_go_back_in_the_very_parts_they_came_in() -> None:
    told = answer(
        chunk(part("a")),
        chunk(part("b", thoughtSignature=SIGNATURES[0])),
        chunk(part("c"), part("d")),
        chunk(part("hm", thought=True, thoughtSignature=SIGNATURES[1])),
        chunk(call(WEATHER, signature=SIGNATURES[2]), call(TIME, wire_id="fc-1")),
        chunk(part("e"), finish="STOP"),
    )

    asked, _ = contents(told, answered(told))

    assert asked["parts"] == [
        {"text": "a"},
        {"text": "b", "thoughtSignature": SIGNATURES[0]},
        {"text": "cd"},
        {"text": "hm", "thought": True, "thoughtSignature": SIGNATURES[1]},
        {"functionCall": {"name": "get_weather", "args": {"city": "Paris"}}, "thoughtSignature": SIGNATURES[2]},
        {"functionCall": {"id": "fc-1", "name": "get_time", "args": {"zone": "Asia/東京", "x": 1.0}}},
        {"text": "e"},
    ]


def test_parts_of_kinds_that_we_do_not_know_go_back_whole_and_in_their_place() -> None:
    code: JSON = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "c2ln", "thought": True}
    told = answer(chunk(part("a"), text(code).decode(), part("b"), finish="STOP"))

    assert contents(told)[0]["parts"] == [{"text": "a"}, code, {"text": "b"}]
    assert contents(told, model="gemini-3-pro")[0]["parts"] == [{"text": "a"}, {"text": "b"}]


@pytest.mark.parametrize(
    ("model", "signed"), [("gemini-3-pro", True), ("gemini-flash-latest", True), ("gemini-2.5-pro", False)]
)
def test_calls_that_others_made_are_signed_as_the_vendor_wants_it(model: str, *, signed: bool) -> None:
    second = ToolCall(id="t2", wire_id="call_2", name="get_time", arguments="{}")
    ours = answer(chunk(call(WEATHER, signature=SIGNATURES[0]), finish="STOP"))

    for told in (assistant(FOREIGN, second), ours):
        parts = contents(told, answered(told), model=model)[0]["parts"]
        assert isinstance(parts, list)
        found = [one.get("thoughtSignature") if isinstance(one, dict) else one for one in parts]
        assert found == [DUMMY if signed else None, *[None] * (len(found) - 1)]


# Answers.


@pytest.mark.parametrize("name", LISTS)
def test_a_list_in_place_of_a_stream_says_the_same_however_it_is_cut(name: str) -> None:
    case: Case = LISTS[name]

    for body in (case.body, b"\xef\xbb\xbf" + case.body, b"\n " + case.body.rstrip(b"\n")):
        assert said(fold_of("gemini", body)) == means(case)
        assert events_of("gemini", [bytes([byte]) for byte in body]) == events_of("gemini", [body])


def test_arguments_are_the_model_s_own_bytes() -> None:
    odd = '{ "a" : 1.0,"b":[1e2, 12345678901234567890],"a":2 }'
    body = chunk(part("x"), call(("f", odd)), finish="STOP")

    (found,) = [one for one in events_of("gemini", [body]) if isinstance(one, CallArguments)]

    assert found.text == odd
    assert odd.encode() in body[found.start : found.end]


# Refusals and models.


def refused(status: int, *details: JSON, message: str = "check your plan and billing details") -> bytes:
    return text({"error": {"code": status, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}})


RETRY: JSON = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}
DAILY: JSON = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}


def test_the_wait_stands_in_the_body() -> None:
    error = GEMINI.error(429, (), refused(429, RETRY))

    assert (error.retry_after, error.passes, error.remedy) == (34.07, True, "try again in 34 s")
    assert error.what.startswith("429 RESOURCE_EXHAUSTED: check your plan")
    assert GEMINI.error(429, (("Retry-After", "3"),), refused(429, RETRY)).retry_after == 3
    assert GEMINI.error(429, (), b"[" + refused(429, RETRY) + b"]").retry_after == 34.07


def test_the_quota_of_a_day_is_not_waited_for() -> None:
    error = GEMINI.error(429, (), refused(429, RETRY, DAILY))

    assert (error.passes, error.remedy) == (False, "the quota of this day is used up")


def test_a_wrong_key_and_a_prompt_too_long_are_told_as_such() -> None:
    wrong = refused(400, {"reason": "API_KEY_INVALID"}, message="API key not valid.")
    long = refused(400, message="The input token count (9) exceeds the maximum number of tokens allowed (8).")

    assert GEMINI.error(400, (), wrong).remedy == "check the credential"
    assert "longer than the model reads" in GEMINI.error(400, (), long).remedy


# The tree of a request.


def test_other_hosts_requests_are_read_in_either_spelling() -> None:
    body = text(
        {
            "system_instruction": {"parts": [{"text": "Be brief."}]},
            "tools": [
                {"function_declarations": [{"name": "f", "parameters": {"type": "object"}}]},
                {"googleSearch": {}, "functionDeclarations": [{"name": "f", "description": "again"}]},
            ],
            "contents": [
                {"parts": [{"text": "see"}, {"inline_data": {"data": "QUJD"}}]},
                {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a": 1}}}]},
                {"role": "function", "parts": [{"function_response": {"name": "f", "response": {"a": 1, "b": 2}}}]},
                {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "ok", "thought": False}, {}]},
            ],
        }
    )

    outline = GEMINI.outline(body, {"f": ("s", "t")})

    assert outline is not None
    assert (outline.count("tools"), outline.count("messages")) == (3, 4)
    found = [(one.kind, one.name or one.label, one.origin) for one in outline.walk()]
    assert ("call", "f", "model") in found
    assert ("result", "f", "s") in found
    assert ("message", "system", "host") in found
    assert ("message", "user", "you") in found
    assert [one.preview for one in outline.walk() if one.kind == "thinking"] == ["hm"]
    assert len({one.key for one in outline.walk()}) == len(found)
