"""`open` on a real terminal: what others captured is shown, acts on nothing, and is gone with the app."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import first_of
from tests.opening.captured import ASK, CHAT, TELL
from tests.system.terminal import ROOT, Terminal, environment_of, program

GOLDEN = Path(__file__).parent.parent / "golden" / "session.jsonl"
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
        terminal.until_shown(f"request  {len(json.dumps(CHAT))} B", "a hostile", "tools/call #1")
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


def test_without_a_terminal_it_is_told_what_shows_a_file_there(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tui_host", "open", "a.log"]
    run = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env=environment_of(tmp_path), cwd=ROOT, check=False
    )
    assert run.returncode == 2
    instead = "tui-host sessions import FILE, then tui-host sessions show last"
    assert run.stderr.decode() == f"tui-host: the app needs a terminal (without one: {instead})\n"


def own_export(source: str, frames: int) -> str:
    """A session of ours as `sessions export` writes it: one call after the other."""
    head = GOLDEN.read_text().splitlines()[0].replace('"source":"chat"', f'"source":"{source}"')
    frame = next(json.loads(line) for line in GOLDEN.read_text().splitlines() if "tools/call" in line)
    del frame["text"]
    lines = (
        json.dumps({**frame, "seq": seq, "data": base64.b64encode(json.dumps({**ASK, "id": seq}).encode()).decode()})
        for seq in range(1, frames + 1)
    )
    return "\n".join([head, *lines, ""])


def chat_of(terminal: Terminal) -> str:
    """What stands left of the inspector, in one line."""
    return " ".join(" ".join(line[:54] for line in terminal.screen.text.splitlines()).split())


@pytest.mark.parametrize(("how", "source"), first_of([("a bad line", "chat"), ("killed", "tap"), ("cut", "chat")]))
def test_what_was_read_stays_on_the_screen_when_the_rest_cannot_be(tmp_path: Path, how: str, source: str) -> None:
    file, folder = tmp_path / "own.jsonl", tmp_path / "tmp"
    folder.mkdir()
    # What breaks off must still be read when the first of it is shown, and the app may be slower than who reads.
    text = own_export(source, 20_000 if how == "a bad line" else 50_000)
    file.write_text(text + text.splitlines()[-1] + "\n")
    with program(tmp_path, "-m", "tui_host", "open", str(file), environment={"TMPDIR": str(folder)}) as terminal:
        terminal.until_shown("tools/call #")
        if how == "killed":
            (reader,) = [pid for pid, words in terminal.family.look().items() if "import_process" in words]
            os.kill(reader, signal.SIGKILL)
        elif how == "cut":
            os.truncate(file, 0)
        what = "seq does not grow" if how == "a bad line" else "the process that reads it has ended"
        terminal.until_shown("own.jsonl", what, "tools/call #")
        terminal.until(lambda: "reading own.jsonl" not in terminal.screen.text)
        terminal.until(lambda: "This capture has no chat" not in terminal.screen.text and what in chat_of(terminal))
        terminal.type("\x11")
        assert terminal.ended() == 1
        assert terminal.is_restored()
        assert what in terminal.screen.text
    assert not list(folder.iterdir())
