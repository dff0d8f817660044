"""A stream of Chat Completions becomes events, however it is cut and whatever else is in it."""

from __future__ import annotations

import json

import pytest

from tests.llm.recorded.asks import user
from tests.llm.streams import DONE, TIME, WEATHER, asked, calls, chunk, event, events_of, fold_of, fragment
from tui_host.errors import JSON
from tui_host.llm.dialects.openai import ECHOED, OPENAI
from tui_host.llm.events import Failed, Stopped, TextDelta
from tui_host.llm.messages import Ask, Thinking, Usage
from tui_host.llm.outgoing import Target


@pytest.mark.parametrize(
    ("delta", "text", "thinking"),
    [
        ({"content": None}, "", ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ""),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, "", "hm"),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "", "hm"),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "", "hm"),
        ({"content": "a", "tool_calls": None}, "a", ""),
    ],
)
def test_the_forms_of_a_delta_are_read(delta: dict[str, object], text: str, thinking: str) -> None:
    body = b'data: {"choices":[{"delta":' + json.dumps(delta).encode() + b"}]}\n\n"

    fold = fold_of(body, chunk(finish="stop"), DONE)

    assert (fold.text, fold.thinking, fold.stop) == (text, thinking, "end")


@pytest.mark.parametrize("broken", [b"data: {oops\n\n", b"data: 7\n\n", b"data: " + b"[" * 100_000 + b"\n\n"])
def test_an_event_that_cannot_be_read_is_marked_and_the_stream_goes_on(broken: bytes) -> None:
    fold = fold_of(chunk({"content": "a"}), broken, chunk({"content": "b"}), chunk(finish="stop"), DONE)

    assert (fold.text, fold.stop, fold.unreadable) == ("ab", "end", 1)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 2}}, Usage(input_total=5, output_total=2)),
        ({"usage": {"prompt_tokens": 5, "prompt_cache_hit_tokens": 3}}, Usage(input_total=5, input_cached=3)),
        ({"usage": {"prompt_tokens": 5, "cached_tokens": 3}}, Usage(input_total=5, input_cached=3)),
        ({"usage": None}, Usage()),
    ],
)
def test_usage_is_read_in_every_form(usage: dict[str, object], expected: Usage) -> None:
    fold = fold_of(b"data: " + json.dumps({"choices": [], **usage}).encode() + b"\n\n", DONE)

    assert fold.usage == expected


@pytest.mark.parametrize(
    ("value", "words", "code"),
    [
        ({"error": {"message": "overloaded", "type": "server_error", "code": "busy"}}, "overloaded", "busy"),
        ({"error": "plain"}, "plain", ""),
        ({"object": "error", "message": "flat", "type": "bad", "code": "3230"}, "flat", "3230"),
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
    assert empty.parts[1] == Thinking(text="", provider="p", model="m", echo=ECHOED)
    assert other.parts == (Thinking(text="hm", provider="p", model="m"),)


def test_details_of_thinking_are_joined_and_go_back_whole_with_their_signatures() -> None:
    def details(**members: JSON) -> bytes:
        return chunk({"reasoning_details": [{"format": "f", "index": 0, **members}]})

    text, signed = {"type": "reasoning.text"}, {"type": "reasoning.text", "signature": "sig=="}
    hidden: JSON = {"type": "reasoning.encrypted", "data": "b64", "id": "r1", "format": "f", "index": 1}
    answer = fold_of(
        details(**text, text="h"),
        details(**text, text="m"),
        details(**signed, text=""),
        chunk({"reasoning_details": [hidden]}),
        chunk({"content": "a"}),
        event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.00125}}),
        chunk(finish="stop"),
        DONE,
    )
    message = answer.message(turn=1)
    whole: JSON = [{"format": "f", "index": 0, "type": "reasoning.text", "text": "hm", "signature": "sig=="}, hidden]
    assert message.parts[0] == Thinking(text="hm", provider="p", model="m", echo={"reasoning_details": whole})
    assert answer.usage.cost == 0.00125
    body = json.loads(OPENAI.write(Ask(model="m", messages=(user("x"), message, user("y"))), Target(provider="p")).body)
    assert body["messages"][1]["reasoning_details"] == whole
    other = json.loads(OPENAI.write(Ask(model="m2", messages=(user("x"), message)), Target(provider="p")).body)
    assert "reasoning_details" not in other["messages"][1]


def test_a_character_whose_halves_came_in_two_events_is_one() -> None:
    halves = (b'{"content":"a\\ud83d"}', b'{"content":"\\ude00b\\ud83d"}')
    fold = fold_of(*(b'data: {"choices":[{"delta":' + half + b"}]}\n\n" for half in halves), DONE)

    assert fold.text == "a😀b\ud83d"


HEAD, TAIL = '{"city":', '"Paris"}'


QUIRKS = {
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
    "the name in pieces": [
        [fragment(index=0, wire_id="1", name="get_", arguments="")],
        [fragment(index=0, name="weather", arguments="")],
        [fragment(index=0, arguments=WEATHER[1])],
        [fragment(index=1, wire_id="2", name="get_time", arguments=TIME[1])],
    ],
    "the name on each": [
        [fragment(index=0, wire_id="1", name="get_weather", arguments="")],
        [fragment(index=0, name="get_weather", arguments=HEAD)],
        [fragment(index=0, name="get_weather", arguments=TAIL)],
        [fragment(index=1, wire_id="2", name="get_time", arguments="")],
        [fragment(index=1, name="get_time", arguments=TIME[1])],
    ],
    "arguments as an object": [
        [fragment(index=0, wire_id="1", name="get_weather", arguments={"city": "Paris"})],
        [fragment(index=1, wire_id="2", name="get_time", arguments={"zone": "Asia/東京"})],
    ],
}


@pytest.mark.parametrize("quirk", QUIRKS)
def test_every_service_s_way_of_sending_calls_gives_the_two_calls(quirk: str) -> None:
    chunks = [calls(*fragments) for fragments in QUIRKS[quirk]]

    fold = fold_of(*chunks, chunk(finish="stop"), DONE)

    assert asked(fold) == [WEATHER, TIME]
    assert fold.stop == "tools"


def test_calls_beyond_the_limit_are_told_and_left_out() -> None:
    fold = fold_of(*(calls(fragment(index=n, wire_id=f"i{n}", name="t", arguments="{}")) for n in range(200)))

    assert (len(fold.calls), fold.has_calls_left_out, fold.unreadable) == (128, True, 0)


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
