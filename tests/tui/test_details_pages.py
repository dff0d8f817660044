"""The pages behind a detail's tabs: what they say of a row's bytes, at any width and length."""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import count

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from typing_extensions import override

from tests.tui.inspector_wires import CALL, MESSAGES, Wires, a_turn, events_of, request_body, to_json
from tui_host.capture.ending import Ending
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import Redaction
from tui_host.capture.redact import Redactor
from tui_host.capture.visible import visible
from tui_host.errors import JSON
from tui_host.llm.dialects import DIALECTS
from tui_host.llm.dialects.dialect import Dialect
from tui_host.tui.masks import Mask, masked
from tui_host.tui.widgets.details.wire import (
    decision_page,
    events_page,
    frame_page,
    headers_page,
    raw_page,
    timing_page,
)
from tui_host.tui.widgets.ladder.describe import describe
from tui_host.tui.widgets.pages.making import PIECE, Making, Steps, made
from tui_host.tui.widgets.pages.page import Page, cut, fitting
from tui_host.tui.widgets.pages.parts import parts_page
from tui_host.tui.widgets.pages.text import TextPage, hex_text, is_text
from tui_host.tui.widgets.pages.tree import Entry, TreePage

LONG = 10.0


def drawn(page: Page | Steps[Page], width: int = 80) -> list[str]:
    page = made(page) if isinstance(page, Generator) else page
    page.fit(width)
    page.advance(LONG)
    return ["".join(text for text, _ in page.draw(number)) for number in range(len(page))]


def row_of(wires: Wires, kind: str, place: int = 0) -> Row:
    return [row for row in wires.ladder.rows if row.kind == kind][place]


def frame(wires: Wires, data: bytes) -> Row:
    return wires.frame(data, 1.0, direction="in")


# Text.


@given(st.text(alphabet=st.characters(codec="utf-8")), st.integers(8, 60))
def test_raw_lines_fit_the_width_and_lose_nothing(text: str, width: int) -> None:
    lines = drawn(TextPage("body", text), width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines) == "".join(visible(piece, newlines=False) for piece in _cut_as_drawn(text, width))


def _cut_as_drawn(text: str, width: int) -> Sequence[str]:
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        while start < end:
            stop = fitting(text, start, end, width)
            pieces.append(text[start:stop])
            start = stop
    return pieces


@given(st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_indented_json_fits_the_width_too(value: object) -> None:
    for width in (8, 20, 47):
        assert all(cell_len(line) <= width for line in drawn(TextPage("frame", json.dumps(value), form="json"), width))


def test_indented_json_reads_as_from_an_indenting_writer() -> None:
    value: JSON = {"jsonrpc": "2.0", "id": 4, "result": {"content": [{"type": "text", "text": "30"}], "empty": {}}}
    text = json.dumps(value, separators=(",", ":"))
    assert drawn(TextPage("frame", text, form="json")) == json.dumps(value, indent=2).split("\n")


def test_the_first_screen_of_ten_megabytes_is_there_at_once() -> None:
    text = json.dumps([{"text": "hello world"} for _ in range(400_000)])
    page = TextPage("body", text, form="json")
    page.fit(80)
    page.advance(0.0)
    assert 60 <= len(page) <= 200
    assert page.advance(0.01)
    assert page.advance(0.01)


def test_another_width_finds_the_same_place_again() -> None:
    page = TextPage("body", "\n".join(f"line {number} " + "x" * number for number in range(200)))
    page.fit(80)
    page.advance(LONG)
    line = next(number for number in range(len(page)) if page.draw(number)[0][0].startswith("line 150 "))
    place = page.place_of(line)
    page.fit(30)
    page.advance(LONG)
    assert page.draw(page.line_at(place))[0][0].startswith("line 150 ")


def test_what_a_terminal_would_obey_is_seen_instead() -> None:
    assert drawn(TextPage("body", "a\x1b[2J\u202eb\x9b\r\n")) == ["a␛[2J⟨202e⟩b⟨9b⟩␍␊"]


def test_what_is_read_wraps_between_words_and_what_is_counted_does_not() -> None:
    text = "the quota of this key is used up: 中文中文 wait until tomorrow"
    for form in ("plain", "headers"):
        lines = drawn(TextPage("refusal", text, form=form), 20)
        assert [line.strip() for line in lines][:2] == ["the quota of this", "key is used up:"]
    assert drawn(TextPage("body", text), 20)[0] == "the quota of this ke"
    lines = drawn(TextPage("frame", json.dumps({"message": text}), form="json"), 24)
    assert [line.strip() for line in lines][1:3] == ['"message": "the quota', "of this key is used"]
    assert drawn(TextPage("refusal", "x" * 30, form="plain"), 20) == ["x" * 20, "x" * 10]


def test_a_cut_text_says_so_and_keeps_within_its_cells() -> None:
    assert cut("中文中文", 5) == "中文…"
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 0) == ""


