from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tui_host.errors import SettingsError
from tui_host.settings.paths import default_config_dir, default_data_dir, ensure_private_dir


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_private_with_all_that_lie_above_it_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ensure_private_dir(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o700, 0o700)


def test_an_own_folder_keeps_its_mode_unless_others_could_write_in_it(tmp_path: Path) -> None:
    for given, left in ((0o755, 0o755), (0o700, 0o700), (0o777, 0o700), (0o770, 0o700)):
        tmp_path.chmod(given)
        ensure_private_dir(tmp_path)
        assert mode(tmp_path) == left


def test_a_folder_that_all_users_share_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(SettingsError, match="shared by all users"):
        ensure_private_dir(tmp_path)
    assert mode(tmp_path) == 0o1777


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = Path("/")  # root's
    if os.geteuid() == 0:  # who alone can give a folder away
        folder = tmp_path
        os.chown(folder, 12345, 12345)
    with pytest.raises(SettingsError, match="another user"):
        ensure_private_dir(folder)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="not a folder"):
        ensure_private_dir(tmp_path / "file")
    with pytest.raises(SettingsError, match="cannot be used: Not a directory"):
        ensure_private_dir(tmp_path / "file" / "below")


def test_a_home_that_is_relative_never_leads_into_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "here")
    for folder in (default_config_dir, default_data_dir):
        try:
            found = folder()
        except SettingsError:
            continue
        assert not found.is_relative_to(tmp_path)
        assert found.is_absolute()
