"""The program as a process: whole, on standard streams of any kind, and ended by a signal."""

import os
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Generator
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.capture.drafts import wait_until
from tests.cli.desk import Desk, desk, loud, server
from tests.kit.bodies import asks, chunk, text
from tests.kit.peer import hangs, head
from tests.kit.program import Programs, plain_environment
from tui_host.cli.output import cells, clipped, padded


def test_the_installed_command_asks_and_answers(program: Programs, tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("tui-host")
    with desk(program, tmp_path, text("from ", "far")) as place:
        ran = subprocess.run(
            [script, "ask", "hello", *place.places],
            capture_output=True,
            env=plain_environment(tmp_path) | {"MY_KEY": "12345678"},
            stdin=subprocess.DEVNULL,
            timeout=90,
            check=False,
        )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"from far\n", b"")


# Standard streams that are closed or full or gone


@pytest.fixture(scope="module")
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    with desk(program, tmp_path_factory.mktemp("streams"), text("kept")) as found:
        assert found.ask("remember").code == 0
        yield found


def shell(place: Desk, line: str) -> tuple[int, bytes, str]:
    """A line of the shell, with the program as `$T`; its exit code, standard output and standard error."""
    arguments = " ".join(map(str, place.places))
    environment = plain_environment(place.folder) | {
        "T": f"{sys.executable} -m tui_host {arguments}",
        "PYTHONPATH": str(Path(__file__).parent.parent.parent),
    }
    ran = subprocess.run(["/bin/bash", "-c", line], capture_output=True, env=environment, timeout=90, check=False)
    return ran.returncode, ran.stdout, ran.stderr.decode()


def test_a_reader_that_has_gone_is_no_error(place: Desk) -> None:
    cut = "set -o pipefail; $T sessions export last | head -c 20 | wc -c; echo ${PIPESTATUS[0]}"
    code, out, err = shell(place, cut)
    assert (code, out.split(), err) == (0, [b"20", b"0"], "")
    place.provider.answers += [text("nobody reads this")]
    mine, end = os.pipe()
    os.close(mine)
    running = place.program.start("ask", "hello", *place.places, env={"MY_KEY": "12345678"}, stdout=end)
    os.close(end)
    ended = running.wait()
    assert (ended.code, ended.err, ended.left) == (0, "", ())


def test_an_output_that_is_full_or_closed_is_told(place: Desk) -> None:
    what = "tui-host: standard output: cannot be written: No space left on device (redirect it to another place)\n"
    assert shell(place, "$T sessions list > /dev/full")[::2] == (1, what)
    code, _, err = shell(place, "$T sessions list --json >&-")
    assert (code, err.startswith("tui-host: standard output: closed")) == (1, True)
    assert shell(place, "$T sessions show nope 2>&-")[0] == 1


@pytest.mark.parametrize("words", [["--help"], ["tap", "stdio", "--help"]])
def test_help_is_plain_text_also_where_colours_are_asked_for(place: Desk, words: list[str]) -> None:
    """As Python's own from 3.14 on would not be."""
    said = place.program.run(*words, env={"FORCE_COLOR": "1"})
    assert (said.code, said.err, said.out[:15], b"\x1b" in said.out) == (0, "", b"usage: tui-host", False)


def test_a_text_is_as_wide_as_a_terminal_draws_it() -> None:
    for words, width in {"abc": 3, "天气": 4, "é": 1, "e\u0301": 1, "ｶﾞ": 2, "": 0, "🙂": 2}.items():
        assert (cells(words), cells(padded(words, 9))) == (width, 9)
        assert cells(clipped(words * 9, 8)) <= 8


# Signals


HUP, INT, TERM = signal.SIGHUP, signal.SIGINT, signal.SIGTERM


@pytest.mark.parametrize(("number", "code"), [(HUP, 129), (INT, 130), (TERM, 143)])
def test_while_the_model_hangs(program: Programs, tmp_path: Path, number: signal.Signals, code: int) -> None:
    with desk(program, tmp_path, hangs(head() + chunk({"content": "so far"})), text("on")) as place:
        running = place.start("ask", "--json", "hello")
        running.until(lambda: place.provider.requests, "a request")
        running.until(lambda: b"so far" in place.files(), "the answer's beginning on the disk")
        running.signal(number)
        ended = running.wait()
        wait_until(lambda: place.provider.ended > 0)
        found = ended.json
        assert (ended.code, ended.left, ended.err) == (code, (), "")
        assert (found["stop"], found["answer"], found["steps"], found["error"]) == ("stopped", "so far", 1, None)
        # The session stays one that can be gone on with, and the model sees that its answer was cut.
        if number == INT:
            assert place.run("ask", "--session", "last", "go on").code == 0
            said = [str(message["content"]) for message in place.provider.messages(-1)]
            assert said[:2] == ["hello", "so far"]
            assert any("stopped" in words for words in said[2:])


def test_while_servers_are_waited_for_which_is_told(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, servers=server("mute", "no-initialize") + server("good", "good")) as place:
        running = place.start("ask", "--json", "hello")
        running.until_shown("tui-host: waiting for mute to connect\n")
        running.signal(INT)
        ended = running.wait()
        assert (ended.code, ended.left, ended.json["stop"], ended.json["steps"]) == (130, (), "stopped", 0)
        assert place.provider.requests == []


def test_while_a_question_waits_on_the_terminal(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, asks(("loud__shout", "{}")), servers=loud()) as place:
        running = place.start("ask", "hello", terminal=True)
        running.until_shown("reject with a reason: ")
        running.type("\x03")  # the terminal makes SIGINT of it
        ended = running.wait()
        assert (ended.code, ended.left) == (130, ())
        shown = place.run("sessions", "show", "last").text
    assert "not decided" in shown


def test_while_standard_input_is_read(program: Programs, tmp_path: Path) -> None:
    mine, end = os.pipe()
    running = program.start("ask", "-", "--json", "--data-dir", tmp_path, stdin=mine)
    with os.fdopen(mine), os.fdopen(end, "wb") as stdin:
        stdin.write(b"never ended")
        stdin.flush()
        running.until(lambda: _waiting_in(mine) == 0 and running.is_asleep, "it waits for more")
        running.signal(INT)
        ended = running.wait()
    assert (ended.code, ended.err, ended.json["stop"], ended.json["session"]) == (130, "", "stopped", None)


def test_what_a_killed_program_leaves_ends_by_itself(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, hangs(head()), servers=server("good", "good")) as place:
        running = place.start("ask", "--model", "demo/openai", "error hang")
        running.until(lambda: b"error hang" in place.files() and _children(running.pid) >= 3, "all its children")
        running.signal(signal.SIGKILL)
        ended = running.wait()
    assert (ended.code, ended.left) == (-9, ())


def _waiting_in(pipe: int) -> int:
    return struct.unpack("i", ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def _children(pid: int) -> int:
    return sum(len(path.read_text().split()) for path in Path(f"/proc/{pid}/task").glob("*/children"))
