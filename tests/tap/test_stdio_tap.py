"""A stdio tap passes everything on unchanged, and ends as its server does."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.capture.drafts import wait_until as until
from tests.cases import first_of, first_values
from tests.tap.stdio_taps import ECHO, PING, PY, close, data, line, push, recorded, runs, said, start, tap, told, write
from tui_host.tap import relay
from tui_host.tap.relay import IGNORED_BY_PYTHON, NOT_PASSED

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}\n'
MIXED = b"".join(
    (CALL, b"\xff\xfe no JSON\r\n", b"\n", b"\0" * 70_000, b"\n", CALL * 30, "写\u2028".encode(), b'{"half": "of a li')
)


@pytest.mark.parametrize("sizes", first_values([(1, 3, 7, 200), (1 << 20,), (65_536, 1), (4096,)], 2))
def test_bytes_pass_unchanged_and_are_recorded_line_by_line_however_they_are_cut(
    tmp_path: Path, sizes: Sequence[int]
) -> None:
    pieces: list[bytes] = []
    while (at := sum(map(len, pieces))) < len(MIXED):
        pieces.append(MIXED[at : at + sizes[len(pieces) % len(sizes)]])
    process = start(tap(tmp_path, *ECHO))
    writing = write(process, pieces)
    assert said(process) == MIXED
    writing.join()
    assert (told(process), process.wait()) == ("", 0)
    found = recorded(tmp_path)
    assert data(found, "out") == data(found, "in") == MIXED
    assert [record.data for record in found if record.direction == "in"] == re.findall(rb"[^\n]*\n|[^\n]+", MIXED)
    assert next(record.malformed for record in found if record.data == CALL) is None
    assert (found[-1].kind, found[-1].data) == ("end", b'{"reason": "exited 0"}')
    assert re.fullmatch("unfinished: the (in|out)put ended in the middle of the line", found[-2].malformed or "")


def test_the_relay_runs_without_any_other_file_of_ours(tmp_path: Path) -> None:
    """A host waits for it, and what goes wrong elsewhere must not stop a server."""
    script = f"""
