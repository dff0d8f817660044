"""The page Chain in the inspector: the key that shows it, and the key that goes to the row of a step."""

from __future__ import annotations

from tests.tui.details_drawn import drawn, row_of
from tests.tui.inspecting import Inspecting, a_session
from tests.tui.inspector_wires import Wires
from tui_host.answers.pages import ROW_PAGES
from tui_host.tui.widgets.details.detail_panel import ANSWERS, page_of


def test_the_tabs_of_rows_are_the_pages_that_are_made() -> None:
    assert set(ROW_PAGES) == ANSWERS


def test_a_row_of_a_call_shows_its_steps() -> None:
    wires = a_session()
    lines = drawn(page_of("Chain", wires, row_of(wires, "decision"), set()), width=160)

    assert lines[0].startswith("math.multiply  call s.1.1.1 = math #4, connection 1  2.3 s, of it 2.3 s until decided")
    happened = [line[2:].split()[1] for line in lines[2:] if line.strip()]
    assert happened == ["asked", "decided", "sent", "answered", "told", "said"]
    assert "nothing yet" in lines[-1]


def test_a_step_that_is_missing_says_why() -> None:
    wires = Wires()
    wires.decision(1.0, words="rejected, by you")
    lines = drawn(page_of("Chain", wires, wires.ladder.rows[0], set()), width=160)

    assert "not asked by the model here" in lines[2]
    assert "not sent yet" in lines[4]


async def test_c_shows_the_chain_and_o_goes_to_the_row_of_a_step() -> None:
    app = Inspecting(a_session())
    async with app.run_test(size=(140, 45)) as pilot:
        inspector = app.inspector
        detail = inspector.details[0]
        inspector.ladder.select(row_of(app.wires, "decision").number)
        await pilot.pause()
        before = detail.tab
        await pilot.press("c")
        assert detail.tab == "Chain"
        await pilot.press("c")
        assert detail.tab == before
        await pilot.press("c", "enter", "G", "k", "o")  # the last step is missing, and leads nowhere
        assert inspector.ladder.selected == row_of(app.wires, "request", 1)
