"""The pilot that all these tests use waits for what follows, and not for a machine that happens to be idle."""

from __future__ import annotations

import time

from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Static
from typing_extensions import override

FRAMES = 20


class Slow(App[None]):
    """Does what a key is for bit by bit, each in a frame of its own and in another widget; and waits for its machine."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = 0

    @override
    def compose(self) -> ComposeResult:
        yield Static("one")
        yield Static("two")

    def on_key(self, event: events.Key) -> None:
        if event.key == "a":
            self.call_after_refresh(self._go_on)
        else:
            self.frames = 0

    def _go_on(self) -> None:
        self.frames += 1
        time.sleep(0.005)  # as a process that waits for its turn
        if self.frames % FRAMES:
            widget = list(self.query(Static))[self.frames % 2]
            widget.update(str(self.frames))
            widget.call_later(widget.call_after_refresh, self._go_on)


async def test_a_key_has_done_all_that_it_does_before_the_next_one_is_pressed() -> None:
    app = Slow()
    async with app.run_test() as pilot:
        await pilot.press("a")
        assert app.frames == FRAMES
        await pilot.press("b", "a", "a")
        assert app.frames == 2 * FRAMES


async def test_a_new_size_has_been_laid_out() -> None:
    app = Slow()
    async with app.run_test(size=(80, 24)) as pilot:
        for columns in (60, 30, 100):
            await pilot.resize_terminal(columns, 24)
            assert app.query(Static).first().size.width == columns
