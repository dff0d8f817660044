"""The details of a row: tabs, what stands in the events, and what a request is compared with; whole pages stand in `test_pages`."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.inspector_wires import (
    MESSAGES,
    Inspecting,
    Wires,
    a_session,
    asking,
    drawn,
    events_of,
    frame,
    request_body,
)
from tests.tui.waiting import at_work, until
from tui_host.answers.changes_page import changed_words, merged_text
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import visible
from tui_host.tui.widgets.details import tabs
from tui_host.tui.widgets.details.tabs import page_of
from tui_host.tui.widgets.inspector.words import FactsReader
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import Page


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
        for tab in ("Raw", "Frame", "Headers", "Events", *(("Parts",) if row.lane == "llm" else ())):
            assert all(cell_len(text) <= 40 for text in drawn(page_of(tab, wires, row, set()), 40))
        if row.lane == "llm":
            FactsReader().read(wires, row)


def test_pieces_of_one_text_are_one_line_that_opens_to_the_text_and_to_each_event() -> None:
    wires = Wires()
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    response = wires.response(request, 1.1, b"".join(events_of(*({"content": f"{n} "} for n in range(1100)))))
    page = page_of("Events", wires, wires.end(response, 2.0), set())
    lines = drawn(page)
    assert lines[3].split("  ")[:2] == ["▸ text ×1,000", "3,890 characters in 0 ms"]
    assert lines[4].startswith('▸ text ×100  500 characters in 0 ms  "1000 1001 ')
    assert "stop stop" in lines[5]
    assert page.opened(4)
    opened = drawn(page)
    assert opened[5].strip().startswith("▸ assembled: 500 bytes of text in ")
    assert opened[6].strip().startswith('▸ text "1000 "')
    assert page.opened(6)
    assert any('"content": "1000 "' in text for text in drawn(page))
    assert page.opened(5)
    assert drawn(page)[6].strip().startswith("1000 1001 1002")


async def test_all_tabs_have_their_names_and_a_page_is_shown_if_somebody_still_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()

    def slow(tab: str, source: Wires, row: Row, flipped: set[str], begin: Callable[[Page], None]) -> Page:
        if tab == "Headers":
            go_on.wait(60)
            return TextPage("", "too late", form="plain")
        return page_of(tab, source, row, flipped, begin)

    monkeypatch.setattr(tabs, "page_of", slow)
    async with at_work(Inspecting(a_session()), (81, 40)) as (app, pilot):
        await until(pilot, lambda: "[Parts]" in app.text and "LLM 2 request" in app.text)
        names = ("Parts Raw Headers Events Chain Changes", "Frame Raw Chain")
        for detail, tabs_of in zip(app.inspector.details, map(str.split, names), strict=True):
            at = next(number for number, text in enumerate(app.lines) if f"[{tabs_of[0]}]" in text)
            shown = "".join(text[detail.region.x : detail.region.right] for text in app.lines[at : at + 2])
            assert re.findall("[A-Za-z]+", shown)[: len(tabs_of)] == tabs_of
        await pilot.resize_terminal(140, 40)
        await until(pilot, lambda: "messages (" in app.text and app.inspector.is_settled)
        await pilot.press("3")
        await until(pilot, lambda: "reading …" in app.text)
        await pilot.press("2")
        await until(pilot, lambda: '"messages":[' in app.text)
        go_on.set()
        await until(pilot, lambda: app.inspector.is_settled)
        assert "too late" not in app.text
        await pilot.press("3")
        await until(pilot, lambda: "too late" in app.text)


async def test_b_sorts_a_tree_d_shows_the_changes_and_a_mark_says_since_when() -> None:
    wires = Wires()
    texts = ("a", "long question " * 9, "mid " * 9)
    for number in range(1, 4):
        wires.request(asking("s", *texts[:number]), number - 1, exchange=f"x{number}")
    wires.end(wires.response(wires.ladder.rows[2], 3.0, *events_of({"content": "x"})), 4.0)
    async with at_work(Inspecting(wires), (140, 40)) as (app, pilot):
        app.inspector.ladder.select(2)
        await until(pilot, lambda: "+1 message" in app.text)

        def order() -> str:
            places = sorted((app.text.find(f"user  from you  {text[:3]}"), text[0]) for text in texts)
            return "".join(letter for _, letter in places)

        await pilot.press("enter", "b")
        await until(pilot, lambda: "sorted by size" in app.text and order() == "lma")
        await pilot.press("b")
        await until(pilot, lambda: "sorted by size" not in app.text and order() == "alm")
        app.inspector.ladder.focus()
        await pilot.press("d")
        await until(pilot, lambda: "changes of LLM 3 since LLM 2, the request before" in app.text)
        await pilot.press("d")
        await until(pilot, lambda: "+1 message" in app.text)
        app.inspector.ladder.select(3)
        await until(pilot, lambda: "[Parts]" in app.text and "LLM 3 response" in app.text)
        await pilot.press("d")  # on an answer: of its request
        await until(pilot, lambda: "changes of LLM 3 since LLM 2" in app.text)
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


def test_a_request_is_compared_with_the_one_that_was_marked_last_in_another_session() -> None:
    first, second = Wires(), Wires()
    marked = first.request(asking("s", "a"), 0, exchange="x0")
    rows = [second.request(asking("s", *"bc"[:number]), number, exchange=f"x{number}") for number in range(2)]
    first.row_marks.toggle((marked.capture, marked.seq))
    second.elsewhere = first.marked_last()
    shown = "\n".join(drawn(page_of("Changes", second, rows[1], set())))
    assert f"changes of LLM 2 since LLM 1 of {first.row_marks.session}, which is marked" in shown
    second.row_marks.toggle((rows[0].capture, rows[0].seq))
    assert second.compared(rows[1]) == rows[0]


@given(st.text(alphabet=st.characters(codec="utf-8")), st.integers(8, 60))
def test_raw_lines_fit_the_width_and_lose_nothing(text: str, width: int) -> None:
    lines = drawn(TextPage("body", text), width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines) == visible(text, newlines=False)


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
