"""What is held while its process runs, and is gone with it: locks, and the folder of what is only looked at."""

from __future__ import annotations

import errno
import fcntl
import tempfile
from pathlib import Path

import pytest

from tests.capture.drafts import wait_until
from tests.capture.stores import FIRST, assert_sound, kept, other_process, start_writer
from tui_host.capture.store import process_lock, temporary_store
from tui_host.capture.store.deletion import prune
from tui_host.capture.store.process_lock import Lock, is_live
from tui_host.capture.store.store import Store
from tui_host.capture.store.temporary_store import PREFIX, fleeting_folder


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


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(place: Path, name: str, *files: str, mode: int = 0o700) -> Path:
    folder = place / name
    folder.mkdir()
    for file in files:
        (folder / file).touch()
    folder.chmod(mode)
    return folder


def test_a_folder_is_there_while_its_owner_is_and_gone_with_it(place: Path) -> None:
    with fleeting_folder() as folder:
        (folder / "tui-host.db").touch()
        temporary_store.remove_left_behind()
        assert (folder / "tui-host.db").exists()
    assert not list(place.iterdir())


def test_what_a_killed_process_left_is_removed_and_nothing_that_may_be_anybody_elses(place: Path) -> None:
    gone = left(
        place, f"{PREFIX}abcdefgh", "tui-host.db", "tui-host.db-wal", "tui-host.db.live-12-ab", "tui-host.db.ballast"
    )
    kept = [
        left(place, f"{PREFIX}holiday1", "tui-host.db", "photo.jpg"),
        left(place, f"{PREFIX}of_mine", "tui-host.db"),
        left(place, "tui-host-abcdefgh", "tui-host.db"),
        left(place, f"{PREFIX}opentoal", "tui-host.db", mode=0o755),
        left(place, f"{PREFIX}infolder"),
    ]
    (kept[-1] / "tui-host.db").mkdir()
    (place / f"{PREFIX}linked_1").symlink_to(left(place, "elsewhere", "tui-host.db"))
    temporary_store.remove_left_behind()
    assert not gone.exists()
    assert all(folder.exists() and list(folder.iterdir()) for folder in (*kept, place / f"{PREFIX}linked_1"))
