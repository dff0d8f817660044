"""Requests to a server without a model: forms, JSON, resources, prompts, repeating, questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kit.app import NARROW, PATIENT, USUAL, WIDE, Running, running
from tests.tui.test_asks import asking, press_button
from tui_host.chat.conversation import CallItem
from tui_host.errors import JSON
from tui_host.servers.catalog import expand, variables
from tui_host.tui.screens.direct_screen import DirectScreen
from tui_host.tui.widgets.choices import ChoiceList

MATH = f'{PATIENT}[servers.math]\nbundled = "math"\n'


async def opened(app: Running, item: str) -> DirectScreen:
    """Open the screen for the only server, and the form of an item."""
    await app.until_ready()
    await app.press("f3")
    await app.until(lambda: "ready" in app.text)
    await app.press("t")
    await app.until(lambda: isinstance(app.app.screen, DirectScreen))
    await chosen(app, item)
    screen = app.app.screen
    assert isinstance(screen, DirectScreen)
    return screen


async def chosen(app: Running, item: str) -> None:
    """Choose an item of the list, and go to its form."""
    choices = app.app.screen.query_one(ChoiceList)
    choices.focus()
    await app.until(lambda: item in app.text_in(choices))
    await app.press("home")
    for _ in range(60):
        number = choices.cursor or 0
        if choices.strip_at(number).text.strip("> ").startswith(item):
            break
        await app.press("down")
    await app.press("enter")
    await app.until(lambda: app.focused is not choices)
    await app.pilot.pause()


def sent(app: Running) -> list[JSON]:
    """The arguments of the calls that went to servers."""
    frames = [json.loads(data) for data in app.bodies("mcp", "out")]
    return [frame["params"].get("arguments") for frame in frames if frame.get("method") == "tools/call"]


@pytest.mark.parametrize("size", [WIDE, USUAL, NARROW])
async def test_a_tool_is_called_by_its_form_and_the_call_is_repeated_by_a_key(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with running(tmp_path, config=MATH, size=size) as app:
        await opened(app, "multiply")
        await app.type("6")
        await app.press("enter")
        await app.type("7")
        await press_button(app, "Call")
        await app.until_shown("42", "answered after")
        assert sent(app) == [{"a": 6, "b": 7}]
        app.app.screen.query_one(ChoiceList).focus()
        await app.press("r")
        await app.until(lambda: len(sent(app)) == 2)
        assert sent(app)[1] == {"a": 6, "b": 7}
        session = next(session for session in app.host.sessions.values() if session.turn)
        await app.until(lambda: not session.busy)
        calls = [item for item in session.conversation.items if isinstance(item, CallItem)]
        assert [(call.tool, call.by, call.words) for call in calls] == [("multiply", "person", "called by you")] * 2
        await app.press("escape", "escape", "escape")
        await app.until(lambda: app.app.screen is app.main)


async def test_a_wrong_value_is_told_and_json_sends_what_no_form_would(tmp_path: Path) -> None:
    async with running(tmp_path, config=MATH, size=WIDE) as app:
        await opened(app, "multiply")
        await app.type("six")
        await press_button(app, "Call")
        await app.until_shown("! a number is needed")
        assert sent(app) == []
        await app.press("ctrl+u")
        await app.type("6")
        await app.press("enter")
        await app.type("7")
        await press_button(app, "As JSON")
        await app.until_shown('"a": 6')
        await app.press(*["ctrl+end"], *["backspace"] * 30)
        await app.type('{"a": "six"}')
        await press_button(app, "Call")
        await app.until(lambda: sent(app) == [{"a": "six"}])


async def test_a_question_during_a_call_is_answered_where_the_call_was_made(tmp_path: Path) -> None:
    async with running(tmp_path, config=asking(), size=WIDE) as app:
        screen = await opened(app, "book")
        await app.type("IC 1")
        await press_button(app, "Call")
        await app.until_shown("ask asks you to fill in a form", "Which seats?")
        assert app.app.screen is screen
        panel = screen.query_one("FormPanel")
        await app.until(lambda: getattr(panel, "is_armed", False))
        await app.type("3")
        await press_button(app)
        await app.until_shown("IC 1: 3 plants True", "answered after")
        assert app.main.question is None


async def test_a_resource_is_read_and_a_prompt_is_filled_in(tmp_path: Path) -> None:
    async with running(tmp_path, config=asking(), size=WIDE) as app:
        await opened(app, "note://one")
        await press_button(app, "Read")
        await app.until_shown("text/plain note://one", "answered after")
        await chosen(app, "greet")
        await press_button(app, "Fill in")
        await app.until_shown("hello", "prompts/get")


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("demo://text/{id}", {"id": "a b/c"}, "demo://text/a%20b%2Fc"),
        ("file:///{+path}", {"path": "a/b c"}, "file:///a/b%20c"),
        ("x://s{?q,page*}", {"q": "é", "page": "2"}, "x://s?q=%C3%A9&page=2"),
        ("x://s{?q}{#top}", {"q": ""}, "x://s"),
        ("x://{a,b}{/c:3}", {"a": "1", "b": "2", "c": "3"}, "x://1,2/3"),
    ],
)
def test_a_template_is_filled_in(template: str, values: dict[str, str], uri: str) -> None:
    assert expand(template, values) == uri
    assert set(values) <= set(variables(template))


async def test_the_log_of_a_server_is_shown(tmp_path: Path) -> None:
    async with running(tmp_path, config=asking(), size=WIDE) as app:
        await app.until_ready()
        await app.press("f3", "l")
        await app.until_shown("Log of ask", "no log message", "log_level in its entry")