# Bytes.


def test_raw_shows_the_bytes_with_their_line_end() -> None:
    wires = Wires()
    row = frame(wires, b'{"method":"x"}')
    assert drawn(raw_page(wires, row)) == ["15 bytes · UTF-8", '{"method":"x"}␊']


def test_why_there_was_no_answer_wraps_between_words() -> None:
    wires = Wires()
    request = wires.request(b"{}", 1.0, exchange="x")
    ending = Ending(reason="not connected", size=0, kept=0, error="ConnectError: all connection attempts failed")
    record = wires.records[0]
    wires.append(replace(record.draft, kind="error", direction="in", head=None, data=ending.to_bytes()), 1.1)
    fault = wires.ladder.rows[request.number + 1]
    assert fault.kind == "fault"
    words = {word for line in drawn(raw_page(wires, fault), 36) for word in line.split()}
    assert {"connection", "attempts", 'failed"}'} <= words


def test_bytes_that_are_no_text_are_shown_as_hex() -> None:
    assert not is_text(b"\x89PNG\x00")
    assert is_text("中文 ok".encode() * 3000)
    assert hex_text(b"\x89PNG\r\n").startswith("00000000  89 50 4e 47 0d 0a")
    wires = Wires()
    lines = drawn(raw_page(wires, frame(wires, b"\x00\x01")))
    assert lines[0] == "3 bytes · no text: offset, hex, ASCII"
    assert lines[-1].startswith("00000000  00 01 0a")


def test_a_compressed_body_is_decoded_and_says_so() -> None:
    wires = Wires()
    request = wires.request(b"{}", 1.0, exchange="x")
    response = wires.response(request, 1.1, encoding="gzip")
    packed = gzip.compress(b'{"ok":true}')
    response = wires.chunk(response, packed, 1.2)
    lines = drawn(raw_page(wires, wires.end(response, 1.3)))
    assert lines[0] == f"{len(packed)} bytes · gzip, decoded below · 11 bytes then · UTF-8"
    assert lines[-1] == '{"ok":true}'


def test_a_compressed_body_that_broke_off_shows_what_it_gave() -> None:
    wires = Wires()
    request = wires.request(b"{}", 1.0, exchange="x")
    response = wires.response(request, 1.1, encoding="gzip")
    response = wires.chunk(response, gzip.compress(b"hello " * 5000)[:-20], 1.2)
    text = "\n".join(drawn(raw_page(wires, response), 200))
    assert "as far as it goes" in text
    assert "more may come" in text


def test_what_was_taken_out_is_masked_with_its_name_and_length() -> None:
    redacted = (Redaction(where="data", name="KEY", length=51),)
    assert masked("a ⟨secret:KEY⟩ b ⟨secret:OTHER⟩", redacted) == "a ••• KEY (51) b ⟨secret:OTHER⟩"
    wires = Wires()
    row = wires.request("key ⟨secret:KEY⟩".encode(), 1.0, exchange="x", redacted=redacted)
    lines = drawn(raw_page(wires, row), 100)
    assert lines[-1] == "key ••• KEY (51)"
    assert any("a secret was taken out" in line for line in lines)


def test_credentials_in_headers_are_masked_in_place_and_in_what_is_copied() -> None:
    wires = Wires()
    a_turn(wires)
    page = headers_page(wires, row_of(wires, "request"))
    assert drawn(page) == [
        "POST http://127.0.0.1:9/v1/chat/completions",
        "content-type: application/json",
        "authorization: Bearer ••• authorization (51)",
    ]
    assert "⟨secret" not in page.source[1]


def test_a_header_cannot_fake_another_line() -> None:
    wires = Wires()
    request = wires.request(b"{}", 1.0, exchange="x")
    record = wires.records[0]
    head = record.draft.head
    assert head is not None
    evil = replace(head, headers=(("x", "1\nauthorization: none"),))
    wires.records[0] = replace(record, draft=replace(record.draft, head=evil))
    assert len(drawn(headers_page(wires, request))) == 2


# Frames.


def test_a_frame_is_indented_and_its_numbers_stay_as_written() -> None:
    wires = Wires()
    lines = drawn(frame_page(wires, frame(wires, b'{"method":"x","n":1.50}')))
    assert lines == ["re-indented · 24 bytes · UTF-8", "{", '  "method": "x",', '  "n": 1.50', "}"]


