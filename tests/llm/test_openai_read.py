from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.streams import DONE, RECORDED, asked, calls, chunk, event, events_of, fold_of, fragment
from tui_host.errors import JSON
from tui_host.llm.dialects.openai_forms import ECHOED
from tui_host.llm.messages import (
    CallArguments,
    CallsLeftOut,
    CallStarted,
    Failed,
    Stopped,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    Unreadable,
    Usage,
)

WEATHER = ("get_weather", '{"city":"Paris"}')
TIME = ("get_time", '{"zone":"Asia/東京"}')


def test_a_whole_stream_becomes_thinking_text_calls_and_usage() -> None:
    fold = fold_of(RECORDED)

    assert fold.thinking == "Two \u2028 cities, 两个"
    assert fold.text == "Let me see… 看\u0085"
    assert asked(fold) == [WEATHER, TIME]
    assert [found.call.wire_id for found in fold.calls] == ["call_1", "call_2"]
    assert fold.usage == Usage(input_total=120, input_cached=64, output_total=48, reasoning=16)
    assert (fold.stop, fold.vendor_stop, fold.failure) == ("tools", "tool_calls", "")


def test_a_stream_means_the_same_cut_at_every_byte() -> None:
    whole = events_of([RECORDED])

    for cut in range(len(RECORDED)):
        assert events_of([RECORDED[:cut], RECORDED[cut:]]) == whole
    assert events_of([bytes([byte]) for byte in RECORDED]) == whole


@given(st.lists(st.integers(0, len(RECORDED)), max_size=20))
def test_a_stream_means_the_same_cut_anywhere(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(RECORDED)]

    pieces = [RECORDED[start:end] for start, end in pairwise(places)]

    assert events_of(pieces) == events_of([RECORDED])


@pytest.mark.parametrize(
    "body",
    [
        RECORDED.replace(b"\n", b"\r\n"),
        RECORDED.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + RECORDED,
        RECORDED.replace(b"data: ", b"data:"),
        b"retry: 100\n\n" + RECORDED.replace(b"data: {", b"id: 7\nevent: message\ndata: {"),
        RECORDED.rstrip(b"\n"),
        RECORDED.rstrip(b"\n") + b"\n",
        RECORDED + event({"choices": [{"delta": {"content": "after the end"}}]}),
        RECORDED.replace(DONE, b"data:  [DONE] \n\n"),
        b"\n\n" + RECORDED,
    ],
)
def test_the_forms_of_event_streams_mean_the_same(body: bytes) -> None:
    fold = fold_of(*(bytes([byte]) for byte in body))

    assert (fold.text, asked(fold), fold.stop) == ("Let me see… 看\u0085", [WEATHER, TIME], "tools")
    assert fold.usage.output_total == 48


def test_spans_cover_exactly_what_a_call_was_read_from() -> None:
    fold = fold_of(RECORDED)

    found = [[RECORDED[start:end] for start, end in folded.spans] for folded in fold.calls]
    for folded, pieces, other in zip(fold.calls, found, (TIME, WEATHER), strict=True):
        assert not any(other[0].encode() in piece for piece in pieces)
        # A range is whole events, or one call's own bytes in an event that has several.
        again = fold_of(*(piece + b"\n\n" if piece[:1] == b"d" else calls(json.loads(piece)) for piece in pieces), DONE)
        assert asked(again) == [(folded.call.name, folded.call.arguments)]
    assert any(piece[:1] == b"{" for pieces in found for piece in pieces)


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


@pytest.mark.parametrize("size", range(0, len(RECORDED), 7))
def test_a_stream_that_breaks_off_is_cut_and_never_done(size: int) -> None:
    found = events_of([RECORDED[:size]])

    finished = RECORDED.index(b"\n\n", RECORDED.index(b'"tool_calls"}'))
    assert [type(one) for one in found].count(Stopped) == 1
    stopped = found[-1]
    assert isinstance(stopped, Stopped)
    assert stopped.stop == ("tools" if size >= finished else "cut")


def test_a_call_that_was_cut_is_not_complete() -> None:
    fold = fold_of(
        calls(fragment(index=0, wire_id="a", name="one", arguments="{}")),
        calls(fragment(index=1, wire_id="b", name="two", arguments='{"x":')),
    )

    assert fold.stop == "cut"
    assert [found.complete for found in fold.calls] == [True, False]


def test_the_token_limit_cuts_the_last_call() -> None:
    fold = fold_of(calls(fragment(index=0, wire_id="a", name="one", arguments='{"x":1}')), chunk(finish="length"), DONE)

    assert (fold.stop, fold.calls[0].complete) == ("length", False)


