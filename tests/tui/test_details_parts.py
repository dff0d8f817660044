"""Requests and responses taken apart: what each part says, who brought it, what it takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.details_drawn import drawn, frame
from tests.tui.inspector_wires import CALL, MESSAGES, Wires, request_body, to_json
from tui_host.answers.sheet import SheetLine
from tui_host.answers.steps import Steps, made
from tui_host.tui.widgets.details.events_tab import events_page
from tui_host.tui.widgets.details.wire_tabs import frame_page, headers_page, raw_page, timing_page
from tui_host.tui.widgets.ladder.row_words import describe
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.parts_page import parts_page
from tui_host.tui.widgets.pages.tree_page import TreePage


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
        SheetLine(key="a", label="x" * 200, figures=("1,902", "~540")),
        SheetLine(key="b", label="short", figures=("8", "~2"), mark="+2", note="from you"),
    ]
    lines = drawn(TreePage("parts", entries, flipped=set()), 40)
    assert [cell_len(line) for line in lines] == [40, 40]
    assert lines[0].endswith("… 1,902 ~540   ")
    assert lines[1].endswith("     8   ~2 +2")
    assert "from you" in lines[1]


def test_a_label_that_nothing_else_shows_wraps_between_words() -> None:
    figures = "tokens, as reported: 722 in, 8 of them cached, 48 out, 16 of them thinking"
    page = TreePage("parts", [SheetLine(key="a", label=figures), SheetLine(key="b", label="stop: end")], flipped=set())
    lines = drawn(page, 40)
    assert [line.strip() for line in lines] == [
        "tokens, as reported: 722 in, 8 of",
        "them cached, 48 out, 16 of them",
        "thinking",
        "stop: end",
    ]
    assert (page.place_of(2), page.place_of(3), page.line_at(1)) == (0, 1, 3)
    assert page.entry_of(1) == (figures, figures)


def test_a_closed_option_is_shown_whole() -> None:
    value = '{"include_usage":true}'
    option = SheetLine(
        key="a", label=f"stream_options  {value}", figures=("22", "~6"), text=lambda: value, is_wrapped=True
    )
    page = TreePage("parts", [option, SheetLine(key="b", label="messages", figures=("3,059", "~765"))], flipped=set())
    lines = drawn(page, 40)
    assert [line.split() for line in lines] == [
        ["▸", "stream_options", "22", "~6"],
        [value],
        ["messages", "3,059", "~765"],
    ]
    assert all(cell_len(line) <= 40 for line in lines)
    assert page.toggle(0) == 0
    assert drawn(page, 40)[1].strip() == "{"


def test_a_label_without_room_leaves_the_mark_whole_and_an_open_line_of_a_sheet_keeps_its_words() -> None:
    words = "the profile's words, and then some more of them"
    part = SheetLine(key="a", label=words, figures=("22",), mark="added", text=lambda: "text")
    assert [cell_len(line) for line in drawn(TreePage("parts", [part], flipped=set()), 40)] == [40]
    page = TreePage("chain", [SheetLine(key="a", label=words, text=lambda: "text", is_wrapped=True)], flipped={"/a"})
    assert [line.strip() for line in drawn(page, 40)] == [
        "▾ the profile's words, and then some",
        "more of them",
        "text",
    ]
    assert page.toggle(1) == 0
    assert [line.strip() for line in drawn(page, 40)] == ["▸ the profile's words, and then some", "more of them"]


def test_an_open_text_is_broken_between_words() -> None:
    text = "*demo model: I follow rules, I am no AI*\nand so on"
    entry = SheetLine(key="a", label="answer", figures=("84",), text=lambda: text, opened=True)
    lines = [line.strip() for line in drawn(TreePage("parts", [entry], flipped=set()), 40)]
    assert lines[1:] == ["*demo model: I follow rules, I am no", "AI*", "and so on"]


def test_a_part_knows_its_path_and_its_bytes_in_the_body() -> None:
    wires = Wires()
    row = wires.request(request_body([*MESSAGES, {"role": "assistant", "tool_calls": [CALL]}]), 1.0, exchange="x")
    page = made(parts_page(wires, row, {"/messages/messages/2"}))
    drawn(page, 60)
    assert [page.path(number) for number in range(4, len(page) - 1)] == [
        "messages",
        "messages[0]",
        "messages[1]",
        "messages[2]",
        "messages[2].tool_calls[0]",
    ]
    assert page.show_bytes(8) == 8
    assert "".join(line.strip() for line in drawn(page, 60)[9:-1]) == to_json(CALL).decode()
