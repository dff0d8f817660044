"""An answer's events as a page: each with its time and size, the first at once."""

from __future__ import annotations

from itertools import count

from tests.tui.details_drawn import drawn, row_of
from tests.tui.inspector_wires import MESSAGES, Wires, a_turn, events_of, request_body
from tui_host.capture.ladder.row import Row
from tui_host.tui.widgets.details.wire import (
    events_page,
)
from tui_host.tui.widgets.pages.making import PIECE, Making
from tui_host.tui.widgets.pages.parts import parts_page
from tui_host.tui.widgets.pages.tree import Entry, TreePage


def test_each_event_stands_with_its_time_and_size_and_opens() -> None:
    wires = Wires()
    a_turn(wires)
    page = events_page(wires, row_of(wires, "response"), set())
    lines = drawn(page)
    assert lines[0].startswith("+ POST ")
    assert lines[1].lstrip().startswith("response 200")
    assert sum('{"choices"' in line for line in lines) == 2
    assert "[DONE]" in lines[-2]
    event = next(number for number, line in enumerate(lines) if '{"choices"' in line)
    assert page.toggle(event)
    assert any('"finish_reason": null' in line for line in drawn(page))


def test_an_event_that_comes_in_two_chunks_is_one() -> None:
    wires = Wires()
    request = wires.request(b"{}", 1.0, exchange="x")
    response = wires.response(request, 1.1)
    wires.chunk(response, b'data: {"a"', 1.2)
    wires.chunk(response, b":1}\n\n", 1.3)
    lines = drawn(events_page(wires, response, set()))
    assert next(line for line in lines if '{"a":1}' in line).split()[-4:] == ["+300", "ms", "13", "B"]


def test_what_is_no_event_stream_is_listed_by_chunks() -> None:
    wires = Wires()
    request = wires.request(b"{}", 1.0, exchange="x")
    response = wires.response(request, 1.1, status=500)
    wires.chunk(response, b'{"error":', 1.2)
    wires.chunk(response, b'"x"}', 1.3)
    lines = drawn(events_page(wires, response, set()))
    assert lines[0] == "no stream of events: the chunks as they came"
    assert sum("chunk" in line for line in lines[1:]) == 2


# In slices.


def a_long_answer(wires: Wires, deltas: int = 1000) -> Row:
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    response = wires.response(request, 1.1, b"".join(events_of(*({"content": f"{n} "} for n in range(deltas)))))
    return wires.end(response, 2.0)


def test_a_long_answer_is_folded_in_slices_that_say_how_far_they_are() -> None:
    wires = Wires()
    row = a_long_answer(wires)
    making = Making(parts_page(wires, row, set()), clock=count().__next__)
    slices = 0
    while not making.advance(1.0):
        slices += 1
        assert making.result is None
        assert "bytes" in making.said or making.said == "read"
    assert slices > row.size // PIECE
    assert making.result is not None
    assert any("answer  0 1 2" in line for line in drawn(making.result))


def test_the_first_events_of_many_are_there_at_once_and_the_cursor_waits_for_its_own() -> None:
    wires = Wires()
    row = a_long_answer(wires, 3000)
    page = events_page(wires, row, set())
    page.fit(80)
    page.advance(0.0)
    assert 0 < len(page) < 100
    assert page.line_at(2500) == len(page) - 1
    while page.advance(0.0):
        pass
    assert len(page) == 3000 + 5  # the request, the head, the end of the answer, [DONE], the end
    assert page.line_at(2500) == 2500


def test_an_open_entry_of_many_lines_grows_and_the_ones_below_it_follow() -> None:
    entries = [Entry(key="a", label="a", text=lambda: "x\n" * 500, opened=True), Entry(key="b", label="b")]
    page = TreePage("parts", entries, flipped=set())
    page.fit(40)
    page.advance(0.0)
    assert len(page) < 500
    lines = drawn(page)
    assert len(lines) == 502
    assert lines[-1].strip() == "b"
    assert page.toggle(0)
    assert [line.strip() for line in drawn(page)] == ["+ a", "b"]


# Parts.
