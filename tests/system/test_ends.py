"""Every way out: the exit code, the terminal as it was, and nothing that outlives the program."""

import os
import signal
import sys
import time
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cases import first_of, first_values
from tests.kit.mcp_server import mcp_server
from tests.system.terminal import ROOT, Terminal, program

SHELL = str(ROOT / "tests/system/shell.py")
FAULTY = str(ROOT / "tests/system/faulty.py")
CANARY = "sk-canary-4711-0815"
CONFIGURED = """
[servers.off]
command = "true"
enabled = false
[providers.mine]
dialect = "openai"
base_url = "http://127.0.0.1:1/v1"
api_key = "${CANARY}"
"""


def after_the_screen(terminal: Terminal) -> str:
    """What was told once the alternate screen had been left, without what puts modes back."""
    rest = bytes(terminal.written).rpartition(b"\x1b[?1049l")[2].decode()
    rest = rest.replace("\x1b]22;default\x07", "")  # the pointer's shape, which Textual may give back last of all
    for piece in rest.split("\x1b")[1:]:
        _, _, rest = piece.partition("l" if "l" in piece else "h")
    return rest


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=["term", "hup", "int"]
)
def test_a_signal_ends_it_with_its_code_and_puts_the_terminal_back(tmp_path: Path, number: int, code: int) -> None:
    with program(tmp_path) as terminal:
        # The modes are set before anything is painted: from that moment on nothing may end the program without undoing them.
        terminal.until(lambda: 1049 in terminal.screen.modes)
        terminal.signal(number)
        assert (terminal.end(), after_the_screen(terminal)) == ((code, True), "")


def test_signals_in_a_burst_end_it_as_one_does(tmp_path: Path) -> None:
    """A window that closes sends SIGHUP more than once; a handler that takes a lock would wait for itself."""
    with program(tmp_path, awaits="Ask anything") as terminal:
        for _ in range(200):
            terminal.signal(signal.SIGHUP)
            terminal.signal(signal.SIGTERM)
        assert terminal.ended() in {129, 143}
        assert terminal.is_restored()


def test_after_sigkill_the_terminal_is_as_it_was(tmp_path: Path) -> None:
    with program(tmp_path, awaits="Ask anything") as terminal:
        terminal.until(lambda: any("watchdog" in words for words in terminal.family.look().values()))
        assert not terminal.is_restored()
        terminal.signal(signal.SIGKILL)
        assert terminal.ended() == -signal.SIGKILL
        terminal.until(terminal.is_restored)
        terminal.until(lambda: not terminal.family.living())


def test_what_was_queued_comes_back_after_sigkill_with_its_session(tmp_path: Path) -> None:
    with program(tmp_path, awaits="Nothing sent yet") as terminal:
        terminal.type("error hang\r", "escape stops")
        terminal.type("say this later\r", "queued · say this later")
        terminal.signal(signal.SIGKILL)
        assert terminal.ended() == -signal.SIGKILL
    with program(tmp_path, awaits="Nothing sent yet") as terminal:
        terminal.type("\x1b[15~", "error hang")
        terminal.type("\r", "waits for enter · say this later")
        terminal.type("\r", "my rules recognised")
        assert terminal.end("\x11") == (0, True)


@pytest.mark.parametrize("number", first_values([signal.SIGTSTP, signal.SIGSTOP]), ids=["tstp", "stop"])
def test_a_pause_gives_the_terminal_to_the_shell_and_comes_back_as_it_was(tmp_path: Path, number: int) -> None:
    with program(tmp_path, awaits="Ask anything") as terminal:
        terminal.until(lambda: any("watchdog" in words for words in terminal.family.look().values()))
        for _ in range(2):
            terminal.signal(number)
            terminal.until(terminal.is_stopped)
            if number == signal.SIGTSTP:
                terminal.until(terminal.is_restored)
            terminal.signal(signal.SIGCONT)
            terminal.until(lambda: 1049 in terminal.screen.modes)  # the next pause comes while it is entered
        terminal.until_shown("Ask anything")
        terminal.type("typed after it", "typed after it")
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == (143, True)


@contextmanager
def job(folder: Path) -> Generator[tuple[Terminal, int]]:
    """The program as a job of a shell, and its process id."""
    with program(folder, SHELL, sys.executable, "-m", "tui_host", is_controlling=False) as terminal:
        terminal.until_shown("Ask anything", "ctrl+q quit")
        terminal.until(lambda: any("watchdog" in words for words in terminal.family.look().values()))
        own = f"{sys.executable} -m tui_host"
        (pid,) = (pid for pid, words in terminal.family.look().items() if words.startswith(own))
        yield terminal, pid


