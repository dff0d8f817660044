"""The inspector as a person uses it: rows as they come, keys, the filter, narrow screens, the chain of a call."""

import re

import pytest
from typing_extensions import override

from tests.tui.inspector_wires import Looking, Wires, a_session, a_turn, begun, events_of, marks, request_body, row_of
from tests.tui.waiting import at_work, until
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Span
from tui_host.capture.record import MISSING
from tui_host.errors import StoreError
from tui_host.llm.dialects.dialect import Dialect


async def test_it_follows_until_the_person_moves_and_then_counts_what_is_new() -> None:
    wires = a_session()
    async with at_work(Looking(wires), (100, 30)) as (app, pilot):
        await until(pilot, lambda: "follows new rows" in app.text)
        await pilot.press("up", "k")
        selected, top = app.inspector.ladder.selected, app.inspector.ladder.scroll_offset.y
        for number in range(50):
            wires.notice(number, 5.0)
        await until(pilot, lambda: "G goes to 50 new rows below" in app.text)
        assert (app.inspector.ladder.selected, app.inspector.ladder.scroll_offset.y) == (selected, top)
        await app.reach(pilot, "G", "follows new rows", "n 49")
        wires.stderr("the newest", 6.0)
        await until(pilot, lambda: "the newest" in app.text and marks(app).rstrip().endswith(">"))


async def test_a_row_appears_with_its_first_byte_and_what_happens_outside_the_turn_leaves_it_selected() -> None:
    wires = Wires()
    begun(wires)
    async with at_work(Looking(wires), (100, 30)) as (app, pilot):
        ladder = app.inspector.ladder
        await until(pilot, lambda: "▸ connections · 2 rows" in app.text and "Signs of the list" in app.text)
        assert "Signs of the list" in app.lines[app.inspector.details[0].region.y]  # without a row there are no tabs
        request = wires.request(request_body(), 1.0, exchange="x1")
        await until(pilot, lambda: ladder.selected == request and "POST chat/completions" in app.text)
        wires.frame(b'{"jsonrpc":"2.0","id":9,"method":"tools/list"}', 1.1, direction="out", turn=0)
        wires.stderr("listing", 1.2)
        wires.frame(b'{"jsonrpc":"2.0","id":9,"result":{"tools":[]}}', 1.3, direction="in", turn=0)
        await until(pilot, lambda: "#9 result" in app.text and "listing" in app.text and "follows new rows" in app.text)
        assert ladder.selected == request
        headings = [line.split()[1] for line in app.lines if line[1] in "▸▾" and "──" in line]
        assert headings == ["session", "connections", "turn"]
        assert app.text.index("POST chat/completions") < app.text.index("listing") < app.text.index("#9 result")
        response = wires.response(request, 1.4)
        await until(pilot, lambda: "200 …" in app.text)
        for number, event in enumerate(events_of({"content": "Hel"}, {"content": "lo"})):
            wires.chunk(response, event, 1.5 + number / 10)
        await until(pilot, lambda: '4 events · "Hello" …' in app.text and "answer  Hello" in app.text)
        wires.end(response, 2.0)
        wires.notice(1, 2.1)
        await until(pilot, lambda: '4 events · "Hello" · 1.0 s' in app.text and "info: n 1" in app.text)
        assert ladder.selected_number == response.number


async def test_a_heading_has_pages_of_its_own_and_enter_opens_the_rows_below_it() -> None:
    async with at_work(Looking(a_session()), (100, 30)) as (app, pilot):
        await until(pilot, lambda: "▸ connections · 2 rows" in app.text and "follows new rows" in app.text)
        assert "#1 initialize" not in app.text
        await app.reach(pilot, "g", "to look at in the session")
        app.inspector.details[0].view.focus()
        await app.reach(pilot, "right_square_bracket", lambda: app.lines[0].startswith(" 0 LLM ────┬── 2 MCP "))
        assert app.inspector.details[0].has_focus_within  # headings are paged through in the details too
        app.inspector.ladder.focus()
        await app.reach(pilot, "m", lambda: app.said == ["Marks and notes belong to rows: go to one below."])
        await app.reach(pilot, "enter", "▾ connections", "#1 initialize")
        await pilot.press("enter", "down")
        assert "#1 initialize" not in app.text
        await pilot.press("slash", *"initialize", "enter")  # what matches is shown wherever it stands
        await until(pilot, lambda: "▾ connections" in app.text and "2 of 8" in app.text)
        await app.reach(pilot, "escape", "▸ connections")


