"""The prompt: what sends, what never does, what is kept; files by `@`."""

from __future__ import annotations

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
    def __init__(self, *history: str) -> None:
        super().__init__()
        self.prompt = Prompt(commands=COMMANDS, history=history or ("first", "second\nof two lines"))
        self.sent: list[str] = []
        self.attached: list[list[str]] = []
        self.commands: list[str] = []
        self.told: list[str] = []

    @override
    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static("above")
            yield self.prompt
            yield Static("below", id="below")

    def on_mount(self) -> None:
        self.prompt.focus()

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        self.sent.append(message.text)
        self.attached.append([attachment.words for attachment in message.attached])

    def on_prompt_picked(self, message: Prompt.Picked) -> None:
        self.sent.append(message.text)

    def on_prompt_command(self, message: Prompt.Command) -> None:
        self.commands.append(message.name)

    @override
    def notify(self, message: str, **_: object) -> None:
        self.told.append(message)


async def test_enter_sends_and_an_empty_prompt_sends_nothing() -> None:
    async with at_work(Writing()) as (app, pilot):
        await pilot.press("enter", "h", "i", "enter", "space", "enter")
        assert app.sent == ["hi"]


async def test_keys_that_come_together_act_in_their_order() -> None:
    async with at_work(Writing()) as (app, pilot):
        for key in ("a", "backspace", "б", "left", "c", "end", "d", "ctrl+w", "e", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.sent == ["e"]
        for key in ("a", "backspace", "б", "left", "c"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.prompt.text == "cб"


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "shift+\r"])
async def test_new_lines_send_nothing(key: str) -> None:
    async with at_work(Writing()) as (app, pilot):
        await pilot.press("a")
        app.prompt.post_message(events.Key(key, None))
        await pilot.press("b", "enter")
        assert app.sent == ["a\nb"]


async def test_it_grows_from_one_line_to_eight() -> None:
    async with at_work(Writing(), (40, 24)) as (app, pilot):
        assert app.prompt.outer_size.height == 3
        await pilot.press("ctrl+j")
        assert not app.prompt.text  # an empty one has no lines to break
        await pilot.press("a", *["ctrl+j"] * 3)
        assert app.prompt.outer_size.height == 6
        await pilot.press(*["ctrl+j"] * 20)
        assert app.prompt.outer_size.height == 10


async def paste(app: Writing, pilot: Pilot[None], text: str) -> None:
    app.prompt.post_message(events.Paste(text))
    await pilot.pause()


async def test_many_lines_are_folded_as_one_mark_and_sent_whole_among_what_was_written() -> None:
    async with at_work(Writing()) as (app, pilot):
        await pilot.press("a")
        await paste(app, pilot, MANY)
        await pilot.press("b")
        await paste(app, pilot, OTHER)
        await paste(app, pilot, "few\nlines")
        assert app.prompt.text == "a[pasted: 300 lines, 2.7 kB]b[pasted: 26 lines, 780 B]few\nlines"
        assert app.prompt.border_subtitle == "ctrl+t opens the paste  ctrl+u clears"
        await pilot.press("enter")
        assert app.sent == [f"a{MANY}b{OTHER}few\nlines"]
        assert "[pasted: 300 lines, 2.7 kB]" in OTHER, "what looks like a mark in a paste is none"


@pytest.mark.parametrize("key", ["backspace", "delete"])
async def test_a_mark_goes_as_one_and_comes_back_as_one(key: str) -> None:
    async with at_work(Writing()) as (app, pilot):
        await pilot.press("a")
        await paste(app, pilot, MANY)
        await pilot.press("b", "left", *["left"] * (3 if key != "backspace" else 0))
        await pilot.press(key)
        assert app.prompt.text in {"ab", "a"}
        await pilot.press("ctrl+z")
        assert app.prompt.whole_text() == f"a{MANY}b"


async def test_a_paste_is_opened_at_its_mark_and_closed_again() -> None:
    async with at_work(Writing()) as (app, pilot):
        few = MANY[: 9 * 26]
        await paste(app, pilot, few)
        await pilot.press("ctrl+j")
        await paste(app, pilot, MANY)
        marks = app.prompt.text
        await pilot.press("up", "end", "ctrl+t")
        assert app.prompt.text == f"{few}\n[pasted: 300 lines, 2.7 kB]"
        await pilot.press("ctrl+z", "down", "ctrl+t")
        assert app.prompt.text == f"[pasted: 26 lines, 234 B]\n{MANY}"
        await pilot.press("ctrl+z")
        assert app.prompt.text == marks