def test_suspend_gives_the_terminal_to_the_shell_until_fg_and_bg_does_not_take_it(tmp_path: Path) -> None:
    with job(tmp_path) as (terminal, pid):
        terminal.type("/suspend\r")
        terminal.until(lambda: terminal.is_stopped(pid) and terminal.is_restored())
        written = len(terminal.written)
        terminal.signal(signal.SIGUSR2)  # bg
        terminal.settle()
        terminal.until(lambda: terminal.is_stopped(pid))
        assert len(terminal.written) == written
        terminal.signal(signal.SIGUSR1)  # fg
        terminal.until_shown("Ask anything")
        assert terminal.end("\x11") == (0, True)


@pytest.mark.parametrize(
    ("number", "code"), first_of([(signal.SIGTERM, 143), (signal.SIGHUP, 129)]), ids=["term", "hup"]
)
def test_a_job_told_to_end_while_suspended_ends_and_writes_nothing(tmp_path: Path, number: int, code: int) -> None:
    with job(tmp_path) as (terminal, pid):
        os.kill(pid, signal.SIGTSTP)
        terminal.until(lambda: terminal.is_stopped(pid) and terminal.is_restored())
        written = len(terminal.written)
        os.kill(pid, number)
        terminal.signal(signal.SIGUSR2)  # as a shell's `kill %1` lets a job go on, in the background, to end
        assert (terminal.ended(), len(terminal.written)) == (code, written)
        assert terminal.is_restored()


def test_a_paused_program_that_is_killed_leaves_the_shells_terminal_alone(tmp_path: Path) -> None:
    with program(tmp_path, awaits="Ask anything") as terminal:
        terminal.until(lambda: any("watchdog" in words for words in terminal.family.look().values()))
        terminal.signal(signal.SIGTSTP)
        terminal.until(terminal.is_stopped)
        terminal.settle()
        written = len(terminal.written)
        terminal.signal(signal.SIGKILL)
        terminal.until(lambda: not terminal.family.living())
        terminal.settle()
        assert len(terminal.written) == written


def test_without_a_shell_it_is_not_suspended_and_ends_as_its_terminal_does(tmp_path: Path) -> None:
    with program(tmp_path, is_controlling=False) as terminal:
        terminal.until_shown("Ask anything", "ctrl+q quit")
        terminal.type("/suspend\r", "was not started from a shell")
        assert not terminal.is_stopped(), "no shell could bring it back"
        terminal.hang_up()
        assert terminal.ended() == 129


def test_a_terminal_that_reads_nothing_keeps_nothing_from_its_end(tmp_path: Path) -> None:
    with program(tmp_path, FAULTY, "stuck", size=(120, 40), awaits="Ask anything") as terminal:
        for number in range(40):  # each resize paints the whole screen: more than the kernel holds for a reader
            terminal.resize(120 - number % 2, 40)
            time.sleep(0.01)
        terminal.type("\x11")
        assert terminal.process.wait(90) == 0  # nobody reads


MISTAKES = ["handler", "ask", "early", "start", "worker", "host", "end", "ask host"]
"""Places of a mistake: a handler, `ask`, before the app, its first frame, a worker, the host's tasks, its end."""


@pytest.mark.parametrize("kind", first_values(MISTAKES, 2))
def test_a_mistake_of_ours_is_one_line_and_a_private_log_without_secrets(tmp_path: Path, kind: str) -> None:
    words = ("ask", "hello") if kind.startswith("ask") else ()
    with program(tmp_path, FAULTY, kind, *words, config=CONFIGURED, environment={"CANARY": CANARY}) as terminal:
        assert terminal.end() == (1, True)
        (log,) = (tmp_path / "data").glob("crash-*.log")
        assert after_the_screen(terminal) == f"tui-host: a bug in tui-host (ZeroDivisionError) (see {log})\r\n"
        assert CANARY.encode() not in terminal.written
        assert b"EVIL" not in terminal.written
        assert log.stat().st_mode & 0o777 == 0o600
        text = log.read_text()
        assert "in fail" in text
        assert "⟨secret:CANARY⟩ [red]␛]52;c;EVIL␛\\[/nope]" in text
        assert CANARY not in text


def test_a_mistake_in_a_thread_is_told_and_ends_nothing(tmp_path: Path) -> None:
    with program(tmp_path, FAULTY, "thread", config=CONFIGURED, environment={"CANARY": CANARY}) as terminal:
        terminal.until_shown("a bug in tui-host", "crash-")
        assert terminal.end("\x11") == (0, True)
        (log,) = (tmp_path / "data").glob("crash-*.log")
        assert CANARY not in log.read_text()
        assert CANARY.encode() not in terminal.written


