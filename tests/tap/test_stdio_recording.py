"""What a stdio tap records, and that nothing which hinders it hinders the relay."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Thread

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
    assert [(line.get("direction"), line["text"]) for line in rest] == [
        ("out", (PING % 1).decode()),
        ("in", (PING % 1).decode()),
        (None, '{"reason": "exited 0"}'),
    ]
    begins, asked, answered, ends = [line.split(maxsplit=1)[1] for line in errors.splitlines()]
    assert begins.split()[:3] == ["*", "math", "begins:"]
    assert asked.split() == ["-->", "math", "#1", str(len(PING % 1)), "B", "ping"]
    assert answered.split()[:4] == ["<--", "math", "#1", str(len(PING % 1))]
    assert ends.split(maxsplit=2) == ["*", "math", "ends: exit code 0"]


def not_a_folder(folder: Path) -> None:
    folder.write_text("a file stands here")


@pytest.mark.parametrize("hindrance", [not_a_folder])
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
    assert errors.endswith("tui-host tap math: records that waited in memory are lost: 1,001\n")
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


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_passed_while_the_recorder_stood_still_is_recorded_later_however_the_tap_ends(
    tmp_path: Path, *, is_killed: bool
) -> None:
    process = start(tap(tmp_path, *ECHO))
    push(process, PING % 0)
    assert pull(process, len(PING % 0)) == PING % 0
    until(lambda: len(records(tmp_path)) == 2 if sessions(tmp_path) else False)
    recorder = recorder_of(process.pid)
    os.kill(recorder, signal.SIGSTOP)
    whole = (os.urandom(50_000).hex().encode() + b"\n") * 60  # six megabytes there and back: more than memory holds
    writing = Thread(target=push, args=(process, whole))
    writing.start()
    assert pull(process, len(whole)) == whole
    writing.join()
    assert process.stdin is not None
    if is_killed:  # while its input is open: it would end by itself otherwise
        process.kill()
    process.stdin.close()
    assert said(process) == b""
    assert process.wait() == (-signal.SIGKILL if is_killed else 0)
    os.kill(recorder, signal.SIGCONT)
    found = recorded(tmp_path)
    assert data(found, "in") == data(found, "out") == PING % 0 + whole
