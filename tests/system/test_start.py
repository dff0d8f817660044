"""The program's start on a terminal: what it loads, what it shows, where it refuses."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.terminal import NO_SERVERS, ROOT, environment_of, program

OURS_AND_TEXTUALS = {"__main__", "tui_host", "textual", "rich", "platformdirs", "typing_extensions"}
"""Textual itself brings the last three. `pygments` and `markdown_it` come when the first text needs them."""

AT_FIRST = {
    "tui_host.capture": {"visible"},
    "tui_host.chat": set[str](),
    "tui_host.guard": {"core_dumps", "guard_client", "terminal_state", "watchdog"},
    "tui_host.host": {"defects", "host", "open_sessions", "running_turns"},
    "tui_host.llm": {"probe"},
    "tui_host.servers": set[str](),
    "tui_host.tui.markdown": {"parser"},
    "tui_host.tui.screens": {"main_screen", "screen_halves", "submissions"},
    "tui_host.tui.widgets": {
        "background", "first_frame", "key_order", "ladder", "ladder.ladder_title", "pages", "pages.detail_page", "prompt",
        "prompt.file_attachments", "prompt.prompt_field", "prompt.prompt_marks", "prompt.server_offers", "status_lines",
    },
}  # fmt: skip
"""What the first frame needs of the packages that hold most; all else comes when it is painted."""
NOT_AT_FIRST = {"sqlite3", "email", "importlib.metadata", "csv", "zipfile", "pygments", "markdown_it"}


def test_nothing_but_textual_and_the_standard_library_is_loaded_before_the_first_frame(tmp_path: Path) -> None:
    script, modules = str(ROOT / "tests/system/seen_at_first_frame.py"), tmp_path / "modules"
    with program(tmp_path, script, environment={"MODULES": str(modules)}) as terminal:
        terminal.until_shown("Ask anything", "which tools do you have?", "写 100 字", "f1 help", "0 LLM", "0 MCP")
        names = set(modules.read_text().split())
        for package, few in AT_FIRST.items():
            assert {name.removeprefix(f"{package}.") for name in names if name.startswith(f"{package}.")} <= few
        assert not names & NOT_AT_FIRST
        loaded = {name.partition(".")[0] for name in names}
        of_the_machine = {"sitecustomize", "usercustomize"}  # a distribution's Python has the first
        assert loaded - set(sys.stdlib_module_names) - of_the_machine == OURS_AND_TEXTUALS
        terminal.type("\x11")
        assert terminal.ended() == 0
        assert terminal.is_restored()


def test_keys_that_are_pressed_as_soon_as_there_is_a_frame_do_what_they_always_do_in_their_order(
    tmp_path: Path,
) -> None:
    with program(tmp_path) as terminal:
        terminal.until_shown("Ask anything")
        terminal.type("a\x7fhello\x1bOR")  # f3
        terminal.until_shown("Servers", "off")
        terminal.type("\x1bOR")
        terminal.until_shown("hello")
        terminal.type("\r")
        terminal.until_shown("turn 1", "hello")
        terminal.type("\x11")
        assert terminal.ended() == 0


@pytest.mark.parametrize(
    "more",
    [
        {"TERM": "xterm", "NO_COLOR": "1"},
        {"TERM": "linux", "LC_ALL": "C", "LANG": "", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["xterm, no colour", "linux, no locale"],
)
def test_it_starts_on_plain_terminals(tmp_path: Path, more: dict[str, str]) -> None:
    with program(tmp_path, environment=more, size=(80, 24)) as terminal:
        terminal.until_shown("Ask anything", "which tools", "写 100 字", "╰──")
        terminal.type("\x11")
        assert terminal.ended() == 0
        assert terminal.is_restored()


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_without_a_terminal_it_says_so_in_one_line_and_draws_nothing(tmp_path: Path, stream: int) -> None:
    master, slave = pty.openpty()
    (tmp_path / "config.toml").write_text(NO_SERVERS)
    out, into = os.pipe()
    ends = [into if number == stream else slave for number in range(3)]
    if stream == 0:
        ends[0] = subprocess.DEVNULL
    command = [sys.executable, "-m", "tui_host", "--config", str(tmp_path / "config.toml"), "--data-dir", str(tmp_path)]
    run = subprocess.run(
        command, stdin=ends[0], stdout=ends[1], stderr=ends[2], env=environment_of(tmp_path), cwd=ROOT, check=False
    )
    os.close(into)
    os.close(slave)
    with os.fdopen(out, "rb") as file:
        piped = file.read()
    os.set_blocking(master, False)
    try:
        drawn = os.read(master, 1 << 16)
    except OSError:
        drawn = b""
    os.close(master)
    assert run.returncode == 2
    told, silent = (piped, drawn) if stream == 2 else (drawn, piped)
    assert told.replace(b"\r", b"") == b"tui-host: the app needs a terminal (without one: tui-host ask TEXT)\n"
    assert silent == b""


@pytest.mark.parametrize("name", ["dumb", ""])
def test_a_terminal_that_cannot_place_text_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    with program(tmp_path, environment={"TERM": name}) as terminal:
        assert terminal.ended() == 2
        assert terminal.is_restored()
        assert (
            terminal.written
            == b"tui-host: TERM: this terminal cannot place text (set TERM, or use tui-host ask TEXT)\r\n"
        )


def test_a_theme_that_does_not_exist_is_a_mistake_in_the_configuration(tmp_path: Path) -> None:
    with program(tmp_path, config='ui.theme = "nope"\n') as terminal:
        assert terminal.ended() == 2
        assert terminal.is_restored()
        assert b': ui.theme, line 1: found "nope", expected one of ansi-dark, ' in terminal.written


INTERRUPT = """
import os, sys
class Early:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), 2)
module = sys.argv.pop(1)
sys.meta_path.insert(0, Early())
from tui_host.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "module", ["signal", "tui_host.cli", "tui_host.settings.load", "tui_host.cli.commands.servers"]
)
def test_an_interrupt_while_it_loads_ends_it_with_130_and_without_a_word(tmp_path: Path, module: str) -> None:
    words = [sys.executable, "-c", INTERRUPT, module, "servers", "list"]
    # Whatever measures the tests would have loaded the modules before the program does.
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    environment = {**own, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    ended = subprocess.run(words, capture_output=True, env=environment, check=False, timeout=90)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")
