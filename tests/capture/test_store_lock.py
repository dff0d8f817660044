"""Who still runs is known by a lock that ends with its process, however it ends."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.drafts import wait_until
from tui_host.capture.store.process_lock import Lock, is_live, remove_left_behind
from tui_host.capture.store.retention import Limits, prune
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError

HOLDER = """
import sys
from pathlib import Path
from tui_host.capture.store.process_lock import Lock

lock = Lock(Path(sys.argv[1]))
print(lock.token, flush=True)
sys.stdin.read()
"""

WRITER = """
import sys
from pathlib import Path
from tui_host.capture.record import Draft, Place
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionState
from tui_host.capture.store.store import Store

path, name = Path(sys.argv[1]), sys.argv[2]
store = Store.open(path)
for turn in range(1, 3):
    session = f"{name}-{turn}"
    recorder = Recorder(store, Redactor(), capture=f"of {session}")
    store.sessions.save(SessionState(id=session, title=session, created_ns=turn, updated_ns=turn, source="ask",
                                     model="demo/openai", protocol="native"))
    store.sessions.save_message(session, 0, turn=1, text="{}", time_ns=turn)
    body = b'{"messages": ["' + name.encode() * 500
    for number in range(12):
        body += b" and %d" % number
        place = Place(session=session, turn=1, step=1)
        for kind in ("request", "response", "chunk", "chunk", "end"):
            direction = "out" if kind == "request" else "in"
            data = body if kind == "request" else b"data: %d" % number if kind == "chunk" else b""
            recorder.append(Draft(wire="llm", kind=kind, peer="demo", direction=direction, place=place,
                                  exchange=f"x{number}", data=data))
    assert recorder.close(60), recorder.fault
    if turn < 2:
        store.sessions.release(session)
assert store.close(60)
assert store.notices == [], store.notices
"""


def test_a_process_that_is_killed_lets_go_of_its_lock(tmp_path: Path) -> None:
    database = tmp_path / "tui-host.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        token = other.stdout.readline().strip()
        assert is_live(database, token)
        remove_left_behind(database)
        assert is_live(database, token), "what is held is not removed"
        other.kill()
        wait_until(lambda: not is_live(database, token))

    assert list(tmp_path.iterdir()) != []
    remove_left_behind(database)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_released_leaves_nothing(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "tui-host.db")
    assert is_live(tmp_path / "tui-host.db", lock.token)
    lock.release()

    assert not is_live(tmp_path / "tui-host.db", lock.token)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_locks_is_told_and_used_all_the_same(tmp_path: Path) -> None:
    def unable(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    lock = Lock(tmp_path / "tui-host.db", _flock=unable)

    assert "allows no locks (No locks available)" in lock.fault
    lock.release()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("token", [None, "", "1-nobody"])
def test_what_nobody_owns_is_not_live(token: str | None, tmp_path: Path) -> None:
    assert not is_live(tmp_path / "tui-host.db", token)


@pytest.mark.exhaustive
def test_many_processes_write_and_prune_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    store = Store.open(path)
    commands = [[sys.executable, "-c", WRITER, str(path), name] for name in ("first", "second", "third")]
    others = [subprocess.Popen(command, stderr=subprocess.PIPE) for command in commands]
    while any(other.poll() is None for other in others):
        try:
            prune(store, Limits(max_bytes=0))
        except StoreError as error:
            pytest.fail(f"pruning failed beside writers: {error}")
    errors = [other.communicate()[1] for other in others]
    assert [other.returncode for other in others] == [0, 0, 0], errors

    prune(store, Limits(max_bytes=0))
    assert store.read("SELECT count(*) FROM records") == [(0,)]
    assert store.read("PRAGMA foreign_key_check") == []
    assert store.read("PRAGMA integrity_check") == [("ok",)]
    store.close()