ONE = {"id": "1", "name": "get_weather"}
TWO = {"id": "2", "name": "get_time"}
HEAD, TAIL = '{"city":', '"Paris"}'
QUIRKS = {
    "whole calls in one chunk, with index": [
        [
            fragment(index=0, wire_id="1", name="get_weather", arguments=WEATHER[1]),
            fragment(index=1, wire_id="2", name="get_time", arguments=TIME[1]),
        ]
    ],
    "whole calls in one chunk, without index": [
        [
            fragment(wire_id="1", name="get_weather", arguments=WEATHER[1]),
            fragment(wire_id="2", name="get_time", arguments=TIME[1]),
        ]
    ],
    "whole calls in one chunk, without index or id": [
        [fragment(name="get_weather", arguments=WEATHER[1]), fragment(name="get_time", arguments=TIME[1])]
    ],
    "whole calls in chunks of their own, without index or id": [
        [fragment(name="get_weather", arguments=WEATHER[1])],
        [fragment(name="get_time", arguments=TIME[1])],
    ],
    "pieces without index": [
        [fragment(wire_id="1", name="get_weather", arguments="")],
        [fragment(arguments=HEAD)],
        [fragment(arguments=TAIL)],
        [fragment(wire_id="2", name="get_time", arguments="")],
        [fragment(arguments=TIME[1])],
    ],
    "pieces without index, the id on each": [
        [fragment(wire_id="1", name="get_weather", arguments="")],
        [fragment(wire_id="1", arguments=HEAD)],
        [fragment(wire_id="2", name="get_time", arguments="")],
        [fragment(wire_id="1", arguments=TAIL)],
        [fragment(wire_id="2", arguments=TIME[1])],
    ],
    "index always 0": [
        [fragment(index=0, wire_id="1", name="get_weather", arguments=HEAD)],
        [fragment(index=0, arguments=TAIL)],
        [fragment(index=0, wire_id="2", name="get_time", arguments=TIME[1])],
    ],
    "index always 0, the id on each": [
        [fragment(index=0, wire_id="1", name="get_weather", arguments=HEAD)],
        [fragment(index=0, wire_id="1", arguments=TAIL)],
        [fragment(index=0, wire_id="2", name="get_time", arguments="")],
        [fragment(index=0, wire_id="2", arguments=TIME[1])],
    ],
    "index always 0, without ids": [
        [fragment(index=0, name="get_weather", arguments=WEATHER[1])],
        [fragment(index=0, name="get_time", arguments=TIME[1])],
    ],
    "the name on each": [
        [fragment(index=0, wire_id="1", name="get_weather", arguments="")],
        [fragment(index=0, name="get_weather", arguments=HEAD)],
        [fragment(index=0, name="get_weather", arguments=TAIL)],
        [fragment(index=1, wire_id="2", name="get_time", arguments="")],
        [fragment(index=1, name="get_time", arguments=TIME[1])],
    ],
    "the name in pieces": [
        [fragment(index=0, wire_id="1", name="get_", arguments="")],
        [fragment(index=0, name="weather", arguments="")],
        [fragment(index=0, arguments=WEATHER[1])],
        [fragment(index=1, wire_id="2", name="get_time", arguments=TIME[1])],
    ],
    "empty and null later": [
        [fragment(index=0, wire_id="1", name="get_weather", arguments=HEAD)],
        [{"index": 0, "id": "", "function": {"name": "", "arguments": TAIL}}],
        [{"index": 0, "id": None, "function": {"name": None, "arguments": None}}],
        [fragment(index=1, wire_id="2", name="get_time", arguments=TIME[1])],
    ],
    "one id for all, without index": [
        [fragment(wire_id="x", name="get_weather", arguments=WEATHER[1])],
        [fragment(wire_id="x", name="get_time", arguments=TIME[1])],
    ],
    "one id for all, with index": [
        [fragment(index=0, wire_id="x", name="get_weather", arguments=HEAD)],
        [fragment(index=1, wire_id="x", name="get_time", arguments=TIME[1])],
        [fragment(index=0, wire_id="x", arguments=TAIL)],
    ],
    "arguments as an object": [
        [fragment(index=0, wire_id="1", name="get_weather", arguments={"city": "Paris"})],
        [fragment(index=1, wire_id="2", name="get_time", arguments={"zone": "Asia/東京"})],
    ],
    "indexes out of order": [
        [fragment(index=7, wire_id="2", name="get_time", arguments=TIME[1])],
        [fragment(index=3, wire_id="1", name="get_weather", arguments=WEATHER[1])],
    ],
    "another id on every fragment": [
        [fragment(index=0, wire_id="r1", name="get_weather", arguments=HEAD)],
        [fragment(index=0, wire_id="r2", arguments=TAIL)],
        [fragment(index=1, wire_id="r3", name="get_time", arguments=TIME[1])],
    ],
}


