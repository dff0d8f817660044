"""Painting: what is sent to the terminal piece by piece is the screen as Textual would send it whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style
from textual import messages
from textual.app import App, ComposeResult
from textual.containers import Container, Horizontal
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Static, TextArea
from typing_extensions import override

from tests.tui.test_lines import Numbers, Picked
from tests.tui.waiting import at_work
from tui_host.tui import textual_private

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.pilot import Pilot

# pyright: reportPrivateUsage=false

SIZE = (60, 16)
Cell = tuple[str, Style | None]


class Panes(Screen[None]):
    """Two views side by side under a header; something lies over the first, and a prompt below."""

    DEFAULT_CSS = """
    Panes {
        layers: below above;
        & > Horizontal { height: 1fr; }
        & Numbers { width: 1fr; }
        & > #over { layer: above; display: none; width: 12; height: 5; offset: 4 3; background: $error; }
        & > #over.-shown { display: block; }
        & > TextArea { height: 3; border: none; dock: bottom; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        textual_private.paint_exactly(self)
        self.header = Static("header")
        self.left, self.right = Numbers(50), Picked(30)
        self.over = Container(Static("over"), id="over")
        self.prompt = TextArea()

    def on_update(self, event: messages.Update) -> None:
        if event.widget is self.focused:
            textual_private.paint_now(self, event.widget)

    @override
    def compose(self) -> ComposeResult:
        yield self.header
        yield Horizontal(self.left, self.right)
        yield self.over
        yield self.prompt


class Painted(App[None]):
    """Keeps what a terminal would show."""

    def __init__(self) -> None:
        super().__init__()
        self.panes = Panes()
        self.cells: dict[tuple[int, int], Cell] = {}
        self.updates: list[textual_private.ExactUpdate] = []

    @override
    def get_default_screen(self) -> Screen[None]:
        return self.panes

    @override
    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if isinstance(renderable, textual_private.ExactUpdate):
            self.updates.append(renderable)
            self.cells |= cells_of(renderable.placed)
        elif renderable is not None:
            self.cells = whole(self)
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType]


def cells_of(placed: Iterable[tuple[int, int, Strip]]) -> dict[tuple[int, int], Cell]:
    found: dict[tuple[int, int], Cell] = {}
    for x, y, strip in placed:
        column = x
        for text, style, _ in strip:
            for letter in text:
                for cell in range(cell_len(letter)):
                    found[column + cell, y] = letter if not cell else "", style
                column += cell_len(letter)
    return found


def whole(app: Painted) -> dict[tuple[int, int], Cell]:
    """The screen as Textual composes all of it."""
    return cells_of((0, y, strip) for y, strip in enumerate(app.panes._compositor.render_strips()))


async def settled(app: Painted, pilot: Pilot[None]) -> None:
    """Wait until nothing more is painted, and forget what was."""
    quiet = 0
    while quiet < 4:
        app.updates.clear()
        await pilot.pause()
        quiet = 0 if app.updates else quiet + 1


async def change(app: Painted, pilot: Pilot[None], step: int) -> None:
    panes = app.panes
    match step % 8:
        case 0:
            panes.left.count += 3
            panes.left.grew()
        case 1:
            panes.header.update(f"header {step}")
            panes.prompt.insert(f"{step} ")
        case 2:
            panes.over.toggle_class("-shown")
        case 3:
            panes.right.move_cursor(step)
            panes.left.changed(panes.left.top + 4, 3)
        case 4:
            panes.right.focus()
        case 5:
            panes.left.scroll_to(y=step, animate=False, force=True)
            panes.over.query_one(Static).update(f"over {step}")
        case 6:
            app.theme = ("nord", "textual-light", "textual-dark")[step % 3]
        case _:
            panes.prompt.focus()
    await pilot.pause()


async def test_painting_piece_by_piece_leaves_the_screen_as_painting_it_whole() -> None:
    async with at_work(Painted(), SIZE) as (app, pilot):
        for step in range(40):
            await change(app, pilot, step)
            assert app.cells == whole(app), f"after step {step}"
        assert len(app.updates) > 20


async def test_only_where_something_changed_is_painted_and_by_whoever_is_seen_there() -> None:
    async with at_work(Painted(), SIZE) as (app, pilot):
        app.panes.over.add_class("-shown")
        await settled(app, pilot)
        app.panes.left.changed(app.panes.left.top + 4)
        app.panes.header.refresh()
        await pilot.pause()
        placed = [placed for update in app.updates for placed in update.placed]
        assert sorted((y, x, strip.cell_length) for x, y, strip in placed) == [
            (0, 0, 60),
            (5, 0, 4),
            (5, 4, 12),
            (5, 16, 13),
            (5, 29, 1),
        ]


async def test_what_is_typed_is_painted_before_all_else() -> None:
    async with at_work(Painted(), SIZE) as (app, pilot):
        app.panes.prompt.focus()
        await settled(app, pilot)
        app.panes.left.count += 3
        app.panes.left.grew()
        app.panes.prompt.insert("typed")
        await pilot.pause()
        first, *others = app.updates
        assert "typed" in "".join(strip.text for _, _, strip in first.placed)
        assert all(y >= app.panes.prompt.region.y for _, y, _ in first.placed)
        assert others


async def test_a_text_area_that_was_removed_is_not_drawn_any_more() -> None:
    async with at_work(Painted(), SIZE) as (app, pilot):
        await settled(app, pilot)
        prompt = app.panes.prompt
        with app.batch_update():  # no layout comes between
            await prompt.remove()
            prompt.notify_style_update()  # as losing the focus does
            assert app.panes._compositor.render_strips()
            app.panes._compositor._dirty_regions.add(app.panes.region)
            update = app.panes._compositor.render_partial_update()
        assert update is not None
