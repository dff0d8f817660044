"""What `--log FILE` may name, told before anything passes: nothing of anybody else's is written to."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tap.stdio_taps import PYTHON, tap
from tui_host.capture.session_summary import SessionInfo
from tui_host.tap.recording.log_file import NoLogError, open_log
from tui_host.tap.recording.log_writer import JsonLines

SESSION = SessionInfo(
    id="1", title="x", created_ns=1, updated_ns=1, turns=0, source="tap", live=True, model="", protocol=""
)


def a_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE a(b)")
    connection.close()


def a_link(path: Path) -> None:
    path.with_name("notes").write_text("mine")
    path.symlink_to("notes")


NOT_LOGS: list[tuple[Callable[[Path], object], str]] = [
    (Path.mkdir, "it is a folder"),
    (os.mkfifo, "nobody reads from it"),
    (a_database, "it has other content"),
    (a_link, "it has other content"),
    (lambda path: path.write_text('{"a": 1}\n'), "it has other content"),
]


@pytest.mark.parametrize(("make", "told"), NOT_LOGS, ids=["folder", "pipe", "database", "link", "JSON"])
def test_what_is_no_log_is_left_as_it_is_and_that_is_told(
    tmp_path: Path, make: Callable[[Path], object], told: str
) -> None:
    path = tmp_path / "log"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(NoLogError, match=rf"^{told} \(.+\)$"):
        open_log(str(path))
    assert before == (path.read_bytes() if path.is_file() else b"")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tui-host.db", "it belongs to the database"),
        ("tui-host.db-wal", "it belongs to the database"),
        ("none/log", "there is no such folder"),
        ("file/log", "part of the path is not a folder"),
        ("/dev/full", "it is a device"),
        ("/dev/tty/log", "part of the path is not a folder"),
    ],
)
def test_where_no_log_can_be_is_told_and_nothing_is_made(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NoLogError, match=rf"^{told} \(.+\)$"):
        open_log(str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/stderr"])
def test_a_log_to_where_host_and_server_speak_is_refused_and_nothing_is_started(tmp_path: Path, path: str) -> None:
    server = f"open({str(tmp_path / 'started')!r}, 'w')"
    run = subprocess.run(tap(tmp_path, "--log", path, "--", *PYTHON, server), capture_output=True, check=False)
    assert (run.returncode, run.stdout) == (2, b"")
    told = run.stderr.decode()
    assert told.startswith(f"tui-host tap math: --log {path}: it is standard ")
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def log(path: Path) -> JsonLines:
    return JsonLines(open_log(str(path)), str(path))


def test_a_log_that_a_killed_tap_left_within_a_line_goes_on_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log(path).begin(SESSION, str)
    whole = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(whole[:20])
    for _ in range(2):
        log(path).begin(SESSION, str)
    assert path.read_bytes() == whole[:20] + b"\n" + whole + whole