async def test_a_filter_is_completed_says_what_is_wrong_and_how_many_rows_it_keeps_and_escape_takes_it_away() -> None:
    wires = a_session()
    async with at_work(Looking(wires), (120, 40)) as (app, pilot):
        ladder, view = app.inspector.ladder, app.inspector.details[0].view
        await until(pilot, lambda: "[Parts]" in app.text)
        await app.reach(pilot, "slash", "tab: server:  tool:")
        await app.reach(pilot, "t o o tab", "tab: math.multiply")
        await app.reach(pilot, "tab", lambda: "/ tool:math.multiply · 5 of 8" in app.lines[0])
        lines = ladder.line_count()
        await pilot.press("space", *"size>")
        await until(pilot, lambda: "size> needs a number such as 10k" in app.text and ladder.line_count() == lines)
        await pilot.press("backspace", *">1", "k")
        await until(pilot, lambda: "needs a number" not in app.text and "No row matches the filter." in app.text)
        await pilot.press(*["backspace"] * 8, "enter")
        await until(pilot, lambda: ladder.size.height == lines and "tab:" not in app.text)  # the details have the room
        wires.decision(9.0)
        await until(pilot, lambda: "6 of 9" in app.lines[0] and ladder.has_focus)
        await pilot.press("slash", *"approved", "escape")  # typing replaces the filter
        await until(pilot, lambda: "of 9" not in app.lines[0] and ladder.has_focus)
        await pilot.press("slash", "enter", "enter")  # which comes back
        await until(pilot, lambda: "2 of 9 · esc clears" in app.lines[0] and not ladder.has_focus)
        await app.reach(pilot, "escape", lambda: "of 9" not in app.lines[0])  # in a detail
        await pilot.press("escape", "question_mark")
        assert app.escapes == 1
        await until(pilot, lambda: "Signs of the list" in app.text and "request to the model" in app.text)
        ladder.focus()
        await pilot.press("escape", "slash", *'"multiply"', "enter", "g")
        await until(pilot, lambda: "Signs of the list" not in app.text and "of 9" in app.lines[0])
        places: list[tuple[int | None, str]] = []
        for key in "nnnnN":  # from match to match, row by row
            await until(pilot, lambda: app.inspector.is_settled)
            await pilot.press(key)
            await until(pilot, lambda: re.match(r"\d+ of \d+: multiply", view.search_words) is not None)
            places.append((ladder.selected_number, view.search_words))
        assert len(set(places)) == 4
        assert len({number for number, _ in places}) > 1
        assert places[2] == places[4]


async def test_what_was_not_captured_is_not_counted_and_not_what_one_sees_first() -> None:
    wires = Wires(live=False)
    request = wires.request(request_body(), 1.0, exchange="x")
    wires.end(request, 1.0, reason=MISSING)
    async with at_work(Looking(wires), (100, 30)) as (app, pilot):
        await until(pilot, lambda: "answer · not in the file" in app.text and app.lines[0].startswith(">1 LLM "))
        assert app.inspector.ladder.selected_number == request.number
        await pilot.press("j")
        assert app.inspector.ladder.selected_number == request.number + 1  # but it can be read


