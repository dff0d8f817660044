"""What a provider's refusal is told as: its words in any form, the remedy, and whether it passes by itself."""

from __future__ import annotations

import json
from dataclasses import replace

from tui_host.errors import JSON
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.events import Failed
from tui_host.llm.provider_faults import failure, refusal

INSPECT = "look at the request: in the inspector, or by tui-host sessions show last"


def test_the_provider_s_words_are_found_in_every_form() -> None:
    for body, what in (
        (b'{"error": {"message": "no", "type": "t", "code": "c"}}', "400 c: no"),
        (b'{"error": {"message": "no", "type": "t", "code": null}}', "400 t: no"),
        (b'{"error": {"message": "bad", "failed_generation": "<tool"}}', "400: bad The model wrote: <tool"),
        (b'{"error": "no"}', "400: no"),
        (b'{"detail": [{"loc": ["body", "a"], "msg": "no"}, {"msg": "never"}]}', "400: body.a: no; never"),
        (b'[{"error": {"message": "no"}}]', "400: no"),
        (b"Bad gateway" * 100, f"400: {'Bad gateway' * 100}"[:505]),
        (b"\xff", "400: \ufffd"),
        (b"", "400, without a word"),
    ):
        error = refusal(400, (), body)
        assert (error.what, error.remedy, error.passes) == (what, INSPECT, False)


REFUSED: list[tuple[str, int, JSON, str, bool]] = [
    ("openai", 401, {"message": "Incorrect API key"}, "check the credential", False),
    ("openai", 402, {"message": "Insufficient Balance"}, "used up", False),
    ("openai", 429, {"message": "slow down", "code": "rate_limit_exceeded"}, "try again in a while", True),
    ("openai", 429, {"message": "pay", "code": "insufficient_quota"}, "used up", False),
    ("openai", 404, 'model "x" not found', "lacks /v1", False),
    ("anthropic", 529, {"type": "overloaded_error", "message": "Oh."}, "try again in a while", True),
    ("ollama", 400, '"m" does not support thinking', "reasoning_effort", False),
    ("ollama", 404, 'model "m" not found, try pulling it first', "ollama pull", False),
]
OVERFLOW: list[tuple[str, int, JSON, str, bool]] = [
    ("openai", 400, {"message": "maximum context length is 8192 tokens. Yours has 9001."}, "new session", False),
    ("openai-responses", 400, {"message": "Your input exceeds the context window."}, "new session", False),
    ("anthropic", 400, {"message": "input length and `max_tokens` exceed context limit: 7 + 2 > 8"}, "new", False),
    ("gemini", 400, {"message": "The input exceeds the maximum number of tokens allowed (8)."}, "new session", False),
    ("ollama", 400, "prompt too long; exceeded max context length by 812 tokens", "num_ctx", False),
]


def test_a_refusal_has_a_remedy_in_every_dialect() -> None:
    for start, rows in (("", REFUSED), ("context overflow: ", OVERFLOW)):
        for dialect, status, fault, remedy, passes in rows:
            error = DIALECTS[dialect].error(status, (), json.dumps({"error": fault}).encode())

            assert error.what.startswith(f"{start}{status}")
            assert str(fault["message"] if isinstance(fault, dict) else fault) in error.what
            assert remedy in error.remedy
            assert (error.status, error.passes) == (status, passes)


def test_how_long_to_wait_is_read_in_seconds_or_milliseconds() -> None:
    for headers, seconds in (
        ({"Retry-After": "30"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "0"}, None),
    ):
        assert refusal(429, tuple(headers.items()), b"").retry_after == seconds


def test_a_context_overflow_inside_an_answer_is_named_too() -> None:
    said = Failed(message="Your input exceeds the limit.", vendor="context_length_exceeded", start=0, end=0)
    assert failure(said).what == "context overflow: context_length_exceeded: Your input exceeds the limit."
    assert failure(replace(said, vendor="server_error")).what == "server_error: Your input exceeds the limit."
