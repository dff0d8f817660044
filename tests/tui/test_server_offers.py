"""What servers offer in the prompt: prompts by `/server:prompt`, resources by `@server:uri`, and news of watched resources."""

from __future__ import annotations

import json
from pathlib import Path

from tests.kit.app import USUAL, Running, running
from tests.tui.test_contents import CONFIG
from tui_host.capture.link import read_link
from tui_host.chat.conversation import NoteItem, UserItem
from tui_host.tui.screens.fill_screen import FillScreen
from tui_host.tui.screens.prompt_screen import PromptScreen
from tui_host.tui.widgets.prompt.completion import Completion


def sent(app: Running) -> list[dict[str, object]]:
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
        roles = [message["role"] for message in sent(app)]
        assert roles[-3:] == ["user", "assistant", "user"]
        assert "image_url" in json.dumps(sent(app)[-3])
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
        assert '<resource server=\\"rich\\" uri=\\"note://one\\">\\nthe first note' in json.dumps(sent(app)[-1])
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
        assert "A resource of the server rich: note://by/ada. Its content is not included." in json.dumps(sent(app)[-1])
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
