"""The program's start on a terminal: what it loads, shows, runs and refuses, also where it opens what others captured."""

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.opening.captured import ASK, CHAT, TELL
from tests.system.terminal import NO_SERVERS, ROOT, environment_of, program

OURS_AND_TEXTUALS = {"__main__", "tui_host", "textual", "rich", "platformdirs", "typing_extensions"}
"""Textual itself brings the last three. `pygments` and `markdown_it` come when the first text needs them."""
NOT_AT_FIRST = {"sqlite3", "email", "importlib.metadata", "csv", "zipfile", "pygments", "markdown_it"}


SEEN_AT_FIRST_FRAME = """
import os, resource, sys
from pathlib import Path
from textual.drivers.linux_driver import LinuxDriver
from tui_host.__main__ import main
_, most = resource.getrlimit(resource.RLIMIT_CORE)
resource.setrlimit(resource.RLIMIT_CORE, (most, most))
write, file = LinuxDriver.write, Path(os.environ["SEEN"])
def watched(self, data):
    if "Press a number" in data and not file.exists():
        file.write_text(f"{resource.getrlimit(resource.RLIMIT_CORE) == (0, most)} {' '.join(sys.modules)}")
    write(self, data)
LinuxDriver.write = watched
main()
"""


def test_at_the_first_frame_little_is_loaded_no_core_is_written_and_keys_do_what_they_always_do(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    with program(tmp_path, "-c", SEEN_AT_FIRST_FRAME, environment={"SEEN": str(seen)}) as terminal:
        terminal.until_shown("Ask anything", "which tools do you have?", "写 100 字", "f1 help", "0 LLM", "0 MCP")
        terminal.until(lambda: terminal.screen.before_cursor == "│ ")  # where an input method would write
        terminal.type("a\x7fhello\x1bOR")  # f3
        writes_no_core, *names = seen.read_text().split()
        assert writes_no_core == "True"
        assert not {*names} & NOT_AT_FIRST
        loaded = {name.partition(".")[0] for name in names}
        of_the_machine = {"sitecustomize", "usercustomize"}  # a distribution's Python has the first
        assert loaded - set(sys.stdlib_module_names) - of_the_machine == OURS_AND_TEXTUALS
        terminal.until_shown("Servers", "off")
        terminal.type("\x1bOR", "hello")
        terminal.until(lambda: terminal.screen.before_cursor == "│ hello")
        terminal.type("\r", "turn 1", "hello")
        assert terminal.end("\x11") == (0, True)


def test_it_starts_on_a_plain_terminal_without_colours_and_locale(tmp_path: Path) -> None:
    plain = {"TERM": "linux", "NO_COLOR": "1", "LC_ALL": "C", "LANG": "", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with program(tmp_path, environment=plain, size=(80, 24)) as terminal:
        terminal.until_shown("Ask anything", "which tools", "写 100 字", "╰──")
        assert terminal.end("\x11") == (0, True)


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_without_a_terminal_it_says_so_in_one_line_and_draws_nothing(tmp_path: Path, stream: int) -> None:
    (tmp_path / "config.toml").write_text(NO_SERVERS)
    command = [sys.executable, "-m", "tui_host", "--config", str(tmp_path / "config.toml"), "--data-dir", str(tmp_path)]
    master, slave = pty.openpty()
    ends = [slave] * 3
    ends[stream] = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=ends[0], stdout=ends[1], stderr=ends[2], env=environment_of(tmp_path), cwd=ROOT
    ) as process:
        out, err = process.communicate(timeout=90)
    written = (out or b"") + (err or b"")
    if select.select([master], [], [], 0)[0]:
        written += os.read(master, 1 << 16)
    os.close(slave)
    os.close(master)
    assert process.returncode == 2
    told = b"tui-host: the app needs a terminal (without one: tui-host ask TEXT)\n"
    assert (written.replace(b"\r", b""), out or b"") == (told, b"")


PLACES = b"tui-host: TERM: this terminal cannot place text (set TERM, or use tui-host ask TEXT)\r\n"
THEME = b': ui.theme, line 1: found "nope", expected one of ansi-dark, '


@pytest.mark.parametrize(
    ("term", "config", "told"), [("dumb", "", PLACES), ("", "", PLACES), ("xterm", 'ui.theme = "nope"\n', THEME)]
)
def test_a_terminal_that_cannot_place_text_and_a_theme_that_does_not_exist_are_refused(
    tmp_path: Path, term: str, config: str, told: bytes
) -> None:
    with program(tmp_path, config=config, environment={"TERM": term}) as terminal:
        assert terminal.end() == (2, True)
        assert told in terminal.written
        assert terminal.written.count(b"\n") == 1


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


@pytest.mark.parametrize("module", ["signal", "tui_host.cli", "tui_host.cli.commands.servers"])
def test_an_interrupt_while_it_loads_ends_it_with_130_and_without_a_word(tmp_path: Path, module: str) -> None:
    words = [sys.executable, "-c", INTERRUPT, module, "servers", "list"]
    # Whatever measures the tests would have loaded the modules before the program does.
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    environment = {**own, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    ended = subprocess.run(words, capture_output=True, env=environment, check=False, timeout=90)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_modules_in_the_working_directory_are_run_by_nobody(tmp_path: Path) -> None:
    here = tmp_path / "cloned"
    here.mkdir()
    for name in ("argparse", "json", "asyncio", "mcp", "anyio", "tui_host"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'pwned')!r}, 'a').write('{name} ')\nraise SystemExit\n")
    config = tmp_path / "config.toml"
    config.write_text('servers.math.bundled = "math"\nlimits.connect_wait = 240\n')
    own = ["--data-dir", str(tmp_path / "data"), "--config", str(config)]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tui_host", *own, "ask", "what is 2 + 3?", "--allow", "math.*"],
        cwd=here,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=90,
    )
    assert not (tmp_path / "pwned").exists(), (tmp_path / "pwned").read_text()
    assert b"2 + 3 = **5**" in done.stdout, done.stderr
    assert done.returncode == 0


