"""The page of changes: what differs between two requests, where their common beginning ends, and why."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.details_drawn import drawn, row_of
from tests.tui.inspecting import Inspecting, a_session
from tests.tui.inspector_wires import TOOL, Wires, to_json
from tests.tui.waiting import at_work, until
from tui_host.answers.changed_words import changed_words, merged_text
from tui_host.errors import JSON
from tui_host.tui.widgets.details.detail_panel import page_of


def user(text: str) -> JSON:
    return {"role": "user", "content": text}


def page(*bodies: bytes) -> str:
    """The page of the last of some requests."""
    wires = Wires()
    rows = [wires.request(body, number, exchange=f"x{number}") for number, body in enumerate(bodies)]
    return "\n".join(drawn(page_of("Changes", wires, rows[-1], set()), 140))


def asking(system: str, *texts: str, tools: Sequence[JSON] = (TOOL,)) -> bytes:
    messages: list[JSON] = [{"role": "system", "content": system}, *map(user, texts)]
    return to_json({"model": "m", "tools": list(tools), "messages": messages})


@settings(max_examples=40)
@given(st.text(max_size=40), st.text(max_size=40))
def test_changed_words_lead_from_one_text_to_the_other(old: str, new: str) -> None:
    changes = changed_words(old, new)
    assert bool(changes) == (old != new)
    for change in reversed(changes):
        assert new[change.start :].startswith(change.come)
        new = new[: change.start] + change.gone + new[change.start + len(change.come) :]
    assert new == old


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        ("the weather is good", "the weather is fine today", "the weather is [-good-]{+fine today+}"),
        ("北京天气好", "北京天气很好", "北京天气{+很+}好"),
        ("x = 12", "x = 13", "x = [-12-]{+13+}"),
    ],
)
def test_words_are_marked_as_wholes(old: str, new: str, merged: str) -> None:
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
