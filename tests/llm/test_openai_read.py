"""A stream of Chat Completions becomes events, however it is cut and whatever else is in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.streams import DONE, calls, chunk, events_of, fold_of, fragment
from tui_host.errors import JSON
from tui_host.llm.dialects.openai.read import ECHOED
from tui_host.llm.events import Failed, Stopped, TextDelta
from tui_host.llm.messages import Thinking, Usage


def test_a_call_in_events_that_follow_each_other_has_one_range() -> None:
    body = [
        calls(fragment(index=0, wire_id="a", name="f")),
        *(calls(fragment(index=0, arguments=x)) for x in '{"a":1}'),
    ]
    between = chunk({"content": "hm"})

    (alone,) = fold_of(between, *body, DONE).calls
    (parted,) = fold_of(between, *body[:4], between, *body[4:], DONE).calls
    whole = b"".join(body)

    assert alone.spans == ((len(between), len(between) + len(whole) - 2),)
    assert [end - start for start, end in parted.spans] == [len(b"".join(part)) - 2 for part in (body[:4], body[4:])]


@pytest.mark.parametrize(
    ("delta", "text", "thinking"),
    [
        ({"content": None}, "", ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ""),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, "", "hm"),
        ({"reasoning": "hm"}, "", "hm"),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "", "hm"),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "", "hm"),
        ({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "", "hm"),
        ({"content": "a", "tool_calls": None}, "a", ""),
        ({"content": 5}, "", ""),
    ],
)
def test_the_forms_of_a_delta_are_read(delta: dict[str, object], text: str, thinking: str) -> None:
    body = b'data: {"choices":[{"delta":' + json.dumps(delta).encode() + b"}]}\n\n"

    fold = fold_of(body, chunk(finish="stop"), DONE)

    assert (fold.text, fold.thinking, fold.stop) == (text, thinking, "end")


ODD: list[JSON] = [
    {"choices": [], "prompt_filter_results": []},
    {"choices": [{"index": 0, "content_filter_results": {}}]},
    {"choices": [{"index": 0, "delta": None}]},
    {"choices": None},
    {"choices": [None]},
    {"choices": [{"index": [0], "delta": {"content": "another choice"}}]},
    {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
    {"choices": [{"delta": {"content": "", "tool_calls": []}}], "obfuscation": "xxxx"},
]


@pytest.mark.parametrize("odd", ODD)
def test_odd_chunks_do_no_harm(odd: JSON) -> None:
    fold = fold_of(b"data: " + json.dumps(odd).encode() + b"\n\n", chunk({"content": "ok"}), chunk(finish="stop"), DONE)

    assert (fold.text, fold.stop, fold.unreadable) == ("ok", "end", 0)


@pytest.mark.parametrize("broken", [b"data: {oops\n\n", b"data: 7\n\n", b"data: " + b"[" * 100_000 + b"\n\n"])
def test_an_event_that_cannot_be_read_is_marked_and_the_stream_goes_on(broken: bytes) -> None:
    fold = fold_of(chunk({"content": "a"}), broken, chunk({"content": "b"}), chunk(finish="stop"), DONE)

    assert (fold.text, fold.stop, fold.unreadable) == ("ab", "end", 1)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 2}}, Usage(input_total=5, output_total=2)),
        ({"x_groq": {"usage": {"prompt_tokens": 5}}}, Usage(input_total=5)),
        ({"usage": {"prompt_tokens": 5, "prompt_cache_hit_tokens": 3}}, Usage(input_total=5, input_cached=3)),
        ({"usage": {"prompt_tokens": 5, "cached_tokens": 3}}, Usage(input_total=5, input_cached=3)),
        ({"usage": {"prompt_tokens": 5, "prompt_tokens_details": None}}, Usage(input_total=5)),
        ({"usage": None}, Usage()),
        ({"usage": {"prompt_tokens": "five"}}, Usage()),
    ],
)
def test_usage_is_read_in_every_form(usage: dict[str, object], expected: Usage) -> None:
    fold = fold_of(b"data: " + json.dumps({"choices": [], **usage}).encode() + b"\n\n", DONE)

    assert fold.usage == expected


@pytest.mark.parametrize(
    ("value", "words", "code"),
    [
        ({"error": {"message": "overloaded", "type": "server_error", "code": "busy"}}, "overloaded", "busy"),
        ({"error": {"code": 502, "message": "upstream"}, "choices": [{"finish_reason": "error"}]}, "upstream", "502"),
        ({"error": "plain"}, "plain", ""),
        ({"object": "error", "message": "flat", "type": "bad", "code": "3230"}, "flat", "3230"),
        ({"detail": [{"loc": ["body", "tools"], "msg": "no"}]}, "body.tools: no", ""),
        ({"code": "Throttling", "message": "slow down", "request_id": "r"}, "slow down", "Throttling"),
    ],
)
def test_an_error_in_the_stream_keeps_what_came_and_the_provider_s_words(
    value: dict[str, object], words: str, code: str
) -> None:
    found = events_of([chunk({"content": "so far"}), b"data: " + json.dumps(value).encode() + b"\n\n"])

    assert [one.text for one in found if isinstance(one, TextDelta)] == ["so far"]
    assert [(one.message, one.vendor) for one in found if isinstance(one, Failed)] == [(words, code)]
    assert isinstance(found[-1], Stopped)
    assert found[-1].stop == "failed"


@pytest.mark.parametrize("reason", ["error", "network_error", "insufficient_system_resource"])
def test_a_finish_reason_that_is_a_failure_is_told_as_one(reason: str) -> None:
    fold = fold_of(chunk({"content": "x"}), chunk(finish=reason), DONE)

    assert fold.stop == "failed"
    assert reason in fold.failure


def test_thinking_that_must_go_back_says_under_which_key() -> None:
    echoed = fold_of(chunk({"reasoning_content": "hm"}), chunk(finish="stop"), DONE).message(turn=1)
    empty = fold_of(chunk({"reasoning_content": "", "content": "x"}), chunk(finish="stop"), DONE).message(turn=1)
    other = fold_of(chunk({"reasoning": "hm"}), chunk(finish="stop"), DONE).message(turn=1)

    assert echoed.parts == (Thinking(text="hm", provider="p", model="m", echo=ECHOED),)
    assert empty.parts[0] == Thinking(text="", provider="p", model="m", echo=ECHOED)
    assert other.parts == (Thinking(text="hm", provider="p", model="m"),)


def test_a_character_whose_halves_came_in_two_events_is_one() -> None:
    halves = (b'{"content":"a\\ud83d"}', b'{"content":"\\ude00b\\ud83d"}')
    fold = fold_of(*(b'data: {"choices":[{"delta":' + half + b"}]}\n\n" for half in halves), DONE)

    assert fold.text == "a😀b\ud83d"


@given(st.binary(max_size=300))
@settings(max_examples=15)
def test_no_bytes_raise_and_every_response_ends_once(body: bytes) -> None:
    for form in (body, b"data: " + body + b"\n\n", b'data: {"choices":[{"delta":' + body + b"}]}\n\n"):
        found = events_of([form])
        assert [isinstance(one, Stopped) for one in found].count(True) == 1
        assert isinstance(found[-1], Stopped)
