"""The line view: what it draws, what it draws again, where it stands."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from tests.tui.waiting import at_work, until
from tui_host.tui.widgets.lines.line_view import LineView


class Numbers(LineView):
    FOLLOWS = True

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.drawn: list[int] = []

    @override
    def line_count(self) -> int:
        return self.count

    @override
    def draw(self, number: int) -> Strip:
        self.drawn.append(number)
        return Strip([Segment(f"line {number} 中文", Style(bold=True)), Segment(" plain")])


class Still(Numbers):
    FOLLOWS = False


class Picked(Numbers):
    has_cursor = True


class Lines(App[None]):
    def __init__(self, view: Numbers) -> None:
        super().__init__()
        self.view = view
        self.heard: list[str] = []

    @override
    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.grew()

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        self.heard.append(f"at {message.line}")

    def on_line_view_opened(self, message: LineView.Opened) -> None:
        self.heard.append(f"open {message.line}")


async def test_only_what_is_on_the_screen_is_drawn_and_only_once() -> None:
    async with at_work(Lines(Numbers(100_000)), (40, 10)) as (app, pilot):
        assert set(app.view.drawn) <= {*range(10), *range(99_990, 100_000)}
        app.view.drawn.clear()
        app.view.refresh()
        await pilot.pause()
        assert app.view.drawn == []


async def test_a_reader_at_the_end_goes_with_it_and_one_elsewhere_stays() -> None:
    async with at_work(Lines(Numbers(50)), (40, 10)) as (app, pilot):
        assert app.view.top == 40
        app.view.count = 60
        app.view.grew()
        await pilot.pause()
        assert app.view.top == 50
        app.view.focus()
        await pilot.press("k", "k")
        assert (app.view.top, app.view.at_tail) == (48, False)
        app.view.count = 80
        app.view.grew()
        await pilot.pause()
        assert app.view.top == 48
        await pilot.press("G")
        assert (app.view.top, app.view.at_tail) == (70, True)
        await pilot.press("pageup")
        assert app.view.top == 61
        await pilot.press("g")
        assert app.view.top == 0


async def test_a_line_that_changed_is_drawn_again_and_no_other() -> None:
    async with at_work(Lines(Numbers(50)), (40, 10)) as (app, pilot):
        app.view.drawn.clear()
        app.view.changed(45)
        app.view.changed(3)
        await pilot.pause()
        assert app.view.drawn == [45]


async def test_resizing_keeps_the_end_and_draws_for_the_new_width() -> None:
    async with at_work(Lines(Numbers(50)), (40, 10)) as (app, pilot):
        await pilot.resize_terminal(30, 5)
        await until(pilot, lambda: app.view.top == 45)
        assert app.view.render_line(0).cell_length == 29
        await pilot.resize_terminal(1, 1)
        await until(pilot, lambda: app.view.size.height <= 1)
        await pilot.resize_terminal(40, 20)
        await until(pilot, lambda: app.view.top == 30)


async def test_a_cursor_moves_by_keys_and_clicks_and_opens() -> None:
    async with at_work(Lines(Picked(50)), (40, 10)) as (app, pilot):
        app.view.focus()
        await pilot.press("G", "k", "k", "enter")
        await pilot.click(app.view, offset=(3, 2))
        await pilot.click(app.view, offset=(3, 2))
        await pilot.press("g")
        assert app.heard == ["at 49", "at 48", "at 47", "open 47", "at 42", "open 42", "at 0"]
        assert app.view.top == 0
        assert app.view.render_line(0).cell_length == app.view.view_width


async def test_growth_lays_nothing_out_and_paints_only_what_is_new() -> None:
    async with at_work(Lines(Still(50)), (40, 10)) as (app, pilot):
        laid_out: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app.view, laid_out.append)  # pyright: ignore[reportUnknownMemberType] - Textual leaves the screen's type open
        app.view.drawn.clear()
        app.view.count = 60
        app.view.grew()
        await pilot.pause()
        assert (laid_out, app.view.drawn, app.view.max_scroll_y) == ([], [], 50)
        app.view.action_last()
        await pilot.pause()
        assert (app.view.top, set(app.view.drawn)) == (50, set(range(50, 60)))
        bar = app.view.vertical_scrollbar
        assert (bar.window_virtual_size, bar.position, laid_out) == (60, 50.0, [])
        app.view.count = 20
        app.view.grew()
        await pilot.pause()
        assert (app.view.top, app.view.max_scroll_y, laid_out) == (10, 10, [])


async def test_what_is_painted_is_what_textual_would_paint() -> None:
    async with at_work(Lines(Picked(50)), (40, 10)) as (app, pilot):
        app.view.focus()
        await pilot.press("G", "k")
        for theme in ("textual-light", "ansi-dark"):
            app.theme = theme
            await pilot.pause()
            ours = app.view.render_lines(app.view.size.region)
            assert ours == Widget.render_lines(app.view, app.view.size.region)
            some = Region(3, 2, 20, 4)
            assert [strip.text for strip in app.view.render_lines(some)] == [
                strip.crop(3, 23).text for strip in ours[2:6]
            ]
