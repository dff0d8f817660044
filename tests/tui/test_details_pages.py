"""Raw bytes, headers and frames as pages: whole, masked, within the width."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.details_drawn import drawn, frame, row_of
from tests.tui.inspector_wires import Wires, a_turn
from tui_host.answers.bodies import hex_text, is_text
from tui_host.answers.masks import masked
from tui_host.capture.record import Redaction, decoded_mark
from tui_host.capture.visible import visible
from tui_host.tui.widgets.details.wire_tabs import decision_page, frame_page, headers_page, raw_page, timing_page
from tui_host.tui.widgets.pages.detail_page import fitting
from tui_host.tui.widgets.pages.text_page import TextPage


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


def test_the_first_screen_of_ten_megabytes_is_there_at_once() -> None:
    text = json.dumps([{"text": "hello world"} for _ in range(400_000)])
    page = TextPage("body", text, form="json")
    page.fit(80)
    page.advance(0.0)
    assert 60 <= len(page) <= 200
    assert page.advance(0.01)
    assert page.advance(0.01)


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


# Bytes.


def test_bytes_that_are_no_text_are_shown_as_hex() -> None:
    assert not is_text(b"\x89PNG\x00")
    assert is_text("中文 ok".encode() * 3000)
    assert hex_text(b"\x89PNG\r\n").startswith("00000000  89 50 4e 47 0d 0a")
    wires = Wires()
    lines = drawn(raw_page(wires, frame(wires, b"\x00\x01")))
    assert lines[0] == "3 bytes · binary: offset, hex, ASCII"
    assert lines[-1].startswith("00000000  00 01 0a")


def test_a_compressed_body_is_decoded_and_says_so() -> None:
    wires = Wires()
    response = wires.response(wires.request(b"{}", 1.0, exchange="x"), 1.1, encoding="gzip")
    packed = gzip.compress(b'{"ok":true}')
    response = wires.chunk(response, packed, 1.2)
    lines = drawn(raw_page(wires, wires.end(response, 1.3)))
    assert lines[0] == f"{len(packed)} bytes · gzip, decoded below · 11 bytes decoded · UTF-8"
    assert lines[-1] == '{"ok":true}'


def test_what_was_taken_out_is_masked_with_its_name_and_length() -> None:
    redacted = (Redaction(where="data", name="KEY", length=51),)
    assert masked("a ⟨secret:KEY⟩ b ⟨secret:OTHER⟩", redacted) == "a ••• KEY (51) b ⟨secret:OTHER⟩"
    wires = Wires()
    row = wires.request("key ⟨secret:KEY⟩".encode(), 1.0, exchange="x", redacted=redacted)
    lines = drawn(raw_page(wires, row), 100)
    assert lines[-1] == "key ••• KEY (51)"
    assert any("a secret was removed" in line for line in lines)


def test_a_body_that_is_kept_decoded_for_a_secret_says_what_it_was() -> None:
    wires, redacted = Wires(), (decoded_mark("gzip", 40), Redaction(where="data", name="KEY", length=51))
    row = wires.request("key ⟨secret:KEY⟩".encode(), 1.0, exchange="x", redacted=redacted)
    lines = drawn(raw_page(wires, row), 100)
    assert "was gzip, saved decoded because a secret was removed" in lines
    assert lines[-1] == "key ••• KEY (51)"


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


def test_a_frame_that_is_no_json_is_shown_as_it_came() -> None:
    wires = Wires()
    lines = drawn(frame_page(wires, frame(wires, b"hello {")))
    assert lines == [
        "8 bytes · UTF-8",
        "malformed: not JSON: Expecting value at character 0",
        "not JSON: shown as received",
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
    assert "waited: 410 ms for the answer's first byte" in lines
    assert any(line.startswith("together: [") and line.endswith("600 ms") for line in lines)
