"""Lines on the screen: that painting piece by piece is painting it whole."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual import messages
from textual.app import App, ComposeResult
from textual.containers import Container, Horizontal
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Static, TextArea
from typing_extensions import override

from tests.tui.waiting import at_work
from tui_host.tui import textual_private
from tui_host.tui.widgets.lines.line_view import LineView

# pyright: reportPrivateUsage=false


class Numbers(LineView):
    FOLLOWS = True

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    @override
    def line_count(self) -> int:
        return self.count

    @override
    def draw(self, number: int) -> Strip:
        return Strip([Segment(f"line {number} 中文", Style(bold=True)), Segment(" plain")])


Cell = tuple[str, Style | None]


class Panes(Screen[None]):
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
        self.left, self.right = Numbers(50), Numbers(30)
        self.right.has_cursor = True
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
    cells: dict[tuple[int, int], Cell] = {}
    for x, y, strip in placed:
        letters = ((letter, style) for text, style, _ in strip for letter in text)
        drawn = (cell for letter, style in letters for cell in [(letter, style), ("", style)][: cell_len(letter)])
        cells |= {(x + at, y): cell for at, cell in enumerate(drawn)}
    return cells


def whole(app: Painted) -> dict[tuple[int, int], Cell]:
    return cells_of((0, y, strip) for y, strip in enumerate(app.panes._compositor.render_strips()))


async def change(app: Painted, pilot: Pilot[None], step: int) -> None:
    panes = app.panes
    match step % 6:
        case 0:
            panes.left.count += 3
            panes.left.grew()
        case 1:
            panes.header.update(f"header {step}")
            panes.prompt.insert(f"{step} ")
        case 2:
            panes.over.toggle_class("-shown")
            (panes.right if step % 4 else panes.prompt).focus()
        case 3:
            panes.right.move_cursor(step)
            panes.left.changed(panes.left.top + 4, 3)
        case 4:
            panes.left.scroll_to(y=step, animate=False, force=True)
            panes.over.query_one(Static).update(f"over {step}")
        case _:
            app.theme = ("nord", "textual-light", "textual-dark")[step % 3]
    await pilot.pause()


async def test_painting_piece_by_piece_paints_what_changed_and_leaves_the_screen_as_painting_it_whole() -> None:
    async with at_work(Painted(), (60, 16)) as (app, pilot):
        panes = app.panes
        panes.over.add_class("-shown")
        for _ in range(6):
            await pilot.pause()
        app.updates.clear()
        panes.left.changed(panes.left.top + 4)
        panes.header.refresh()
        await pilot.pause()
        placed = [placed for update in app.updates for placed in update.placed]
        assert sorted((y, x, strip.cell_length) for x, y, strip in placed) == [
            (0, 0, 60),
            (5, 0, 4),
            (5, 4, 12),
            (5, 16, 13),
            (5, 29, 1),
        ]
        for step in range(30):
            await change(app, pilot, step)
            assert app.cells == whole(app), f"after step {step}"
        assert len(app.updates) > 15
        panes.prompt.focus()
        for _ in range(6):
            await pilot.pause()
        app.updates.clear()
        panes.left.count += 3
        panes.left.grew()
        panes.prompt.insert("typed")
        await pilot.pause()
        first, *others = app.updates
        assert "typed" in "".join(strip.text for _, _, strip in first.placed), "what is typed comes before all else"
        assert all(y >= panes.prompt.region.y for _, y, _ in first.placed)
        assert others
