"""`x` on a row, and `ctrl+s` on a session: format, part and file are chosen, and texts like keys are told before."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.kit.app import MATH, SMALL, Running, running
from tui_host.answers.session_exports import SESSION_EXPORTS
from tui_host.capture.exports.parts import PartOfSession
from tui_host.tui.screens.export_screen import ExportScreen
from tui_host.tui.widgets.inspector.ladder import LadderView

KEY = "ghp_0123456789abcdef0123456789abcdef"
CONFIG = f"""{MATH}[[rules]]
server = "math"
tool = "*"
action = "allow"
"""


async def test_what_is_exported_is_chosen_by_keys_and_texts_like_keys_are_told_before(tmp_path: Path) -> None:
    async with running(tmp_path, config=CONFIG, size=SMALL) as app:
        await app.until_ready()
        await app.send(f'call math.add {{"a": 1, "b": 2}} my key is {KEY}')
        await app.until_idle()
        ladder = app.main.query_one(LadderView)
        ladder.focus()
        await app.press("home", "x")  # the heading of the connections
        await app.until_shown("> the session", f"{app.session.id}.jsonl")
        await app.press("escape", "end", "up")
        await app.until(lambda: ladder.selected is not None and bool(ladder.selected.calls))
        await app.press("x")
        name = f"{app.session.id}-call-1.1.1.jsonl"
        await app.until_shown("> call 1.1.1     this row     turn 1     the session", name)
        await app.press("tab", "tab", "down", "down")
        await app.until_shown("> turn 1", "> curl", f"{app.session.id}-turn-1.sh")
        await written(app, tmp_path / "turn.sh", "1 text looks like a key of a vendor", "press enter again")
        assert app.host.store is not None
        exported = SESSION_EXPORTS["curl"].export(
            PartOfSession(app.host.store, turn=1), app.host.store.sessions.find(app.session.id)
        )
        assert (tmp_path / "turn.sh").read_bytes() == b"".join(exported)

        ladder.focus()
        await app.press("m", "x")
        await app.until_shown("> call 1.1.1     this row     the marked row     turn 1     the session")
        await app.press("tab", "tab")
        await app.until_shown("> the marked row", f"{app.session.id}-marked-row.jsonl")
        path = tmp_path / "marked.jsonl"
        await written(app, path, "press enter again")
        lines = map(json.loads, path.read_bytes().splitlines()[1:])
        assert [line["wire"] for line in lines if line["kind"] == "request"] == ["llm"]

        await app.press("f5")
        await app.until_shown("1 turn")
        await app.press("ctrl+s")
        await app.until_shown("> the session", f"{app.session.id}.jsonl")
        path = tmp_path / "session.jsonl"
        await written(app, path, "press enter again")
        assert json.loads(path.read_bytes().splitlines()[0])["session"]["id"] == app.session.id
        assert KEY.encode() not in path.read_bytes()


async def written(app: Running, path: Path, *told: str) -> None:
    screen = app.app.screen
    assert isinstance(screen, ExportScreen)
    screen.field.value = str(path)
    await app.press("enter")
    if told:
        await app.until_shown(*told)
        assert not os.path.exists(path)  # noqa: ASYNC240, PTH110 - a local file
        await app.press("enter")
    await app.until(lambda: app.app.screen is not screen)