@pytest.mark.parametrize("quirk", QUIRKS)
def test_every_service_s_way_of_sending_calls_gives_the_two_calls(quirk: str) -> None:
    chunks = [calls(*fragments) for fragments in QUIRKS[quirk]]

    fold = fold_of(*chunks, chunk(finish="stop"), DONE)

    assert asked(fold) == [WEATHER, TIME]
    assert fold.stop == "tools"


def test_a_call_without_arguments_keeps_them_empty() -> None:
    fold = fold_of(calls(fragment(index=0, wire_id="1", name="now", arguments="")), chunk(finish="tool_calls"), DONE)

    assert asked(fold) == [("now", "")]


def test_the_dead_function_call_is_read_too() -> None:
    fold = fold_of(
        chunk({"function_call": {"name": "now", "arguments": ""}}),
        chunk({"function_call": {"arguments": "{}"}}),
        chunk(finish="function_call"),
        DONE,
    )

    assert (asked(fold), fold.stop) == ([("now", "{}")], "tools")


def test_tool_calls_without_a_call_are_an_end() -> None:
    assert fold_of(chunk({"content": "no"}), chunk(finish="tool_calls"), DONE).stop == "end"


def test_calls_beyond_the_limit_are_told_and_left_out() -> None:
    found = events_of([calls(fragment(index=n, wire_id=f"i{n}", name="t", arguments="{}")) for n in range(200)])

    assert len([one for one in found if isinstance(one, CallStarted)]) == 128
    assert len([one for one in found if isinstance(one, CallsLeftOut)]) == 1
    assert not [one for one in found if isinstance(one, Unreadable)]


def test_an_index_of_a_thousand_million_costs_nothing() -> None:
    fold = fold_of(calls(fragment(index=10**9, wire_id="1", name="t", arguments="{}")), chunk(finish="stop"), DONE)

    assert asked(fold) == [("t", "{}")]


def test_arguments_beyond_the_limit_are_cut_and_not_complete() -> None:
    piece = "x" * 1_000_000
    fold = fold_of(
        calls(fragment(index=0, wire_id="1", name="t", arguments='{"a":"')),
        *[calls(fragment(index=0, arguments=piece)) for _ in range(6)],
        chunk(finish="tool_calls"),
        DONE,
    )

    assert not fold.calls[0].complete
    assert len(fold.calls[0].call.arguments) <= 4 << 20


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


def test_the_last_usage_counts() -> None:
    fold = fold_of(*[chunk({"content": "x"}, usage={"prompt_tokens": 5, "completion_tokens": n}) for n in (1, 2, 3)])

    assert fold.usage == Usage(input_total=5, output_total=3)


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


def test_a_refusal_is_text_and_a_stop() -> None:
    fold = fold_of(chunk({"refusal": "I will not"}), chunk(finish="stop"), DONE)

    assert (fold.text, fold.stop) == ("I will not", "refused")
    assert fold_of(chunk(finish="content_filter"), DONE).stop == "refused"


def test_a_stream_that_ends_with_done_alone_has_ended() -> None:
    fold = fold_of(chunk({"content": "x"}), DONE)

    assert (fold.stop, fold.vendor_stop) == ("end", "[DONE]")


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", ""])
@pytest.mark.parametrize("blanks", [b"", b"\n\n \n", b"\xef\xbb\xbf"])
def test_a_whole_answer_is_read_whatever_it_is_called(content_type: str, blanks: bytes) -> None:
    body = json.dumps(
        {
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "看",
                        "reasoning": "hm",
                        "tool_calls": [
                            {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}},
                            {"id": "2", "type": "function", "function": {"name": "b", "arguments": "{}"}},
                        ],
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        },
        ensure_ascii=False,
        indent=1,
    ).encode()

    found = events_of([blanks, body[:9], body[9:]], content_type)

    text = next(one for one in found if isinstance(one, TextDelta))
    thinking = next(one for one in found if isinstance(one, ThinkingDelta))
    arguments = [one for one in found if isinstance(one, CallArguments)]
    assert (text.text, thinking.text, len(arguments)) == ("看", "hm", 2)
    assert isinstance(found[-1], Stopped)
    assert found[-1].stop == "tools"
    whole = blanks + body
    if not blanks.startswith(b"\xef"):
        assert whole[text.start : text.end] == '"看"'.encode()
        assert json.loads(whole[arguments[1].start : arguments[1].end])["id"] == "2"


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"no such model","code":"model_not_found"}}',
        b'[{"error":{"message":"no such model"}}]',
        b'{"message":"no such model"}',
    ],
)
def test_an_error_instead_of_an_answer_is_an_error(body: bytes) -> None:
    fold = fold_of(body)

    assert (fold.failure, fold.stop) == ("no such model", "failed")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<!doctype html><title>Sign in</title>", "Sign in"),
        (b"  <html>captive portal", "captive portal"),
        (b"{}", "no answer in it"),
        (b"Bad gateway\n\n", "Bad gateway"),
        (b"data: oops\n\n", "oops"),
    ],
)
def test_what_is_no_answer_is_shown_and_not_read(body: bytes, words: str) -> None:
    fold = fold_of(body)

    assert words in fold.failure
    assert fold.stop == "failed"


