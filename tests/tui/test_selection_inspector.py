"""What is selected in the inspector's list and details comes as it is, whatever the lines are."""

from __future__ import annotations

from textual.app import App, ComposeResult
from typing_extensions import override

from tests.tui.inspecting import Inspecting, a_session
from tests.tui.inspector_wires import a_turn
from tests.tui.selecting import drag, marked, row_of, selected
from tests.tui.waiting import at_work, until
from tui_host.answers.sheet import SheetLine
from tui_host.tui.widgets.details.detail_view import PageLines
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import TreePage


class Reading(App[None]):
    """A detail."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.view = PageLines()
        self.page = page

    @override
    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.focus()
        self.call_after_refresh(self.view.show, self.page)
        self.set_interval(0.05, self.view.advance)  # what found no time at once, as the inspector does


JSON_TEXT = '{"name": "multiply","arguments":{"a":6,"text":"a long text that has no room on one line"},"n":1.50}'


async def test_from_a_detail_comes_the_text_as_it_is_whatever_the_lines_are() -> None:
    async with at_work(Reading(TextPage("request body", JSON_TEXT, form="json")), (40, 20)) as (app, pilot):
        view = app.view
        await until(pilot, lambda: "arguments" in "".join(view.render_line(y).text for y in range(8)))
        x, y = row_of(view, '"arguments"')
        end, last = row_of(view, '"n"')
        await drag(pilot, view, (x, y), (end + 7, last))
        part = JSON_TEXT[JSON_TEXT.index('"arg') : -2]
        assert view.current_source == ("part of request body", part)
        assert marked(view).startswith('"arguments": {|"a": 6,|"text": "a long')
        assert marked(view).endswith('|},|"n": 1.5')
        await pilot.resize_terminal(24, 20)
        await until(pilot, lambda: view.size.width <= 24)
        assert selected(view) == part
        await pilot.click(view, offset=row_of(view, "multiply"), times=2)
        assert selected(view) == "multiply"
        await pilot.click(view, offset=row_of(view, "long"), times=3)
        assert selected(view) == '"text":"a long text that has no room on one line"'
        await pilot.press("escape")
        assert view.current_source == ("request body", JSON_TEXT)


async def test_raw_bytes_are_selected_over_pictures_and_wide_characters() -> None:
    text = "event: x\ndata: 中文\x1b[2J and \u202emore\n\ndata: end"
    async with at_work(Reading(TextPage("body", text)), (40, 20)) as (app, pilot):
        view = app.view
        await until(pilot, lambda: "data" in "".join(view.render_line(y).text for y in range(8)))
        _, y = row_of(view, "data: 中文")
        await drag(pilot, view, (8, y), (14, y))
        assert (selected(view), marked(view)) == ("文\x1b[2J ", "文␛[2J ")
        await drag(pilot, view, (0, y), (39, y))
        assert selected(view) == "data: 中文\x1b[2J and \u202emore\n"
        for _ in range(3):
            await pilot.press("shift+left")
        assert selected(view) == "data: 中文\x1b[2J and \u202emo"


async def test_a_tree_is_selected_by_lines_and_what_is_open_comes_as_it_is() -> None:
    entries = [
        SheetLine(key="a", label="model", figures=("8",)),
        SheetLine(key="b", label="tools", text=lambda: '{"x":1,"y":[2]}', opened=True),
        SheetLine(key="c", label="end"),
    ]
    async with at_work(Reading(TreePage("parts", entries, flipped=set())), (40, 20)) as (app, pilot):
        view = app.view
        await until(pilot, lambda: "end" in "".join(view.render_line(y).text for y in range(12)))
        await pilot.press("shift+down", "shift+down")
        assert selected(view) == "model  8\ntools"
        assert marked(view).count("|") == 1
        await pilot.press("shift+end")
        assert view.current_source == ("part of parts", 'model  8\ntools\n{"x":1,"y":[2]}\nend')
        await drag(pilot, view, row_of(view, '"x"'), row_of(view, '"y"'))
        assert selected(view) == '"x":1,"y":['


async def test_rows_of_the_list_are_copied_as_lines_and_stay_selected() -> None:
    async with at_work(Inspecting(a_session()), (100, 34)) as (app, pilot):
        ladder = app.inspector.ladder
        await until(pilot, lambda: "following" in app.text)
        before = ladder.selected_number
        await drag(pilot, ladder, row_of(ladder, "#4 tools/call"), row_of(ladder, "#4 result"))
        what, text = ladder.current_source()
        assert (what, ladder.selected_number) == ("2 lines of the list", before)
        assert "#4 tools/call" in text.split("\n")[0]
        assert "#4 result" in text.split("\n")[1]
        a_turn(app.wires, 10.0)
        await until(pilot, lambda: "6 new below" in app.text)
        assert ladder.current_source()[1] == text
        await pilot.press("escape")
        assert ladder.current_source() == ("", "")
        await pilot.press("shift+up")
        assert len(ladder.current_source()[1].split("\n")) == 1, "the current row first"
        await pilot.press("shift+up")
        assert len(ladder.current_source()[1].split("\n")) == 2
