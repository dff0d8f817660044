"""The first frame is drawn by far less than the main screen: what comes in its place looks the same to the cell."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import anyio
import pytest
from rich.style import Style
from textual.pilot import Pilot
from typing_extensions import override

from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load
from tui_host.tui.app import TuiHost


class Held(TuiHost):
    """The app, whose rest comes when it is let go."""

    CSS_PATH = Path(inspect.getfile(TuiHost)).with_name("app.tcss")

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.go = asyncio.Event()

    @override
    async def load_the_rest(self) -> None:
        await self.go.wait()
        await super().load_the_rest()


def cells(app: TuiHost) -> list[list[tuple[str, str]]]:
    """Each character on the screen with its look; of a space its background alone."""
    compositor = app.screen._compositor  # pyright: ignore[reportPrivateUsage] - Textual has no other way to it
    return [
        [(letter, look(letter, style or Style.null())) for text, style, _ in strip for letter in text]
        for strip in compositor.render_strips()
    ]


def look(letter: str, style: Style) -> str:
    return f"on {style.bgcolor}" if letter == " " else str(style)


def app_in(folder: Path, ui: str) -> Held:
    (folder / "config.toml").write_text(f"[ui]\n{ui}\n", encoding="utf-8")
    return Held(Host(load(Overrides(config=folder / "config.toml", data_dir=folder), {})))


async def until_whole(app: Held, pilot: Pilot[int]) -> None:
    app.go.set()
    with anyio.fail_after(90):
        while app.main is None or not app.main.is_whole:
            await pilot.pause(0.01)


@pytest.mark.parametrize(
    ("size", "ui"),
    [
        ((140, 45), "ascii = false"),
        ((60, 20), "ascii = true"),
        ((100, 30), 'ascii = false\ntheme = "textual-light"'),
    ],
    ids=["wide", "small, ascii", "light"],
)
async def test_nothing_moves_when_chat_and_inspector_take_their_places(
    tmp_path: Path, size: tuple[int, int], ui: str
) -> None:
    app = app_in(tmp_path, ui)
    async with app.run_test(size=size) as pilot:
        assert app.main is not None
        assert not app.main.is_complete
        first = cells(app)
        await until_whole(app, pilot)
        await pilot.pause()
        assert cells(app) == first


async def test_what_is_done_before_all_is_there_is_done_as_soon_as_it_can_be(tmp_path: Path) -> None:
    app = app_in(tmp_path, "ascii = false")
    async with app.run_test(size=(140, 45)) as pilot:
        assert app.main is not None
        assert not app.main.is_complete
        await pilot.press("h", "i", "f2", "f3")
        assert type(app.screen).__name__ == "ServersScreen"
        await until_whole(app, pilot)
        await pilot.press("f3")
        assert app.screen is app.main
        assert app.main.arrangement == "inspector"
        assert app.main.submissions.prompt.message() == "hi"