@pytest.mark.parametrize("body", [b"", b": OPENROUTER PROCESSING\n\n", b"\n"])
def test_a_response_without_a_word_is_cut(body: bytes) -> None:
    assert (fold_of(body).stop, fold_of(body).failure) == ("cut", "")


def test_a_whole_answer_that_breaks_off_is_cut() -> None:
    fold = fold_of(b'{"choices":[{"message":{"content":"x')

    assert (fold.stop, fold.unreadable) == ("cut", 1)


def test_bytes_that_are_no_utf8_are_marked_and_read_as_well_as_can_be() -> None:
    fold = fold_of(b'data: {"choices":[{"delta":{"content":"a\xffb"}}]}\n\n', chunk(finish="stop"), DONE)

    assert (fold.text, fold.unreadable, fold.stop) == ("a\ufffdb", 1, "end")


def test_thinking_that_must_go_back_says_under_which_key() -> None:
    echoed = fold_of(chunk({"reasoning_content": "hm"}), chunk(finish="stop"), DONE).message(turn=1)
    empty = fold_of(chunk({"reasoning_content": "", "content": "x"}), chunk(finish="stop"), DONE).message(turn=1)
    other = fold_of(chunk({"reasoning": "hm"}), chunk(finish="stop"), DONE).message(turn=1)

    assert echoed.parts == (Thinking(text="hm", provider="p", model="m", echo=ECHOED),)
    assert empty.parts[0] == Thinking(text="", provider="p", model="m", echo=ECHOED)
    assert other.parts == (Thinking(text="hm", provider="p", model="m"),)


def test_parts_keep_the_order_in_which_they_began() -> None:
    message = fold_of(
        chunk({"reasoning": "hm"}),
        calls(fragment(index=0, wire_id="1", name="a", arguments="{}")),
        chunk({"content": "after"}),
        chunk(finish="stop"),
        DONE,
    ).message(turn=3)

    assert [type(part).__name__ for part in message.parts] == ["Thinking", "ToolCall", "Text"]
    assert message.parts[1] == ToolCall(id="call-0", wire_id="1", name="a", arguments="{}")
    assert (message.turn, message.stop) == (3, "tools")


@given(st.binary(max_size=300))
def test_no_bytes_raise_and_every_response_ends_once(body: bytes) -> None:
    for form in (body, b"data: " + body + b"\n\n", b'data: {"choices":[{"delta":' + body + b"}]}\n\n"):
        found = events_of([form])
        assert [isinstance(one, Stopped) for one in found].count(True) == 1
        assert isinstance(found[-1], Stopped)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "content",
                    "tool_calls",
                    "function",
                    "index",
                    "id",
                    "name",
                    "arguments",
                    "error",
                    "usage",
                    "finish_reason",
                    "reasoning_details",
                    "prompt_tokens",
                    "text",
                    "type",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_values, json_values)
def test_no_json_raises(value: object, delta: object) -> None:
    for form in (value, {"choices": [{"delta": delta}]}, {"choices": [{"message": delta}]}):
        text = json.dumps(form).encode()
        for body in (text, b"data: " + text + b"\n\n"):
            fold = fold_of(body)
            fold.message(turn=1)
            assert fold.stop is not None


def test_a_character_whose_halves_came_in_two_events_is_one() -> None:
    halves = (b'{"content":"a\\ud83d"}', b'{"content":"\\ude00b\\ud83d"}')
    fold = fold_of(*(b'data: {"choices":[{"delta":' + half + b"}]}\n\n" for half in halves), DONE)

    assert fold.text == "a😀b\ud83d"
