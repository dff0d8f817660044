"""Requests and answers in the details: parts, bytes, events and changes, each as far as lines go; whole pages stand in `test_pages`."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.inspector_wires import (
    CALL,
    MESSAGES,
    Inspecting,
    Wires,
    a_session,
    a_turn,
    asking,
    drawn,
    events_of,
    frame,
    request_body,
    row_of,
    to_json,
)
from tests.tui.waiting import at_work, until
from tui_host.answers.changed_words import changed_words, merged_text
from tui_host.answers.sheet import SheetLine
from tui_host.answers.steps import made
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import visible
from tui_host.tui.widgets.details.tabs import page_of
from tui_host.tui.widgets.inspector.words import FactsReader
from tui_host.tui.widgets.pages.parts_page import parts_page
from tui_host.tui.widgets.pages.text_page import TextPage
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
        for tab in ("Raw", "Frame", "Headers", "Timing", "Events", *(("Parts",) if row.lane == "llm" else ())):
            assert all(cell_len(line) <= 40 for line in drawn(page_of(tab, wires, row, set()), 40))
        if row.lane == "llm":
            FactsReader(wires).read(row)


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
    assert (page.key(2), page.key(3), page.line_of(1)) == (0, 1, 3)
    item = page.item(1)
    assert item is not None
    assert (item.copy(), item.lines) == ((figures, figures), range(3))


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
    assert page.opened(0) == 0
    assert drawn(page, 40)[1].strip() == "{"


def test_a_part_knows_its_path_and_its_bytes_in_the_body() -> None:
    wires = Wires()
    row = wires.request(request_body([*MESSAGES, {"role": "assistant", "tool_calls": [CALL]}]), 1.0, exchange="x")
    page = made(parts_page(wires, row, {"/messages/messages/2"}))
    drawn(page, 60)
    items = [page.item(number) for number in range(len(page))]
    assert [item.path for item in items[4:-1] if item is not None] == [
        "messages",
        "messages[0]",
        "messages[1]",
        "messages[2]",
        "messages[2].tool_calls[0]",
    ]
    assert items[8] is not None
    assert items[8].data is not None
    assert items[8].data() == to_json(CALL)


@given(st.text(alphabet=st.characters(codec="utf-8")), st.integers(8, 60))
def test_raw_lines_fit_the_width_and_lose_nothing(text: str, width: int) -> None:
    lines = drawn(TextPage("body", text), width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines) == visible(text, newlines=False)


def test_what_is_read_wraps_between_words_and_what_is_counted_does_not() -> None:
    text = "the quota of this key is used up: 中文中文 wait until tomorrow"
    for form in ("plain", "headers"):
        lines = drawn(TextPage("refusal", text, form=form), 20)
        assert [line.strip() for line in lines][:2] == ["the quota of this", "key is used up:"]
    assert drawn(TextPage("body", text), 20)[0] == "the quota of this ke"
    lines = drawn(TextPage("frame", json.dumps({"message": text}), form="json"), 24)
    assert [line.strip() for line in lines][1:3] == ['"message": "the quota', "of this key is used"]
    assert drawn(TextPage("refusal", "x" * 30, form="plain"), 20) == ["x" * 20, "x" * 10]


def test_what_is_copied_of_headers_has_no_credential_and_no_mark_of_one() -> None:
    wires = Wires()
    a_turn(wires)
    assert "Bearer ••• authorization (51)" in page_of("Headers", wires, row_of(wires, "request"), set()).source[1]


def a_long_answer(wires: Wires) -> Row:
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    response = wires.response(request, 1.1, b"".join(events_of(*({"content": f"{n} "} for n in range(1100)))))
    return wires.end(response, 2.0)


def test_pieces_of_one_text_are_one_line_that_opens_to_the_text_and_to_each_event() -> None:
    wires = Wires()
    page = page_of("Events", wires, a_long_answer(wires), set())
    lines = drawn(page)
    assert lines[2].split("  ")[:2] == ["▸ text ×1,000", "3,890 characters in 0 ms"]
    assert lines[3].startswith('▸ text ×100  500 characters in 0 ms  "1000 1001 ')
    assert "stop stop" in lines[4]
    assert page.opened(3)
    opened = drawn(page)
    assert opened[4].strip().startswith("▸ assembled: 500 bytes of text in ")
    assert opened[5].strip().startswith('▸ text "1000 "')
    assert page.opened(5)
    assert any('"content": "1000 "' in line for line in drawn(page))
    assert page.opened(4)
    assert drawn(page)[5].strip().startswith("1000 1001 1002")


@given(st.text(max_size=40), st.text(max_size=40))
def test_changed_words_lead_from_one_text_to_the_other(old: str, new: str) -> None:
    changes = changed_words(old, new)
    assert bool(changes) == (old != new)
    for change in reversed(changes):
        assert new[change.start :].startswith(change.come)
        new = new[: change.start] + change.gone + new[change.start + len(change.come) :]
    assert new == old


def test_words_are_marked_as_wholes() -> None:
    for old, new, merged in (
        ("the weather is good", "the weather is fine today", "the weather is [-good-]{+fine today+}"),
        ("北京天气好", "北京天气很好", "北京天气{+很+}好"),
        ("x = 12", "x = 13", "x = [-12-]{+13+}"),
    ):
        assert merged_text(new, changed_words(old, new)) == merged


async def test_d_shows_the_changes_and_again_everything() -> None:
    async with at_work(Inspecting(a_session()), (140, 40)) as (app, pilot):
        selected, _ = app.inspector.details
        await until(pilot, lambda: selected.tab == "Parts")
        await pilot.press("d")
        await until(pilot, lambda: "changes of LLM 2 since LLM 1" in app.text)
        await pilot.press("d")
        await until(pilot, lambda: "+2 messages, tools unchanged" in app.text)
        row = row_of(app.wires, "response")
        app.inspector.ladder.select(row.number)
        await until(pilot, lambda: selected.row == row)
        await pilot.press("d")  # on an answer: of its request
        await until(pilot, lambda: "changes of LLM 1" in app.text)


async def test_b_sorts_a_tree_by_size_and_puts_it_in_order_again() -> None:
    wires = Wires()
    wires.request(asking("s", "a", "a long question " * 9, "mid " * 9), 1.0, exchange="x")
    async with at_work(Inspecting(wires), (100, 40)) as (app, pilot):
        await until(pilot, lambda: "messages (4)" in app.text)

        def order() -> str:
            places = ((app.text.find(f"user  {word}"), word[0]) for word in ("a  ", "a long", "mid"))
            return "".join(str(number) for _, number in sorted(zip(places, range(3), strict=True)))

        await pilot.press("enter", "b")
        await until(pilot, lambda: "sorted by size" in app.text and order() == "120")
        await pilot.press("b")
        await until(pilot, lambda: "sorted by size" not in app.text and order() == "012")


def test_a_request_is_compared_with_the_one_that_was_marked_last_in_another_session() -> None:
    first, second = Wires(), Wires()
    marked = first.request(asking("s", "a"), 0, exchange="x0")
    rows = [second.request(asking("s", *"bc"[:number]), number, exchange=f"x{number}") for number in range(2)]
    second.elsewhere = first.marked_last()
    assert second.compared(rows[1]) == rows[0]
    first.row_marks.toggle((marked.capture, marked.seq))
    second.elsewhere = first.marked_last()
    shown = "\n".join(drawn(page_of("Changes", second, rows[1], set())))
    assert f"changes of LLM 2 since LLM 1 of {first.row_marks.session}, which is marked" in shown
    assert '"a" -> "b"' in shown
    second.row_marks.toggle((rows[0].capture, rows[0].seq))
    assert second.compared(rows[1]) == rows[0]


async def test_m_marks_rows_and_requests_are_compared_with_the_one_marked_last() -> None:
    wires = Wires()
    for number in range(3):
        wires.request(asking("s", *"abc"[:number]), number, exchange=f"x{number}")
    async with at_work(Inspecting(wires), (140, 40)) as (app, pilot):
        await until(pilot, lambda: app.inspector.ladder.selected is not None)
        await pilot.press("d")
        await until(pilot, lambda: "changes of LLM 3 since LLM 2, the request before" in app.text)
        app.inspector.ladder.select(0)
        await pilot.press("m")
        await until(pilot, lambda: " m0.00 " in app.text or ">m0.00 " in app.text)
        app.inspector.ladder.select(2)
        await until(pilot, lambda: "changes of LLM 3 since LLM 1, which is marked" in app.text)
        await pilot.press("d")
        await until(pilot, lambda: "since LLM 1, which is marked: +2 messages" in app.text)
        wires.row_marks.write((wires.ladder.rows[0].capture, wires.ladder.rows[0].seq), "look: [b]here")
        app.inspector.ladder.filter("marked look")
        await until(pilot, lambda: "look: [b]here" in app.text and "M0.00" in app.text and "M2.00" not in app.text)
        app.inspector.ladder.select(0)
        await pilot.press("m")
        await until(pilot, lambda: "look: [b]here" not in app.text)
