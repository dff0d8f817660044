"""What results contain, in the chat and on a screen of their own: drawn, saved, read, and the same after a restart."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.app import PATIENT, USUAL, Running, running
from tests.servers.rich_server import RED, png
from tui_host.tui.screens.contents_screen import ContentsScreen
from tui_host.tui.screens.save_screen import SaveScreen
from tui_host.tui.widgets.picture_view import PictureView

RICH = Path(__file__).parent.parent / "servers" / "rich_server.py"
CONFIG = f"""{PATIENT}[servers.rich]
command = {json.dumps(sys.executable)}
args = {json.dumps([str(RICH)])}
[[rules]]
server = "rich"
tool = "*"
action = "allow"
"""


async def called(app: Running) -> None:
    await app.until_ready()
    await app.send("call rich.everything {}")
    await app.until_idle()


async def opened(app: Running) -> ContentsScreen:
    """The screen of contents, opened by its key in the chat, with the image drawn."""
    app.transcript.focus()
    await app.press("v")
    await app.until(lambda: isinstance(app.app.screen, ContentsScreen))
    screen = app.app.screen
    assert isinstance(screen, ContentsScreen)
    await app.until(lambda: screen.has_class("-picture"))
    return screen


def saving(app: Running) -> Callable[[], bool]:
    return lambda: isinstance(app.app.screen, SaveScreen)


async def test_contents_are_named_in_the_chat_and_after_a_restart(tmp_path: Path) -> None:
    named = ("image: image/png", "audio: audio/wav", "«hologram»", "does not fit the output schema", "page: ui://")
    async with running(tmp_path, config=CONFIG) as app:
        await called(app)
        app.transcript.focus()
        await app.press("home", "down", "enter")
        await app.until_shown(*named)
        before = app.transcript.current_source()
    async with running(tmp_path, config=CONFIG) as app:
        await app.until(lambda: app.host.store is not None)
        assert app.host.store is not None
        app.app.show_session(app.host.sessions.open(app.host.store.find_session("last").id))
        app.transcript.focus()
        await app.press("home", "down", "enter")
        await app.until_shown(*named)
        assert app.transcript.current_source() == before
        await app.until(lambda: app.inspector_source.is_settled)
        await opened(app)


async def test_an_image_is_drawn_saved_and_never_overwritten_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = tmp_path / "everything-2.png"
    there.write_bytes(b"mine")
    async with running(tmp_path, config=CONFIG, size=USUAL) as app:
        await called(app)
        screen = await opened(app)
        await app.until(lambda: app.text_in(screen.query_one(PictureView)).startswith("▀▀▀▀ "))
        await app.press("o")
        await app.until_shown("Only a saved file is opened")
        await app.press("s")
        await app.until(saving(app))
        await app.press("enter")
        await app.until_shown("Press enter again to replace it")
        assert there.read_bytes() == b"mine"
        await app.press("enter")
        await app.until(lambda: app.app.screen is screen)
        assert there.read_bytes() == png(4, 4)
        assert RED not in app.text


async def test_the_page_of_a_tool_is_fetched_only_by_a_key_and_shown_as_text(tmp_path: Path) -> None:
    async with running(tmp_path, config=CONFIG, size=USUAL) as app:
        await called(app)
        await opened(app)
        assert not any(b"ui://" in frame and b"resources/read" in frame for frame in app.bodies("mcp", "out"))
        await app.press("end")
        await app.until_shown("MCP Apps")
        await app.press("enter")
        await app.until_shown("<!doctype html><b>a page</b>")
