"""Standard streams that are closed, full, gone, or of another encoding: a word about it at most, never a traceback."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.desk import Desk, desk
from tests.kit.bodies import text
from tests.kit.program import Programs, Reader, plain_environment
from tui_host.cli.output import cells, clipped, padded


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
    code, out, err = shell(
        place, "set -o pipefail; $T sessions export last | head -c 20 | wc -c; echo ${PIPESTATUS[0]}"
    )
    assert (code, out.split(), err) == (0, [b"20", b"0"], "")
    code, out, err = shell(place, "$T ask --help | true; echo ${PIPESTATUS[0]}")
    assert (code, out, err) == (0, b"0\n", "")


def test_an_output_that_is_full_or_closed_is_told(place: Desk) -> None:
    code, _, err = shell(place, "$T sessions list > /dev/full")
    assert (code, err) == (
        1,
        "tui-host: standard output: cannot be written: No space left on device (redirect it to another place)\n",
    )
    code, _, err = shell(place, "$T sessions list --json >&-")
    assert code == 1
    assert err.startswith("tui-host: standard output: closed")
    assert shell(place, "$T sessions show nope 2>&-")[0] == 1


def test_a_reader_of_ask_that_has_gone_ends_it_quietly(place: Desk) -> None:
    place.provider.answers += [text("nobody reads this")]
    mine, end = os.pipe()
    os.close(mine)
    running = place.program.start("ask", "hello", *place.places, env={"MY_KEY": "12345678"}, stdout=end)
    os.close(end)
    ended = running.wait()
    assert (ended.code, ended.err, ended.left) == (0, "", ())


def test_a_question_that_nobody_can_mean_is_refused_by_its_size(place: Desk) -> None:
    before = len(place.provider.requests)
    ended = place.ask("-", stdin="问".encode() * ((64 << 20) // 3 + 1))  # the limit cuts a character
    assert (ended.code, ended.out) == (2, b"")
    assert ended.err == "tui-host: ask -: the text is longer than 67,108,864 bytes (send less)\n"
    assert len(place.provider.requests) == before


def test_without_a_terminal_the_app_refuses_and_names_ask(place: Desk) -> None:
    ended = place.run()
    assert (ended.code, ended.out) == (2, b"")
    assert "tui-host ask TEXT" in ended.err


def test_an_answer_is_made_visible_on_a_terminal_and_in_a_pipe(place: Desk) -> None:
    place.provider.answers += [text("\x1b[2Jclear"), text("\x1b[2Jclear")]
    master, slave = pty.openpty()
    reader = Reader(master)
    running = place.program.start("ask", "hello", *place.places, env={"MY_KEY": "12345678"}, stdout=slave)
    os.close(slave)
    assert running.wait().code == 0
    assert reader.whole() == "␛[2Jclear\r\n".encode()
    assert place.ask("hello").out == "␛[2Jclear\n".encode()


@pytest.mark.parametrize("words", [["--help"], ["ask", "--help"], ["tap", "stdio", "--help"], ["demo-model", "--help"]])
def test_help_is_plain_text_also_where_colours_are_asked_for(place: Desk, words: list[str]) -> None:
    """As Python's own from 3.14 on would not be."""
    said = place.program.run(*words, env={"FORCE_COLOR": "1"})
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(b"usage: tui-host")
    assert b"\x1b" not in said.out


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("天气", 4), ("é", 1), ("e\u0301", 1), ("ｶﾞ", 2), ("", 0), ("🙂", 2)]
)
def test_a_text_is_as_wide_as_a_terminal_draws_it(text: str, width: int) -> None:
    assert cells(text) == width
    assert cells(padded(text, 9)) == 9
    assert cells(clipped(text * 9, 8)) <= 8
