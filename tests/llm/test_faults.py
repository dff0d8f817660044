from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tui_host.errors import JSON
from tui_host.llm.dialects.openai import OPENAI
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.events import Failed
from tui_host.llm.provider_faults import failure, fault_words, refusal, wait_seconds

FORMS: list[tuple[JSON, tuple[str, str]]] = [
    ({"error": {"message": "no", "type": "t", "code": "c"}}, ("no", "c")),
    ({"error": {"message": "bad", "failed_generation": "<tool"}}, ("bad The model wrote: <tool", "")),
    ({"error": {"message": "no", "type": "t", "code": None}}, ("no", "t")),
    ({"error": "no"}, ("no", "")),
    ({"detail": "no"}, ("no", "")),
    ({"detail": [{"loc": ["body", "a"], "msg": "no", "type": "t"}, {"msg": "never"}]}, ("body.a: no; never", "")),
    ([{"error": {"message": "no"}}], ("no", "")),
]


@pytest.mark.parametrize(("value", "expected"), FORMS)
def test_the_provider_s_words_are_found_in_every_form(value: JSON, expected: tuple[str, str]) -> None:
    assert fault_words(json.dumps(value).encode()) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"Bad gateway",
        b"\xff\xfe",
        b"",
        b"[" * 100_000,
    ],
)
def test_a_body_of_another_form_is_shown_as_it_is(body: bytes) -> None:
    words, code = fault_words(body)

    assert words == body[:2000].decode("utf-8", "replace").strip()[:500]
    assert code == ""


@pytest.mark.parametrize(
    ("status", "body", "what", "remedy"),
    [
        (
            401,
            b'{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}',
            "401 invalid_api_key: Inc",
            "cred",
        ),
        (404, b'{"error":"model \\"x\\" not found"}', '404: model "x" not found', "/v1"),
        (
            429,
            b'{"error":{"message":"slow down","code":"rate_limit_exceeded"}}',
            "429 rate_limit_exceeded: slow",
            "again",
        ),
        (429, b'{"error":{"message":"pay","code":"insufficient_quota"}}', "429 insufficient_quota: pay", "quota"),
        (402, b'{"error":{"message":"Insufficient Balance"}}', "402: Insufficient", "credit"),
        (
            400,
            b'{"error":{"message":"maximum context length is 8192 tokens"}}',
            "context overflow: 400: ",
            "new session",
        ),
        (400, b'{"error":{"message":"Unsupported parameter"}}', "400: Unsupported", "inspector"),
        (503, b"<html>busy</html>", "503: <html>busy</html>", "again"),
    ],
)
def test_a_refusal_has_the_provider_s_words_and_our_remedy(status: int, body: bytes, what: str, remedy: str) -> None:
    error = OPENAI.error(status, (("Content-Type", "application/json"),), body)

    assert error.what.startswith(what)
    assert remedy in error.remedy
    assert error.status == status


def test_a_redirect_is_told_by_its_origin_alone() -> None:
    error = refusal(307, (("Location", "http://evil.example:8080/v1?key=sk-123"),), b"")

    assert error.what == "307: redirected to http://evil.example:8080"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_in_seconds_or_milliseconds(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_seconds(headers) == seconds


_SAID = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."


@pytest.mark.parametrize(
    ("dialect", "status", "fault", "remedy"),
    [
        ("anthropic", 529, {"type": "overloaded_error", "message": "Oh."}, "try again"),
        ("anthropic", 402, {"type": "billing_error", "message": "Oh."}, "used up"),
        ("ollama", 400, '"m" does not support thinking', "reasoning_effort"),
        ("ollama", 404, 'model "m" not found, try pulling it first', "ollama pull"),
    ],
)
def test_a_refusal_has_a_remedy_in_every_dialect(dialect: str, status: int, fault: JSON, remedy: str) -> None:
    error = DIALECTS[dialect].error(status, (), json.dumps({"error": fault}).encode())

    assert error.what.startswith(str(status))
    assert remedy in error.remedy
    assert error.passes is (status in {429, 500, 529})


@pytest.mark.parametrize(
    ("dialect", "status", "fault", "remedy"),
    [
        ("openai", 400, {"message": _SAID, "type": "invalid_request_error", "code": "context_length_exceeded"}, "new"),
        ("openai-responses", 400, {"message": "Your input exceeds the context window of this model."}, "new session"),
        (
            "anthropic",
            400,
            {
                "type": "invalid_request_error",
                "message": "input length and `max_tokens` exceed context limit: 7 + 2 > 8",
            },
            "new session",
        ),
        (
            "gemini",
            400,
            {
                "code": 400,
                "message": "The input token count (9) exceeds the maximum number of tokens allowed (8).",
                "status": "INVALID_ARGUMENT",
            },
            "new session",
        ),
        ("ollama", 400, "prompt too long; exceeded max context length by 812 tokens", "num_ctx"),
    ],
)
def test_a_context_overflow_is_named_as_such_in_every_dialect(
    dialect: str, status: int, fault: JSON, remedy: str
) -> None:
    error = DIALECTS[dialect].error(status, (), json.dumps({"error": fault}).encode())

    assert error.what.startswith(f"context overflow: {status}")
    words = fault if isinstance(fault, str) else fault["message"] if isinstance(fault, dict) else ""
    assert str(words) in error.what
    assert remedy in error.remedy
    assert not error.passes


def test_a_context_overflow_inside_an_answer_is_named_too() -> None:
    said = Failed(message="Your input exceeds the limit.", vendor="context_length_exceeded", start=0, end=0)

    assert failure(said).what == "context overflow: context_length_exceeded: Your input exceeds the limit."
    assert failure(replace(said, vendor="server_error")).what == "server_error: Your input exceeds the limit."