def test_a_frame_that_is_no_json_is_shown_as_it_came() -> None:
    wires = Wires()
    lines = drawn(frame_page(wires, frame(wires, b"hello {")))
    assert lines == [
        "8 bytes · UTF-8",
        "malformed: not JSON: Expecting value at character 0",
        "not JSON: shown as it came",
        "hello {␊",
    ]


def test_a_decision_tells_its_words_and_its_arguments() -> None:
    wires = Wires()
    lines = drawn(decision_page(wires, wires.decision(1.0)))
    assert lines[0] == "approved once, by you, after 2.5 s"
    assert '  "tool": "multiply",' in lines


def test_timing_tells_how_long_the_answer_was_waited_for() -> None:
    wires = Wires()
    a_turn(wires)
    lines = drawn(timing_page(wires, row_of(wires, "request")))
    assert "waited: 410 ms for the first byte of the answer" in lines
    assert any(line.startswith("together: [") and line.endswith("600 ms") for line in lines)


# Events.


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
    assert next(line for line in lines if '{"a":1}' in line).split()[-3:] == ["+300", "ms", "13"]


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


def test_a_request_is_taken_apart_with_bytes_tokens_and_origin() -> None:
    wires = Wires()
    a_turn(wires)
    text = "\n".join(drawn(parts_page(wires, row_of(wires, "request"), set())))
    assert "the first request" in text
    assert "+ tools (1)" in text
    assert "- messages (2)" in text
    assert "from you" in text
    assert "~" in text


def test_what_is_new_since_the_request_before_is_marked() -> None:
    wires = Wires()
    a_turn(wires)
    lines = drawn(parts_page(wires, row_of(wires, "request", 1), set()))
    assert any("+2 messages, tools unchanged" in line for line in lines)
    assert next(line for line in lines if "messages (4)" in line).rstrip().endswith("+2")
    assert next(line for line in lines if "assistant" in line).rstrip().endswith("+")
    assert next(line for line in lines if "user" in line).rstrip()[-1].isdigit()


def test_a_part_opens_to_what_it_says() -> None:
    wires = Wires()
    row = wires.request(request_body([{"role": "user", "content": "one\ntwo"}]), 1.0, exchange="x")
    page = made(parts_page(wires, row, set()))
    lines = drawn(page)
    assert page.toggle(next(number for number, line in enumerate(lines) if "user" in line))
    assert len(drawn(page)) > len(lines)


def test_a_response_is_folded_to_what_it_says() -> None:
    wires = Wires()
    a_turn(wires)
    text = "\n".join(drawn(parts_page(wires, row_of(wires, "response"), set())))
    assert "asks  math__multiply" in text
    assert '"a": 6' in text
    assert "stop: tools (tool_calls)" in text


def test_a_response_that_still_comes_says_so_far() -> None:
    wires = Wires()
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    response = wires.response(request, 1.1)
    response = wires.chunk(response, events_of({"content": "Hel"})[0], 1.2)
    text = "\n".join(drawn(parts_page(wires, response, set())))
    assert "so far" in text
    assert "answer  Hel" in text
    assert "cut" not in text


def test_a_secret_that_a_model_spells_in_several_events_is_masked_where_they_are_joined() -> None:
    wires = Wires()
    wires.mask = Mask(lambda: Redactor([("KEY", "hunter2-hunter2")]))
    response = wires.response(wires.request(request_body(MESSAGES), 1.0, exchange="x"), 1.1)
    for event in events_of({"content": "x" * 195 + "hunter2"}, {"content": "-hunter2"}):
        response = wires.chunk(response, event, 1.2)
    text = "\n".join(drawn(parts_page(wires, wires.end(response, 1.3), set()), 300))
    assert "••• KEY (15)" in text
    assert "hunter" not in text


def test_a_refusal_is_told_in_the_provider_s_words() -> None:
    wires = Wires()
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    response = wires.response(request, 1.1, status=401)
    response = wires.chunk(response, to_json({"error": {"message": "bad key", "type": "auth"}}), 1.2)
    text = "\n".join(drawn(parts_page(wires, wires.end(response, 1.3), set())))
    assert "status: 401" in text
    assert "bad key" in text


def test_a_body_that_is_no_json_points_to_raw() -> None:
    wires = Wires()
    row = wires.request(b"not json", 1.0, exchange="x")
    assert "see Raw" in drawn(parts_page(wires, row, set()))[0]


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b'{"messages":[', b'{"tools":[{}],"messages":', b"data: {", b'data: {"choices":[']),
)
def test_no_body_is_refused(data: bytes, head: bytes) -> None:
    wires = Wires()
    wires.request(b'{"messages":[]}', 0.5, exchange="x0")
    request = wires.request(head + data, 1.0, exchange="x")
    response = wires.response(request, 1.1, head + data)
    for row in (request, response, wires.end(response, 2.0), frame(wires, head + data)):
        pages: list[Page | Steps[Page]] = [raw_page(wires, row), frame_page(wires, row)]
        pages += [headers_page(wires, row), timing_page(wires, row), events_page(wires, row, set())]
        if row.lane == "llm":
            pages.append(parts_page(wires, row, set()))
            made(describe(wires, row))
        for page in pages:
            assert all(cell_len(line) <= 40 for line in drawn(page, 40))


