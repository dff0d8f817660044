"""Other keys for actions by `[keys]`: they work where the default ones did, and everything that names keys names them."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.kit.app import MATH, Running, fast, running
from tui_host.settings.key_names import DEFAULT_KEYS
from tui_host.tui import keys
from tui_host.tui.screens.help_screen import places
from tui_host.tui.widgets import status_lines

KEYS = """
[keys]
approve = ["f9", "w"]
reject = "?"
approve_tool = "T"
edit_arguments = "ctrl+e"
inspector = "f8"
next = "f6"
filter = "F"
quit = "f10"
palette = "ctrl+space"
new = "ctrl+b"
bill = "alt+b"
clear = "ctrl+l"
step = "alt+s"
"""


@pytest.fixture
async def own(tmp_path: Path, model_url: str) -> AsyncIterator[Running]:
    """An app of its own with other keys."""
    async with running(tmp_path, config=fast(model_url) + MATH + KEYS) as app:
        await app.until_ready()
        yield app
    keys.choose({})
    for made in (status_lines.keys, status_lines.asked_keys):
        made.cache_clear()


def test_each_letter_that_does_something_has_a_name() -> None:
    shown = [key for keys_here in places().values() for key in keys_here]
    letters = {name for key in shown for name in key.names if re.fullmatch(r"[a-zA-Z]|ctrl\+[a-z]", name)}
    named = {key for names in DEFAULT_KEYS.values() for key in names.split(",")}
    assert letters - named == set("hjlgG") | {"ctrl+j", "ctrl+y", "ctrl+z"}  # those of lists and of text stay


async def test_other_keys_decide_as_the_default_ones_do(own: Running) -> None:
    await own.send('call math.add {"a": 1, "b": 2}', own.asks, "f9 w once", "ctrl+e edit", "T this tool", "? no")
    assert (question := own.session.open_questions()[0]).open
    await own.reach("y n a", "f9 or ? decides")
    await own.press_at_once("x", "f9")
    await own.until_shown("f9 came too early and was ignored")
    await own.until_asked()
    await own.reach("T", "Press T again to run every call of math.add")
    for key in ("escape", "ctrl+e"):
        await own.until_asked()
        await own.press(key)
    await own.until_shown("show what will be sent", own.asks)
    await own.press("f9", "w")
    assert question.open
    assert own.approval is not None
    await own.reach("ctrl+u { } escape", "f9 w once")
    await own.answer("f9")
    await own.until_shown("approved once, by you")


async def test_header_key_bar_help_and_palette_name_them(own: Running) -> None:
    await own.ask("help")
    await own.until_shown("f8 inspector", "ctrl+space palette", "f10 quit", "F filter")
    own.write("one\ntwo\nthree")
    await own.until_shown("ctrl+l clears")
    await own.press("f2", "ctrl+n")
    assert (own.main.arrangement, own.prompt.text) == ("both", "one\ntwo\nthree")
    await own.press("ctrl+l", "f8")
    assert (own.main.arrangement, own.prompt.text) == ("inspector", "")
    await own.press("F")
    assert isinstance(own.focused, Input)
    await own.reach("F escape alt+b", lambda: own.inspector.details[0].tab == "Bill")
    await own.reach("f1", "f6 N")
    await own.reach("escape ctrl+space", "Search")
    await own.reach("q u i t", "quit                f10")
    await own.reach("escape ctrl+b", lambda: not own.session.turn)
