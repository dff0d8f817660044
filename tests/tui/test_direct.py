"""What servers offer, without a model and in a turn: forms, contents, prompts, resources."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.app import NARROW, PATIENT, USUAL, WIDE, Running, running
from tests.servers.rich_server import RED, RICH, png
from tests.tui.test_asks import asking, press_button
from tui_host.capture.link import read_link
from tui_host.chat.conversation import CallItem, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.servers.catalog import expand, variables
from tui_host.tui.screens.contents_screen import ContentsScreen
from tui_host.tui.screens.direct_screen import DirectScreen
from tui_host.tui.screens.fill_screen import FillScreen
from tui_host.tui.screens.prompt_screen import PromptScreen
from tui_host.tui.screens.save_screen import SaveScreen
from tui_host.tui.widgets.choices import ChoiceList
from tui_host.tui.widgets.picture_view import PictureView
from tui_host.tui.widgets.prompt.completion import Completion

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


# Contents of results.


CONFIG = f"""{PATIENT}{RICH.table("rich")}
[[rules]]
server = "rich"
tool = "*"
action = "allow"
"""


async def called(app: Running) -> None:
    await app.until_ready()
    await app.send("call rich.everything {}")
    await app.until_idle()


async def contents_opened(app: Running) -> ContentsScreen:
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
        await contents_opened(app)


async def test_an_image_is_drawn_saved_and_never_overwritten_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = tmp_path / "everything-2.png"
    there.write_bytes(b"mine")
    async with running(tmp_path, config=CONFIG, size=USUAL) as app:
        await called(app)
        screen = await contents_opened(app)
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
        await contents_opened(app)
        assert not any(b"ui://" in frame and b"resources/read" in frame for frame in app.bodies("mcp", "out"))
        await app.press("end")
        await app.until_shown("MCP Apps")
        await app.press("enter")
        await app.until_shown("<!doctype html><b>a page</b>")


# In the prompt.


def messages_sent(app: Running) -> list[dict[str, object]]:
    """The messages of the last request to the model."""
    return json.loads(app.bodies("llm", "out")[-1])["messages"]


def links(app: Running) -> list[bytes]:
    """The links recorded so far."""
    recorder = app.host.recorder
    assert recorder is not None
    recorder.flush()
    return [record.draft.data for record in recorder.since(0, limit=10**6) if record.draft.kind == "link"]


async def at(app: Running, words: str) -> None:
    """Write a word after `@`, its last letter by key, and wait for suggestions."""
    app.write(words[:-1])
    app.prompt.move_cursor(app.prompt.document.end)
    await app.press("slash" if words[-1] == "/" else words[-1])
    await app.until(lambda: any(list_.is_open for list_ in app.main.query(Completion)))


async def test_a_prompt_is_filled_in_shown_and_sent_with_its_roles(tmp_path: Path) -> None:
    async with running(tmp_path, config=CONFIG, size=USUAL) as app:
        await app.until_ready()
        await app.until(app.main.offers.commands)
        app.write("/rich:pl")
        await app.until_shown("Plans a trip to a city.")
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, FillScreen))
        await app.type("be")
        await app.until_shown("Berlin", "Bern")
        await app.press("down", "down", "enter", "enter", "enter")
        await app.until(lambda: isinstance(app.app.screen, PromptScreen))
        await app.until_shown("Plan a trip to Bern.", "assistant, from /rich:plan", "image/png")
        assert not app.bodies("llm", "out")
        await app.press("enter")
        await app.until(lambda: app.session.turn == 1)
        await app.until_idle()
        roles = [message["role"] for message in messages_sent(app)]
        assert roles[-3:] == ["user", "assistant", "user"]
        assert "image_url" in json.dumps(messages_sent(app)[-3])
        items = [item for item in app.session.conversation.items if isinstance(item, UserItem)]
        assert [(item.origin, item.role) for item in items] == [
            ("/rich:plan", role) for role in ("", "", "assistant", "")
        ]
        await app.until_shown("from the prompt /rich:plan")


async def test_a_resource_is_attached_with_its_size_and_its_changes_are_told(tmp_path: Path) -> None:
    async with running(tmp_path, config=CONFIG) as app:
        await app.until_ready()
        await app.until(lambda: app.main.offers.suggestions("rich:"))
        await at(app, "see @rich:note://o")
        await app.press("tab")
        await app.until_shown("14 B to demo/openai: read it now")
        await app.press("down", "down", "tab")
        await app.until_shown("[note://one of rich: text, 14 B]", "data of rich to demo/openai")
        await app.press("enter")
        await app.until_idle()
        assert '<resource server=\\"rich\\" uri=\\"note://one\\">\\nthe first note' in json.dumps(
            messages_sent(app)[-1]
        )
        await app.send("call rich.touch {}")
        await app.until_shown("rich says that note://one changed")
        note = next(item for item in app.session.conversation.items if isinstance(item, NoteItem))
        assert note.server == "rich"


async def test_a_template_is_filled_in_and_linked(tmp_path: Path) -> None:
    async with running(tmp_path, config=CONFIG) as app:
        await app.until_ready()
        await app.until(lambda: app.main.offers.suggestions("rich:"))
        await at(app, "@rich:by/")
        await app.press("tab")
        await app.until(lambda: isinstance(app.app.screen, FillScreen))
        await app.until_shown("ada", "alan")
        await app.press("down", "enter", "enter")
        await app.until_shown("to demo/openai: only its address")
        await app.press("down", "tab")
        await app.until_shown("[note://by/ada of rich: address only]")
        await app.press("enter")
        await app.until_idle()
        assert "A resource of the server rich: note://by/ada. Its content is not included." in json.dumps(
            messages_sent(app)[-1]
        )
        assert not any(b"resources/read" in frame for frame in app.bodies("mcp", "out"))


async def test_parts_of_a_request_say_which_prompt_and_which_resource_gave_them(tmp_path: Path) -> None:
    async with running(tmp_path, config=CONFIG) as app:
        await app.until_ready()
        await app.until(app.main.offers.commands)
        await app.send("/rich:hello")
        await app.until_shown("hello from the server", "enter sends them")
        await app.press("enter")
        await app.until(lambda: app.session.turn == 1)
        await app.until_idle()
        await at(app, "@rich:note://o")
        await app.press("tab")
        await app.until_shown("read it now")
        await app.press("tab")
        await app.until_shown("[note://one of rich: text, 14 B]")
        await app.press("enter")
        await app.until(lambda: app.session.turn == 2)
        await app.until_idle()
        given = [link for link in map(read_link, links(app)) if link is not None and link.relation == "given"]
        words = ["the prompt /rich:hello"] * 2 + ["the resource note://one of rich"]
        assert [link.words for link in given] == words
        body = app.bodies("llm", "out")[-1]
        assert body[given[1].span.start : given[1].span.end] == b"hello from the server"
        assert b"the first note" in body[given[2].span.start : given[2].span.end]
