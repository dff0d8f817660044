"""Files in the prompt: `@` offers names, a chosen one is read and stands there as a mark, a dropped one is offered."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from tests.tui.test_prompt import Writing
from tests.tui.waiting import at_work, until
from tui_host.tui.widgets.prompt.completion import Completion

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
