"""The inspector in the real app, over a turn that was recorded: every key, every width."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.tui.app_running import SMALL, Running
from tui_host.tui.widgets.ladder.ladder_title import FilterInput, LadderHeader

pytestmark = pytest.mark.timeout(180)
QUESTION = "what is 6 × 5? use the tools"


@pytest.fixture
async def turn(shared_app: Running) -> AsyncIterator[Running]:
    """One turn of one call, decided by a key, for all tests; the focus in the list, which follows."""
    app = shared_app
    if (app.session.title, app.session.turn) != (QUESTION, 1):  # other tests have had the app meanwhile
        await app.renew()
        await app.send(QUESTION)
        await app.decide("y")
        await app.until_idle()
    app.inspector.ladder.filter("")
    app.inspector.ladder.focus()
    await app.until(lambda: app.focused is app.inspector.ladder)
    await app.press("G")
    await app.until(lambda: "following" in header(app) and selected(app) == ("llm", "response"))
    yield app
    await app.pilot.resize_terminal(*SMALL)
    for _ in range(2):
        if app.main.arrangement != "both":
            app.main.next_arrangement()


def selected(app: Running) -> tuple[str, str]:
    """Lane and kind of the selected row."""
    row = app.inspector.ladder.selected
    assert row is not None
    return row.lane, row.kind


def marks(app: Running) -> list[str]:
    """The first cells of the list's lines."""
    ladder = app.inspector.ladder
    return [ladder.render_line(y).text[:1] for y in range(ladder.view_height)]


def header(app: Running) -> str:
    return app.inspector.query_one(LadderHeader).text


async def until_at(app: Running, *wanted: str) -> None:
    await app.until(lambda: selected(app) == wanted)


async def test_keys_move_by_lines_and_along_a_call_from_lane_to_lane(turn: Running) -> None:
    app, ladder = turn, turn.inspector.ladder
    await app.press("l")
    await until_at(app, "mcp", "frame")
    assert "following" not in header(app)
    await app.press("up", "k")
    await until_at(app, "host", "decision")
    await app.press("down")
    await until_at(app, "mcp", "frame")
    await app.press("left")
    await until_at(app, "llm", "response")
    await app.until(lambda: marks(app).count("*") == 4)  # the decision, the call, its result, the request that tells it
    assert marks(app).count(">") == 1
    await app.press("g")
    await app.until(lambda: ladder.cursor == 1)
    await app.press("G")
    await app.until(lambda: "following" in header(app))


async def test_the_filter_counts_what_it_keeps_and_the_details_have_the_very_bytes(turn: Running) -> None:
    app, ladder = turn, turn.inspector.ladder
    rows = len(app.inspector_source.ladder.rows)
    await app.press("slash")
    await app.until(lambda: isinstance(app.focused, FilterInput))
    await app.type("method:tools/call dir:out")
    await app.until(lambda: f"1 of {rows}" in header(app))
    await app.press("enter")
    await app.until(lambda: app.focused is ladder)
    await until_at(app, "mcp", "frame")
    await app.press("enter", "2")
    await app.until_shown("[Raw]", '"method":"tools/call"')
    row = ladder.selected
    assert row is not None
    assert app.inspector.current_source()[1].encode() == app.inspector_source.body(row)
    await app.press("right")
    await app.until_shown("[Timing]", "waited:")
    await app.press("shift+tab", "escape")
    await app.until(lambda: f"of {rows}" not in header(app))


async def test_details_stand_one_above_the_other_and_the_inspector_alone_by_a_key(turn: Running) -> None:
    app = turn
    first, second = app.inspector.details
    await app.press("z")
    await app.until(lambda: app.inspector.region.width == SMALL[0] and second.region.x > first.region.x)
    await app.press("vertical_line")
    await app.until(lambda: second.region.y > first.region.y)
    await app.press("vertical_line", "z")
    await app.until(lambda: 0 < app.inspector.region.width < SMALL[0])


async def test_details_stand_side_by_side_from_forty_columns_each_and_take_turns_below(turn: Running) -> None:
    app, ladder = turn, turn.inspector.ladder
    first, second = app.inspector.details
    await app.press("z", "right")
    await until_at(app, "mcp", "frame")
    await app.pilot.resize_terminal(82, 30)
    await app.until(lambda: app.inspector.arrangement == "side" and second.region.width >= 40)
    assert first.region.width >= 40
    assert first.region.y == second.region.y
    await app.pilot.resize_terminal(80, 24)
    await app.until(lambda: app.inspector.arrangement == "one" and not second.region.area)
    assert ">" in marks(app)
    await app.until_shown("Frame", " result #")
    await app.press("vertical_line")
    await app.until(lambda: second.region.area and not first.region.area)
    await app.until_shown("Parts", " request")
    await app.press("vertical_line")
    # Where there is no room for list and detail, the detail lies over the list, and escape takes it away.
    await app.pilot.resize_terminal(30, 8)
    await app.until(lambda: ladder.region.area and not first.region.area)
    assert ">" in marks(app)
    await app.press("enter")
    await app.until(lambda: first.region.area and not ladder.region.area)
    assert app.focused is first.view
    await app.press("escape")
    await app.until(lambda: app.focused is ladder and ladder.region.area)


async def test_what_is_read_in_a_narrow_terminal_is_still_there_in_a_wide_one(turn: Running) -> None:
    app = turn
    assert app.main.arrangement == "both"
    for presses, arrangement in ((0, "both"), (1, "both")):  # of f2 while it is narrow
        await app.pilot.resize_terminal(80, 24)
        await app.until(lambda: app.main.arrangement != "both")
        await app.press(*["f2"] * presses)
        await app.pilot.resize_terminal(*SMALL)
        await app.until(lambda wanted=arrangement: app.main.arrangement == wanted)
    await app.press("f2")  # the inspector alone
    await app.pilot.resize_terminal(80, 24)
    await app.press("f2")
    await app.until(lambda: app.main.arrangement == "chat")
    await app.pilot.resize_terminal(*SMALL)
    await app.until(lambda: app.main.arrangement == "both")
