"""Rows come out the same however the records came, and a view that takes only what changed misses none; what rows cost."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.ladder_wires import EVENT_STREAM, Wires, at, call_of, result_of, whole_turn
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import Record


@pytest.mark.exhaustive
@given(st.lists(st.integers(1, 30), max_size=10))
def test_the_rows_are_the_same_however_the_records_came(sizes: Sequence[int]) -> None:
    wires = Wires()
    whole_turn(wires)
    wires.line(b"one")
    wires.line(b"two")
    records = wires.records()
    whole = Ladder()
    whole.feed(records)
    parts = Ladder()
    place = 0
    for size in [*sizes, len(records)]:
        parts.feed(records[place : place + size])
        place += size
    assert list(parts.rows) == list(whole.rows)
    assert [parts.relatives(number) for number in range(len(parts.rows))] == [
        whole.relatives(number) for number in range(len(whole.rows))
    ]


@given(st.lists(st.sampled_from(["ask", "chunk", "end", "frame", "answer", "line", "link"]), max_size=40))
def test_a_view_that_takes_only_changes_has_all_rows(moves: Sequence[str]) -> None:
    wires = Wires()
    shown: dict[int, Row] = {}
    seen = 0
    exchange = wires.ask()
    for number, move in enumerate(moves):
        match move:
            case "ask":
                exchange = wires.ask()
                exchange.response(200, EVENT_STREAM)
            case "chunk":
                exchange.chunk(b"x")
            case "end":
                exchange.end()
            case "frame":
                wires.frame("out", call_of(number), at(call=f"c{number}"))
            case "answer":
                wires.frame("in", result_of(number - 1))
            case "line":
                wires.line(b"words")
            case _:
                wires.link("asked", f"c{number}", exchange)
        rows = wires.rows()
        shown |= {changed: rows[changed] for changed in wires.ladder.changed_since(seen)}
        seen = wires.ladder.revision
    rows = wires.rows()
    shown |= {changed: rows[changed] for changed in wires.ladder.changed_since(seen)}
    assert list(shown.values()) == list(rows)
    for one in range(len(rows)):
        other = wires.ladder.partner(one)
        assert other != one
        assert set(wires.ladder.relatives(one)) <= set(range(len(rows))) - {one}


def test_changes_are_told_long_after_there_were_many() -> None:
    wires = Wires()
    exchange = wires.ask()
    exchange.response(200, EVENT_STREAM)
    wires.ask()
    wires.rows()
    exchange.chunk(b"x")
    chunk = wires.records()[-1]
    other = replace(chunk, draft=replace(chunk.draft, exchange="x2"))
    seen = 0
    for _ in range(12_000):
        seen = wires.ladder.revision
        wires.ladder.feed([other, chunk])
    assert list(wires.ladder.changed_since(seen)) == [1, 3]
    assert list(wires.ladder.changed_since(0)) == [0, 1, 2, 3]


def many_calls(count: int) -> list[Record]:
    """Calls with their answers, decided and asked, as many rows as asked for."""
    wires = Wires()
    exchange = wires.ask()
    exchange.response(200, EVENT_STREAM)
    for number in range(count // 4):
        call = f"call_{number:08}"
        wires.decide(call)
        wires.frame("out", call_of(number), at(call=call))
        wires.frame("in", result_of(number, f"the answer to question {number} is {number * 6}"))
        wires.line(b"[info] answered a question of somebody, number %d" % number)
    return wires.records()


@pytest.mark.exhaustive
def test_a_hundred_thousand_rows_fit_into_forty_megabytes() -> None:
    count = 1_000
    records = many_calls(count)
    ladder = Ladder()
    tracemalloc.start()
    ladder.feed(records)
    gc.collect()  # else what Python keeps for itself to use again counts as well
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(ladder.rows) >= count
    assert size / len(ladder.rows) < 400