async def test_history_and_drafts_fold_a_paste_again_and_hold_it_whole() -> None:
    async with at_work(Writing()) as (app, pilot):
        await pilot.press("a", "space")
        await paste(app, pilot, MANY + "\n")
        await pilot.press("enter", "up")
        assert app.prompt.text == "a [pasted: 300 lines, 2.7 kB]"
        await pilot.press("!")
        draft = app.prompt.whole_text()
        app.prompt.put("")
        app.prompt.put(draft)
        assert app.prompt.text == "a [pasted: 300 lines, 2.7 kB]!"
        app.prompt.remember(app.sent[0])  # as a session that is opened again brings it
        app.prompt.put("")
        await pilot.press("up", "enter")
        assert app.sent == [f"a {MANY}"] * 2


async def test_one_key_takes_away_all_that_is_written_and_one_brings_it_back() -> None:
    async with at_work(Writing()) as (app, pilot):
        await paste(app, pilot, "one\ntwo\nthree")
        await pilot.press("!", "up")
        assert app.prompt.border_subtitle == "ctrl+u clears"
        await pilot.press("ctrl+u")
        assert app.prompt.text == ""
        await pilot.press("ctrl+z")
        assert app.prompt.text == "one\ntwo\nthree!"
        assert app.sent == []


async def test_a_line_is_deleted_where_none_follows() -> None:
    async with at_work(Writing()) as (app, pilot):
        app.prompt.load_text("one")
        for left in ("", ""):
            await pilot.press("ctrl+k")
            assert app.prompt.text == left


async def test_a_space_before_a_slash_makes_a_text_of_a_command() -> None:
    async with at_work(Writing()) as (app, pilot):
        for text in (" /help me", " /new", "/etc/hosts explain", "/ unknown"):
            app.prompt.load_text(text)
            await pilot.press("enter")
        assert app.sent == ["/help me", "/new", "/etc/hosts explain", "/ unknown"]
        assert app.commands == []


async def test_what_is_pasted_cannot_act_on_the_terminal() -> None:
    async with at_work(Writing()) as (app, pilot):
        app.prompt.post_message(events.Paste("a\x1b[2J\x9b2J\u202e"))
        await pilot.pause()
        assert app.prompt.text == "a␛[2J⟨9b⟩2J⟨202e⟩"


async def test_up_and_down_walk_through_the_history_and_the_draft_is_kept() -> None:
    async with at_work(Writing()) as (app, pilot):
        await pilot.press("d", "r", "a", "f", "t", "up")
        assert app.prompt.text == "second\nof two lines"
        await pilot.press("up")
        assert app.prompt.text == "first"
        await pilot.press("up", "down")
        assert app.prompt.text == "second\nof two lines"
        await pilot.press("down")
        assert app.prompt.text == "draft"
        await pilot.press("enter", "up")
        assert app.prompt.text == "draft"


async def test_enter_runs_the_command_that_is_chosen_in_the_list() -> None:
    async with at_work(Writing(), (60, 20)) as (app, pilot):
        await pilot.press("/", "m")
        completion = app.query_one(Completion)
        assert [completion.render_line(y).text.split()[:2] for y in range(2)] == [[">", "/model"], ["/models", "list"]]
        await pilot.press("down", "tab")
        assert (app.prompt.text, app.commands) == ("/models", [])
        await pilot.press("enter")
        assert not completion.is_open
        await pilot.press("/", "m", "down", "enter", "/", "n", "enter", "h", "i", "enter")
        assert app.commands == ["models", "models", "new"]
        assert app.sent == ["hi"]  # nothing of a command is left in front of the next message


async def test_the_beginning_of_a_command_runs_it_or_shows_what_it_may_mean() -> None:
    async with at_work(Writing()) as (app, pilot):
        for key in ("/", "n", "enter"):  # typed faster than the list opens
            app.post_message(events.Key(key, None if key == "enter" else key))
        await pilot.pause()
        assert (app.commands, app.prompt.text) == (["new"], "")
        await pilot.press("/", "m", "escape", "enter")
        assert (app.commands, app.prompt.text) == (["new"], "/m")
        assert app.query_one(Completion).is_open


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/clear", "There is no command /clear: /new begins"),
        ("/compact", "/new begins"),
        ("/export", "tui-host sessions export last"),
        ("/mcp", "/servers shows"),
        ("/exit", "/quit ends"),
        ("/hepl", "There is no command /hepl: /help?"),
        ("/new what is 6 × 5?", "/new takes no arguments, so it did not run."),
        ("!ls -l", "No shell command runs here"),
    ],
)
async def test_what_is_no_command_here_stays_and_is_pointed_to_what_there_is(typed: str, told: str) -> None:
    async with at_work(Writing()) as (app, pilot):
        app.prompt.load_text(typed)
        await pilot.press("enter")
        assert told in app.told[0]
        assert (app.sent, app.commands, app.prompt.text) == ([], [], typed)
        app.prompt.load_text(f" {typed}")
        await pilot.press("enter")
        assert app.sent == [typed]


