"""What the inspector's Parts tell of a turn through a tool protocol of plain text: what was put in, read out, and cut."""

from __future__ import annotations

import pytest

from tests.chat.bench import Bench, in_turn, says
from tests.chat.conftest import Make
from tests.llm.peer import peer
from tests.llm.protocols.answers import PLAIN, call, made_up
from tests.tui.inspector_wires import Wires
from tui_host.capture.ladder.row import Row
from tui_host.tui.widgets.ladder.row_words import describe
from tui_host.tui.widgets.pages.page_steps import made
from tui_host.tui.widgets.pages.parts_page import parts_page


def wires_of(at: Bench) -> Wires:
    wires = Wires(live=False)
    wires.records = list(at.records)
    wires.ladder.feed(wires.records)
    return wires


def drawn(wires: Wires, row: Row, *paths: str) -> str:
    """The page with these entries flipped."""
    page = made(parts_page(wires, row, set(paths)))
    page.fit(140)
    page.advance(10.0)
    return "\n".join("".join(text for text, _ in page.draw(number)) for number in range(len(page)))


def rows_of(wires: Wires, kind: str) -> list[Row]:
    return [row for row in wires.ladder.rows if row.kind == kind and row.lane == "llm"]


@pytest.mark.parametrize("name", PLAIN)
async def test_parts_tell_what_was_put_in_read_out_and_cut(bench: Make, name: str) -> None:
    async with peer(in_turn(says(f"{call(name)}\n{made_up(name)}"), says("It is 11."))) as there:
        at = bench(url=there.url, yes=True)
        at.session.protocol = name
        await at.ask("what is 6 + 5?")
    wires = wires_of(at)
    first, second = rows_of(wires, "request")
    messages = "/messages"

    whole = drawn(wires, second, *(f"{messages}/{place}" for place in _keys(wires, second)))
    assert "added by the tool protocol: " in whole
    assert "lists the tools" in whole
    assert "teaches the tool protocol" in whole
    assert "the result of math.add" in whole
    assert "the result of math.add" not in drawn(
        wires, first, *(f"{messages}/{place}" for place in _keys(wires, first))
    )

    answered = drawn(wires, rows_of(wires, "response")[0])
    assert 'became the call  math.add {"a": 6, "b": 5}' in answered
    assert "text after the call, left out  " in answered
    assert made(describe(wires, rows_of(wires, "response")[0])).startswith('asks math.add {"a": 6')
    assert {found for row in wires.ladder.rows for found in row.calls} == {"1.1.1"}, "what is of no call joins no rows"


def _keys(wires: Wires, row: Row) -> list[str]:
    dialect = wires.dialect(row)
    outline = dialect.outline(wires.body(row)) if dialect is not None else None
    return [] if outline is None else [part.key for top in outline.parts for part in top.children]
