"""What is held while its process runs, and is gone with it."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path

import pytest

from tests.capture.drafts import wait_until
from tests.capture.stores import FIRST, assert_sound, kept, other_process, start_writer
from tui_host.capture.store import process_lock
from tui_host.capture.store.deletion import prune
from tui_host.capture.store.process_lock import Lock, is_live
from tui_host.capture.store.store import Store


def test_a_process_that_is_killed_lets_go_of_its_lock(tmp_path: Path) -> None:
    database = tmp_path / "tui-host.db"
    with other_process(database, FIRST):
        (lock,) = tmp_path.glob("tui-host.db.live-*")
        token = lock.name.partition(".live-")[2]
        process_lock.remove_left_behind(database)
        assert is_live(database, token), "what is held is not removed"
    wait_until(lambda: not is_live(database, token))

    assert lock.exists()
    process_lock.remove_left_behind(database)
    assert not lock.exists()


def test_a_lock_that_is_released_leaves_nothing(tmp_path: Path) -> None:
    database = tmp_path / "tui-host.db"
    lock = Lock(database)
    assert is_live(database, lock.token)
    lock.release()

    assert not [token for token in (lock.token, None, "", "1-nobody") if is_live(database, token)]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_locks_is_told_and_used_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unable)
    lock = Lock(tmp_path / "tui-host.db")

    assert "allows no locks (No locks available)" in lock.fault
    lock.release()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.exhaustive
def test_many_processes_write_and_prune_one_file_at_once(store: Store) -> None:
    writers = [start_writer(store.path, capture, 3000) for capture in ("first", "second", "third")]
    while any(writer.poll() is None for writer in writers):
        prune(store, max_bytes=0)
    assert [(writer.communicate(), writer.returncode)[1] for writer in writers] == [0, 0, 0]

    prune(store, max_bytes=0)
    assert kept(store) == []
    assert_sound(store)
