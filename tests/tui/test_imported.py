"""What came from a file, in the app: chat and wires with the calls joined, nothing of this process among them, nothing sent from it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.capture.test_imports import ASK, CHAT, TELL
from tests.tui.app_running import MATH, running
from tui_host.capture.redact import Redactor
from tui_host.capture.store.store import Store
from tui_host.host.importing import import_files

END = {"choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]}


def brought(folder: Path, *texts: str) -> None:
    files = [folder / name for name in ("one.log", "two.log")]
    store = Store.open(folder / "data" / "tui-host.db")
    try:
        for file, text in zip(files, texts, strict=False):
            file.write_text(text, encoding="utf-8")
            import_files(store, [file], Redactor())
    finally:
        store.close()


async def test_an_import_is_listed_shown_and_left_as_it_is(tmp_path: Path) -> None:
    brought(
        tmp_path, f"{json.dumps(CHAT)}\ndata: {json.dumps(END)}\n", f">>> {json.dumps(ASK)}\n<<< {json.dumps(TELL)}\n"
    )
    async with running(tmp_path, config=MATH) as app:
        await app.press("f5")
        await app.until_shown("one.log", "two.log", "import")
        await app.type("one")
        await app.until(lambda: "two.log" not in app.text)
        await app.press("enter")
        await app.until_shown(
            "request  63", "answer", "hello", "from a file: read only   one/m", "From a file, read only."
        )
        await app.send("and?")
        await app.until_shown("This was captured elsewhere")
        assert not app.session.turn - 1
        await app.until(lambda: app.app.host.pool is not None and app.app.host.pool.tools())
        assert {row.lane for row in app.inspector_source.ladder.rows} == {"llm"}  # no row of the servers that run here
        await app.press("f5")
        await app.until_shown("two.log")
        await app.type("two")
        await app.until(lambda: "one.log" not in app.text)
        await app.press("enter")
        await app.until_shown("no chat stands in it", "tools/call #1")
