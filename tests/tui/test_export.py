"""`x` on a row, and `ctrl+s` on a session: format, part and file are chosen, and texts like keys are told before."""

import json
from pathlib import Path

from tests.kit.app import MATH, SMALL, Running, running
from tui_host.answers.session_exports import SESSION_EXPORTS
from tui_host.capture.exports.parts import PartOfSession
from tui_host.tui.screens.export_screen import ExportScreen

KEY = "ghp_0123456789abcdef0123456789abcdef"
CONFIG = f'{MATH}[[rules]]\nserver = "math"\ntool = "*"\naction = "allow"\n'


async def test_what_is_exported_is_chosen_by_keys_and_texts_like_keys_are_told_before(tmp_path: Path) -> None:
    async with running(tmp_path, config=CONFIG, size=SMALL) as app:
        await app.until_ready()
        app.inspector.ladder.focus()
        await app.reach("x", told="Nothing was asked in this session yet")
        app.prompt.focus()
        await app.ask(f'call math.add {{"a": 1, "b": 2}} my key is {KEY}')
        ladder, session = app.inspector.ladder, app.session.id
        ladder.focus()
        await app.reach("home x", "> the session", f"{session}.jsonl")  # the heading of the connections
        await app.reach("escape end up", lambda: ladder.selected is not None and bool(ladder.selected.calls))
        await app.reach("x", "> call 1.1.1     this row     turn 1     the session", f"{session}-call-1.1.1.jsonl")
        await app.reach("tab tab down down", "> turn 1", "> curl", f"{session}-turn-1.sh")
        exported = SESSION_EXPORTS["curl"].export(PartOfSession(app.store, turn=1), app.store.sessions.find(session))
        assert await written(app, tmp_path / "turn.sh", "1 text looks like a key of a vendor") == b"".join(exported)

        ladder.focus()
        await app.reach("m x", "> call 1.1.1     this row     the marked row     turn 1     the session")
        await app.reach("tab tab", "> the marked row", f"{session}-marked-row.jsonl")
        lines = map(json.loads, (await written(app, tmp_path / "marked.jsonl")).splitlines()[1:])
        assert [line["wire"] for line in lines if line["kind"] == "request"] == ["llm"]

        await app.press("escape")
        await app.send("/export 1 har")  # a request, as in `/bill 1`
        await app.until_shown("> this row     the marked row     turn 1", "> har", "Letters go into the name.")
        await app.reach("escape f5", "1 turn")
        await app.reach("ctrl+s", "> the session", f"{session}.jsonl")
        data = await written(app, tmp_path / "session.jsonl")
        assert json.loads(data.splitlines()[0])["session"]["id"] == session
        assert KEY.encode() not in data


async def written(app: Running, path: Path, *told: str) -> bytes:
    screen = app.app.screen
    assert isinstance(screen, ExportScreen)
    screen.field.value = str(path)
    await app.reach("enter", "press enter again", *told)
    assert not content(path)
    await app.reach("enter", lambda: app.app.screen is not screen)
    return content(path)


def content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
