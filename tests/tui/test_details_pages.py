"""Raw bytes, headers and frames as pages: whole, masked, within the width."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.details_drawn import drawn, frame, row_of
from tests.tui.inspector_wires import Wires, a_turn
from tui_host.answers.bodies import hex_text, is_text
from tui_host.capture.visible import visible
from tui_host.tui.widgets.details.wire_tabs import headers_page, raw_page
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


def test_what_is_copied_of_headers_has_no_credential_and_no_mark_of_one() -> None:
    wires = Wires()
    a_turn(wires)
    assert "Bearer ••• authorization (51)" in headers_page(wires, row_of(wires, "request")).source[1]
