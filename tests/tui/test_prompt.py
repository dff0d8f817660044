"""The prompt: what sends, what never does, what is kept; files by `@`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.geometry import Region
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
        self.prompt = Prompt(commands=COMMANDS)
        self.prompt.remember(*(history or ("first", "second\nof two lines")))
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
        before = len(self.sent + self.commands + self.told)
        self.prompt.load_text(text)
        await self.press("enter")
        await until(self.pilot, lambda: len(self.sent + self.commands + self.told) > before)

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        if not message.text:
            return  # it asks for the queue, of which there is none here
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


async def test_enter_sends_what_keys_wrote_in_their_order_and_nothing_of_an_empty_prompt(app: Writing) -> None:
    await app.press("enter", "h", "i", "enter", "space", "enter", "ctrl+u")
    await app.at_once("a", "backspace", "б", "left", "c", "end", "d", "ctrl+w", "e", "enter")
    assert app.sent == ["hi", "e"]
    await app.at_once("a", "backspace", "中", "left", "c", "right")
    assert (app.prompt.text, app.cursor_position) == ("c中", app.prompt.cursor_screen_offset)
    assert app.cursor_position.x == app.prompt.content_region.x + 3
    await app.prompt.remove()  # and still the screen may ask for its lines
    assert [strip.text for strip in app.prompt.render_lines(Region(0, 0, 2, 1))] == ["  "]


async def test_new_lines_send_nothing_and_it_grows_from_one_line_to_eight(app: Writing) -> None:
    for key in ("ctrl+j", "shift+enter", "shift+\r"):
        await app.press("a")
        app.prompt.post_message(events.Key(key, None))
        await app.press("b", "enter")
    assert (app.sent, app.prompt.outer_size.height) == (["a\nb"] * 3, 3)
    assert not await app.press("ctrl+j")  # an empty one has no lines to break
    for lines, height in ((3, 6), (20, 10)):
        await app.press("a", *["ctrl+j"] * lines)
        assert app.prompt.outer_size.height == height


async def test_a_long_paste_is_a_mark_that_goes_as_one_opens_in_its_place_and_is_sent_whole(app: Writing) -> None:
    for key, pasted in (("a", MANY), ("b", OTHER)):
        await app.press(key)
        await app.paste(pasted)
    await app.paste("few\x1b[2J\x9b2J\u202e")
    marks, rest = app.prompt.text, "[pasted: 26 lines, 780 B]few␛[2J⟨9b⟩2J⟨202e⟩"
    assert marks == f"a[pasted: 300 lines, 2.7 kB]b{rest}"
    assert app.prompt.border_subtitle == "ctrl+t opens the paste  ctrl+u clears"
    for key, left in {"delete": f"ab{rest}", "backspace": f"ab{rest}", "ctrl+t": f"a{MANY}b{rest}"}.items():
        app.prompt.move_cursor((0, 5))
        assert await app.press(key) == left
        assert await app.press("ctrl+z") == marks
    app.prompt.move_cursor((0, 40))
    assert await app.press("ctrl+t") == marks, "what looks like a mark in a paste is none"
    await app.press("enter")
    assert app.sent == [f"a{MANY}b{OTHER}few␛[2J⟨9b⟩2J⟨202e⟩"]
    await app.press(*"one", "ctrl+j", *"two", "ctrl+j", "!", "up")
    assert app.prompt.border_subtitle == "ctrl+u clears"
    assert [await app.press(key) for key in ("ctrl+u", "ctrl+z")] == ["", "one\ntwo\n!"]
    app.prompt.load_text("one")
    assert [await app.press("ctrl+k") for _ in range(2)] == ["", ""]  # a line is deleted where none follows


async def test_up_and_down_walk_through_the_history_and_the_draft_and_pastes_as_marks_are_kept(app: Writing) -> None:
    await app.press(*"draft")
    seen = [await app.press(*keys.split()) for keys in ("up", "up", "up down", "down", "enter up")]
    assert seen == ["second\nof two lines", "first", "second\nof two lines", "draft", "draft"]
    await app.press("ctrl+u", "a", "space")
    await app.paste(MANY + "\n")
    assert await app.press("enter", "up") == "a [pasted: 300 lines, 2.7 kB]"
    await app.press("enter")
    assert app.sent == ["draft", *[f"a {MANY}"] * 2]
    for draft, shown in ((MANY, MANY), (MANY * 9, "[pasted: 2,692 lines, 24.3 kB]")):
        app.prompt.put(draft)
        assert (app.prompt.text, app.prompt.marks.whole(app.prompt.text)) == (shown, draft)


async def test_enter_runs_the_chosen_command_or_a_beginning_or_shows_what_it_may_mean(app: Writing) -> None:
    await app.at_once("/", "n", "enter")  # typed faster than the list opens
    assert (app.commands, app.prompt.text) == (["new"], "")
    await app.press("/", "m")
    completion = app.query_one(Completion)
    assert [completion.render_line(y).text.split()[:2] for y in range(2)] == [[">", "/model"], ["/models", "list"]]
    assert await app.press("escape") == "/m"
    assert not completion.suggestions
    assert (await app.press("enter"), chosen(completion)) == ("/m", "/model")
    assert (await app.press("down", "tab"), app.commands) == ("/models", ["new"])
    await app.press("enter", "/", "m", "escape", *"odel", "enter")  # a name typed whole needs no second enter
    assert not completion.suggestions
    await app.press("/", "m", "down", "enter", "h", "i", "enter")
    assert (app.commands, app.sent) == (["new", "models", "model", "models"], ["hi"])  # nothing is left in front


async def test_what_is_no_command_here_stays_and_is_pointed_to_what_there_is(app: Writing) -> None:
    for typed, told in {
        "/clear": "There is no command /clear: /new?",
        "/hepl": "There is no command /hepl: /help?",
        "/new what is 6 × 5?": "/new takes no arguments, so it did not run.",
    }.items():
        await app.begin()
        await app.enter(typed)
        assert told in app.told[0]
        assert (app.sent, app.commands, app.prompt.text) == ([], [], typed)
        await app.enter(f" {typed}")  # behind a space it is a text
        await app.enter("/etc/hosts explain")
        assert (app.sent, app.commands) == ([typed, "/etc/hosts explain"], [])
    await app.begin()
    app.prompt.quick = {"1": "what is 6 × 5?"}  # one key sends a question or helps while the prompt is empty
    await app.press("1", "?", "a", "1", "?", "enter")
    assert (app.sent, app.commands) == (["what is 6 × 5?", "a1?"], ["help"])


PNG = b"\x89PNG\r\n\x1a\n" + bytes(12)
MARK = "[photo.png: image/png, 20 B]"


def chosen(completion: Completion) -> str:
    return completion.suggestions[completion.cursor or 0].words if completion.suggestions else ""


async def until_chosen(app: Writing, name: str) -> None:
    await until(app.pilot, lambda: name in [chosen(completion) for completion in app.query(Completion)])


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
    await until_chosen(app, "@photo.png")
    completion = app.query_one(Completion)
    assert [completion.draw(at).text.split() for at in range(2)] == [["@photo.png", "20", "B"], ["@Plan.txt", "6", "B"]]
    await app.press("h")
    await until_chosen(app, "@photo.png")
    await app.press("tab")
    await until(app.pilot, lambda: app.prompt.text == f"see {MARK} ")
    (folder / "photo.png").unlink()  # what was shown is what is sent
    await app.press("enter")
    await until(app.pilot, lambda: (app.sent, app.attached) == ([f"see {MARK}"], [[MARK[1:-1]]]))
    for key, text, count in (("up", f"see {MARK}", 1), ("backspace", "see ", 0), ("ctrl+z", f"see {MARK}", 1)):
        assert (await app.press(key), len(app.prompt.marks.attached(app.prompt.text))) == (text, count)


@pytest.mark.usefixtures("folder")
async def test_folders_are_gone_into_and_what_cannot_be_sent_is_said_and_stays(app: Writing) -> None:
    await app.press("@", "m", "y")
    await until_chosen(app, "@my notes/")
    assert await app.press("tab") == '@"my notes/'
    await until_chosen(app, "@my notes/one.md")
    await app.press("tab")
    await until(app.pilot, lambda: app.prompt.text == "[one.md: text, 5 B] ")
    await app.press("ctrl+u", "@", "b")
    await until_chosen(app, "@blob.bin")
    await app.press("enter")
    await until(app.pilot, lambda: "neither a supported image" in app.told[-1])
    assert (app.prompt.text, app.sent) == ("@b", [])


async def test_a_dropped_file_is_offered_enter_sends_its_path_and_no_text_is_one(app: Writing, folder: Path) -> None:
    path = f"'{folder}/photo.png'"
    for key in ("enter", "tab"):
        await app.paste(path)
        await until_chosen(app, "attach photo.png")
        assert app.prompt.text == path
        await app.press(key)
    await until(app.pilot, lambda: app.prompt.text == f"{MARK} ")
    assert (app.sent, app.attached) == ([path], [[]])
    await app.begin(f"of earlier {MARK}")
    app.prompt.post_message(events.Paste(f"look at @photo.png and {MARK} "))
    assert await app.press("enter", "up", "up") == "of earlier @photo.png"
    await app.press("x", "enter")
    assert app.attached == [[], []]


async def test_an_image_in_the_desktops_clipboard_is_attached_else_the_reason_is_told(
    app: Writing, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = folder / "wl-paste"
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    tool.write_text('#!/bin/sh\n[ "$1" = --list-types ] && echo "$TYPES" || cat photo.png\n', "utf-8")
    tool.chmod(0o755)
    for types, said in (("text/plain", "the clipboard has no image"), ("image/bmp", "only image/bmp, not PNG")):
        monkeypatch.setenv("TYPES", types)
        await app.press("ctrl+v")
        await until(app.pilot, lambda said=said: said in " ".join(app.told[-1:]))
    monkeypatch.setenv("TYPES", "text/html image/png")
    await app.press("ctrl+v")
    mark = MARK.replace("photo.png", "clipboard")
    await until(app.pilot, lambda: app.prompt.text == f"{mark} ")
    app.prompt.post_message(events.Paste(""))  # what terminals make of an image that is pasted
    await until(app.pilot, lambda: app.prompt.text == f"{mark} {mark.replace(']', ', 2]')} ")
    monkeypatch.delenv("WAYLAND_DISPLAY")
    monkeypatch.delenv("DISPLAY", raising=False)
    app.copy_to_clipboard("copied here")
    await app.press("ctrl+u", "ctrl+v")
    await until(app.pilot, lambda: app.prompt.text == "copied here")


async def test_what_is_written_is_looked_for_in_earlier_messages_of_all_sessions(app: Writing) -> None:
    app.prompt.remember_before(["Second hand", "first", "seconds"])
    await app.press(*"sec")
    seen: list[str] = []
    for key in ("find", "find", "find", "find", "escape", "up", "down", "down"):
        if key == "find":
            app.prompt.find_earlier()
        else:
            await app.press(key)
        await app.pilot.pause()
        seen.append(app.prompt.text)
    last = "second\nof two lines"
    assert seen == [last, "seconds", "Second hand", "Second hand", "sec", last, last, "sec"]
    app.prompt.find_earlier()
    await app.pilot.pause()
    assert app.prompt.border_subtitle == "found: sec  ctrl+r the one before  escape back"
    await app.press("x")
    app.prompt.find_earlier()
    assert app.told[0] == "There is none before it."
    assert app.told[1].startswith("No earlier message contains «second")
