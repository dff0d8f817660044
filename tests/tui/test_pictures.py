"""What the screens look like, from the first frame on, and that the README shows them; see `pictures` for how to take them anew."""

import inspect
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html import unescape
from pathlib import Path

import anyio
import pytest
from textual.pilot import Pilot
from typing_extensions import override

from tests.tui.still import STATUSES, Look, faint, nobody_waits, runs_of, still
from tui_host.chat.policy import Question
from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load
from tui_host.tui.app import TuiHost

BIG, USUAL, SMALL = (140, 45), (80, 24), (60, 20)
DECIDING = 4.5
"""Contrast of words that decide. Source: WCAG 2.2, 1.4.3."""


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


async def test_the_main_view_and_the_inspector_alone(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG) as app:
        app.a_whole_turn()
        await app.until_shown("6 × 5 = 30", "+2 messages", "approved once")
        await app.looks_like("main", BIG, colours=True)
        await app.looks_like("main", USUAL)
        await app.looks_like("main", SMALL)
        await app.resize(*BIG)
        await app.until_shown("6 × 5 = **30**", "+2 messages")
        await app.press("f2", "k")
        await app.looks_like("inspector", BIG, colours=True)
        await app.looks_like("inspector", USUAL)
        await app.press("vertical_line")
        await app.looks_like("inspector-relative", USUAL)


async def test_the_approval(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG) as app:
        app.a_question()
        await app.until_shown("Approve 2 calls?", "ready")
        await app.looks_like("approval", BIG, colours=True)
        await app.looks_like("approval", USUAL)
        await app.looks_like("approval", SMALL)


async def test_the_servers(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG) as app:
        await app.press("f3")
        await app.looks_like("servers", BIG)
        await app.press("down", "down")
        await app.looks_like("servers-failed", USUAL)


async def test_the_chat_before_its_first_message(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG, servers=STATUSES[:1]) as app:
        await app.looks_like("empty", BIG)
        await app.looks_like("empty", SMALL)


async def test_the_card_of_a_provider_that_refuses(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG) as app:
        app.a_failed_request()
        await app.looks_like("error", BIG)
        await app.looks_like("error", SMALL)


async def test_what_decides_can_be_read_in_every_theme(tmp_path: Path) -> None:
    async with still(tmp_path, size=(98, 45)) as app:
        app.a_question()
        first = app.session.questions[0].request
        warned = replace(first, changed="another schema", misfits=["a is no string"], changed_numbers=[("6.0", "6")])
        app.session.questions[0] = Question(warned, answered=nobody_waits)
        await app.until_shown("Approve 2 calls?", "ready", "! the definition", "! does not fit", "all shown")
        await app.reach("escape", "escape again: reject", "ready")
        places = [app.main.query_one(what).region for what in ("Approval", "#keys")]
        themes = [theme for theme in app.app.available_themes.values() if not theme.ansi]  # else the terminal's colours
        assert len(themes) > 15
        for theme in themes:
            app.app.theme = theme.name
            await app.pilot.pause(0.02)
            lines = [line for place in places for line in runs_of(app.app, place)]
            assert app.app.theme_variables["surface"].lower() in {look.back for line in lines for _, look in line}
            assert not faint(lines, least=DECIDING), theme.name


class Held(TuiHost):
    CSS_PATH = Path(inspect.getfile(TuiHost)).with_name("app.tcss")

    go = TuiHost._first_frame_painted

    @override
    def _first_frame_painted(self) -> None: ...


def cells(app: TuiHost) -> list[list[tuple[str, str | Look]]]:
    """Letters with their looks; a space is its background."""
    return [[(c, look.back if c == " " else look) for text, look in line for c in text] for line in runs_of(app)]


def app_in(folder: Path, ui: str) -> Held:
    (folder / "config.toml").write_text(f"[ui]\n{ui}\n", encoding="utf-8")
    return Held(Host(load(Overrides(config=folder / "config.toml", data_dir=folder), {})))


async def until_whole(app: Held, pilot: Pilot[int]) -> None:
    app.go()
    with anyio.fail_after(90):
        while app.main is None or not app.main.seen:
            await pilot.pause(0.01)


@pytest.mark.parametrize(
    ("size", "ui"),
    [((140, 45), "ascii = false"), ((60, 20), "ascii = true"), ((100, 30), 'ascii = false\ntheme = "textual-light"')],
    ids=["wide", "small, ascii", "light"],
)
async def test_nothing_moves_when_chat_and_inspector_arrive(tmp_path: Path, size: tuple[int, int], ui: str) -> None:
    app = app_in(tmp_path, ui)
    async with app.run_test(size=size) as pilot:
        assert app.main is not None
        assert not app.main.seen
        first = cells(app)
        await until_whole(app, pilot)
        await pilot.pause()
        assert cells(app) == first


async def test_what_is_done_before_all_is_there_is_done_as_soon_as_it_can_be(tmp_path: Path) -> None:
    app = app_in(tmp_path, "ascii = false")
    async with app.run_test(size=(140, 45)) as pilot:
        assert app.main is not None
        assert not app.main.seen
        await pilot.press("h", "i", "f2", "f3")
        assert type(app.screen).__name__ == "ServersScreen"
        await until_whole(app, pilot)
        await pilot.press("f3")
        assert app.screen is app.main
        assert (app.main.arrangement, app.main.prompt.message()) == ("inspector", "hi")


ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "screenshots"
TEXT = re.compile(r"<text [^>]*>([^<]*)</text>")
MANY = 0.02
"""The share of words that times may change: a line that is cut one letter earlier."""


def pictures() -> list[str]:
    return re.findall(r"\]\(screenshots/([\w-]+)\.svg\)", (ROOT / "README.md").read_text(encoding="utf-8"))


def words_of(picture: Path) -> Counter[str]:
    """The words in a picture, with every number as 0: times and ports differ from run to run."""
    words = " ".join([unescape(text) for text in TEXT.findall(picture.read_text(encoding="utf-8"))]).split()
    return Counter(re.sub(r"\d+(\.\d+)?", "0", word) for word in words if not re.search("ms$|…", word))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", pictures())
def test_a_picture_of_the_readme_shows_the_program_as_it_is(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(SCREENSHOTS / "make.py"), "--into", str(tmp_path), name]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    kept, made = words_of(SCREENSHOTS / f"{name}.svg"), words_of(tmp_path / f"{name}.svg")
    differing = (kept - made) + (made - kept)
    assert differing.total() <= MANY * made.total(), f"uv run python screenshots/make.py {name}; differing: {differing}"
