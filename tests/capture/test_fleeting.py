"""The folder of what is only looked at: gone with its process, or with the next one; and nothing else is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tui_host.capture.store.temporary_store import PREFIX, fleeting_folder, remove_left_behind


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
        remove_left_behind()
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
    remove_left_behind()
    assert not gone.exists()
    assert all(folder.exists() and list(folder.iterdir()) for folder in (*kept, place / f"{PREFIX}linked_1"))
