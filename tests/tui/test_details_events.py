"""An answer's events as a page: each with its time and size, the first at once."""

from __future__ import annotations

import zlib
from itertools import count

import pytest

from tests.tui.details_drawn import drawn, row_of
from tests.tui.inspector_wires import MESSAGES, Wires, a_turn, events_of, request_body
from tui_host.answers.steps import PIECE, Making
from tui_host.capture.ladder.row import Row
from tui_host.tui.widgets.details.events_tab import events_page
from tui_host.tui.widgets.pages.parts_page import parts_page


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


def test_an_event_that_comes_in_two_chunks_is_one() -> None:
    wires = Wires()
    request = wires.request(b"{}", 1.0, exchange="x")
    response = wires.response(request, 1.1)
    wires.chunk(response, b'data: {"a"', 1.2)
    response = wires.chunk(response, b":1}\n\n", 1.3)
    lines = drawn(events_page(wires, response, set()))
    assert next(line for line in lines if '{"a":1}' in line).split()[-4:] == ["+300", "ms", "13", "B"]


# In slices.


def a_long_answer(wires: Wires, deltas: int = 1000, name: str = "content") -> Row:
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    response = wires.response(request, 1.1, b"".join(events_of(*({name: f"{n} "} for n in range(deltas)))))
    return wires.end(response, 2.0)


def test_a_long_answer_is_folded_in_slices_that_say_how_far_they_are() -> None:
    wires = Wires()
    row = a_long_answer(wires)
    making = Making(parts_page(wires, row, set()), clock=count().__next__)
    slices = 0
    while not making.advance(1.0):
        slices += 1
        assert making.result is None
        assert "bytes" in making.progress or making.progress == "read"
    assert slices > row.size // PIECE
    assert making.result is not None
    assert any("answer  0 1 2" in line for line in drawn(making.result))


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


# With a content coding.


def _zipped(*pieces: bytes) -> list[bytes]:
    """The chunks of a gzip body that is flushed behind each piece, as services do that stream."""
    zipping = zlib.compressobj(wbits=31)
    coded = [zipping.compress(piece) + zipping.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]
    return [*coded[:-1], coded[-1] + zipping.flush()]


def _a_coded_stream(wires: Wires, encoding: str = "gzip") -> Row:
    """The head of an answer in a coding; its body is yet to come."""
    request = wires.request(b"{}", 1.0, exchange="x")
    return wires.response(request, 1.1, encoding=encoding)


def test_the_events_of_a_compressed_stream_are_read_each_at_the_chunk_that_completed_it() -> None:
    wires = Wires()
    response = _a_coded_stream(wires)
    first, second, third = _zipped(b'data: {"a":1}\n\n', b'data: {"b"', b":2}\n\ndata: [DONE]\n\n")
    wires.chunk(response, first, 1.2)
    live = drawn(events_page(wires, wires.chunk(response, second, 1.3), set()))
    assert [line.split()[:2] for line in live[-1:]] == [["▸", '{"a":1}']]  # followed: what is half is not there yet
    wires.chunk(response, third, 1.4)
    lines = drawn(events_page(wires, wires.end(response, 1.5), set()))
    assert "gzip" in lines[0]
    assert [line.split()[1:4] for line in lines[3:6]] == [
        ['{"a":1}', "+200", "ms"],
        ['{"b":2}', "+400", "ms"],
        ["[DONE]", "+400", "ms"],
    ]
    assert "end: complete" in lines[6]


@pytest.mark.parametrize("encoding", ["gzip", "compress"])
def test_events_that_are_not_in_the_coding_they_name_are_read_as_they_were_sent(encoding: str) -> None:
    wires = Wires()
    response = _a_coded_stream(wires, encoding)
    for number in range(40):
        wires.chunk(response, b'data: {"number":%d}\n\n' % number, 1.2)
    lines = drawn(events_page(wires, wires.end(response, 1.5), set()))
    assert sum("not decoded" in line for line in lines) == 1
    assert sum('{"number":' in line for line in lines) == 40


def test_a_compressed_stream_that_breaks_shows_what_came_before_and_says_where() -> None:
    wires = Wires()
    response = _a_coded_stream(wires)
    whole, _ = _zipped(b'data: {"a":1}\n\n', b"data: 2\n\n")
    wires.chunk(response, whole, 1.2)
    wires.chunk(response, b"\xff\xff\xff", 1.3)
    wires.chunk(response, b"more", 1.4)
    lines = drawn(events_page(wires, wires.end(response, 1.5), set()))
    assert '{"a":1}' in lines[3]
    assert "not decoded from here on: the compressed body is broken" in lines[4]
    assert "chunk more" in lines[6]
