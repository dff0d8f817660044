"""The prompt: what sends, what never does, what is kept; files by `@`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.pilot import Pilot
from textual.widgets import Static
from typing_extensions import override

from tests.tui.waiting import at_work, until
from tui_host.tui.widgets.prompt.completion import Completion
from tui_host.tui.widgets.prompt.prompt_field import Prompt

MANY = "\n".join(f"line {number:03}" for number in range(300))
OTHER = "\n".join(["[pasted: 300 lines, 2.7 kB]"] + ["x" * 29] * 24 + ["y" * 32])
COMMANDS = (("help", "every key"), ("model", "choose the model"), ("models", "list them"), ("new", "a new session"))


class Writing(App[None]):
    """A prompt between other things, and what came of it since the test began."""

    pilot: Pilot[None]
    prompt: Prompt

    @override
    def compose(self) -> ComposeResult:
        yield Vertical(Static("above"), Static("below", id="below"))

    async def begin(self, *history: str) -> None:
        await self.query("Prompt, Completion").remove()
        self.prompt = Prompt(commands=COMMANDS, history=history or ("first", "second\nof two lines"))
        await self.query_one(Vertical).mount(self.prompt, before="#below")
        self.sent: list[str] = []
        self.attached: list[list[str]] = []
        self.commands: list[str] = []
        self.told: list[str] = []
        self.prompt.focus()
        await self.pilot.pause()

    async def at_once(self, *keys: str) -> None:
        for key in keys:
            self.post_message(events.Key(key, key if len(key) == 1 else None))
        await self.pilot.pause()

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        return self.prompt.text

    async def paste(self, text: str) -> None:
        self.prompt.post_message(events.Paste(text))
        await self.pilot.pause()

    async def enter(self, text: str) -> None:
        self.prompt.load_text(text)
        await self.press("enter")

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        self.sent.append(message.text)
        self.attached.append([attachment.words for attachment in message.attached])

    def on_prompt_quick_picked(self, message: Prompt.QuickPicked) -> None:
        self.sent.append(message.text)

    def on_prompt_command(self, message: Prompt.Command) -> None:
        self.commands.append(message.name)

    @override
    def notify(self, message: str, **_: object) -> None:
        self.told.append(message)


@pytest.fixture(scope="module")
async def shared() -> AsyncIterator[Writing]:
    async with at_work(Writing()) as (app, pilot):
        app.pilot = pilot
        yield app


@pytest.fixture
async def app(shared: Writing) -> Writing:
    await shared.begin()
    return shared


async def test_enter_sends_and_an_empty_prompt_sends_nothing(app: Writing) -> None:
    await app.press("enter", "h", "i", "enter", "space", "enter")
    assert app.sent == ["hi"]


async def test_keys_that_come_together_act_in_their_order(app: Writing) -> None:
    await app.at_once("a", "backspace", "б", "left", "c", "end", "d", "ctrl+w", "e", "enter")
    assert app.sent == ["e"]
    await app.at_once("a", "backspace", "б", "left", "c")
    assert app.prompt.text == "cб"


async def test_new_lines_send_nothing_and_it_grows_from_one_line_to_eight(app: Writing) -> None:
    for key in ("ctrl+j", "shift+enter", "shift+\r"):
        await app.press("a")
        app.prompt.post_message(events.Key(key, None))
        await app.press("b", "enter")
    assert app.sent == ["a\nb"] * 3
    assert app.prompt.outer_size.height == 3
    assert not await app.press("ctrl+j")  # an empty one has no lines to break
    for lines, height in ((3, 6), (20, 10)):
        await app.press("a", *["ctrl+j"] * lines)
        assert app.prompt.outer_size.height == height


async def test_many_lines_are_folded_as_one_mark_and_sent_whole_among_what_was_written(app: Writing) -> None:
    for key, pasted in (("a", MANY), ("b", OTHER)):
        await app.press(key)
        await app.paste(pasted)
    await app.paste("few\nlines")
    assert app.prompt.text == "a[pasted: 300 lines, 2.7 kB]b[pasted: 26 lines, 780 B]few\nlines"
    assert app.prompt.border_subtitle == "ctrl+t opens the paste  ctrl+u clears"
    await app.press("enter")
    assert app.sent == [f"a{MANY}b{OTHER}few\nlines"], "what looks like a mark in a paste is none"


@pytest.mark.parametrize(("keys", "left"), [(("left", "backspace"), "ab"), (["left"] * 4 + ["delete"], "ab")])
async def test_a_mark_goes_as_one_and_comes_back_as_one(app: Writing, keys: list[str], left: str) -> None:
    await app.press("a")
    await app.paste(MANY)
    await app.press("b")
    assert await app.press(*keys) == left
    await app.press("ctrl+z")
    assert app.prompt.whole_text() == f"a{MANY}b"


async def test_a_paste_is_opened_at_its_mark_and_closed_again(app: Writing) -> None:
    few = MANY[: 9 * 26]
    await app.paste(few)
    await app.press("ctrl+j")
    await app.paste(MANY)
    marks = app.prompt.text
    assert await app.press("up", "end", "ctrl+t") == f"{few}\n[pasted: 300 lines, 2.7 kB]"
    assert await app.press("ctrl+z", "down", "ctrl+t") == f"[pasted: 26 lines, 234 B]\n{MANY}"
    assert await app.press("ctrl+z") == marks


async def test_history_and_drafts_fold_a_paste_again_and_hold_it_whole(app: Writing) -> None:
    await app.press("a", "space")
    await app.paste(MANY + "\n")
    assert await app.press("enter", "up") == "a [pasted: 300 lines, 2.7 kB]"
    await app.press("!")
    draft = app.prompt.whole_text()
    app.prompt.put("")
    app.prompt.put(draft)
    assert app.prompt.text == "a [pasted: 300 lines, 2.7 kB]!"
    app.prompt.remember(app.sent[0])  # as a session that is opened again brings it
    app.prompt.put("")
    await app.press("up", "enter")
    assert app.sent == [f"a {MANY}"] * 2


async def test_one_key_takes_away_all_that_is_written_and_one_brings_it_back(app: Writing) -> None:
    await app.paste("one\ntwo\nthree")
    await app.press("!", "up")
    assert app.prompt.border_subtitle == "ctrl+u clears"
    assert await app.press("ctrl+u") == ""
    assert await app.press("ctrl+z") == "one\ntwo\nthree!"
    assert app.sent == []
    app.prompt.load_text("one")
    assert [await app.press("ctrl+k") for _ in range(2)] == ["", ""]  # a line is deleted where none follows


async def test_what_is_pasted_cannot_act_on_the_terminal(app: Writing) -> None:
    await app.paste("a\x1b[2J\x9b2J\u202e")
    assert app.prompt.text == "a␛[2J⟨9b⟩2J⟨202e⟩"


async def test_up_and_down_walk_through_the_history_and_the_draft_is_kept(app: Writing) -> None:
    await app.press(*"draft")
    seen = [await app.press(*keys.split()) for keys in ("up", "up", "up down", "down", "enter up")]
    assert seen == ["second\nof two lines", "first", "second\nof two lines", "draft", "draft"]


async def test_enter_runs_the_command_that_is_chosen_in_the_list(app: Writing) -> None:
    await app.press("/", "m")
    completion = app.query_one(Completion)
    assert [completion.render_line(y).text.split()[:2] for y in range(2)] == [[">", "/model"], ["/models", "list"]]
    assert (await app.press("down", "tab"), app.commands) == ("/models", [])
    await app.press("enter")
    assert not completion.is_open
    await app.press("/", "m", "down", "enter", "/", "n", "enter", "h", "i", "enter")
    assert app.commands == ["models", "models", "new"]
    assert app.sent == ["hi"]  # nothing of a command is left in front of the next message


async def test_the_beginning_of_a_command_runs_it_or_shows_what_it_may_mean(app: Writing) -> None:
    await app.at_once("/", "n", "enter")  # typed faster than the list opens
    assert (app.commands, app.prompt.text) == (["new"], "")
    assert await app.press("/", "m", "escape") == "/m"
    assert not any(completion.is_open for completion in app.query(Completion))
    assert (await app.press("enter"), app.commands) == ("/m", ["new"])
    assert app.query_one(Completion).is_open
    await app.press("escape", *"odel", "enter")  # a name typed whole needs no second enter
    assert app.commands == ["new", "model"]


async def test_what_is_no_command_here_stays_and_is_pointed_to_what_there_is(app: Writing) -> None:
    """And behind a space it is a text."""
    for typed, told in {
        "/clear": "There is no command /clear: /new begins",
        "/compact": "/new begins",
        "/export": "tui-host sessions export last",
        "/mcp": "/servers shows",
        "/exit": "/quit ends",
        "/hepl": "There is no command /hepl: /help?",
        "/new what is 6 × 5?": "/new takes no arguments, so it did not run.",
        "!ls -l": "No shell command runs here",
    }.items():
        await app.begin()
        await app.enter(typed)
        assert told in app.told[0]
        assert (app.sent, app.commands, app.prompt.text) == ([], [], typed)
        await app.enter(f" {typed}")
        assert app.sent == [typed]
    await app.begin()
    texts = ["/help me", "/new", "/etc/hosts explain", "/ unknown"]
    for text in (" /help me", " /new", *texts[2:]):
        await app.enter(text)
    assert (app.sent, app.commands) == (texts, [])


async def test_one_key_sends_a_question_or_helps_while_the_prompt_is_empty(app: Writing) -> None:
    app.prompt.quick = {"1": "what is 6 × 5?"}
    await app.press("1", "?", "a", "1", "?", "enter")
    assert app.sent == ["what is 6 × 5?", "a1?"]
    assert app.commands == ["help"]


async def test_the_terminals_cursor_stands_at_the_caret(app: Writing) -> None:
    await app.press("中", "a")
    assert app.cursor_position == app.prompt.cursor_screen_offset
    assert app.cursor_position.x == app.prompt.content_region.x + 3


PNG = b"\x89PNG\r\n\x1a\n" + bytes(12)
MARK = "[photo.png: image/png, 20 B]"


def offered(app: Writing) -> list[str]:
    return [
        completion.draw(at).text.split()[-2]
        for completion in app.query(Completion)
        for at in range(completion.line_count())
    ]


async def until_chosen(app: Writing, *names: str) -> None:

    def is_so() -> bool:
        found = [completion.chosen for completion in app.query(Completion) if completion.is_open]
        return found == list(names) if names else bool(found)

    await until(app.pilot, is_so)


async def until_written(app: Writing, text: str) -> None:
    await until(app.pilot, lambda: app.prompt.text == text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "photo.png").write_bytes(PNG)
    (tmp_path / "Plan.txt").write_text("a plan", "utf-8")
    (tmp_path / "blob.bin").write_bytes(b"\xff\0")
    (tmp_path / ".hidden").write_text("x", "utf-8")
    (tmp_path / "my notes").mkdir()
    (tmp_path / "my notes" / "one.md").write_text("# One", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_a_name_is_completed_and_what_is_sent_is_what_was_read(app: Writing, folder: Path) -> None:
    await app.press(*"see", "space", "@", "p")
    await until(app.pilot, lambda: offered(app) == ["20", "6"])  # sizes of photo.png and Plan.txt
    await app.press("h")
    await until_chosen(app, "photo.png")
    await app.press("tab")
    await until_written(app, f"see {MARK} ")
    (folder / "photo.png").unlink()  # what was shown is what is sent
    await app.press("enter")
    await until(app.pilot, lambda: (app.sent, app.attached) == ([f"see {MARK}"], [[MARK[1:-1]]]))
    for key, text, count in (("up", f"see {MARK}", 1), ("backspace", "see ", 0), ("ctrl+z", f"see {MARK}", 1)):
        assert (await app.press(key), len(app.prompt.attached)) == (text, count)  # a mark goes as one


@pytest.mark.usefixtures("folder")
async def test_folders_are_gone_into_also_with_blanks_in_their_names(app: Writing) -> None:
    await app.press("@", "m", "y")
    await until_chosen(app, "my notes/")
    assert await app.press("tab") == '@"my notes/'
    await until_chosen(app, "my notes/one.md")
    await app.press("tab")
    await until_written(app, "[one.md: text, 5 B] ")


@pytest.mark.usefixtures("folder")
async def test_what_cannot_be_sent_is_said_and_the_draft_stays(app: Writing) -> None:
    await app.press("@", "b")
    await until_chosen(app, "blob.bin")
    await app.press("enter")
    await until(app.pilot, lambda: ["neither a supported image" in notice for notice in app.told] == [True])
    assert (app.prompt.text, app.sent) == ("@b", [])


async def test_a_dropped_file_is_offered_and_enter_sends_its_path_as_text(app: Writing, folder: Path) -> None:
    path = f"'{folder}/photo.png'"
    for key in ("enter", "tab"):
        await app.paste(path)
        await until_chosen(app)
        assert app.prompt.text == path
        await app.press(key)
    await until_written(app, f"{MARK} ")
    assert (app.sent, app.attached) == ([path], [[]])


@pytest.mark.usefixtures("folder")
async def test_no_text_from_elsewhere_is_ever_taken_for_a_file(app: Writing) -> None:
    await app.begin(f"of earlier {MARK}")
    app.prompt.post_message(events.Paste(f"look at @photo.png and {MARK} "))
    assert await app.press("enter", "up", "up") == "of earlier @photo.png"
    await app.press("x", "enter")
    assert app.attached == [[], []]
