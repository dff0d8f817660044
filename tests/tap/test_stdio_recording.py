"""What a stdio tap records, and that nothing which hinders it hinders the relay."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tap.stdio_taps import (
    ECHO,
    PING,
    PYTHON,
    data,
    line_of,
    pull,
    push,
    recorded,
    recorder_of,
    records,
    runs,
    said,
    sessions,
    start,
    tap,
    told,
    until,
    write,
)
from tui_host.capture.record import lasted


def pings(count: int) -> bytes:
    return b"".join(PING % number for number in range(count))


def test_a_tap_is_a_live_session_of_its_own_while_it_runs(tmp_path: Path) -> None:
    process = start(tap(tmp_path, *ECHO, name="sums"))
    assert process.stdin is not None
    process.stdin.write(PING % 1)
    assert line_of(process) == PING % 1
    until(lambda: bool(sessions(tmp_path)))
    until(lambda: len(records(tmp_path)) == 2)
    info = sessions(tmp_path)[0]
    assert (info.source, info.title, info.live) == ("tap", "sums", True)
    question, answer = records(tmp_path)
    assert question.draft.direction == "out"
    assert answer.draft.direction == "in"
    assert (lasted(question.mono_ns, answer.mono_ns) or 0) >= 0
    assert info.created_ns <= question.time_ns
    assert {question.draft.peer, answer.draft.peer} == {"sums"}
    process.stdin.close()
    assert process.wait() == 0
    until(lambda: not sessions(tmp_path)[0].live)


def test_standard_error_passes_and_is_recorded_and_secrets_of_environment_and_command_are_not_kept(
    tmp_path: Path,
) -> None:
    server = (
        "import os, sys; os.write(2, ('key ' + os.environ['SUMS_API_KEY'] + ' ' + sys.argv[-1] + chr(10)).encode())"
    )
    command = (*PYTHON, server, "--api-key", "t0ken-of-sums")
    process = start(tap(tmp_path, *command), environment={**os.environ, "SUMS_API_KEY": "s3cr3t-of-sums"})
    assert told(process) == "key s3cr3t-of-sums t0ken-of-sums\n"
    assert process.wait() == 0
    assert data(recorded(tmp_path), "in", "stderr").decode() == "key ⟨secret:SUMS_API_KEY⟩ ⟨secret:api-key⟩\n"


def test_a_log_has_the_record_lines_and_a_dash_plain_ones(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    for words in (f"--log={log}", "--log=-"):
        process = start(tap(tmp_path, words, "--", *ECHO))
        write(process, [PING % 1]).join()
        assert said(process) == PING % 1
        errors = told(process)
        assert process.wait() == 0
    head, *rest = [json.loads(line) for line in log.read_text().splitlines()]
    assert head["session"]["source"] == "tap"
    assert [(line["direction"], line["text"]) for line in rest] == [
        ("out", (PING % 1).decode()),
        ("in", (PING % 1).decode()),
    ]
    begins, asked, answered, ends = [line.split(maxsplit=1)[1] for line in errors.splitlines()]
    assert begins.split()[:3] == ["math", "*", "begins:"]
    assert asked.split() == ["math", "-->", "1", str(len(PING % 1)), "B", "ping"]
    assert answered.split()[:4] == ["math", "<--", "1", str(len(PING % 1))]
    assert ends.split(maxsplit=2) == ["math", "*", "ends: exit code 0"]


def not_a_folder(folder: Path) -> None:
    folder.write_text("a file stands here")


def not_allowed(folder: Path) -> None:
    folder.mkdir()
    (folder / "tui-host.db").mkdir()


def newer(folder: Path) -> None:
    folder.mkdir()
    connection = sqlite3.connect(folder / "tui-host.db")
    connection.execute("PRAGMA user_version = 9999")
    connection.close()


@pytest.mark.parametrize("hindrance", [not_a_folder, not_allowed, newer])
def test_where_nothing_can_be_recorded_everything_passes_and_that_is_told_once(
    tmp_path: Path, hindrance: Callable[[Path], None]
) -> None:
    hindrance(tmp_path / "data")
    process = start(tap(tmp_path / "data", *ECHO))
    write(process, [pings(500)]).join()
    assert said(process) == pings(500)
    errors = told(process)
    assert errors.startswith("tui-host tap math: nothing is recorded: ")
    assert errors.count("nothing is recorded") == 1
    assert errors.endswith("tui-host tap math: what waited in memory is lost, records: 1,000\n")
    assert process.wait() == 0


def test_a_database_that_another_process_holds_keeps_no_byte_waiting(tmp_path: Path) -> None:
    process = start(tap(tmp_path, *ECHO))
    assert process.stdin is not None
    until(lambda: bool(sessions(tmp_path)))
    holder = sqlite3.connect(tmp_path / "tui-host.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    for number in range(300):
        process.stdin.write(PING % number)
        assert line_of(process) == PING % number
    holder.execute("ROLLBACK")
    holder.close()
    process.stdin.close()
    assert process.wait() == 0
    assert data(recorded(tmp_path), "in") == pings(300)


def test_a_configuration_with_mistakes_is_none_of_a_taps_business(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("this is [ no TOML")
    environment = {**os.environ, "TUI_HOST_CONFIG": str(config), "TUI_HOST_DATA_DIR": str(tmp_path / "named")}
    process = start([sys.executable, "-m", "tui_host", "tap", "stdio", "x", "--", *ECHO], environment=environment)
    write(process, [PING % 1]).join()
    assert said(process) == PING % 1
    assert told(process) == ""
    assert process.wait() == 0
    assert data(recorded(tmp_path / "named"), "in") == PING % 1


def test_of_many_taps_at_once_one_that_is_killed_takes_no_record_of_the_others(tmp_path: Path) -> None:
    taps = [start(tap(tmp_path, *ECHO, name=f"server-{number}")) for number in range(3)]
    for process in taps:
        push(process, pings(200))
    for process in taps:
        assert pull(process, len(pings(200))) == pings(200)
    until(lambda: [len(records(tmp_path, info.id)) for info in sessions(tmp_path)] == [400] * 3)
    taps[0].send_signal(signal.SIGKILL)
    for process in taps[1:]:
        write(process, [pings(300)]).join()
        assert said(process) == pings(300)
        assert process.wait() == 0
    taps[0].wait()
    until(lambda: not any(info.live for info in sessions(tmp_path)))
    by_name = {info.title: info.id for info in sessions(tmp_path)}
    for number in (1, 2):
        found = records(tmp_path, by_name[f"server-{number}"])
        assert data(found, "in") == data(found, "out") == pings(200) + pings(300)
    assert data(records(tmp_path, by_name["server-0"]), "in") == pings(200)


def test_what_has_passed_is_recorded_though_the_tap_is_killed_at_once_and_whoever_records_it_stood_still(
    tmp_path: Path,
) -> None:
    process = start(tap(tmp_path, *ECHO))
    push(process, PING % 0)
    assert pull(process, len(PING % 0)) == PING % 0
    recorder = recorder_of(process.pid)
    for number in range(1, 300):
        push(process, PING % number)
        assert pull(process, len(PING % number)) == PING % number
    os.kill(recorder, signal.SIGSTOP)
    whole = (os.urandom(50_000).hex().encode() + b"\n") * 30  # there and back more than memory holds
    writing = write(process, [whole])
    assert pull(process, len(whole)) == whole
    process.kill()
    writing.join()
    os.kill(recorder, signal.SIGCONT)
    found = recorded(tmp_path)
    assert data(found, "in") == data(found, "out") == pings(300) + whole


def test_a_recorder_that_stands_still_holds_nothing_up_and_gets_all_of_it_later(tmp_path: Path) -> None:
    process = start(tap(tmp_path, *ECHO))
    push(process, PING % 0)
    assert pull(process, len(PING % 0)) == PING % 0
    until(lambda: len(records(tmp_path)) == 2 if sessions(tmp_path) else False)
    recorder = recorder_of(process.pid)
    os.kill(recorder, signal.SIGSTOP)
    whole = (os.urandom(50_000).hex().encode() + b"\n") * 60  # six megabytes there and back: more than memory holds
    writing = write(process, [whole])
    assert pull(process, len(whole)) == whole
    writing.join()
    assert said(process) == b""
    assert process.wait() == 0  # and what finds no room in the pipe is handed over by somebody else
    os.kill(recorder, signal.SIGCONT)
    found = recorded(tmp_path)
    assert data(found, "in") == data(found, "out") == PING % 0 + whole


@pytest.mark.exhaustive
def test_what_is_wrong_only_after_the_taps_end_is_told_in_the_file_that_standard_error_is(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with errors.open("wb") as file:
        process = start(tap(tmp_path / "data", *ECHO), errors=file)
    push(process, PING % 0)
    assert pull(process, len(PING % 0)) == PING % 0
    until(lambda: bool(sessions(tmp_path / "data")))
    recorder = recorder_of(process.pid)
    os.kill(recorder, signal.SIGSTOP)
    write(process, []).join()
    assert process.wait() == 0
    (tmp_path / "data" / "tui-host.db").unlink()
    os.kill(recorder, signal.SIGCONT)
    until(lambda: not runs(recorder))
    assert "the database was removed" in errors.read_text()


FULL = """
import os, sys
from pathlib import Path
from tests.tap.stdio_taps import *

folder = Path(sys.argv[1]) / "data"
other = Path(sys.argv[1]) / "other"
other.write_bytes(bytes(40 << 20))
process = start(tap(folder, *ECHO))
line = os.urandom(100_000).hex().encode() + b"\\n"
for _ in range(50):  # ten megabytes to a disk of six
    push(process, line)
    assert pull(process, len(line)) == line
print(process.stderr.readline().decode())
other.unlink()
print(process.stderr.readline().decode())
process.stdin.close()
assert said(process) == b""
print(told(process))
assert process.wait() == 0
"""


@pytest.mark.exhaustive
def test_on_a_full_disk_everything_passes_and_what_waited_is_recorded_once_there_is_room(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = 'mount -t tmpfs -o size=46m,mode=700 none "$0" && exec "$@"'
    command = [unshare or "", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, str(disk)]
    if unshare is None or subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        # Only a file system of its own can be full without harm.
        pytest.skip("this machine lets nobody mount a disk of its own: only Linux does, and not everywhere")
    run = subprocess.run([*command, sys.executable, "-c", FULL, str(disk)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("data/tui-host.db: the disk is full; what passes waits in memory meanwhile") == 1
    assert run.stdout.count("recording goes on; nothing is missing") == 1