async def test_escape_closes_the_list_and_a_name_typed_whole_needs_no_second_enter() -> None:
    async with at_work(Writing()) as (app, pilot):
        await pilot.press("/", "m")
        await pilot.press("escape")
        assert not any(completion.is_open for completion in app.query(Completion))
        assert app.prompt.text == "/m"
        await pilot.press("o", "d", "e", "l", "enter")
        assert app.commands == ["model"]


async def test_one_key_sends_a_question_or_helps_while_the_prompt_is_empty() -> None:
    async with at_work(Writing()) as (app, pilot):
        app.prompt.quick = {"1": "what is 6 × 5?"}
        await pilot.press("1", "?", "a", "1", "?", "enter")
        assert app.sent == ["what is 6 × 5?", "a1?"]
        assert app.commands == ["help"]


async def test_the_terminals_cursor_stands_at_the_caret() -> None:
    async with at_work(Writing(), (40, 12)) as (app, pilot):
        await pilot.press("中", "a")
        assert app.cursor_position == app.prompt.cursor_screen_offset
        assert app.cursor_position.x == app.prompt.content_region.x + 3


# Files.


PNG = b"\x89PNG\r\n\x1a\n" + bytes(12)
MARK = "[photo.png: image/png, 20 B]"


def offered(app: Writing) -> list[str]:
    """The sizes of the files that the list shows."""
    return [
        completion.draw(at).text.split()[-2]
        for completion in app.query(Completion)
        for at in range(completion.line_count())
    ]


def chosen(app: Writing) -> list[str]:
    return [completion.chosen for completion in app.query(Completion) if completion.is_open]


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


async def test_a_name_is_completed_and_what_is_sent_is_what_was_read(folder: Path) -> None:
    async with at_work(Writing(), (80, 24)) as (app, pilot):
        await pilot.press("s", "e", "e", "space", "@", "p")
        await until(pilot, lambda: offered(app) == ["20", "6"])  # sizes of photo.png and Plan.txt
        await pilot.press("h")
        await until(pilot, lambda: chosen(app) == ["photo.png"])
        await pilot.press("tab")
        await until(pilot, lambda: app.prompt.text == f"see {MARK} ")
        (folder / "photo.png").unlink()  # what was shown is what is sent
        await pilot.press("enter")
        await until(pilot, lambda: (app.sent, app.attached) == ([f"see {MARK}"], [[MARK[1:-1]]]))
        await pilot.press("up")
        assert (app.prompt.text, len(app.prompt.attached)) == (f"see {MARK}", 1)
        await pilot.press("backspace")  # a mark goes as one
        assert (app.prompt.text, len(app.prompt.attached)) == ("see ", 0)
        await pilot.press("ctrl+z")
        assert len(app.prompt.attached) == 1


async def test_folders_are_gone_into_also_with_blanks_in_their_names(folder: Path) -> None:
    del folder
    async with at_work(Writing()) as (app, pilot):
        await pilot.press("@", "m", "y")
        await until(pilot, lambda: chosen(app) == ["my notes/"])
        await pilot.press("tab")
        assert app.prompt.text == '@"my notes/'
        await until(pilot, lambda: chosen(app) == ["my notes/one.md"])
        await pilot.press("tab")
        await until(pilot, lambda: app.prompt.text == "[one.md: text, 5 B] ")


async def test_what_cannot_be_sent_is_said_and_the_draft_stays(folder: Path) -> None:
    del folder
    async with at_work(Writing()) as (app, pilot):
        await pilot.press("@", "b")
        await until(pilot, lambda: chosen(app) == ["blob.bin"])
        await pilot.press("enter")
        await until(pilot, lambda: ["neither a supported image" in notice for notice in app.told] == [True])
        assert (app.prompt.text, app.sent) == ("@b", [])


async def test_a_dropped_file_is_offered_and_enter_sends_its_path_as_text(folder: Path) -> None:
    path = f"'{folder}/photo.png'"
    async with at_work(Writing()) as (app, pilot):
        for key in ("enter", "tab"):
            app.prompt.post_message(events.Paste(path))
            await until(pilot, lambda: bool(chosen(app)))
            assert app.prompt.text == path
            await pilot.press(key)
        await until(pilot, lambda: app.prompt.text == f"{MARK} ")
        assert (app.sent, app.attached) == ([path], [[]])


async def test_no_text_from_elsewhere_is_ever_taken_for_a_file(folder: Path) -> None:
    del folder
    async with at_work(Writing(f"of earlier {MARK}")) as (app, pilot):
        app.prompt.post_message(events.Paste(f"look at @photo.png and {MARK} "))
        await pilot.press("enter", "up", "up")
        assert app.prompt.text == "of earlier @photo.png"
        await pilot.press("x", "enter")
        assert app.attached == [[], []]
