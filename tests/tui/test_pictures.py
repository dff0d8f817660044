"""What the screens look like, at the sizes and in the themes that count; see `pictures` for how to take them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.pictures import FOLDER
from tests.tui.still import STATUSES, still

BIG, USUAL, SMALL = (140, 45), (80, 24), (60, 20)
LIGHT = "textual-light"


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


async def test_the_main_view(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG) as app:
        app.a_whole_turn()
        await app.until_shown("6 × 5 = 30", "+2 messages", "approved once")
        await app.looks_like("main-140x45", colours=True)
        await app.resize(*USUAL)
        await app.looks_like("main-80x24")
        await app.resize(*SMALL)
        await app.looks_like("main-60x20")


async def test_the_approval(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG) as app:
        app.a_question()
        await app.until_shown("Approve 2 calls?", "ready")
        await app.looks_like("approval-140x45", colours=True)
        await app.resize(*USUAL)
        await app.looks_like("approval-80x24")
        await app.resize(*SMALL)
        await app.looks_like("approval-60x20")


async def test_the_inspector(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG) as app:
        app.a_whole_turn()
        await app.until_shown("6 × 5 = **30**", "+2 messages")
        await app.press("f2", "k")
        await app.looks_like("inspector-140x45", colours=True)
        await app.resize(*USUAL)
        await app.looks_like("inspector-80x24")
        await app.press("vertical_line")
        await app.looks_like("inspector-relative-80x24")


async def test_the_servers(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG) as app:
        await app.press("f3")
        await app.looks_like("servers-140x45")
        await app.resize(*USUAL)
        await app.press("down", "down")
        await app.looks_like("servers-failed-80x24")


async def test_the_chat_before_its_first_message(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG, servers=STATUSES[:1]) as app:
        await app.looks_like("empty-140x45")
        await app.resize(*SMALL)
        await app.looks_like("empty-60x20")


async def test_the_card_of_a_provider_that_refuses(tmp_path: Path) -> None:
    async with still(tmp_path, size=BIG) as app:
        app.a_failed_request()
        await app.looks_like("error-140x45")
        await app.resize(*SMALL)
        await app.looks_like("error-60x20")


async def test_everything_can_be_read_in_a_light_theme_too(tmp_path: Path) -> None:
    async with still(tmp_path, size=USUAL, theme=LIGHT) as app:
        app.a_failed_request()
        await app.until_shown("to try again")
        assert not app.faint, app.faint
        app.a_question()
        await app.until_shown("Approve 2 calls?", "ready", 'math.add {"a":6,"b":5}  waiting for you')
        assert not app.faint, app.faint
        await app.press("f3", "down", "down")
        await app.until_shown("DB_URL")
        assert not app.faint, app.faint


def test_no_picture_is_kept_that_nobody_looks_at() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [path.name for path in sorted(FOLDER.glob("*.txt")) if f'"{path.stem}"' not in source] == []
