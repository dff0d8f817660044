"""What the program saves: beside the person's file and never in it, private, whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.settings.reading import read, write
from tui_host.errors import SettingsError
from tui_host.settings.load import Overrides, load
from tui_host.settings.save import save_state, write_private


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_choices_are_remembered_beside_each_other_and_can_be_forgotten(tmp_path: Path) -> None:
    text = "# mine\nui.ascii = true  # and this\n"
    before = read(tmp_path, text)
    save_state(before, {"model": "groq/a"})
    save_state(before, {"theme": "nord"})
    assert (str(read(tmp_path, text).model), read(tmp_path, text).ui.theme) == ("groq/a", "nord")
    save_state(before, {"model": None})
    assert (read(tmp_path, text).model, read(tmp_path, text).ui.theme) == (None, "nord")
    assert (tmp_path / "config.toml").read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "state.toml"]


@pytest.mark.usefixtures("no_umask", "no_home")
def test_the_first_save_makes_a_private_folder_and_file_and_each_makes_it_private_again() -> None:
    save_state(load(Overrides(), {}), {"theme": "nord"})
    folder = load(Overrides(), {}).config_dir
    assert (mode(folder), mode(folder / "state.toml")) == (0o700, 0o600)
    (folder / "state.toml").chmod(0o666)
    save_state(load(Overrides(), {}), {"theme": "dracula"})
    assert (mode(folder / "state.toml"), load(Overrides(), {}).ui.theme) == (0o600, "dracula")


def test_a_save_that_fails_is_told_and_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    before = read(tmp_path)
    write(tmp_path, "model = ", "state.toml")
    with pytest.raises(SettingsError, match=r"state\.toml: not TOML"):
        save_state(before, {"theme": "x"})
    assert (tmp_path / "state.toml").read_text() == "model = "
    (tmp_path / "x.toml").mkdir()
    with pytest.raises(SettingsError, match="cannot be written"):
        write_private(tmp_path / "x.toml", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "state.toml", "x.toml"]


def test_a_program_killed_while_saving_leaves_old_or_new_never_half(tmp_path: Path) -> None:
    path = write(tmp_path, "a" * 300_000, "x.toml")
    code = (
        "import sys; from pathlib import Path; from tui_host.settings.save import write_private\n"
        "n = 0\n"
        "while True:\n"
        "    n += 1\n"
        "    write_private(Path(sys.argv[1]), b'ab'[n % 2:][:1] * 300_000)\n"
        "    print(n, flush=True)\n"
    )
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _line in range(3):
                writer.stdout.readline()
            writer.kill()
        assert path.read_bytes() in {b"a" * 300_000, b"b" * 300_000}
