"""Calls in a stream of Chat Completions: every service sends them in its own way."""

from __future__ import annotations

import pytest

from tests.llm.streams import DONE, TIME, WEATHER, asked, calls, chunk, events_of, fold_of, fragment
from tui_host.llm.events import CallsLeftOut, CallStarted, Unreadable


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


def test_the_dead_function_call_is_read_too() -> None:
    fold = fold_of(
        chunk({"function_call": {"name": "now", "arguments": ""}}),
        chunk({"function_call": {"arguments": "{}"}}),
        chunk(finish="function_call"),
        DONE,
    )

    assert (asked(fold), fold.stop) == ([("now", "{}")], "tools")


def test_calls_beyond_the_limit_are_told_and_left_out() -> None:
    found = events_of([calls(fragment(index=n, wire_id=f"i{n}", name="t", arguments="{}")) for n in range(200)])

    assert len([one for one in found if isinstance(one, CallStarted)]) == 128
    assert len([one for one in found if isinstance(one, CallsLeftOut)]) == 1
    assert not [one for one in found if isinstance(one, Unreadable)]


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
