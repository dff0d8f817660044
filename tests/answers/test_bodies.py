"""Bodies for reading: long ones in pieces, and work in a thread."""

from __future__ import annotations

import pytest

from tests.tui.inspector_wires import Wires
from tui_host.answers.bodies import Body
from tui_host.answers.steps import Making, in_thread, made
from tui_host.tui.widgets.details.wire_tabs import frame_page
from tui_host.tui.widgets.pages.detail_page import Beginning

KEY = f"sk-proj-{'a1B2' * 12}"


def test_a_key_that_stands_between_two_pieces_is_masked() -> None:
    words = ("word " * 13_104)[:65_520]  # the first piece would end inside of the key
    data = f'{words} {KEY}" {words}'.encode()
    body = Body(wire=data, data=data)
    assert len(list(body.pieces())) == 2
    assert KEY[-8:] not in body.text
    assert body.text.replace("••• vendor-key (56)", KEY) == data.decode()


def test_hidden_characters_are_counted_in_all_pieces() -> None:
    data = ("x" * 65_536 + "\u200b").encode() * 2
    body = made(Body(wire=data, data=data).with_hidden())
    assert body.notes == ("contains 2 hidden characters, drawn as symbols",)


def test_a_long_body_shows_its_beginning_while_the_rest_is_read() -> None:
    wires = Wires()
    row = wires.frame(b"[" + b'"one",\n' * 40_000 + b'"end"]', 1.0, direction="in")
    making = Making(frame_page(wires, row))
    beginnings: list[str] = []
    while not making.advance(60.0):
        assert isinstance(making.progress, Beginning)
        beginnings.append(making.progress.page.source[1])
    assert making.result is not None
    text = making.result.source[1]
    assert [text.startswith(beginning) and len(beginning) < 70_000 for beginning in beginnings] == [True]


def test_what_fails_in_a_thread_fails_where_it_is_awaited() -> None:
    assert made(in_thread(lambda: 6 * 7, "computing")) == 42
    with pytest.raises(ValueError, match="invalid literal"):
        made(in_thread(lambda: int("six"), "computing"))
