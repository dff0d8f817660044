"""Lines on the screen: that painting piece by piece is painting it whole."""

from collections.abc import Iterable
from pathlib import Path

from rich.cells import cell_len
from rich.console import RenderableType
from rich.style import Style
from textual.screen import Screen
from textual.strip import Strip

from tests.kit.app import SMALL
from tests.tui.still import Still, still
from tui_host.chat.conversation import AnswerItem
from tui_host.tui.textual_private import ExactUpdate

# pyright: reportPrivateUsage=false

Cells = dict[tuple[int, int], tuple[str, Style | None]]


def cells_of(placed: Iterable[tuple[int, int, Strip]]) -> Cells:
    cells: Cells = {}
    for x, y, strip in placed:
        letters = ((letter, style) for text, style, _ in strip for letter in text)
        drawn = (cell for letter, style in letters for cell in [(letter, style), ("", style)][: cell_len(letter)])
        cells |= {(x + at, y): cell for at, cell in enumerate(drawn)}
    return cells


def whole(app: Still) -> Cells:
    return cells_of((0, y, strip) for y, strip in enumerate(app.app.screen._compositor.render_strips()))


class Terminal:
    def __init__(self, app: Still) -> None:
        self.cells = whole(app)
        self.updates: list[ExactUpdate] = []
        display = app.app._display

        def paint(screen: Screen[object], renderable: RenderableType | None) -> None:
            if isinstance(renderable, ExactUpdate):
                self.updates.append(renderable)
                self.cells |= cells_of(renderable.placed)
            elif renderable is not None:
                self.cells = whole(app)
            display(screen, renderable)

        setattr(app.app, "_display", paint)  # noqa: B010 - a method is replaced, on this one object


async def change(app: Still, step: int) -> None:
    ladder, transcript = app.inspector.ladder, app.transcript
    match step % 6:
        case 0:
            app.session.conversation.add(AnswerItem(turn=1, step=1, text=f"answer {step} 中文", state="done"))
            transcript.sync()
        case 1:
            app.wires.notice(step, 5.0)
            app.prompt.insert(f"{step} ")
        case 2:
            if step % 4:
                app.app.notify(f"told in step {step}", timeout=600)
            else:
                app.app.clear_notifications()
            (ladder if step % 4 else app.prompt).focus()
        case 3:
            ladder.move_cursor(step)
            transcript.changed(transcript.scroll_offset.y + 1, 3)
        case 4:
            transcript.scroll_to(y=step % 7, animate=False, force=True)
        case _:
            app.app.theme = ("nord", "textual-light", "textual-dark")[step % 3]
    await app.pilot.pause()


async def test_painting_piece_by_piece_paints_what_changed_and_is_the_same_as_painting_it_whole(tmp_path: Path) -> None:
    async with still(tmp_path, size=SMALL) as app:
        app.a_whole_turn()
        app.app.notify("over the chat", timeout=600)
        await app.until_shown("over the chat", "[Parts]", "LLM 2  200")
        await app.pilot.pause()
        terminal, transcript = Terminal(app), app.transcript
        for line in (4, 8):
            transcript.changed(transcript.scroll_offset.y + line)
        app.main.query_one("#header").refresh()
        await app.pilot.pause()
        placed = [placed for update in terminal.updates for placed in update.placed]
        width, row = transcript.region.width, transcript.content_region.y + 4
        assert {y for _, y, _ in placed} == {0, row, row + 4}
        assert sum(strip.cell_length for _, y, strip in placed if y == row) <= width < SMALL[0]
        for step in range(30):
            await change(app, step)
            assert terminal.cells == whole(app), f"after step {step}"
        assert len(terminal.updates) > 15
        app.prompt.focus()
        await app.pilot.pause()
        terminal.updates.clear()
        app.inspector.ladder.refresh()
        app.prompt.insert("typed")
        await app.pilot.pause()
        first, *others = terminal.updates
        assert "typed" in "".join(strip.text for _, _, strip in first.placed), "what is typed comes before all else"
        assert all(y >= app.prompt.region.y for _, y, _ in first.placed)
        assert others