OSC = "\x1b]52;c;aGk=\x07\x9b2J\u202e"


def test_opened_files_are_shown_and_nothing_of_them_stays(tmp_path: Path) -> None:
    answer = {"choices": [{"index": 0, "delta": {"content": f"a hostile{OSC} answer"}, "finish_reason": "stop"}]}
    stamp = "2026-11-22T10:00:0"
    model, server, folder = tmp_path / "model.log", tmp_path / "\x1b]0;x\x07server.log", tmp_path / "tmp"
    model.write_text(f"{stamp}0Z {json.dumps(CHAT)}\n{stamp}1Z data: {json.dumps(answer, ensure_ascii=False)}\n")
    server.write_text(f"{stamp}2Z >>> {json.dumps(ASK)}\n{OSC}\n{stamp}3Z <<< {json.dumps(TELL)}\n")
    folder.mkdir()
    words = ("-m", "tui_host", "open", str(model), str(server))
    with program(tmp_path, *words, environment={"TMPDIR": str(folder)}, awaits="Nothing is saved here") as terminal:
        terminal.until_shown(f"request  {len(json.dumps(CHAT))} B", "a hostile", "#1 tools/call")
        assert list(folder.iterdir())
        assert terminal.end("\x11") == (0, True)
        assert b"\x1b]52" not in terminal.written
        assert b"\x1b]0" not in terminal.written
        assert "\u202e".encode() not in terminal.written
    assert not list(folder.iterdir())
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_nothing_we_read_ends_the_app_with_a_sentence_that_says_where(tmp_path: Path) -> None:
    file = tmp_path / "dinner.txt"
    file.write_text("two eggs\n")
    with program(tmp_path, "-m", "tui_host", "open", str(file)) as terminal:
        assert terminal.end() == (1, True)
        assert "dinner.txt: there is no exchange with a model or an MCP server in it" in terminal.screen.text
