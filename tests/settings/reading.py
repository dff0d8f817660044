"""How the tests of this folder read a configuration: a file in a folder of their own, no environment but the given."""

import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from tui_host.errors import SettingsError
from tui_host.settings.load import Overrides, load
from tui_host.settings.schema import Settings

NOTHING: Mapping[str, str] = {}


def write(folder: Path, text: str, name: str = "config.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def read(folder: Path, text: str = "", environment: Mapping[str, str] = NOTHING) -> Settings:
    return load(Overrides(config=write(folder, text), data_dir=folder / "data"), environment)


def refused(folder: Path, text: str, environment: Mapping[str, str] = NOTHING) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(folder, text, environment)
    return [str(mistake) for mistake in (caught.value, *caught.value.more)]
