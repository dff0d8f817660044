"""An answer's events as a page: each with its time and size, the first at once."""

from __future__ import annotations

from tests.tui.details_drawn import drawn, row_of
from tests.tui.inspector_wires import MESSAGES, Wires, a_turn, events_of, request_body
from tui_host.capture.ladder.row import Row
from tui_host.tui.widgets.details.events_tab import events_page


def test_each_event_stands_with_its_time_and_size_and_opens() -> None:
    wires = Wires()
    a_turn(wires)
    page = events_page(wires, row_of(wires, "response"), set())
    lines = drawn(page)
    assert lines[0].startswith("▸ POST ")
    assert lines[1].lstrip().startswith("response 200")
    assert "[DONE]" in lines[-2]
    event = next(number for number, line in enumerate(lines) if "name math__multiply" in line)
    assert "stop tool_calls" in lines[event + 1]
    assert page.toggle(event) == event
    assert any('"finish_reason": null' in line for line in drawn(page))


# In slices.


def a_long_answer(wires: Wires, deltas: int = 1000, name: str = "content") -> Row:
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    response = wires.response(request, 1.1, b"".join(events_of(*({name: f"{n} "} for n in range(deltas)))))
    return wires.end(response, 2.0)


def test_the_first_events_of_many_are_there_at_once_and_the_cursor_waits_for_its_own() -> None:
    wires = Wires()
    row = a_long_answer(wires, 3000, "unknown")
    page = events_page(wires, row, set())
    page.fit(80)
    page.advance(0.0)
    assert 0 < len(page) < 100
    assert page.line_at(2500) == len(page) - 1
    while page.advance(0.0):
        pass
    assert len(page) == 3000 + 5  # the request, the head, the end of the answer, [DONE], the end
    assert page.line_at(2500) == 2500


def test_pieces_of_one_text_are_one_line_that_opens_to_the_text_and_to_each_event() -> None:
    wires = Wires()
    page = events_page(wires, a_long_answer(wires, 1100), set())
    lines = drawn(page)
    assert lines[2].split("  ")[:2] == ["▸ text ×1,000", "3,890 characters in 0 ms"]
    assert lines[3].startswith('▸ text ×100  500 characters in 0 ms  "1000 1001 ')
    assert "stop stop" in lines[4]
    assert page.toggle(3)
    opened = drawn(page)
    assert opened[4].strip().startswith("▸ assembled: 500 bytes of text in ")
    assert opened[5].strip().startswith('▸ text "1000 "')
    assert page.toggle(5)
    assert any('"content": "1000 "' in line for line in drawn(page))
    assert page.toggle(4)
    assert drawn(page)[5].strip().startswith("1000 1001 1002")