def test_a_loop_that_turns_no_more_does_not_keep_a_signal_from_ending_it(tmp_path: Path) -> None:
    stands = tmp_path / "stands"
    with program(tmp_path, FAULTY, "loop", environment={"STANDS": str(stands)}) as terminal:
        terminal.until(stands.exists)
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == (143, True)


def test_a_host_that_cannot_open_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    with program(tmp_path) as terminal:
        assert terminal.ended() in {1, 2}
        assert terminal.is_restored()
        told = after_the_screen(terminal) or bytes(terminal.written).decode()
        assert told.startswith("tui-host: ")
        assert str(tmp_path / "data") in told
        assert told.count("\n") == 1


def test_it_quits_with_all_at_work_and_leaves_no_process(tmp_path: Path) -> None:
    with program(tmp_path, config='servers.math.bundled = "math"\n') as terminal:
        terminal.until_shown("Ask anything", "● math")
        terminal.type("write 500 words\r")
        terminal.until(lambda: "receiving" in terminal.screen.text or "words" in terminal.screen.text)
        for size in ((20, 5), (60, 20), (1, 1), (140, 45)):  # while it streams
            terminal.resize(*size)
            terminal.settle(0.1)
        terminal.until_shown("ctrl+q quit", "2 LLM")
        running = terminal.family.look()
        assert sum("tui_host.demo.servers" in words for words in running.values()) == 1
        assert sum("demo-model" in words for words in running.values()) == 1
        assert sum("watchdog" in words for words in running.values()) == 1
        assert (terminal.end("\x11"), terminal.family.living()) == ((0, True), set())


IGNORE = "import signal, time; [signal.signal(each, signal.SIG_IGN) for each in (1, 2, 15)]; time.sleep(600)"
STOP = "import os, signal; os.kill(os.getppid(), signal.SIGSTOP)"
MODES: Mapping[str, Mapping[str, object]] = {
    "deaf": {"at start": [{"ignore": ["SIGHUP", "SIGINT", "SIGTERM"]}]},
    "children": {"at start": [{"spawn": IGNORE}] * 5},
    "stopped": {"on": {"tools/list": [{"result": {"tools": list[str]()}}, {"spawn": STOP}]}},
}
"""Ignores every signal; has children that do, and hold its pipes; stands still. Nor do they mind the end of their input."""
STUBBORN = "".join(mcp_server({**script, "at end": [{"wait": 600}]}).table(name) for name, script in MODES.items())


@pytest.mark.exhaustive
def test_servers_that_do_not_want_to_end_are_gone_after_some_seconds(tmp_path: Path) -> None:
    ends = {"quit": 0, "close the window": 129, "kill": -signal.SIGKILL}
    folders = [tmp_path / end for end in ends]
    with ThreadPoolExecutor(len(ends)) as threads:  # side by side, since most of each is patience
        for took in threads.map(seconds_to_end, folders, ends, ends.values()):
            assert took < 30  # the Contract has six; a machine that does much else takes more


def seconds_to_end(folder: Path, end: str, code: int) -> float:
    """How long it is from one way of ending the program until all of its processes are gone."""
    folder.mkdir()
    with program(folder, config=STUBBORN) as terminal:
        terminal.until_shown(*(f"● {mode}" for mode in MODES))
        family = terminal.family
        terminal.until(lambda: len(family.look()) == 9)  # with the guard and five children
        asked = time.monotonic()
        match end:
            case "quit":
                terminal.type("\x11")
            case "kill":
                terminal.signal(signal.SIGKILL)
            case _:
                terminal.hang_up()
        assert terminal.ended() == code
        terminal.until(lambda: not family.living())
        took = time.monotonic() - asked
    print(f"{end}: {took:.2f} s")
    return took


def test_an_editor_has_the_terminal_until_it_ends_and_signals_reach_both(tmp_path: Path) -> None:
    script = tmp_path / "edit.sh"
    script.write_text('echo EDITING; read word; echo "$word" >> "$1"\n')
    with program(tmp_path, environment={"EDITOR": f"sh {script}"}, awaits="Ask anything") as terminal:
        terminal.type("draft\x07", "EDITING")
        assert terminal.is_restored()
        terminal.signal(signal.SIGINT)  # a ctrl+c for the editor
        terminal.signal(signal.SIGTSTP)
        terminal.until(terminal.is_stopped)
        os.killpg(terminal.process.pid, signal.SIGCONT)  # to the whole job, as a shell does
        terminal.type("and more\n", "draft", "and more", "ctrl+q quit")
        terminal.type("\x07", "EDITING")
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == (143, True)
        terminal.until(lambda: not terminal.family.living())