import runpy
relay = runpy.run_path({relay.__file__!r})
words = relay["recorder_words"]("stdio", "math", data_dir={str(tmp_path)!r})
relay["StdioRelay"](words, {ECHO!r}).run()
"""
    process = start([sys.executable, "-I", "-S", "-c", script])
    write(process, [PING % 1]).join()
    assert (said(process), process.wait()) == (PING % 1, 0)
    assert data(recorded(tmp_path), "in") == PING % 1


@pytest.mark.parametrize(
    ("server", "code"),
    first_of([("sys.exit(7)", 7), ("os.kill(os.getpid(), 9)", -9), ("os.kill(os.getpid(), 15)", -15)], 2),
)
def test_the_tap_ends_as_the_server_did_once_all_it_wrote_is_delivered(tmp_path: Path, server: str, code: int) -> None:
    wordy = f"import os, sys; os.write(1, b'y' * 200000); os.write(2, b'last words\\n'); {server}"
    process = start(tap(tmp_path, *PY, wordy))
    assert (said(process), told(process), process.wait()) == (b"y" * 200_000, "last words\n", code)


def test_what_cannot_be_started_is_told_with_the_codes_of_a_shell(tmp_path: Path) -> None:
    plain, script = tmp_path / "plain", tmp_path / "script"
    plain.write_text("")
    script.write_text("#!/no/such/program\n")
    script.chmod(0o755)
    for command, code, reason in (
        ("no-such-command", 127, "PATH has no such command"),
        ("/no/such/program", 127, "there is no such file"),
        (str(script), 127, "named behind #!"),
        (str(plain), 126, "this user may not execute it (chmod +x"),
        (str(tmp_path), 126, "it is a folder (name the command in it)\n"),
    ):
        process = start(tap(tmp_path, command))
        assert said(process) == b""
        assert reason in told(process)
        assert process.wait() == code


def test_each_side_learns_that_the_other_has_closed_one_direction(tmp_path: Path) -> None:
    late = "import os\nwhile os.read(0, 9): pass\nos.write(2, b'e\\n'); os.close(2); os.write(1, b'late\\n')"
    process = start(tap(tmp_path, *PY, late))
    write(process, [b"question\n"]).join()
    assert (said(process), process.wait()) == (b"late\n", 0)
    mute = (
        "import os, sys\nos.write(1, b'so far\\n'); os.close(1)\n"
        "while data := os.read(0, 99): os.write(2, data)\nsys.exit(4)"
    )
    process = start(tap(tmp_path, *PY, mute))
    assert said(process) == b"so far\n"  # its end comes while the server runs
    write(process, [b"still heard\n"]).join()
    assert (told(process), process.wait()) == ("still heard\n", 4)
    deaf = "import os\nos.close(0); os.write(1, b'deaf\\n')\nimport signal; signal.pause()"
    process = start(tap(tmp_path, *PY, deaf))
    assert line(process) == b"deaf\n"
    with pytest.raises(BrokenPipeError):
        push(process, b"anybody?\n" * 100_000)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM


UNHEARD = NOT_PASSED | {signal.SIGTSTP, signal.SIGTERM}


def test_signals_reach_the_server_and_its_answer_to_them_is_the_taps(tmp_path: Path) -> None:
    server = (
        "import os, select, signal, sys\n"
        "def heard(number, frame):\n    os.write(1, b'%d\\n' % number)\n    number == 15 and sys.exit(5)\n"
        "for number in map(int, sys.argv[1:]): signal.signal(number, heard)\n"
        "os.write(1, b'ready\\n')\n"
        "while True: select.select([], [], [], 0.05)"  # a pause would wait for another one if one comes just before it
    )
    passed = [
        int(number)
        for number in (*sorted(signal.valid_signals() - UNHEARD), signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN or (number in IGNORED_BY_PYTHON and sys.platform == "linux")
    ]  # as in the background of a shell
    process = start(tap(tmp_path, *PY, server, *map(str, passed)))
    assert line(process) == b"ready\n"
    for number in passed:
        process.send_signal(number)
        assert line(process) == b"%d\n" % number
    assert process.wait() == 5


DEAF = (
    "import os, signal\nsignal.signal(15, signal.SIG_IGN)\n"
    "child = os.fork()\nos.write(1, b'%d\\n' % os.getpid())\nwhile True: signal.pause()"
)


@pytest.mark.parametrize("is_tap", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_when_the_tap_is_killed_or_its_host_is_gone_no_process_is_left(tmp_path: Path, *, is_tap: bool) -> None:
    process = start(tap(tmp_path, *PY, DEAF), own_group=True)
    servers = [int(line(process)), int(line(process))]
    if is_tap:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        close(process, all_pipes=True)
    assert process.wait(90) == -signal.SIGKILL
    until(lambda: not any(map(runs, servers)))


@pytest.mark.parametrize("end", first_values(["closes its input", "is gone", "sends SIGTERM"]))
def test_a_process_that_keeps_the_servers_pipes_for_ever_keeps_no_host_waiting(tmp_path: Path, end: str) -> None:
    process = start(tap(tmp_path, *PY, DEAF.replace("signal.pause()", "os._exit(3) if child else signal.pause()")))
    servers = [int(line(process)), int(line(process))]
    if end == "sends SIGTERM":
        until(lambda: process.send_signal(signal.SIGTERM) or process.poll() is not None)  # the server may still run
    else:
        close(process, all_pipes=end == "is gone")
    assert process.wait(90) == 3
    for left in filter(runs, servers) if end != "is gone" else ():
        os.kill(left, signal.SIGKILL)
    until(lambda: not any(map(runs, servers)))


def test_the_server_gets_the_environment_as_the_host_composed_it(tmp_path: Path) -> None:
    for environment in ({"A": "1", "HOME": "/nowhere", "LC_ALL": "C"}, {"TZ": "UTC", "HOME": "/nowhere"}):
        direct = subprocess.run(["/usr/bin/env"], env=environment, capture_output=True, check=True).stdout
        assert b"LC_CTYPE" not in direct
        process = start(tap(tmp_path, "/usr/bin/env"), environment=environment)
        assert (said(process), process.wait()) == (direct, 0)


def test_a_log_has_the_record_lines_and_a_dash_plain_ones(tmp_path: Path) -> None:
    log, errors = tmp_path / "log.jsonl", ""
    for words in (f"--log={log}", "--log=-"):
        process = start(tap(tmp_path, words, "--", *ECHO))
        write(process, [PING % 1]).join()
        assert said(process) == PING % 1
        errors = told(process)
        assert process.wait() == 0
    head, *rest = [json.loads(line) for line in log.read_text().splitlines()]
    assert head["session"]["source"] == "tap"
    assert [line["text"] for line in rest] == [(PING % 1).decode()] * 2 + ['{"reason": "exited 0"}']
    assert [line.split()[1] for line in errors.splitlines()] == ["*", "-->", "<--", "*"]
