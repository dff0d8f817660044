"""Which rows a filter keeps."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.capture.ladder_wires import EVENT_STREAM, JSON_TYPE, Wires, call_of, whole_turn
from tests.capture.wires import rpc


def filtered() -> Wires:
    wires = Wires()
    whole_turn(wires)
    wires.line(b"Listening")
    refused = wires.ask(1, turn=2)
    refused.response(429, JSON_TYPE)
    refused.chunk("slow down 工具".encode())
    refused.end()
    wires.frame("in", rpc(method="notifications/tools/list_changed"))
    wires.frame("in", b"garbage\n")
    wires.rows()
    return wires


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", range(12)),
        ("tool:multiply", [1, 2, 3, 4, 5]),
        ("tool:math.mult kind:decision", [2]),
        ("method:tools/call", [3, 4]),
        ("method:TOOLS dir:in", [4, 10]),
        ("id:4 dir:out", [3]),
        ("kind:request turn:1", [0, 5]),
        ("kind:notification", [10]),
        ("kind:result", [4]),
        ("kind:stderr", [7]),
        ("kind:malformed", [11]),
        ("status:429", [9]),
        ("status:4xx", [9]),
        ("status:failed", [9]),
        ("status:open", []),
        ("server:math", [2, 3, 4, 7, 10, 11]),
        ("listening", [7]),
        ("工具", [9]),
        ("chat/completions turn:2", [8, 9]),
        ("multiply 30", [4]),
        ("stderr", [7]),
        ("malformed", [11]),
        ("malf", [11]),
        ("result", [4]),
        ("429", [9]),
        ("failed", [9]),
        ("no:token", []),
        ("turn:x", []),
        ("kind:", []),
    ],
)
def test_tokens_and_words_of_a_filter_must_all_fit(text: str, numbers: Iterable[int]) -> None:
    assert list(filtered().ladder.filter(text)) == list(numbers)


def test_a_filter_asked_again_follows_the_rows() -> None:
    wires = Wires()
    exchange = wires.ask()
    exchange.response(200, EVENT_STREAM)
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == [1]
    wires.frame("out", call_of(1))
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == [1]
    exchange.end()
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == []
    again = wires.ask()
    again.response(200, EVENT_STREAM)
    wires.rows()
    assert list(wires.ladder.filter("status:open")) == [4]
