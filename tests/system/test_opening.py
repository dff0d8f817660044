"""`open` on a real terminal: what others captured is shown, acts on nothing, and is gone with the app."""

from __future__ import annotations

import json
from pathlib import Path

from tests.opening.captured import ASK, CHAT, TELL
from tests.system.terminal import program

OSC = "\x1b]52;c;aGk=\x07\x9b2J\u202e"


def test_opened_files_are_shown_and_nothing_of_them_stays(tmp_path: Path) -> None:
    answer = {"choices": [{"index": 0, "delta": {"content": f"a hostile{OSC} answer"}, "finish_reason": "stop"}]}
    stamp = "2026-11-22T10:00:0"
    model, server, folder = tmp_path / "model.log", tmp_path / "\x1b]0;x\x07server.log", tmp_path / "tmp"
    model.write_text(f"{stamp}0Z {json.dumps(CHAT)}\n{stamp}1Z data: {json.dumps(answer, ensure_ascii=False)}\n")
    server.write_text(f"{stamp}2Z >>> {json.dumps(ASK)}\n{OSC}\n{stamp}3Z <<< {json.dumps(TELL)}\n")
    folder.mkdir()
    words = ("-m", "tui_host", "open", str(model), str(server))
    with program(tmp_path, *words, environment={"TMPDIR": str(folder)}) as terminal:
        terminal.until_shown("Nothing is saved here")  # for a while, over the first rows
        terminal.until_shown(f"request  {len(json.dumps(CHAT))} B", "a hostile", "#1 tools/call")
        assert list(folder.iterdir())
        terminal.type("\x11")
        assert terminal.ended() == 0
        assert terminal.is_restored()
        assert b"\x1b]52" not in terminal.written
        assert b"\x1b]0" not in terminal.written
        assert "\u202e".encode() not in terminal.written
    assert not list(folder.iterdir())
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_nothing_we_read_ends_the_app_with_a_sentence_that_says_where(tmp_path: Path) -> None:
    file = tmp_path / "dinner.txt"
    file.write_text("two eggs\n")
    with program(tmp_path, "-m", "tui_host", "open", str(file)) as terminal:
        assert terminal.ended() == 1
        assert terminal.is_restored()
        assert "dinner.txt, line 1, byte 0: this is none of what can be read" in terminal.screen.text
    with program(tmp_path, "-m", "tui_host", "open", str(tmp_path / "none")) as terminal:
        assert terminal.ended() == 2
        assert b"cannot be read: No such file" in terminal.written
        assert b"\x1b[?1049h" not in terminal.written
