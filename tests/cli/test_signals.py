"""Signals: each ends the program in order, with its own exit code, with what came so far, and with nothing left running."""

from __future__ import annotations

import os
import signal
import struct
import termios
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.capture.drafts import wait_until
from tests.cli.desk import desk, loud, server
from tests.kit.bodies import asks, chunk, text
from tests.kit.peer import hangs, head
from tests.kit.program import Programs

HUP, INT, TERM = signal.SIGHUP, signal.SIGINT, signal.SIGTERM
ALL = pytest.mark.parametrize(("number", "code"), [(HUP, 129), (INT, 130), (TERM, 143)], ids=["HUP", "INT", "TERM"])


@ALL
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


@ALL
def test_while_a_tool_hangs(program: Programs, tmp_path: Path, number: signal.Signals, code: int) -> None:
    called = tmp_path / "called"
    with desk(program, tmp_path, asks(("loud__shout", '{"a":1}')), servers=loud(called)) as place:
        running = place.start("ask", "--json", "--yes", "hello")
        running.until(called.exists, "the call")
        running.signal(number)
        ended = running.wait()
    assert (ended.code, ended.left, ended.told) == (code, (), "")
    assert (ended.json["stop"], ended.json["answer"]) == ("stopped", None)
    calls = ended.json["calls"]
    assert isinstance(calls, list)
    [call] = calls
    assert isinstance(call, dict)
    assert (call["asked"], call["sent"], call["decision"], call["by"]) == ({"a": 1}, {"a": 1}, "approved", "flag")
    assert call["result"] is None


def test_while_servers_are_waited_for_which_is_told(program: Programs, tmp_path: Path) -> None:
    servers = server("mute", "no-initialize") + server("good", "good")
    with desk(program, tmp_path, servers=servers) as place:
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


def test_while_a_server_is_checked(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, servers=server("mute", "no-initialize")) as place:
        running = place.start("servers", "check")
        running.until_shown("waiting for mute")
        running.signal(TERM)
        ended = running.wait()
    assert (ended.code, ended.out, ended.left) == (143, b"", ())


def test_a_servers_own_children_do_not_outlive_the_program_either(program: Programs, tmp_path: Path) -> None:
    servers = server("grand", "grandchild")
    with desk(program, tmp_path, hangs(head()), servers=servers) as place:
        running = place.start("ask", "hello")
        running.until(lambda: place.provider.requests, "a request")
        running.signal(TERM)
        ended = running.wait()
    assert (ended.code, ended.left) == (143, ())


def test_what_a_killed_program_leaves_ends_by_itself(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, hangs(head()), servers=server("good", "good")) as place:
        running = place.start("ask", "--model", "demo/openai", "error hang")
        running.until(lambda: b"error hang" in place.files() and _children(running.pid) >= 3, "all its children")
        running.signal(signal.SIGKILL)
        ended = running.wait()
    assert (ended.code, ended.left) == (-9, ())


def _waiting_in(pipe: int) -> int:
    """Bytes that nobody has read yet."""
    return struct.unpack("i", ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def _children(pid: int) -> int:
    return sum(len(path.read_text().split()) for path in Path(f"/proc/{pid}/task").glob("*/children"))