# Trees.


def test_a_tree_keeps_its_figures_in_columns_and_cuts_labels() -> None:
    entries = [
        Entry(key="a", label="x" * 200, figures=("1,902", "~540")),
        Entry(key="b", label="short", figures=("8", "~2"), mark="+2", note="from you"),
    ]
    lines = drawn(TreePage("parts", entries, flipped=set()), 40)
    assert [cell_len(line) for line in lines] == [40, 40]
    assert lines[0].endswith("… 1,902 ~540   ")
    assert lines[1].endswith("     8   ~2 +2")
    assert "from you" in lines[1]


def test_figures_stand_in_their_columns_behind_wide_characters_too() -> None:
    entries = [Entry(key=str(size), label="天" * size, figures=("8",)) for size in range(1, 30)]
    for width in (20, 21):
        assert {cell_len(line) for line in drawn(TreePage("parts", entries, flipped=set()), width)} == {width}


def test_what_is_open_stays_open_when_the_tree_is_made_anew() -> None:
    flipped: set[str] = set()
    entries = [Entry(key="a", label="a", children=(Entry(key="b", label="b"),))]
    page = TreePage("parts", entries, flipped=flipped)
    assert len(drawn(page)) == 1
    assert page.toggle(0)
    assert len(drawn(TreePage("parts", entries, flipped=flipped))) == 2


def test_a_tool_call_s_argument_cannot_fake_an_entry() -> None:
    call: JSON = {**CALL, "function": {"name": "x", "arguments": "1\n+ tools (9)\x1b[2J"}}
    wires = Wires()
    row = wires.request(request_body([{"role": "assistant", "tool_calls": [call]}]), 1.0, exchange="x")
    text = drawn(parts_page(wires, row, {"/messages/messages/0"}))
    assert not any(line.lstrip().startswith("+ tools (9)") for line in text)
    assert "\x1b" not in "".join(text)


def test_a_list_of_models_is_told_as_what_it_is() -> None:
    wires = Wires(live=False)
    a_turn(wires)
    asked = wires.listing(5.0, exchange="x9")
    row = wires.end(wires.response(asked, 5.1, b'{"object":"list","data":[{"id":"m-1"},{"id":"m-2"}]}'), 5.2)

    drawn = all_of(made(parts_page(wires, row, set())))

    assert made(describe(wires, row)) == "2 models"
    assert made(describe(wires, asked)) == ""
    assert "models: 2" in drawn
    assert "m-2" in drawn
    assert "no answer" not in drawn


def all_of(page: Page) -> str:
    """Every line of a page."""
    page.fit(120)
    page.advance(10.0)
    return "\n".join("".join(text for text, _ in page.draw(number)) for number in range(len(page)))


def test_parts_tell_every_figure_that_was_reported() -> None:
    class Local(Wires):
        @override
        def dialect(self, row: Row) -> Dialect | None:
            return DIALECTS["ollama"] if row.lane == "llm" else None

    told = (
        b'{"message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop","total_duration":5000000000,'
        b'"load_duration":30000000,"prompt_eval_count":120,"prompt_eval_duration":80000000,"eval_count":48,'
        b'"eval_duration":4000000000}\n'
    )
    cached: JSON = {
        "choices": [],
        "usage": {
            "prompt_tokens": 120,
            "completion_tokens": 48,
            "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 9},
            "completion_tokens_details": {"reasoning_tokens": 16},
        },
    }
    local, distant = Local(live=False), Wires(live=False)
    here = local.end(local.response(local.request(b"{}", 1.0, exchange="x"), 1.1, told), 1.2)
    asked = distant.request(request_body(MESSAGES), 1.0, exchange="x")
    there = distant.end(distant.response(asked, 1.1, b"data: " + to_json(cached) + b"\n\ndata: [DONE]\n\n"), 1.2)

    assert "0.03 s loading, 0.08 s reading, 4.00 s writing, 12.0 tokens a second" in all_of(
        made(parts_page(local, here, set()))
    )
    drawn = all_of(made(parts_page(distant, there, set())))
    assert "120 in, 64 of them cached, 9 of them written to the cache, 48 out, 16 of them thinking" in drawn
