"""The main view, whole: the real app, the real demo model, the bundled servers."""

from __future__ import annotations

from pathlib import Path

from tests.tui.app_running import running


async def test_a_turn_is_approved_by_one_key(tmp_path: Path) -> None:
    async with running(tmp_path) as app:
        await app.until_ready()
        await app.press("1")
        await app.until_asked()
        await app.press("y")
        await app.until_asked()
        await app.press("y")
        await app.until_asked()
        await app.press("y")
        await app.until_idle()
        assert "18.5" in app.text