async def test_keys_and_mouse_move_between_rows_lanes_tabs_and_arrangements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with at_work(Looking(a_session()), (82, 34)) as (app, pilot):
        ladder, (selected, relative) = app.inspector.ladder, app.inspector.details
        await until(pilot, lambda: relative.region.x > selected.region.x and relative.region.width >= 40)
        await pilot.press("n")
        assert app.said == ["Nothing here needs a look."]
        for key, kind in {"l": "frame", "k": "frame", "left": "response", "right": "frame"}.items():
            await pilot.press(key)
            assert ladder.selected is not None
            assert ladder.selected.kind == kind
        await until(pilot, lambda: marks(app).count("*") == 4)  # the answer, the decision, the result, the next request
        assert marks(app).count(">") == 1
        await pilot.press("d")
        assert app.said[1:] == ["Changes belong to requests to the model and their answers."]
        await app.reach(pilot, "G", "▸ tools (1)", "[Frame]")
        await pilot.click(relative.children[0], offset=(10, 0))
        await until(pilot, lambda: "[Raw]" in app.text and relative.has_focus_within)
        await pilot.click(ladder, offset=(30, 3))
        assert ladder.selected_number == 2
        await pilot.press("G", "enter")
        assert selected.has_focus_within
        for step in ["l:Raw", "4:Events", "h:Headers", "1:Parts", "left:Bill", "3:Headers"]:
            key, _, tab = step.partition(":")
            await pilot.press(key)
            assert selected.tab == tab
        await until(pilot, lambda: "[Headers]" in app.text and "(51)" in app.text)
        await app.reach(pilot, "vertical_line", lambda: relative.region.y > selected.region.y)
        app.wires.end(app.wires.response(app.wires.ladder.rows[-1], 4.0, b"data: {"), 4.2, "cut by peer")
        ladder.focus()
        await until(pilot, lambda: "1 to look at (n)" in app.lines[0])
        await pilot.press("n")  # the line above the details says why
        await until(pilot, lambda: "✗ cut" in app.text and "LLM 2: the answer was cut off before its end" in app.text)


async def test_a_tab_that_cannot_be_made_says_why_and_the_app_goes_on() -> None:
    class Broken(Wires):
        @override
        def dialect(self, row: Row) -> Dialect | None:
            raise StoreError("the database cannot be read", "tui-host.db")

    wires = Broken()
    a_turn(wires)
    async with at_work(Looking(wires), (100, 30)) as (app, pilot):
        await until(pilot, lambda: "This cannot be shown as Parts" in app.text)
        await app.reach(pilot, "enter 3", "[Headers]", "content-type")
        assert any(line.startswith("> Parts") for line in app.lines)


async def test_c_shows_the_chain_of_the_row_s_call_and_o_goes_to_the_row_of_a_step() -> None:
    wires = a_session()
    response = row_of(wires, "response")
    wires.link("asked", Span(exchange=response.exchange, start=0, end=9), 4.0, call="1.1.2", tool="add")
    wires.decision(4.1, call="1.1.2", tool="add")
    async with at_work(Looking(wires), (140, 45)) as (app, pilot):
        ladder, (detail, relative) = app.inspector.ladder, app.inspector.details
        ladder.select(row_of(wires, "decision").number)
        await pilot.pause()
        before = detail.tab
        await pilot.press("9", "c")  # there is no ninth tab
        assert (detail.tab, detail.display, relative.display) == ("Chain", True, False)  # it has the whole width
        await pilot.press("vertical_line")
        assert (detail.display, relative.display) == (False, True)
        await pilot.press("vertical_line", "c")
        assert (detail.tab, detail.display, relative.display) == (before, True, True)
        await pilot.press("c")
        ladder.select(row_of(wires, "decision", 1).number)
        await app.reach(pilot, "c", "add")  # of the row that is chosen now
        assert detail.tab == "Chain"
        ladder.select(row_of(wires, "decision").number)
        await pilot.press("c")
        assert detail.tab == "Chain"
        await pilot.press("c")
        assert detail.tab == before
        await pilot.press("c", "enter", "G", "k", "o")  # the last step is missing, and leads nowhere
        assert ladder.selected == row_of(wires, "request", 1)
        assert app.inspector.show_page("1.1.2", "Chain")  # a step's second call has a chain of its own
        assert (ladder.selected, detail.tab) == (row_of(wires, "decision", 1), "Chain")
